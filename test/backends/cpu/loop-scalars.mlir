// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter check %s --input limit=0
// RUN: sinter check %s --input limit=1
// RUN: sinter check %s --input limit=200
// RUN: sinter check %s --input limit=200 -O0
//
// Scalars of several types as carries that change places, per-trip outputs, a branch on them.

func.func @scalars(%limit: tensor<f32> {sinter.name = "limit"}) -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<i1>, tensor<ui8>, tensor<?xf32>, tensor<?xi1>) {
  %a = sinter.constant dense<0.0> : tensor<f32>
  %b = sinter.constant dense<1.0> : tensor<f32>
  %no = sinter.constant dense<false> : tensor<i1>
  %count = sinter.constant dense<250> : tensor<ui8>
  %r:7 = sinter.while(%a, %b, %no, %count) captures(%limit) : (tensor<f32>, tensor<f32>, tensor<i1>, tensor<ui8>, tensor<f32>) -> (tensor<i64>, tensor<f32>, tensor<f32>, tensor<i1>, tensor<ui8>, tensor<?xf32>, tensor<?xi1>) cond {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i1>, %k: tensor<ui8>, %l: tensor<f32>):
    %go = sinter.compare lt %x, %l : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i1>, %k: tensor<ui8>, %l: tensor<f32>):
    %s = sinter.cond %p(%x, %y) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32> then {
    ^bb0(%u: tensor<f32>, %v: tensor<f32>):
      %w = sinter.add %u, %v : (tensor<f32>, tensor<f32>) -> tensor<f32>
      sinter.yield(%w) : tensor<f32>
    } else {
    ^bb0(%u: tensor<f32>, %v: tensor<f32>):
      %w = sinter.mul %u, %v : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %one = sinter.constant dense<1.0> : tensor<f32>
      %z = sinter.add %w, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
      sinter.yield(%z) : tensor<f32>
    }
    %q = sinter.not %p : (tensor<i1>) -> tensor<i1>
    %more = sinter.constant dense<3> : tensor<ui8>
    %n = sinter.add %k, %more : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
    sinter.yield(%y, %s, %q, %n, %s, %p) : tensor<f32>, tensor<f32>, tensor<i1>, tensor<ui8>, tensor<f32>, tensor<i1>
  }
  return %r#0, %r#1, %r#2, %r#3, %r#4, %r#5, %r#6 : tensor<i64>, tensor<f32>, tensor<f32>, tensor<i1>, tensor<ui8>, tensor<?xf32>, tensor<?xi1>
}
