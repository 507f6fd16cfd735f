// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter check %s
//
// A gradient of what was gathered starts as zeros, which are written and not copied from a constant.
// RUN: sinter compile %s --emit=asm --target=x86-64-v3 -o - | FileCheck %s --implicit-check-not=memcpy
// CHECK: callq memset

func.func @scatter(%u: tensor<2x64xf32>) -> tensor<500x64xf32> {
  %zero = sinter.constant dense<0.0> : tensor<500x64xf32>
  %at = sinter.constant dense<[[3], [3]]> : tensor<2x1xi64>
  %r = "sinter.scatter_nd"(%zero, %at, %u) <{combiner = #sinter<combiner add>}> : (tensor<500x64xf32>, tensor<2x1xi64>, tensor<2x64xf32>) -> tensor<500x64xf32>
  return %r : tensor<500x64xf32>
}
