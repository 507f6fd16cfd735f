// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @kept(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = sinter.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @dropped(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = sinter.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
