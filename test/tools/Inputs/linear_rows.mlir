// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @main(%x: tensor<4x3xf64> {sinter.name = "x"}, %shift: tensor<2xf64> {sinter.name = "shift"}, %w: tensor<3x2xf64> {sinter.state = "w"})
    -> (tensor<4x2xf64> {sinter.name = "y"}) {
  %p = sinter.dot_general %x, %w {element_type = f64, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>}
      : (tensor<4x3xf64>, tensor<3x2xf64>) -> tensor<4x2xf64>
  %s = sinter.broadcast %shift like(%p) axes = [1] {type = tensor<4x2xf64>} : (tensor<2xf64>, tensor<4x2xf64>) -> tensor<4x2xf64>
  %y = sinter.add %p, %s : (tensor<4x2xf64>, tensor<4x2xf64>) -> tensor<4x2xf64>
  return %y : tensor<4x2xf64>
}
