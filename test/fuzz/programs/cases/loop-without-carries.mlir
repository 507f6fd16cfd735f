// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A loop that only stacks what its trips compute.
func.func @main(%x: tensor<5xf32>, %count: tensor<i64>) -> tensor<f32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %stack = sinter.for %zero to %count step %one () captures(%x) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<5xf32>) -> tensor<?x5xf32> body {
  ^bb0(%i: tensor<i64>, %y: tensor<5xf32>):
    %f = sinter.convert %i {element_type = f32} : (tensor<i64>) -> tensor<f32>
    %s = sinter.broadcast %f axes = [] {type = tensor<5xf32>} : (tensor<f32>) -> tensor<5xf32>
    %p = sinter.mul %s, %y : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    sinter.yield(%p) : tensor<5xf32>
  }
  %sum = sinter.reduce add %stack axes = [0, 1] : (tensor<?x5xf32>) -> tensor<f32>
  return %sum : tensor<f32>
}
