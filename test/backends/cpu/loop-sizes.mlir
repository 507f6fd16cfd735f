// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter check %s --input n=0
// RUN: sinter check %s --input n=1
// RUN: sinter check %s --input n=50
// RUN: sinter check %s --input n=50 -O0
//
// Carries of a size that is found only at run time: one is updated at one index where it lies, two exchange their memory.
// Memory is acquired and filled before the loop (one copy each), a trip does neither.
// RUN: sinter compile %s --emit=asm --target=x86-64-v3 -o - | FileCheck %s
// CHECK-LABEL: loop_sizes_run_sizes:
// CHECK-COUNT-3: callq memcpy
// CHECK-NOT: callq
// CHECK: vmovss %xmm{{[0-9]+}}, (%r
// CHECK-NOT: callq
// CHECK: jmp
// CHECK-COUNT-3: callq memcpy
// CHECK-NOT: callq memcpy

func.func @sizes(%n: tensor<i64> {sinter.name = "n"}, %keep: tensor<9xf32>, %x: tensor<9xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %level = sinter.constant dense<0.3> : tensor<9xf32>
  %some = sinter.compare gt %keep, %level : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xi1>
  %s = sinter.compress %x, %some {axis = 0 : i64} : (tensor<9xf32>, tensor<9xi1>) -> tensor<?xf32>
  %t = sinter.neg %s : (tensor<?xf32>) -> tensor<?xf32>
  %r:3 = sinter.for %zero to %n step %one (%s, %s, %t) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) body {
  ^bb0(%i: tensor<i64>, %a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>):
    %at = "sinter.reshape"(%i) <{type = tensor<1xi64>}> : (tensor<i64>) -> tensor<1xi64>
    %f = sinter.convert %i {element_type = f32} : (tensor<i64>) -> tensor<f32>
    %g = "sinter.reshape"(%f) <{type = tensor<1xf32>}> : (tensor<f32>) -> tensor<1xf32>
    %u = sinter.dynamic_update_slice %a, %g, %at : (tensor<?xf32>, tensor<1xf32>, tensor<1xi64>) -> tensor<?xf32>
    sinter.yield(%u, %c, %b) : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
