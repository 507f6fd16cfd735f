// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --sinter-split-products --split-input-file %s | FileCheck %s

// Gradients of weights over all pixels of all images.
// CHECK-LABEL: @over_pixels
// CHECK-SAME: %[[X:.*]]: tensor<8x48x48x16xf32>, %[[D:.*]]: tensor<8x48x48x96xf32>
// CHECK-DAG: %[[ROWS:.*]] = sinter.reshape %[[X]] {type = tensor<32x576x16xf32>}
// CHECK-DAG: %[[COLUMNS:.*]] = sinter.reshape %[[D]] {type = tensor<32x576x96xf32>}
// CHECK: %[[ALL:.*]] = sinter.dot_general %[[ROWS]], %[[COLUMNS]] {{.*}} -> tensor<32x16x96xf32>
// CHECK: sinter.reduce add %[[ALL]] axes = [0]
func.func @over_pixels(%x: tensor<8x48x48x16xf32>, %d: tensor<8x48x48x96xf32>) -> tensor<16x96xf32> {
  %0 = sinter.dot_general %x, %d {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 0, 1, 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0, 1, 2>} : (tensor<8x48x48x16xf32>, tensor<8x48x48x96xf32>) -> tensor<16x96xf32>
  return %0 : tensor<16x96xf32>
}

// -----

// As many parts as divide the rows.
// CHECK-LABEL: @of_odd_rows
// CHECK: -> tensor<27x125x32xf32>
// CHECK: sinter.reduce add {{.*}} axes = [0]
func.func @of_odd_rows(%x: tensor<3375x24xf32>, %d: tensor<3375x32xf32>) -> tensor<24x32xf32> {
  %0 = sinter.dot_general %x, %d {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<3375x24xf32>, tensor<3375x32xf32>) -> tensor<24x32xf32>
  return %0 : tensor<24x32xf32>
}

// -----

// Partial results would be more to write and read than what the operands are.
// CHECK-LABEL: @many_results
// CHECK-NOT: sinter.reduce
func.func @many_results(%x: tensor<512x768xf32>, %d: tensor<512x3072xf32>) -> tensor<768x3072xf32> {
  %0 = sinter.dot_general %x, %d {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<512x768xf32>, tensor<512x3072xf32>) -> tensor<768x3072xf32>
  return %0 : tensor<768x3072xf32>
}

// -----

// No part divides a prime number of rows.
// CHECK-LABEL: @of_prime_rows
// CHECK-NOT: sinter.reduce
func.func @of_prime_rows(%x: tensor<4099x24xf32>, %d: tensor<4099x32xf32>) -> tensor<24x32xf32> {
  %0 = sinter.dot_general %x, %d {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4099x24xf32>, tensor<4099x32xf32>) -> tensor<24x32xf32>
  return %0 : tensor<24x32xf32>
}

// -----

// Sums of halves would be rounded between.
// CHECK-LABEL: @of_halves
// CHECK-NOT: sinter.reduce
func.func @of_halves(%x: tensor<8192x24xf16>, %d: tensor<8192x32xf16>) -> tensor<24x32xf16> {
  %0 = sinter.dot_general %x, %d {element_type = f16, lhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<8192x24xf16>, tensor<8192x32xf16>) -> tensor<24x32xf16>
  return %0 : tensor<24x32xf16>
}

// -----

module attributes {sinter.devices = ["cuda"]} {
// CHECK-LABEL: @for_devices
// CHECK-NOT: sinter.reduce
func.func @for_devices(%x: tensor<8192x24xf32>, %d: tensor<8192x32xf32>) -> tensor<24x32xf32> {
  %0 = sinter.dot_general %x, %d {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<8192x24xf32>, tensor<8192x32xf32>) -> tensor<24x32xf32>
  return %0 : tensor<24x32xf32>
}
}
