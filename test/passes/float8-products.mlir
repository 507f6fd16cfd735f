// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of 8-bit floats, for devices: bytes with what is summed inside, scales behind.
// RUN: sinter-opt --split-input-file --sinter-multiply-integers --canonicalize %s | FileCheck %s

// CHECK-LABEL: @columns_lie_side_by_side
// CHECK: %[[A:.*]] = sinter.decode_float8 %arg0
// CHECK: %[[T:.*]] = sinter.transpose %arg1 {permutation = array<i64: 1, 0>} : (tensor<8x3xui8>) -> tensor<3x8xui8>
// CHECK: %[[B:.*]] = sinter.decode_float8 %[[T]]
// CHECK: sinter.dot_general %[[A]], %[[B]] {{.*}}rhs_contract = array<i64: 1>
module attributes {sinter.devices = {cuda = "sm_80"}} {
  func.func @columns_lie_side_by_side(%x: tensor<2x8xui8>, %y: tensor<8x3xui8>) -> tensor<2x3xf16> {
    %0 = sinter.decode_float8 %x {element_type = f16, format = f8E4M3FN} : (tensor<2x8xui8>) -> tensor<2x8xf16>
    %1 = sinter.decode_float8 %y {element_type = f16, format = f8E5M2} : (tensor<8x3xui8>) -> tensor<8x3xf16>
    %2 = sinter.dot_general %0, %1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f16} : (tensor<2x8xf16>, tensor<8x3xf16>) -> tensor<2x3xf16>
    return %2 : tensor<2x3xf16>
  }
}

// -----

// CHECK-LABEL: @scaled_and_turned
// CHECK-NOT: transpose
// CHECK: %[[D:.*]] = sinter.dot_general {{.*}}rhs_contract = array<i64: 1>
// CHECK: %[[S:.*]] = sinter.broadcast %arg2
// CHECK: sinter.mul %[[D]], %[[S]] : (tensor<2x3xf32>
module attributes {sinter.devices = {cuda = "sm_80"}} {
  func.func @scaled_and_turned(%x: tensor<2x8xui8>, %y: tensor<3x8xui8>, %s: tensor<f32>) -> tensor<2x3xf32> {
    %0 = sinter.decode_float8 %x {element_type = f32, format = f8E4M3FN} : (tensor<2x8xui8>) -> tensor<2x8xf32>
    %1 = sinter.decode_float8 %y {element_type = f32, format = f8E4M3FN} : (tensor<3x8xui8>) -> tensor<3x8xf32>
    %2 = sinter.broadcast %s axes = [] {type = tensor<3x8xf32>} : (tensor<f32>) -> tensor<3x8xf32>
    %3 = sinter.mul %1, %2 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
    %4 = sinter.transpose %3 {permutation = array<i64: 1, 0>} : (tensor<3x8xf32>) -> tensor<8x3xf32>
    %5 = sinter.dot_general %0, %4 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2x8xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
    return %5 : tensor<2x3xf32>
  }
}

// -----

// The host's products stay as they are written; so do those whose scale is another for each row that is summed.

// CHECK-LABEL: @on_the_host
// CHECK-NOT: transpose
func.func @on_the_host(%x: tensor<2x8xui8>, %y: tensor<8x3xui8>) -> tensor<2x3xf16> {
  %0 = sinter.decode_float8 %x {element_type = f16, format = f8E4M3FN} : (tensor<2x8xui8>) -> tensor<2x8xf16>
  %1 = sinter.decode_float8 %y {element_type = f16, format = f8E5M2} : (tensor<8x3xui8>) -> tensor<8x3xf16>
  %2 = sinter.dot_general %0, %1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f16} : (tensor<2x8xf16>, tensor<8x3xf16>) -> tensor<2x3xf16>
  return %2 : tensor<2x3xf16>
}

// -----

// CHECK-LABEL: @other_scales_along_the_sum
// CHECK: %[[W:.*]] = sinter.mul
// CHECK: sinter.dot_general %{{.*}}, %[[W]]
module attributes {sinter.devices = {cuda = "sm_80"}} {
  func.func @other_scales_along_the_sum(%x: tensor<2x8xui8>, %y: tensor<3x8xui8>, %s: tensor<8xf32>) -> tensor<2x3xf32> {
    %0 = sinter.decode_float8 %x {element_type = f32, format = f8E4M3FN} : (tensor<2x8xui8>) -> tensor<2x8xf32>
    %1 = sinter.decode_float8 %y {element_type = f32, format = f8E4M3FN} : (tensor<3x8xui8>) -> tensor<3x8xf32>
    %2 = sinter.broadcast %s axes = [1] {type = tensor<3x8xf32>} : (tensor<8xf32>) -> tensor<3x8xf32>
    %3 = sinter.mul %1, %2 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
    %4 = sinter.dot_general %0, %3 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<2x3xf32>
    return %4 : tensor<2x3xf32>
  }
}

