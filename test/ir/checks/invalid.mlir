// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @check_positions_c1_sizes_missing(%p: tensor<4x2xi64>, %size: tensor<i64>) -> tensor<4x2xi64> {
  // expected-error @+2 {{check_positions requires a size for each of 2 axes, got 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.check_positions %p, %size {axes = array<i64: 0, 1>, tuples = true, what = "gather_nd"} : (tensor<4x2xi64>, tensor<i64>) -> tensor<4x2xi64>
  return %0 : tensor<4x2xi64>
}

// -----

func.func @check_positions_c2_tuples_too_short(%p: tensor<4x1xi64>, %m: tensor<i64>, %n: tensor<i64>) -> tensor<4x1xi64> {
  // expected-error @+2 {{check_positions requires positions whose last axis has 2 elements, one for each axis, got 'tensor<4x1xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.check_positions %p, %m, %n {axes = array<i64: 0, 1>, tuples = true, what = "gather_nd"} : (tensor<4x1xi64>, tensor<i64>, tensor<i64>) -> tensor<4x1xi64>
  return %0 : tensor<4x1xi64>
}

// -----

func.func @check_positions_c2_axes_without_tuples(%p: tensor<4xi64>, %m: tensor<i64>, %n: tensor<i64>) -> tensor<4xi64> {
  // expected-error @+2 {{check_positions requires one axis without tuples, got 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.check_positions %p, %m, %n {axes = array<i64: 0, 1>, what = "gather"} : (tensor<4xi64>, tensor<i64>, tensor<i64>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

func.func @debug_print_c1_other_number(%x: tensor<4xf32>) {
  // expected-error @+2 {{debug_print requires a {} for each of 1 operands, at most 64, got 2}}
  // expected-error @+1 {{failed to infer returned types}}
  sinter.debug_print "{} {}" (%x) : tensor<4xf32>
  return
}
