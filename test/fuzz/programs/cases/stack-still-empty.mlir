// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A sum by blocks over three axes: the stack of its blocks' sums is read where it is still empty, and what is read
// there is not used. For a GPU LLVM left a register unwritten.
func.func @main(%x: tensor<2x6x5xf32>) -> tensor<2x6x5xf32> {
  %whole = sinter.floor %x : (tensor<2x6x5xf32>) -> tensor<2x6x5xf32>
  %r, %mean, %deviation = sinter.layer_norm %whole {axis = 0 : i64, center = false, epsilon = 1.0e-01 : f64}
      : (tensor<2x6x5xf32>) -> (tensor<2x6x5xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
  return %r : tensor<2x6x5xf32>
}
