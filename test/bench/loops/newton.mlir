// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: sinter compile %s --emit=asm --target=x86-64-v3 -o - | FileCheck %s
//
// Newton's method on f(x) = x^3 - a until the step is small.

func.func @newton(%a: tensor<f32> {sinter.name = "a"}) -> (tensor<f32> {sinter.name = "x"}, tensor<i64> {sinter.name = "steps"}) {
  %start = sinter.constant dense<1.0> : tensor<f32>
  %step = sinter.constant dense<1.0> : tensor<f32>
  %n, %x, %last = sinter.while(%start, %step) captures(%a) : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<i64>, tensor<f32>, tensor<f32>) cond {
  ^bb0(%x: tensor<f32>, %d: tensor<f32>, %a0: tensor<f32>):
    %small = sinter.constant dense<1.0e-6> : tensor<f32>
    %size = sinter.abs %d : (tensor<f32>) -> tensor<f32>
    %go = sinter.compare gt %size, %small : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%x: tensor<f32>, %d: tensor<f32>, %a0: tensor<f32>):
    %three = sinter.constant dense<3.0> : tensor<f32>
    %xx = sinter.mul %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %xxx = sinter.mul %xx, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %f = sinter.sub %xxx, %a0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %slope = sinter.mul %three, %xx : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %q = sinter.div %f, %slope : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %next = sinter.sub %x, %q : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield(%next, %q) : tensor<f32>, tensor<f32>
  }
  return %x, %n : tensor<f32>, tensor<i64>
}

// A trip is arithmetic in registers; only one of 256 looks at memory, whether the call was cancelled.
// CHECK-LABEL: newton_run_newton:
// CHECK: cmpl $0, 16(%r{{[a-z0-9]+}})
// CHECK-NOT: {{call|%rsp|\(%r}}
// CHECK: vdivss
// CHECK-NOT: {{call|%rsp|\(%r}}
// CHECK: j{{mp|e|ne}}
