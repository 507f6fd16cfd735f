// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
module {
func.func @main(%x: tensor<?x4xf32> {sinter.name = "x", sinter.dims = ["n", 4]}) -> (tensor<?x4xf32> {sinter.name = "y"}) {
  %w = sinter.constant dense<[0.5, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %c = sinter.broadcast %w like(%x) axes = [1] {type = tensor<?x4xf32>} : (tensor<4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %s = sinter.mul %x, %c : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %t = sinter.tanh %s : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %t : tensor<?x4xf32>
}
}
