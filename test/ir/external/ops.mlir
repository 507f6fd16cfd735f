// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --verify-roundtrip --canonicalize %s | FileCheck %s

// CHECK-LABEL: @call_of_known_sizes
// CHECK:         sinter.call_external "soft"(%{{.*}}) {dims = array<i64: 4, 8>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
func.func @call_of_known_sizes(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = sinter.call_external "soft" (%x) {dims = array<i64: 4, 8>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: @call_of_sizes_that_are_operands
// CHECK:         sinter.call_external "parts"(%{{.*}}) sizes(%{{.*}} : tensor<i64>) {dims = array<i64: -1>}
func.func @call_of_sizes_that_are_operands(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<i64>) {
  %n = sinter.dim %x {axis = 0} : (tensor<?xf32>) -> tensor<i64>
  %y, %k = sinter.call_external "parts" (%x) sizes (%n : tensor<i64>) {dims = array<i64: -1>} : (tensor<?xf32>) -> (tensor<?xf32>, tensor<i64>)
  return %y, %k : tensor<?xf32>, tensor<i64>
}

// What nobody reads is not called.
// CHECK-LABEL: @unused_call_goes
// CHECK-NOT:     call_external
func.func @unused_call_goes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = sinter.call_external "soft" (%x) {dims = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}
