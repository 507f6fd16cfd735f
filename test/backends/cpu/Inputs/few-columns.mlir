func.func @few(%x: tensor<1x64x64x32xf32>) -> tensor<1x64x64x3xf32> {
  %w = sinter.constant dense<0.5> : tensor<3x5x5x32xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x64x64x32xf32>, tensor<3x5x5x32xf32>) -> tensor<1x64x64x3xf32>
  return %p : tensor<1x64x64x3xf32>
}
