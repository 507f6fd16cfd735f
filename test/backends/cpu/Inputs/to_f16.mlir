func.func @main(%a: tensor<65536xf32> {sinter.name = "a"}, %b: tensor<65536xf16> {sinter.name = "b"}) -> (tensor<65536xf16> {sinter.name = "x"}, tensor<65536xf32> {sinter.name = "y"}, tensor<65536xf32> {sinter.name = "z"}) {
  %0 = sinter.convert %a {element_type = f16} : (tensor<65536xf32>) -> tensor<65536xf16>
  %1 = sinter.convert %b {element_type = f32} : (tensor<65536xf16>) -> tensor<65536xf32>
  %2 = sinter.convert %0 {element_type = f32} : (tensor<65536xf16>) -> tensor<65536xf32>
  return %0, %1, %2 : tensor<65536xf16>, tensor<65536xf32>, tensor<65536xf32>
}
