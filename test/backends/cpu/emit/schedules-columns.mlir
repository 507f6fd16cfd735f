// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Greatest elements and running sums along rows and down columns, with lanes and chunks that nobody would choose; what
// is computed of the operand before, and of positions after, shares the kernel.
// RUN: sinter check %s
// REQUIRES: x86_64
func.func @columns(%x: tensor<5x37x45xf32>, %q: tensor<6x70xi32>) -> (tensor<5x37xi64>, tensor<5x37xi64>, tensor<5x45xi64>, tensor<6xi64>, tensor<5x37x45xf32>, tensor<5x37x45xf32>, tensor<6x70xi32>) {
  %k0 = sinter.kernel reduce(%x) {schedule = #sinter.schedule<arg_reduce, lanes = 2, chunk = 100>} : (tensor<5x37x45xf32>) -> tensor<5x37xi64> {
  ^bb0(%a: tensor<5x37x45xf32>):
    %n = sinter.neg %a : (tensor<5x37x45xf32>) -> tensor<5x37x45xf32>
    %p = sinter.arg_reduce max %n {axis = 2 : i64} : (tensor<5x37x45xf32>) -> tensor<5x37xi64>
    %s = sinter.add %p, %p : (tensor<5x37xi64>, tensor<5x37xi64>) -> tensor<5x37xi64>
    sinter.yield (%s) : tensor<5x37xi64>
  }
  %k1 = sinter.kernel reduce(%x) {schedule = #sinter.schedule<arg_reduce, lanes = 4, chunk = 1>} : (tensor<5x37x45xf32>) -> tensor<5x37xi64> {
  ^bb0(%a: tensor<5x37x45xf32>):
    %p = sinter.arg_reduce min %a {axis = 2 : i64, last = true} : (tensor<5x37x45xf32>) -> tensor<5x37xi64>
    sinter.yield (%p) : tensor<5x37xi64>
  }
  %k2 = sinter.kernel reduce(%x) {schedule = #sinter.schedule<arg_reduce, lanes = 4, chunk = 300>} : (tensor<5x37x45xf32>) -> tensor<5x45xi64> {
  ^bb0(%a: tensor<5x37x45xf32>):
    %p = sinter.arg_reduce max %a {axis = 1 : i64} : (tensor<5x37x45xf32>) -> tensor<5x45xi64>
    %s = sinter.neg %p : (tensor<5x45xi64>) -> tensor<5x45xi64>
    sinter.yield (%s) : tensor<5x45xi64>
  }
  %k3 = sinter.kernel reduce(%q) {schedule = #sinter.schedule<arg_reduce, lanes = 2, chunk = 1>} : (tensor<6x70xi32>) -> tensor<6xi64> {
  ^bb0(%a: tensor<6x70xi32>):
    %p = sinter.arg_reduce min %a {axis = 1 : i64} : (tensor<6x70xi32>) -> tensor<6xi64>
    sinter.yield (%p) : tensor<6xi64>
  }
  %k4 = sinter.kernel single(%x) {schedule = #sinter.schedule<running, lanes = 4, chunk = 1>} : (tensor<5x37x45xf32>) -> tensor<5x37x45xf32> {
  ^bb0(%a: tensor<5x37x45xf32>):
    %n = sinter.neg %a : (tensor<5x37x45xf32>) -> tensor<5x37x45xf32>
    %c = sinter.cumulative add %n {axis = 1 : i64, exclusive = true} : (tensor<5x37x45xf32>) -> tensor<5x37x45xf32>
    sinter.yield (%c) : tensor<5x37x45xf32>
  }
  %k5 = sinter.kernel single(%x) {schedule = #sinter.schedule<running, lanes = 1, chunk = 500>} : (tensor<5x37x45xf32>) -> tensor<5x37x45xf32> {
  ^bb0(%a: tensor<5x37x45xf32>):
    %c = sinter.cumulative max %a {axis = 1 : i64, reverse = true} : (tensor<5x37x45xf32>) -> tensor<5x37x45xf32>
    sinter.yield (%c) : tensor<5x37x45xf32>
  }
  %k6 = sinter.kernel single(%q) {schedule = #sinter.schedule<running, lanes = 2, chunk = 1>} : (tensor<6x70xi32>) -> tensor<6x70xi32> {
  ^bb0(%a: tensor<6x70xi32>):
    %c = sinter.cumulative add %a {axis = 0 : i64} : (tensor<6x70xi32>) -> tensor<6x70xi32>
    sinter.yield (%c) : tensor<6x70xi32>
  }
  return %k0, %k1, %k2, %k3, %k4, %k5, %k6 : tensor<5x37xi64>, tensor<5x37xi64>, tensor<5x45xi64>, tensor<6xi64>, tensor<5x37x45xf32>, tensor<5x37x45xf32>, tensor<6x70xi32>
}
