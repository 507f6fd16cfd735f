// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @call_external_c1_no_name(%x: tensor<4xf32>) {
  // expected-error @+1 {{requires the name of a C function, got '2 words'}}
  %y = sinter.call_external "2 words" (%x) {dims = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @call_external_c2_dims_differ(%x: tensor<4xf32>) {
  // expected-error @+1 {{requires dims for the 1 axes of its results, got [5]}}
  %y = sinter.call_external "f" (%x) {dims = array<i64: 5>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @call_external_c3_no_size(%x: tensor<?xf32>) {
  // expected-error @+1 {{requires a size for each of 1 open dims, got 0}}
  %y = sinter.call_external "f" (%x) {dims = array<i64: -1>} : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @call_external_c4_no_result(%x: tensor<4xf32>) {
  // expected-error @+1 {{requires a result and at most 64 operands and results, got 1}}
  sinter.call_external "f" (%x) {dims = array<i64>} : (tensor<4xf32>) -> ()
  return
}
