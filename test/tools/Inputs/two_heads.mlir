// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @main(%x: tensor<?x3xf32> {sinter.name = "x", sinter.dims = ["n", 3]}, %w: tensor<3x2xf32> {sinter.state = "w"}, %v: tensor<3x2xf32> {sinter.state = "v"})
    -> (tensor<?x2xf32> {sinter.name = "y"}, tensor<?x2xf32> {sinter.name = "z"}) {
  %y = sinter.dot_general %x, %w {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>}
      : (tensor<?x3xf32>, tensor<3x2xf32>) -> tensor<?x2xf32>
  %z = sinter.dot_general %x, %v {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>}
      : (tensor<?x3xf32>, tensor<3x2xf32>) -> tensor<?x2xf32>
  return %y, %z : tensor<?x2xf32>, tensor<?x2xf32>
}
