func.func @main(%a: tensor<4x16xbf16>, %b: tensor<16x8xbf16>) -> tensor<4x8xf32> {
  %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xf32>
  return %p : tensor<4x8xf32>
}
