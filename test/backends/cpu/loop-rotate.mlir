// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter check %s --input n=0
// RUN: sinter check %s --input n=1
// RUN: sinter check %s --input n=7
// RUN: sinter check %s --input n=7 -O0
//
// Carries that take one another's old values exchange buffers; nothing is copied.
// RUN: sinter compile %s --emit=asm --target=x86-64-v3 -o - | FileCheck %s
// CHECK-LABEL: rotate_run_rotate:
// CHECK-COUNT-3: callq memcpy
// CHECK: vaddps
// CHECK-COUNT-3: callq memcpy
// CHECK-NOT: callq memcpy

func.func @rotate(%n: tensor<i64> {sinter.name = "n"}, %a: tensor<1024xf32>, %b: tensor<1024xf32>, %c: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %r:3 = sinter.for %zero to %n step %one (%a, %b, %c) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>) body {
  ^bb0(%i: tensor<i64>, %x: tensor<1024xf32>, %y: tensor<1024xf32>, %z: tensor<1024xf32>):
    %s = sinter.add %x, %z : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
    sinter.yield(%y, %z, %s) : tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>
}
