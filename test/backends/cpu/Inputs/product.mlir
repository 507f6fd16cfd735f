// A product with constant weights (folded), 26 rows so that two tiles of 13 cover it.
func.func @main(%x: tensor<26x40xf32>) -> tensor<26x64xf32> {
  %w = sinter.iota {axis = 1 : i64, type = tensor<40x64xf32>} : () -> tensor<40x64xf32>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32}
      : (tensor<26x40xf32>, tensor<40x64xf32>) -> tensor<26x64xf32>
  return %p : tensor<26x64xf32>
}
