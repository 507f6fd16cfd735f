// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --sinter-widen-products --split-input-file | FileCheck %s

// Without instructions for pairs of bf16: where x is rounded, in the kernel that makes it, and not for each block of the
// product.
module attributes {sinter.target = #sinter.target<"plain", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v4", features = "", requires = "", capabilities = [fma, half_conversion, masked_memory], vector_bits = 512, registers = 32, l1 = 32768 x 8, l2 = 1048576, l3 = 16777216, line = 64, panel = 128>} {

// CHECK-LABEL: @operands_become_f32_where_they_are_rounded
// CHECK: %[[N:.*]] = sinter.convert %arg0 {element_type = bf16}
// CHECK-NEXT: %[[X:.*]] = sinter.convert %[[N]] {element_type = f32}
// CHECK: %[[T:.*]] = sinter.transpose %[[X]]
// CHECK: sinter.dot_general %[[T]], %{{.*}} : (tensor<64x32xf32>, tensor<32x48xf32>)
func.func @operands_become_f32_where_they_are_rounded(%x: tensor<32x64xf32>, %y: tensor<32x48xbf16>) -> tensor<64x48xf32> {
  %n = sinter.convert %x {element_type = bf16} : (tensor<32x64xf32>) -> tensor<32x64xbf16>
  %t = sinter.transpose %n {permutation = array<i64: 1, 0>} : (tensor<32x64xbf16>) -> tensor<64x32xbf16>
  %z = sinter.dot_general %t, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xf32>
  return %z : tensor<64x48xf32>
}

// CHECK-LABEL: @constants_of_matrix_products_stay_in_16_bits
// CHECK: %[[W:.*]] = sinter.constant {{.*}}xbf16>
// CHECK: sinter.dot_general %{{.*}}, %[[W]] {{.*}} : (tensor<32x64xf32>, tensor<64x48xbf16>)
func.func @constants_of_matrix_products_stay_in_16_bits(%x: tensor<32x64xbf16>) -> tensor<32x48xf32> {
  %w = sinter.constant dense<1.5> : tensor<64x48xbf16>
  %z = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xf32>
  return %z : tensor<32x48xf32>
}

// CHECK-LABEL: @filters_become_f32
// CHECK: sinter.constant dense<1.500000e+00> : tensor<32x16x3x3xf32>
// CHECK-NOT: sinter.convert {{.*}}tensor<32x16
// CHECK: sinter.convolution {{.*}} : (tensor<1x16x8x8xf32>, tensor<32x16x3x3xf32>)
func.func @filters_become_f32(%x: tensor<1x16x8x8xbf16>) -> tensor<1x32x6x6xf32> {
  %w = sinter.constant dense<1.5> : tensor<32x16x3x3xbf16>
  %y = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_first>, element_type = f32} : (tensor<1x16x8x8xbf16>, tensor<32x16x3x3xbf16>) -> tensor<1x32x6x6xf32>
  return %y : tensor<1x32x6x6xf32>
}

// A row that is multiplied with a matrix reads the matrix once: memory is what it waits for.
// CHECK-LABEL: @what_few_rows_read_stays_in_16_bits
// CHECK: sinter.dot_general {{.*}} : (tensor<2x64xf32>, tensor<64x48xbf16>)
func.func @what_few_rows_read_stays_in_16_bits(%x: tensor<2x64xbf16>, %y: tensor<64x48xbf16>) -> tensor<2x48xf32> {
  %z = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2x64xbf16>, tensor<64x48xbf16>) -> tensor<2x48xf32>
  return %z : tensor<2x48xf32>
}

// A matrix that all trips multiply with is converted before the loop.
// CHECK-LABEL: @captures_are_converted_outside
// CHECK: %[[W:.*]] = sinter.convert %arg1 {element_type = f32}
// CHECK: sinter.for {{.*}} captures(%arg1, %[[W]])
// CHECK: ^bb0(%{{.*}}, %{{.*}}, %{{.*}}, %[[INSIDE:.*]]: tensor<64x64xf32>)
// CHECK: sinter.dot_general %{{.*}}, %[[INSIDE]]
func.func @captures_are_converted_outside(%x0: tensor<32x64xf32>, %w: tensor<64x64xbf16>) -> tensor<32x64xf32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %ten = sinter.constant dense<10> : tensor<i64>
  %0 = sinter.for %zero to %ten step %one(%x0) captures(%w) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<32x64xf32>, tensor<64x64xbf16>) -> tensor<32x64xf32> body {
  ^bb0(%i: tensor<i64>, %x: tensor<32x64xf32>, %m: tensor<64x64xbf16>):
    %n = sinter.convert %x {element_type = bf16} : (tensor<32x64xf32>) -> tensor<32x64xbf16>
    %y = sinter.dot_general %n, %m {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<32x64xbf16>, tensor<64x64xbf16>) -> tensor<32x64xf32>
    sinter.yield(%y) : tensor<32x64xf32>
  }
  return %0 : tensor<32x64xf32>
}
}

// -----

// With them, bf16 stays what it is, and f16, for which there are none, becomes f32.
module attributes {sinter.target = #sinter.target<"dots", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v4", features = "", requires = "", capabilities = [bfloat_dots, fma, half_conversion, masked_memory], vector_bits = 512, registers = 32, l1 = 32768 x 8, l2 = 1048576, l3 = 16777216, line = 64, panel = 128>} {

// CHECK-LABEL: @pairs_are_multiplied
// CHECK-NOT: sinter.convert
// CHECK: sinter.dot_general {{.*}} : (tensor<32x64xbf16>, tensor<64x48xbf16>)
func.func @pairs_are_multiplied(%x: tensor<32x64xbf16>, %y: tensor<64x48xbf16>) -> tensor<32x48xf32> {
  %z = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xf32>
  return %z : tensor<32x48xf32>
}

// CHECK-LABEL: @no_pairs_of_f16
// CHECK: sinter.dot_general {{.*}} : (tensor<32x64xf32>, tensor<64x48xf32>)
func.func @no_pairs_of_f16(%x: tensor<32x64xf16>, %y: tensor<64x48xf16>) -> tensor<32x48xf32> {
  %z = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<32x64xf16>, tensor<64x48xf16>) -> tensor<32x48xf32>
  return %z : tensor<32x48xf32>
}
}

// -----

// Where products cannot convert f16 as they read it, nothing of it is left, however seldom it is read.
module attributes {sinter.target = #sinter.target<"old", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v2", features = "", requires = "", capabilities = [], vector_bits = 128, registers = 16, l1 = 32768 x 8, l2 = 262144, l3 = 8388608, line = 64, panel = 128>} {

// CHECK-LABEL: @no_conversion_in_registers
// CHECK: sinter.constant dense<1.500000e+00> : tensor<64x48xf32>
// CHECK: sinter.dot_general {{.*}} : (tensor<2x64xf32>, tensor<64x48xf32>)
func.func @no_conversion_in_registers(%x: tensor<2x64xf16>) -> tensor<2x48xf32> {
  %w = sinter.constant dense<1.5> : tensor<64x48xf16>
  %z = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2x64xf16>, tensor<64x48xf16>) -> tensor<2x48xf32>
  return %z : tensor<2x48xf32>
}
}

// -----

// Nobody says what the target can.
// CHECK-LABEL: @no_target
// CHECK-NOT: sinter.convert
// CHECK: return
func.func @no_target(%x: tensor<32x64xbf16>, %y: tensor<64x48xbf16>) -> tensor<32x48xf32> {
  %z = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xf32>
  return %z : tensor<32x48xf32>
}
