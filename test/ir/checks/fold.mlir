// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --canonicalize --split-input-file %s | FileCheck %s

// CHECK-LABEL: @folds_constants_inside
// CHECK-NOT:     check_positions
func.func @folds_constants_inside(%x: tensor<5xf32>) -> tensor<2xf32> {
  %p = sinter.constant dense<[-5, 4]> : tensor<2xi64>
  %n = sinter.constant dense<5> : tensor<i64>
  %q = sinter.check_positions %p, %n {axes = array<i64: 0>, what = "gather"} : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %0 = sinter.gather %x, %q {axis = 0} : (tensor<5xf32>, tensor<2xi64>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// CHECK-LABEL: @keeps_a_constant_outside
// CHECK:         sinter.check_positions
func.func @keeps_a_constant_outside(%x: tensor<5xf32>) -> tensor<2xf32> {
  %p = sinter.constant dense<[-6, 4]> : tensor<2xi64>
  %n = sinter.constant dense<5> : tensor<i64>
  %q = sinter.check_positions %p, %n {axes = array<i64: 0>, what = "gather"} : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %0 = sinter.gather %x, %q {axis = 0} : (tensor<5xf32>, tensor<2xi64>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// CHECK-LABEL: @folds_positions_of_the_greatest
// CHECK-NOT:     check_positions
func.func @folds_positions_of_the_greatest(%x: tensor<3x5xf32>) -> tensor<3xi64> {
  %p = sinter.arg_reduce max %x {axis = 1} : (tensor<3x5xf32>) -> tensor<3xi64>
  %n = sinter.constant dense<5> : tensor<i64>
  %q = sinter.check_positions %p, %n {axes = array<i64: 0>, what = "gather"} : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
  return %q : tensor<3xi64>
}

// -----

// CHECK-LABEL: @drops_a_check_that_nobody_reads
// CHECK-NOT:     check_positions
func.func @drops_a_check_that_nobody_reads(%p: tensor<2xi64>, %n: tensor<i64>) {
  %q = sinter.check_positions %p, %n {axes = array<i64: 0>, what = "gather"} : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  return
}
