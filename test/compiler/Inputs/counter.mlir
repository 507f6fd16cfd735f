// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @step(%w: tensor<2x3xf32> {sinter.state = "layer.w", sinter.initial = dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>},
                %n: tensor<i64> {sinter.state = "steps"},
                %x: tensor<?x3xf32> {sinter.name = "x", sinter.dims = ["rows", 3]})
    -> (tensor<f32> {sinter.name = "sum"}, tensor<2x3xf32> {sinter.state = "layer.w"}, tensor<i64> {sinter.state = "steps"})
    attributes {sinter.name = "step"} {
  %sum = sinter.reduce add %x axes = [0] : (tensor<?x3xf32>) -> tensor<3xf32>
  %wide = sinter.broadcast %sum axes = [1] {type = tensor<2x3xf32>} : (tensor<3xf32>) -> tensor<2x3xf32>
  %next = sinter.add %w, %wide : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %one = sinter.constant dense<1> : tensor<i64>
  %count = sinter.add %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %total = sinter.reduce add %next axes = [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  return %total, %next, %count : tensor<f32>, tensor<2x3xf32>, tensor<i64>
}
func.func @infer(%w: tensor<2x3xf32> {sinter.state = "layer.w", sinter.initial = dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>},
                 %n: tensor<i64> {sinter.state = "steps"})
    -> (tensor<2x3xf32> {sinter.name = "double"}, tensor<i64> {sinter.name = "steps"}) attributes {sinter.name = "infer"} {
  %twice = sinter.add %w, %w : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %twice, %n : tensor<2x3xf32>, tensor<i64>
}
