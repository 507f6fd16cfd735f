func.func @main(%a: tensor<65536xf32> {sinter.name = "a"}) -> (tensor<65536xbf16> {sinter.name = "y"}) {
  %0 = sinter.convert %a {element_type = bf16} : (tensor<65536xf32>) -> tensor<65536xbf16>
  return %0 : tensor<65536xbf16>
}