// -----

// CHECK-LABEL: @a_scale_for_each_column
// CHECK: %[[T:.*]] = sinter.transpose %arg1
// CHECK: %[[W:.*]] = sinter.decode_float8 %[[T]]
// CHECK: %[[D:.*]] = sinter.dot_general %{{.*}}, %[[W]]
// CHECK: %[[S:.*]] = sinter.broadcast %arg2{{.*}} axes = [2]
// CHECK: sinter.mul %[[D]], %[[S]] : (tensor<5x2x3xf32>
module attributes {sinter.devices = {cuda = "sm_80"}} {
  func.func @a_scale_for_each_column(%x: tensor<5x2x8xui8>, %y: tensor<5x8x3xui8>, %s: tensor<3xf32>) -> tensor<5x2x3xf32> {
    %0 = sinter.decode_float8 %x {element_type = f32, format = f8E4M3FN} : (tensor<5x2x8xui8>) -> tensor<5x2x8xf32>
    %1 = sinter.decode_float8 %y {element_type = f32, format = f8E4M3FN} : (tensor<5x8x3xui8>) -> tensor<5x8x3xf32>
    %2 = sinter.broadcast %s axes = [2] {type = tensor<5x8x3xf32>} : (tensor<3xf32>) -> tensor<5x8x3xf32>
    %3 = sinter.mul %1, %2 : (tensor<5x8x3xf32>, tensor<5x8x3xf32>) -> tensor<5x8x3xf32>
    %4 = sinter.dot_general %0, %3 {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<5x2x8xf32>, tensor<5x8x3xf32>) -> tensor<5x2x3xf32>
    return %4 : tensor<5x2x3xf32>
  }
}

// -----

// Weights of numbers of 16 bits: no bytes move, the sums are f32 and so is what they are multiplied with.

// CHECK-LABEL: @weights_of_16_bits
// CHECK-NOT: transpose
// CHECK: %[[W:.*]] = sinter.decode_float8 %arg1 {element_type = f16
// CHECK: %[[D:.*]] = sinter.dot_general %arg0, %[[W]] {{.*}} -> tensor<2x3xf32>
// CHECK: %[[S:.*]] = sinter.convert %arg2 {element_type = f32}
// CHECK: %[[B:.*]] = sinter.broadcast %[[S]] axes = [1]
// CHECK: %[[P:.*]] = sinter.mul %[[D]], %[[B]] : (tensor<2x3xf32>
// CHECK: sinter.convert %[[P]] {element_type = f16}
module attributes {sinter.devices = {cuda = "sm_80"}} {
  func.func @weights_of_16_bits(%x: tensor<2x8xf16>, %y: tensor<8x3xui8>, %s: tensor<3xf16>) -> tensor<2x3xf16> {
    %0 = sinter.decode_float8 %y {element_type = f32, format = f8E4M3FN} : (tensor<8x3xui8>) -> tensor<8x3xf32>
    %1 = sinter.convert %0 {element_type = f16} : (tensor<8x3xf32>) -> tensor<8x3xf16>
    %2 = sinter.broadcast %s axes = [1] {type = tensor<8x3xf16>} : (tensor<3xf16>) -> tensor<8x3xf16>
    %3 = sinter.mul %1, %2 : (tensor<8x3xf16>, tensor<8x3xf16>) -> tensor<8x3xf16>
    %4 = sinter.dot_general %x, %3 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f16} : (tensor<2x8xf16>, tensor<8x3xf16>) -> tensor<2x3xf16>
    return %4 : tensor<2x3xf16>
  }
}

// -----

// The same on the left side, of f32 that the policy has multiply in 16 bits.

