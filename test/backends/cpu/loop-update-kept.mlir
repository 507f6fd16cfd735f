// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter check %s --input n=0
// RUN: sinter check %s --input n=1
// RUN: sinter check %s --input n=6
//
// The old value is needed after the update: as the next value of another carry, and as a slice of a stack.

func.func @kept(%n: tensor<i64> {sinter.name = "n"}, %x: tensor<1024xf32>, %y: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>, tensor<?x1024xf32>) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %r:3 = sinter.for %zero to %n step %one (%x, %y) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<1024xf32>, tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>, tensor<?x1024xf32>) body {
  ^bb0(%i: tensor<i64>, %a: tensor<1024xf32>, %p: tensor<1024xf32>):
    %at = "sinter.reshape"(%i) <{type = tensor<1xi64>}> : (tensor<i64>) -> tensor<1xi64>
    %f = sinter.convert %i {element_type = f32} : (tensor<i64>) -> tensor<f32>
    %g = "sinter.reshape"(%f) <{type = tensor<1xf32>}> : (tensor<f32>) -> tensor<1xf32>
    %b = sinter.dynamic_update_slice %a, %g, %at : (tensor<1024xf32>, tensor<1xf32>, tensor<1xi64>) -> tensor<1024xf32>
    sinter.yield(%b, %a, %a) : tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<1024xf32>, tensor<1024xf32>, tensor<?x1024xf32>
}
