// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Halves a number until it is small, which it may not take more than 7 trips to become.
func.func @main(%x: tensor<f32> {sinter.name = "x"}, %w: tensor<f32> {sinter.name = "w"}) -> (tensor<f32> {sinter.name = "loss"}) {
  %0:2 = sinter.while (%x) captures(%w) {max_trip = 7 : i64, on_limit = #sinter<limit_policy trap>} : (tensor<f32>, tensor<f32>) -> (tensor<i64>, tensor<f32>) cond {
  ^bb0(%c: tensor<f32>, %v: tensor<f32>):
    %low = sinter.constant dense<1.0> : tensor<f32>
    %go = sinter.compare gt %c, %low : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%c: tensor<f32>, %v: tensor<f32>):
    %next = sinter.mul %c, %v : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield (%next) : tensor<f32>
  }
  return %0#1 : tensor<f32>
}
