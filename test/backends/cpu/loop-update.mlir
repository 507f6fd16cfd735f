// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter check %s --input n=0
// RUN: sinter check %s --input n=1
// RUN: sinter check %s --input n=1000
// RUN: sinter check %s --input n=1000 -O0
//
// A carry of 1 MiB that changes at one index is not copied per trip: once before the loop, because the input is the caller's, and
// once after it.
// RUN: sinter compile %s --emit=asm --target=x86-64-v3 -o - | FileCheck %s
// CHECK-LABEL: update_run_update:
// CHECK: callq memcpy
// CHECK-NOT: call
// CHECK: vaddss (%r[[CARRY:[a-z0-9]+]],%r[[AT:[a-z0-9]+]],4)
// CHECK-NOT: call
// CHECK: vmovss %xmm{{[0-9]+}}, (%r[[CARRY]],%r[[AT]],4)
// CHECK-NOT: memcpy
// CHECK: callq *56(
// CHECK: callq memcpy
// CHECK-NOT: memcpy

func.func @update(%n: tensor<i64> {sinter.name = "n"}, %x: tensor<262144xf32>) -> tensor<262144xf32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %r = sinter.for %zero to %n step %one (%x) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<262144xf32>) -> tensor<262144xf32> body {
  ^bb0(%i: tensor<i64>, %a: tensor<262144xf32>):
    %at = "sinter.reshape"(%i) <{type = tensor<1xi64>}> : (tensor<i64>) -> tensor<1xi64>
    %f = sinter.convert %i {element_type = f32} : (tensor<i64>) -> tensor<f32>
    %g = "sinter.reshape"(%f) <{type = tensor<1xf32>}> : (tensor<f32>) -> tensor<1xf32>
    %old = sinter.dynamic_slice %a, %at {sizes = array<i64: 1>} : (tensor<262144xf32>, tensor<1xi64>) -> tensor<1xf32>
    %new = sinter.add %old, %g : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %b = sinter.dynamic_update_slice %a, %new, %at : (tensor<262144xf32>, tensor<1xf32>, tensor<1xi64>) -> tensor<262144xf32>
    sinter.yield(%b) : tensor<262144xf32>
  }
  return %r : tensor<262144xf32>
}
