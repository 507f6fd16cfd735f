// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter run %s --input n=1000000 --print | FileCheck %s
//
// A million trips.
// CHECK: {{.*}}1e+06

func.func @million(%n: tensor<i64> {sinter.name = "n"}) -> tensor<f32> {
  %start = sinter.constant dense<0.0> : tensor<f32>
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %r = sinter.for %zero to %n step %one (%start) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>) -> tensor<f32> body {
  ^bb0(%i: tensor<i64>, %a: tensor<f32>):
    %c = sinter.constant dense<1.0> : tensor<f32>
    %s = sinter.add %a, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield(%s) : tensor<f32>
  }
  return %r : tensor<f32>
}
