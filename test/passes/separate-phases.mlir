// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --sinter-separate-phases %s | FileCheck %s

// Results at even places meet the middle tap, those at odd places the two others.
// CHECK-LABEL: @phases_have_taps_of_their_own
// CHECK: sinter.slice %arg1 {limits = array<i64: 5, 3, 2>, starts = array<i64: 0, 0, 1>, steps = array<i64: 1, 1, 2>}
// CHECK: sinter.convolution {{.*}} high = array<i64: 0>, input_dilation = array<i64: 1>, low = array<i64: 0>{{.*}} (tensor<1x3x4xf32>, tensor<5x3x1xf32>) -> tensor<1x5x4xf32>
// CHECK: sinter.slice %arg1 {limits = array<i64: 5, 3, 3>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 2>}
// CHECK: sinter.convolution {{.*}} high = array<i64: 1>, input_dilation = array<i64: 1>, low = array<i64: 0>{{.*}} (tensor<1x3x4xf32>, tensor<5x3x2xf32>) -> tensor<1x5x4xf32>
// CHECK: sinter.concatenate {{.*}} -> tensor<1x5x4x2xf32>
// CHECK: sinter.slice {{.*}} -> tensor<1x5x7xf32>
func.func @phases_have_taps_of_their_own(%x: tensor<1x3x4xf32>, %w: tensor<5x3x3xf32>) -> tensor<1x5x7xf32> {
  %0 = sinter.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, input_dilation = array<i64: 2>, dilation = array<i64: 1>, element_type = f32} : (tensor<1x3x4xf32>, tensor<5x3x3xf32>) -> tensor<1x5x7xf32>
  return %0 : tensor<1x5x7xf32>
}

// CHECK-LABEL: @keeps_what_leaves_results_out
// CHECK: sinter.convolution {{.*}}input_dilation = array<i64: 2>
func.func @keeps_what_leaves_results_out(%x: tensor<1x3x4xf32>, %w: tensor<5x3x3xf32>) -> tensor<1x5x3xf32> {
  %0 = sinter.convolution %x, %w {strides = array<i64: 3>, low = array<i64: 1>, high = array<i64: 1>, input_dilation = array<i64: 2>, dilation = array<i64: 1>, element_type = f32} : (tensor<1x3x4xf32>, tensor<5x3x3xf32>) -> tensor<1x5x3xf32>
  return %0 : tensor<1x5x3xf32>
}

// CHECK-LABEL: @keeps_infinite_weights
// CHECK: sinter.convolution {{.*}}input_dilation = array<i64: 2>
func.func @keeps_infinite_weights(%x: tensor<1x1x3xf32>) -> tensor<1x1x5xf32> {
  %w = sinter.constant dense<[[[1.0, 0x7F800000, 2.0]]]> : tensor<1x1x3xf32>
  %0 = sinter.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, input_dilation = array<i64: 2>, dilation = array<i64: 1>, element_type = f32} : (tensor<1x1x3xf32>, tensor<1x1x3xf32>) -> tensor<1x1x5xf32>
  return %0 : tensor<1x1x5xf32>
}
