// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter check %s --input n=0 --input m=3
// RUN: sinter check %s --input n=3 --input m=0
// RUN: sinter check %s --input n=1 --input m=1
// RUN: sinter check %s --input n=4 --input m=5
//
// The inner loop updates the outer loop's carry in its place; both read a capture.

func.func @nested(%n: tensor<i64> {sinter.name = "n"}, %m: tensor<i64> {sinter.name = "m"}, %x: tensor<1024xf32>, %scale: tensor<f32>) -> (tensor<1024xf32>, tensor<f32>) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %start = sinter.constant dense<0.0> : tensor<f32>
  %r:2 = sinter.for %zero to %n step %one (%x, %start) captures(%m, %scale) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<1024xf32>, tensor<f32>, tensor<i64>, tensor<f32>) -> (tensor<1024xf32>, tensor<f32>) body {
  ^bb0(%i: tensor<i64>, %a: tensor<1024xf32>, %t: tensor<f32>, %mm: tensor<i64>, %c: tensor<f32>):
    %zero2 = sinter.constant dense<0> : tensor<i64>
    %one2 = sinter.constant dense<1> : tensor<i64>
    %s:2 = sinter.for %zero2 to %mm step %one2 (%a, %t) captures(%c, %i) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<1024xf32>, tensor<f32>, tensor<f32>, tensor<i64>) -> (tensor<1024xf32>, tensor<f32>) body {
    ^bb0(%j: tensor<i64>, %b: tensor<1024xf32>, %u: tensor<f32>, %d: tensor<f32>, %k: tensor<i64>):
      %sum = sinter.add %j, %k : (tensor<i64>, tensor<i64>) -> tensor<i64>
      %at = "sinter.reshape"(%sum) <{type = tensor<1xi64>}> : (tensor<i64>) -> tensor<1xi64>
      %f = sinter.convert %sum {element_type = f32} : (tensor<i64>) -> tensor<f32>
      %g = sinter.mul %f, %d : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %h = "sinter.reshape"(%g) <{type = tensor<1xf32>}> : (tensor<f32>) -> tensor<1xf32>
      %e = sinter.dynamic_update_slice %b, %h, %at : (tensor<1024xf32>, tensor<1xf32>, tensor<1xi64>) -> tensor<1024xf32>
      %v = sinter.add %u, %g : (tensor<f32>, tensor<f32>) -> tensor<f32>
      sinter.yield(%e, %v) : tensor<1024xf32>, tensor<f32>
    }
    sinter.yield(%s#0, %s#1) : tensor<1024xf32>, tensor<f32>
  }
  return %r#0, %r#1 : tensor<1024xf32>, tensor<f32>
}
