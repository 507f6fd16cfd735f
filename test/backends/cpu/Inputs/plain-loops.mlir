func.func @halves(%a: tensor<64x256xf16>, %b: tensor<256x64xf32>) -> tensor<64x64xf32> {
  %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x256xf16>, tensor<256x64xf32>) -> tensor<64x64xf32>
  return %p : tensor<64x64xf32>
}
