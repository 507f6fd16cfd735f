// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter check %s --input n=0
// RUN: sinter check %s --input n=9
//
// Scatter into a carry, in place; what it starts from is computed here and not copied either.
// RUN: sinter compile %s --emit=asm --target=x86-64-v3 -o - | FileCheck %s --implicit-check-not=memcpy
// CHECK-LABEL: scatter_run_scatter:
// CHECK: callq memcpy
// CHECK-NOT: memcpy

func.func @scatter(%n: tensor<i64> {sinter.name = "n"}, %x: tensor<8x64xf32>, %u: tensor<2x64xf32>) -> tensor<8x64xf32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %start = sinter.neg %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %r = sinter.for %zero to %n step %one (%start) captures(%u) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<8x64xf32>, tensor<2x64xf32>) -> tensor<8x64xf32> body {
  ^bb0(%i: tensor<i64>, %a: tensor<8x64xf32>, %v: tensor<2x64xf32>):
    %seven = sinter.constant dense<[[0], [5]]> : tensor<2x1xi64>
    %b = "sinter.scatter_nd"(%a, %seven, %v) <{combiner = #sinter<combiner add>}> : (tensor<8x64xf32>, tensor<2x1xi64>, tensor<2x64xf32>) -> tensor<8x64xf32>
    sinter.yield(%b) : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}
