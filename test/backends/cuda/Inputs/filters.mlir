func.func @f(%x: tensor<64x28x28x64xbf16>, %w: tensor<128x3x3x64xbf16>) -> tensor<f32> {
  %y = sinter.convolution %x, %w {strides = array<i64: 2, 2>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = bf16} : (tensor<64x28x28x64xbf16>, tensor<128x3x3x64xbf16>) -> tensor<64x14x14x128xbf16>
  %z = sinter.mul %y, %y : (tensor<64x14x14x128xbf16>, tensor<64x14x14x128xbf16>) -> tensor<64x14x14x128xbf16>
  %c = sinter.convert %z {element_type = f32} : (tensor<64x14x14x128xbf16>) -> tensor<64x14x14x128xf32>
  %r = sinter.reduce add %c axes = [0, 1, 2, 3] : (tensor<64x14x14x128xf32>) -> tensor<f32>
  return %r : tensor<f32>
}
