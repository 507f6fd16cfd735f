// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --sinter-allow-winograd %s | FileCheck %s

// CHECK-LABEL: @either_layout
// CHECK: sinter.convolution {{.*}}sinter.winograd
// CHECK: sinter.convolution {{.*}}sinter.winograd
func.func @either_layout(%x: tensor<?x16x8x8xf32>, %y: tensor<1x8x8x16xf32>) -> (tensor<?x4x8x8xf32>, tensor<1x8x8x4xf32>) {
  %w = sinter.constant dense<0.5> : tensor<4x16x3x3xf32>
  %v = sinter.constant dense<0.5> : tensor<4x3x3x16xf32>
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<?x16x8x8xf32>, tensor<4x16x3x3xf32>) -> tensor<?x4x8x8xf32>
  %1 = sinter.convolution %y, %v {layout = #sinter<conv_layout channels_last>, strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x8x8x16xf32>, tensor<4x3x3x16xf32>) -> tensor<1x8x8x4xf32>
  return %0, %1 : tensor<?x4x8x8xf32>, tensor<1x8x8x4xf32>
}

// A weight of a training step is an argument.
// CHECK-LABEL: @filters_that_move
// CHECK-NOT: sinter.winograd
func.func @filters_that_move(%x: tensor<1x16x8x8xf32>, %w: tensor<4x16x3x3xf32>) -> tensor<1x4x6x6xf32> {
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x16x8x8xf32>, tensor<4x16x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %0 : tensor<1x4x6x6xf32>
}

// CHECK-LABEL: @others
// CHECK-NOT: sinter.winograd
func.func @others(%x: tensor<1x16x8x8xf32>, %d: tensor<1x16x8x8xf64>) -> (tensor<1x4x3x3xf32>, tensor<1x4x4x4xf32>, tensor<1x4x13x13xf32>, tensor<1x4x6x6xf32>, tensor<1x4x4x4xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6x6xf64>) {
  %w = sinter.constant dense<0.5> : tensor<4x16x3x3xf32>
  %grouped = sinter.constant dense<0.5> : tensor<4x8x3x3xf32>
  %five = sinter.constant dense<0.5> : tensor<4x16x5x5xf32>
  %infinite = sinter.constant dense<0x7F800000> : tensor<4x16x3x3xf32>
  %double = sinter.constant dense<0.5> : tensor<4x16x3x3xf64>
  %0 = sinter.convolution %x, %w {strides = array<i64: 2, 2>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x16x8x8xf32>, tensor<4x16x3x3xf32>) -> tensor<1x4x3x3xf32>
  %1 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 2, 2>, element_type = f32} : (tensor<1x16x8x8xf32>, tensor<4x16x3x3xf32>) -> tensor<1x4x4x4xf32>
  %2 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 2, 2>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x16x8x8xf32>, tensor<4x16x3x3xf32>) -> tensor<1x4x13x13xf32>
  %3 = sinter.convolution %x, %grouped {groups = 2 : i64, strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x16x8x8xf32>, tensor<4x8x3x3xf32>) -> tensor<1x4x6x6xf32>
  %4 = sinter.convolution %x, %five {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x16x8x8xf32>, tensor<4x16x5x5xf32>) -> tensor<1x4x4x4xf32>
  %5 = sinter.convolution %x, %infinite {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x16x8x8xf32>, tensor<4x16x3x3xf32>) -> tensor<1x4x6x6xf32>
  %6 = sinter.convolution %d, %double {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f64} : (tensor<1x16x8x8xf64>, tensor<4x16x3x3xf64>) -> tensor<1x4x6x6xf64>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<1x4x3x3xf32>, tensor<1x4x4x4xf32>, tensor<1x4x13x13xf32>, tensor<1x4x6x6xf32>, tensor<1x4x4x4xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6x6xf64>
}
