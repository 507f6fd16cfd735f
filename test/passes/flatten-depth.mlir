// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --sinter-flatten-depth %s | FileCheck %s

// Two taps a step of two apart meet an input padded in front: [2, 3, 5, ...] becomes [2 * 3, ..., 2 * 3].
// CHECK-LABEL: @positions_are_rows_and_taps_are_channels
// CHECK: %[[PADDED:.*]] = sinter.pad %{{.*}}low = array<i64: 0, 1, 0, 0, 0>
// CHECK: sinter.slice %[[PADDED]] {{.*}}starts = array<i64: 0, 0, 0, 0, 0>, steps = array<i64: 1, 2, 1, 1, 1>
// CHECK: sinter.slice %[[PADDED]] {{.*}}starts = array<i64: 0, 1, 0, 0, 0>, steps = array<i64: 1, 2, 1, 1, 1>
// CHECK: sinter.convolution {{.*}}strides = array<i64: 1, 3>{{.*}} (tensor<6x7x8x6xf32>, tensor<4x3x2x6xf32>) -> tensor<6x5x3x4xf32>
// CHECK: sinter.transpose {{.*}} -> tensor<2x4x3x5x3xf32>
func.func @positions_are_rows_and_taps_are_channels(%x: tensor<2x3x5x7x8xf32>, %w: tensor<4x3x2x3x2xf32>) -> tensor<2x4x3x5x3xf32> {
  %0 = sinter.convolution %x, %w {strides = array<i64: 2, 1, 3>, low = array<i64: 1, 0, 0>, high = array<i64: 0, 0, 0>, input_dilation = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>, element_type = f32} : (tensor<2x3x5x7x8xf32>, tensor<4x3x2x3x2xf32>) -> tensor<2x4x3x5x3xf32>
  return %0 : tensor<2x4x3x5x3xf32>
}

// CHECK-LABEL: @channels_may_be_last
// CHECK-NOT: sinter.transpose %x
// CHECK: sinter.convolution {{.*}} (tensor<3x4x4x6xf32>, tensor<5x2x2x6xf32>) -> tensor<3x3x3x5xf32>
// CHECK: sinter.reshape {{.*}} -> tensor<1x3x3x3x5xf32>
func.func @channels_may_be_last(%x: tensor<1x4x4x4x3xf32>, %w: tensor<5x2x2x2x3xf32>) -> tensor<1x3x3x3x5xf32> {
  %0 = sinter.convolution %x, %w {layout = #sinter<conv_layout channels_last>, strides = array<i64: 1, 1, 1>, low = array<i64: 0, 0, 0>, high = array<i64: 0, 0, 0>, input_dilation = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>, element_type = f32} : (tensor<1x4x4x4x3xf32>, tensor<5x2x2x2x3xf32>) -> tensor<1x3x3x3x5xf32>
  return %0 : tensor<1x3x3x3x5xf32>
}

// CHECK-LABEL: @keeps_groups
// CHECK: sinter.convolution {{.*}} (tensor<1x3x4x4x4xf32>, tensor<3x1x2x2x2xf32>)
func.func @keeps_groups(%x: tensor<1x3x4x4x4xf32>, %w: tensor<3x1x2x2x2xf32>) -> tensor<1x3x3x3x3xf32> {
  %0 = sinter.convolution %x, %w {groups = 3 : i64, strides = array<i64: 1, 1, 1>, low = array<i64: 0, 0, 0>, high = array<i64: 0, 0, 0>, input_dilation = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>, element_type = f32} : (tensor<1x3x4x4x4xf32>, tensor<3x1x2x2x2xf32>) -> tensor<1x3x3x3x3xf32>
  return %0 : tensor<1x3x3x3x3xf32>
}

// CHECK-LABEL: @keeps_sizes_that_only_running_tells
// CHECK: sinter.convolution {{.*}} (tensor<?x3x4x4x4xf32>, tensor<3x3x2x2x2xf32>)
func.func @keeps_sizes_that_only_running_tells(%x: tensor<?x3x4x4x4xf32>, %w: tensor<3x3x2x2x2xf32>) -> tensor<?x3x3x3x3xf32> {
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1, 1>, low = array<i64: 0, 0, 0>, high = array<i64: 0, 0, 0>, input_dilation = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>, element_type = f32} : (tensor<?x3x4x4x4xf32>, tensor<3x3x2x2x2xf32>) -> tensor<?x3x3x3x3xf32>
  return %0 : tensor<?x3x3x3x3xf32>
}
