// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --sinter-trim-filters | FileCheck %s

// A 3x3 filter on one padded pixel: the middle tap alone.
// CHECK-LABEL: @one_pixel
// CHECK: %[[TAP:.*]] = sinter.slice %arg1 {limits = array<i64: 8, 4, 2, 2>, starts = array<i64: 0, 0, 1, 1>, steps = array<i64: 1, 1, 1, 1>}
// CHECK: sinter.convolution %arg0, %[[TAP]] {{.*}}high = array<i64: 0, 0>{{.*}}low = array<i64: 0, 0>
func.func @one_pixel(%x: tensor<2x4x1x1xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<2x8x1x1xf32> {
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<2x4x1x1xf32>, tensor<8x4x3x3xf32>) -> tensor<2x8x1x1xf32>
  return %0 : tensor<2x8x1x1xf32>
}

// Two pixels and stride 2: the first row and column of taps meet the border alone.
// CHECK-LABEL: @strided
// CHECK: sinter.slice %arg1 {limits = array<i64: 8, 3, 3, 4>, starts = array<i64: 0, 1, 1, 0>
// CHECK: sinter.convolution {{.*}}high = array<i64: 0, 0>{{.*}}low = array<i64: 0, 0>{{.*}} -> tensor<2x1x1x8xf32>
func.func @strided(%x: tensor<2x2x2x4xf32>, %w: tensor<8x3x3x4xf32>) -> tensor<2x1x1x8xf32> {
  %0 = sinter.convolution %x, %w {strides = array<i64: 2, 2>, low = array<i64: 1, 1>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<2x2x2x4xf32>, tensor<8x3x3x4xf32>) -> tensor<2x1x1x8xf32>
  return %0 : tensor<2x1x1x8xf32>
}

// CHECK-LABEL: @all_taps_meet_the_input
// CHECK-NOT: sinter.slice
func.func @all_taps_meet_the_input(%x: tensor<2x4x2x2xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<2x8x2x2xf32> {
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<2x4x2x2xf32>, tensor<8x4x3x3xf32>) -> tensor<2x8x2x2xf32>
  return %0 : tensor<2x8x2x2xf32>
}

// CHECK-LABEL: @unknown_sizes_keep_all
// CHECK-NOT: sinter.slice
func.func @unknown_sizes_keep_all(%x: tensor<2x4x?x?xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<2x8x?x?xf32> {
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<2x4x?x?xf32>, tensor<8x4x3x3xf32>) -> tensor<2x8x?x?xf32>
  return %0 : tensor<2x8x?x?xf32>
}

// An infinite weight makes NaN of the zeros of the padding.
// CHECK-LABEL: @constant_taps_must_be_finite
// CHECK: %[[A:.*]] = sinter.constant
// CHECK: sinter.convolution %arg0, %[[A]]
// CHECK: sinter.slice
func.func @constant_taps_must_be_finite(%x: tensor<1x1x1x1xf32>) -> (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) {
  %bad = sinter.constant dense<[[[[0x7F800000, 1.0, 1.0]]]]> : tensor<1x1x1x3xf32>
  %good = sinter.constant dense<[[[[1.0, 0x7F800000, 1.0]]]]> : tensor<1x1x1x3xf32>
  %0 = sinter.convolution %x, %bad {strides = array<i64: 1, 1>, low = array<i64: 0, 1>, high = array<i64: 0, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x1x1x1xf32>, tensor<1x1x1x3xf32>) -> tensor<1x1x1x1xf32>
  %1 = sinter.convolution %x, %good {strides = array<i64: 1, 1>, low = array<i64: 0, 1>, high = array<i64: 0, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x1x1x1xf32>, tensor<1x1x1x3xf32>) -> tensor<1x1x1x1xf32>
  return %0, %1 : tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>
}
