// Products and a convolution of bf16 whose sums are f32. `equal` adds equal terms, which round the same way.
func.func @main(%a: tensor<19x1300xf32> {sinter.name = "a"}, %b: tensor<1300x37xf32> {sinter.name = "b"}, %x: tensor<1x9x11x40xf32> {sinter.name = "x"},
                %f: tensor<24x3x3x40xf32> {sinter.name = "f"}, %c: tensor<4x3001xf32> {sinter.name = "c"}, %d: tensor<3001x8xf32> {sinter.name = "d"})
    -> (tensor<19x37xf32> {sinter.name = "product"}, tensor<1x9x11x24xf32> {sinter.name = "convolution"}, tensor<4x8xf32> {sinter.name = "equal"}) {
  %ah = sinter.convert %a {element_type = bf16} : (tensor<19x1300xf32>) -> tensor<19x1300xbf16>
  %bh = sinter.convert %b {element_type = bf16} : (tensor<1300x37xf32>) -> tensor<1300x37xbf16>
  %p = sinter.dot_general %ah, %bh {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<19x1300xbf16>, tensor<1300x37xbf16>) -> tensor<19x37xf32>
  %xh = sinter.convert %x {element_type = bf16} : (tensor<1x9x11x40xf32>) -> tensor<1x9x11x40xbf16>
  %fh = sinter.convert %f {element_type = bf16} : (tensor<24x3x3x40xf32>) -> tensor<24x3x3x40xbf16>
  %y = sinter.convolution %xh, %fh {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x40xbf16>, tensor<24x3x3x40xbf16>) -> tensor<1x9x11x24xf32>
  %ch = sinter.convert %c {element_type = bf16} : (tensor<4x3001xf32>) -> tensor<4x3001xbf16>
  %dh = sinter.convert %d {element_type = bf16} : (tensor<3001x8xf32>) -> tensor<3001x8xbf16>
  %e = sinter.dot_general %ch, %dh {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x3001xbf16>, tensor<3001x8xbf16>) -> tensor<4x8xf32>
  return %p, %y, %e : tensor<19x37xf32>, tensor<1x9x11x24xf32>, tensor<4x8xf32>
}
