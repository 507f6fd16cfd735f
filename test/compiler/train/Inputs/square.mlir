// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// As many classes as samples.
func.func @main(%x: tensor<?x?xf32> {sinter.name = "x", sinter.dims = ["n", "n"]}, %w: tensor<f32> {sinter.state = "w"})
    -> (tensor<?x?xf32> {sinter.name = "y"}) {
  %spread = sinter.broadcast %w like(%x) axes = [] {type = tensor<?x?xf32>} : (tensor<f32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %y = sinter.mul %x, %spread : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
