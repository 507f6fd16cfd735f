func.func @bfloats(%a: tensor<64x256xbf16>, %b: tensor<256x64xbf16>) -> tensor<64x64xf32> {
  %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x256xbf16>, tensor<256x64xbf16>) -> tensor<64x64xf32>
  return %p : tensor<64x64xf32>
}
func.func @bytes(%a: tensor<64x256xui8>, %b: tensor<256x64xi8>) -> tensor<64x64xi32> {
  %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<64x256xui8>, tensor<256x64xi8>) -> tensor<64x64xi32>
  return %p : tensor<64x64xi32>
}
func.func @signed_bytes(%a: tensor<64x256xi8>, %b: tensor<256x64xi8>) -> tensor<64x64xi32> {
  %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<64x256xi8>, tensor<256x64xi8>) -> tensor<64x64xi32>
  return %p : tensor<64x64xi32>
}
func.func @convolution(%a: tensor<1x14x14x64xbf16>) -> tensor<1x14x14x32xf32> {
  %w = sinter.constant dense<1.0> : tensor<32x3x3x64xbf16>
  %p = sinter.convolution %a, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x14x14x64xbf16>, tensor<32x3x3x64xbf16>) -> tensor<1x14x14x32xf32>
  return %p : tensor<1x14x14x32xf32>
}
// What is rounded behind a product comes from units that take denormals for 0.
func.func @rounded(%a: tensor<64x256xbf16>, %b: tensor<256x64xbf16>) -> tensor<64x64xbf16> {
  %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x256xbf16>, tensor<256x64xbf16>) -> tensor<64x64xf32>
  %0 = sinter.exp %p : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = sinter.convert %0 {element_type = bf16} : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  return %1 : tensor<64x64xbf16>
}
