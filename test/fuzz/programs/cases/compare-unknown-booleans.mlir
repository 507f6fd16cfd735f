// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Booleans whose values nothing tells before the run.
func.func @main(%a: tensor<i1>, %b: tensor<i1>) -> (tensor<i1>, tensor<i1>) {
  %equal = sinter.compare eq %a, %b : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %either = sinter.max %a, %b : (tensor<i1>, tensor<i1>) -> tensor<i1>
  return %equal, %either : tensor<i1>, tensor<i1>
}
