// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter compile %s --emit=schedule --target=x86-64-v4 -o - | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: sinter compile %s --emit=schedule --target=x86-64-v2 -o - | FileCheck %s --check-prefixes=CHECK,SHORT
// REQUIRES: x86_64
//
// Products of few columns have vectors no longer than these need; one column has lanes along the sum.

// CHECK-LABEL: kernel @few_columns_k0_
// CHECK: schedule = #sinter.schedule<contraction, lanes = 4, tile = [{{[0-9]+}}, 1]
func.func @three(%x: tensor<4096x256xf32>, %w: tensor<256x3xf32>) -> tensor<4096x3xf32> {
  %0 = sinter.dot_general %x, %w {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4096x256xf32>, tensor<256x3xf32>) -> tensor<4096x3xf32>
  return %0 : tensor<4096x3xf32>
}

// CHECK-LABEL: kernel @few_columns_k1_
// WIDE: schedule = #sinter.schedule<contraction, lanes = 8, tile = [{{[0-9]+}}, 1]
// SHORT: schedule = #sinter.schedule<contraction, lanes = 4, tile = [{{[0-9]+}}, 2]
func.func @seven(%x: tensor<4096x256xf32>, %w: tensor<256x7xf32>) -> tensor<4096x7xf32> {
  %0 = sinter.dot_general %x, %w {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4096x256xf32>, tensor<256x7xf32>) -> tensor<4096x7xf32>
  return %0 : tensor<4096x7xf32>
}

// CHECK-LABEL: kernel @few_columns_k2_
// CHECK: schedule = #sinter.schedule<matrix_vector
func.func @one(%x: tensor<4096x256xf32>, %w: tensor<256x1xf32>) -> tensor<4096x1xf32> {
  %0 = sinter.dot_general %x, %w {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4096x256xf32>, tensor<256x1xf32>) -> tensor<4096x1xf32>
  return %0 : tensor<4096x1xf32>
}
