// A sum over k that is longer than a block.
func.func @main(%x: tensor<26x1500xf32>, %w: tensor<1500x64xf32>) -> tensor<26x64xf32> {
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32}
      : (tensor<26x1500xf32>, tensor<1500x64xf32>) -> tensor<26x64xf32>
  return %p : tensor<26x64xf32>
}
