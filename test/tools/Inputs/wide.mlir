// A layer whose weight takes 256 KiB.
func.func @main(%x: tensor<16x256xf32> {sinter.name = "x"}, %a: tensor<256x256xf32> {sinter.state = "a"}) -> (tensor<16x256xf32> {sinter.name = "y"}) {
  %p = sinter.dot_general %x, %a {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<16x256xf32>, tensor<256x256xf32>) -> tensor<16x256xf32>
  %y = sinter.tanh %p : (tensor<16x256xf32>) -> tensor<16x256xf32>
  return %y : tensor<16x256xf32>
}
