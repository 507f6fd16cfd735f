func.func @main(%x: tensor<1x28x28x32xf32>) -> tensor<1x28x28x32xf32> {
  %f = sinter.iota {axis = 0 : i64, type = tensor<32x3x3x32xf32>} : () -> tensor<32x3x3x32xf32>
  %y = sinter.convolution %x, %f {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>,
      dilation = array<i64: 1, 1>, layout = #sinter<conv_layout channels_last>, element_type = f32}
      : (tensor<1x28x28x32xf32>, tensor<32x3x3x32xf32>) -> tensor<1x28x28x32xf32>
  return %y : tensor<1x28x28x32xf32>
}
