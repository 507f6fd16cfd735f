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

// -----

// Both branches of each select are the two selects before: a walk without memory takes 2^28 steps.
// CHECK-LABEL: @folds_positions_that_are_read_twice_at_each_step
// CHECK-NOT:     check_positions
func.func @folds_positions_that_are_read_twice_at_each_step(%x: tensor<5x3xf32>, %c: tensor<3xi1>, %d: tensor<3xi1>) -> tensor<3xi64> {
  %v0 = sinter.arg_reduce max %x {axis = 0} : (tensor<5x3xf32>) -> tensor<3xi64>
  %w0 = sinter.arg_reduce min %x {axis = 0} : (tensor<5x3xf32>) -> tensor<3xi64>
  %v1 = sinter.select %c, %v0, %w0 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w1 = sinter.select %d, %w0, %v0 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v2 = sinter.select %c, %v1, %w1 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w2 = sinter.select %d, %w1, %v1 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v3 = sinter.select %c, %v2, %w2 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w3 = sinter.select %d, %w2, %v2 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v4 = sinter.select %c, %v3, %w3 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w4 = sinter.select %d, %w3, %v3 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v5 = sinter.select %c, %v4, %w4 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w5 = sinter.select %d, %w4, %v4 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v6 = sinter.select %c, %v5, %w5 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w6 = sinter.select %d, %w5, %v5 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v7 = sinter.select %c, %v6, %w6 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w7 = sinter.select %d, %w6, %v6 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v8 = sinter.select %c, %v7, %w7 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w8 = sinter.select %d, %w7, %v7 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v9 = sinter.select %c, %v8, %w8 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w9 = sinter.select %d, %w8, %v8 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v10 = sinter.select %c, %v9, %w9 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w10 = sinter.select %d, %w9, %v9 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v11 = sinter.select %c, %v10, %w10 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w11 = sinter.select %d, %w10, %v10 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v12 = sinter.select %c, %v11, %w11 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w12 = sinter.select %d, %w11, %v11 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v13 = sinter.select %c, %v12, %w12 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w13 = sinter.select %d, %w12, %v12 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v14 = sinter.select %c, %v13, %w13 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w14 = sinter.select %d, %w13, %v13 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v15 = sinter.select %c, %v14, %w14 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w15 = sinter.select %d, %w14, %v14 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v16 = sinter.select %c, %v15, %w15 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w16 = sinter.select %d, %w15, %v15 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v17 = sinter.select %c, %v16, %w16 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w17 = sinter.select %d, %w16, %v16 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v18 = sinter.select %c, %v17, %w17 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w18 = sinter.select %d, %w17, %v17 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v19 = sinter.select %c, %v18, %w18 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w19 = sinter.select %d, %w18, %v18 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v20 = sinter.select %c, %v19, %w19 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w20 = sinter.select %d, %w19, %v19 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v21 = sinter.select %c, %v20, %w20 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w21 = sinter.select %d, %w20, %v20 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v22 = sinter.select %c, %v21, %w21 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w22 = sinter.select %d, %w21, %v21 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v23 = sinter.select %c, %v22, %w22 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w23 = sinter.select %d, %w22, %v22 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v24 = sinter.select %c, %v23, %w23 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w24 = sinter.select %d, %w23, %v23 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v25 = sinter.select %c, %v24, %w24 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w25 = sinter.select %d, %w24, %v24 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v26 = sinter.select %c, %v25, %w25 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w26 = sinter.select %d, %w25, %v25 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v27 = sinter.select %c, %v26, %w26 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w27 = sinter.select %d, %w26, %v26 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %v28 = sinter.select %c, %v27, %w27 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %w28 = sinter.select %d, %w27, %v27 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %n = sinter.constant dense<5> : tensor<i64>
  %q = sinter.check_positions %v28, %n {axes = array<i64: 0>, what = "gather"} : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
  return %q : tensor<3xi64>
}
