// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes as exporters write them: by ops on constants. Nothing tells them before these are folded.
func.func @main(%x: tensor<2x4xf32> {sinter.name = "x"},
                %w: tensor<4xf32> {sinter.name = "w", sinter.state = "w", sinter.initial = dense<1.0> : tensor<4xf32>})
    -> (tensor<?x?xf32> {sinter.name = "y"}) {
  %one = sinter.constant dense<1.0> : tensor<1xf32>
  %two = sinter.constant dense<2.0> : tensor<1xf32>
  %scales = sinter.concatenate %one, %two {axis = 0 : i64} : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %old = sinter.constant dense<[2, 4]> : tensor<2xi64>
  %float = sinter.convert %old {element_type = f32} : (tensor<2xi64>) -> tensor<2xf32>
  %scaled = sinter.mul %float, %scales : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %sizes = sinter.convert %scaled {element_type = i64} : (tensor<2xf32>) -> tensor<2xi64>
  %rows = sinter.broadcast %w axes = [1] {type = tensor<2x4xf32>} : (tensor<4xf32>) -> tensor<2x4xf32>
  %weighted = sinter.mul %x, %rows : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = sinter.resize %weighted scales(%scales) sizes(%sizes) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<2x4xf32>, tensor<2xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
