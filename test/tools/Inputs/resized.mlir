func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
  %scales = sinter.constant dense<2.0> : tensor<1xf32>
  %0 = sinter.resize %x scales(%scales) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<4xf32>, tensor<1xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
