func.func @main(%x: tensor<24x64xf32> {sinter.name = "x"}, %w: tensor<64x37xf32> {sinter.name = "w"}, %m: tensor<24x37xbf16> {sinter.name = "m"}) -> (tensor<24x37xbf16> {sinter.name = "y"}) {
  %0 = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<24x64xf32>, tensor<64x37xf32>) -> tensor<24x37xf32>
  %1 = sinter.convert %m {element_type = f32} : (tensor<24x37xbf16>) -> tensor<24x37xf32>
  %2 = sinter.mul %0, %1 : (tensor<24x37xf32>, tensor<24x37xf32>) -> tensor<24x37xf32>
  %3 = sinter.convert %2 {element_type = bf16} : (tensor<24x37xf32>) -> tensor<24x37xbf16>
  return %3 : tensor<24x37xbf16>
}