// CHECK-LABEL: @weights_by_policy
// CHECK: %[[W:.*]] = sinter.decode_float8 %arg0 {element_type = f32
// CHECK: %[[D:.*]] = sinter.dot_general %[[W]], %arg1 {{.*}}lhs_contract = array<i64: 1>
// CHECK: %[[S:.*]] = sinter.broadcast %arg2 axes = [0]
// CHECK: sinter.mul %[[D]], %[[S]] : (tensor<3x2xf32>
module attributes {sinter.devices = {cuda = "sm_80"}, sinter.precision = {dot_general = bf16}} {
  func.func @weights_by_policy(%y: tensor<3x8xui8>, %x: tensor<8x2xf32>, %s: tensor<3xf32>) -> tensor<3x2xf32> {
    %0 = sinter.decode_float8 %y {element_type = f32, format = f8E5M2} : (tensor<3x8xui8>) -> tensor<3x8xf32>
    %1 = sinter.broadcast %s axes = [0] {type = tensor<3x8xf32>} : (tensor<3xf32>) -> tensor<3x8xf32>
    %2 = sinter.mul %0, %1 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
    %3 = sinter.dot_general %2, %x {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<3x8xf32>, tensor<8x2xf32>) -> tensor<3x2xf32>
    return %3 : tensor<3x2xf32>
  }
}

// -----

// f32 stays f32 without a policy, and a scale for each number that is summed stays where it is.

// CHECK-LABEL: @f32_without_a_policy
// CHECK: %[[W:.*]] = sinter.mul
// CHECK: sinter.dot_general %arg0, %[[W]]
module attributes {sinter.devices = {cuda = "sm_80"}} {
  func.func @f32_without_a_policy(%x: tensor<2x8xf32>, %y: tensor<8x3xui8>, %s: tensor<f32>) -> tensor<2x3xf32> {
    %0 = sinter.decode_float8 %y {element_type = f32, format = f8E4M3FN} : (tensor<8x3xui8>) -> tensor<8x3xf32>
    %1 = sinter.broadcast %s axes = [] {type = tensor<8x3xf32>} : (tensor<f32>) -> tensor<8x3xf32>
    %2 = sinter.mul %0, %1 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    %3 = sinter.dot_general %x, %2 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2x8xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
    return %3 : tensor<2x3xf32>
  }
}

// -----

// CHECK-LABEL: @a_scale_for_each_k
// CHECK: %[[W:.*]] = sinter.mul
// CHECK: sinter.dot_general %arg0, %[[W]] {{.*}} -> tensor<2x3xf16>
module attributes {sinter.devices = {cuda = "sm_80"}} {
  func.func @a_scale_for_each_k(%x: tensor<2x8xf16>, %y: tensor<8x3xui8>, %s: tensor<8xf16>) -> tensor<2x3xf16> {
    %0 = sinter.decode_float8 %y {element_type = f16, format = f8E4M3FN} : (tensor<8x3xui8>) -> tensor<8x3xf16>
    %1 = sinter.broadcast %s axes = [0] {type = tensor<8x3xf16>} : (tensor<8xf16>) -> tensor<8x3xf16>
    %2 = sinter.mul %0, %1 : (tensor<8x3xf16>, tensor<8x3xf16>) -> tensor<8x3xf16>
    %3 = sinter.dot_general %x, %2 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f16} : (tensor<2x8xf16>, tensor<8x3xf16>) -> tensor<2x3xf16>
    return %3 : tensor<2x3xf16>
  }
}

// -----

// Weights whose summed axes are apart are turned as bytes: a kernel reads them as a matrix.

// CHECK-LABEL: @summed_axes_that_are_apart
// CHECK: %[[T:.*]] = sinter.transpose %arg1 {permutation = array<i64: 1, 0, 2>} : (tensor<2x3x4xui8>)
// CHECK: %[[W:.*]] = sinter.decode_float8 %[[T]]
// CHECK: sinter.dot_general %arg0, %[[W]] {{.*}}rhs_contract = array<i64: 1, 2>
module attributes {sinter.devices = {cuda = "sm_80"}} {
  func.func @summed_axes_that_are_apart(%x: tensor<5x2x4xf16>, %y: tensor<2x3x4xui8>) -> tensor<5x3xf16> {
    %0 = sinter.decode_float8 %y {element_type = f16, format = f8E4M3FN} : (tensor<2x3x4xui8>) -> tensor<2x3x4xf16>
    %1 = sinter.dot_general %x, %0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1, 2>, rhs_contract = array<i64: 0, 2>, element_type = f16} : (tensor<5x2x4xf16>, tensor<2x3x4xf16>) -> tensor<5x3xf16>
    return %1 : tensor<5x3xf16>
  }
}
