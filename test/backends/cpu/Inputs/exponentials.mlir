func.func @main(%x: tensor<64xf32>, %y: tensor<64xf64>) -> (tensor<64xf32>, tensor<64xf64>) {
  %a = sinter.exp %x : (tensor<64xf32>) -> tensor<64xf32>
  %b = sinter.exp %y : (tensor<64xf64>) -> tensor<64xf64>
  return %a, %b : tensor<64xf32>, tensor<64xf64>
}
