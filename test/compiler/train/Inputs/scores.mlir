// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @main(%x: tensor<?x2xf32> {sinter.name = "x", sinter.dims = ["n", 2]}, %w: tensor<2x3xf32> {sinter.state = "w"})
    -> (tensor<?x3xf32> {sinter.name = "y"}) {
  %y = sinter.dot_general %x, %w {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>}
      : (tensor<?x2xf32>, tensor<2x3xf32>) -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}
