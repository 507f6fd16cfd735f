func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = sinter.add %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %z = sinter.mul %y, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %z : tensor<2x3xf32>
}
