// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --sinter-split-phases --sinter-sink-moves %s | FileCheck %s

// A convolution of one tap behind is one of pixels before they are in their places, with what follows it. The second one
// is itself one of phases.
// CHECK-LABEL: @multiplies_before_the_move
// CHECK: %[[S:.*]] = sinter.convolution {{.*}} -> tensor<1x4x5x32xf32>
// CHECK: %[[M:.*]] = sinter.max %[[S]],
// CHECK: %[[Q:.*]] = sinter.reshape %[[M]] {{.*}} -> tensor<1x4x5x2x2x8xf32>
// CHECK: %[[V:.*]] = sinter.reshape %[[Q]] {{.*}} -> tensor<1x1x80x8xf32>
// CHECK: %[[P:.*]] = sinter.convolution %[[V]], {{.*}} -> tensor<1x1x80x4xf32>
// CHECK: sinter.logistic %[[P]]
// CHECK: sinter.transpose {{.*}} (tensor<1x4x5x2x2x4xf32>) -> tensor<1x4x2x5x2x4xf32>
// CHECK: sinter.reshape {{.*}} -> tensor<1x8x10x4xf32>
// CHECK: sinter.reshape {{.*}} -> tensor<1x16x20x1xf32>
func.func @multiplies_before_the_move(%x: tensor<1x3x4x5xf32>, %w: tensor<8x3x2x2xf32>, %v: tensor<1x8x2x2xf32>) -> tensor<1x1x16x20xf32> {
  %zero = sinter.constant dense<0.0> : tensor<1x8x8x10xf32>
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 2, 2>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x3x4x5xf32>, tensor<8x3x2x2xf32>) -> tensor<1x8x8x10xf32>
  %1 = sinter.max %0, %zero : (tensor<1x8x8x10xf32>, tensor<1x8x8x10xf32>) -> tensor<1x8x8x10xf32>
  %2 = sinter.convolution %1, %v {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 2, 2>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x8x8x10xf32>, tensor<1x8x2x2xf32>) -> tensor<1x1x16x20xf32>
  %3 = sinter.logistic %2 : (tensor<1x1x16x20xf32>) -> tensor<1x1x16x20xf32>
  return %3 : tensor<1x1x16x20xf32>
}

// More channels than there were would be moved.
// CHECK-LABEL: @moves_before_it_widens
// CHECK: sinter.convolution {{.*}} -> tensor<1x4x5x12xf32>
// CHECK: sinter.transpose {{.*}} -> tensor<1x4x2x5x2x3xf32>
// CHECK: sinter.convolution {{.*}} -> tensor<1x4x8x10xf32>
func.func @moves_before_it_widens(%x: tensor<1x3x4x5xf32>, %w: tensor<3x3x2x2xf32>, %v: tensor<4x3x1x1xf32>) -> tensor<1x4x8x10xf32> {
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 2, 2>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x3x4x5xf32>, tensor<3x3x2x2xf32>) -> tensor<1x3x8x10xf32>
  %1 = sinter.convolution %0, %v {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x3x8x10xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x10xf32>
  return %1 : tensor<1x4x8x10xf32>
}

// How many channels there will be is not known.
// CHECK-LABEL: @moves_before_an_open_filter
// CHECK: sinter.transpose {{.*}} -> tensor<1x4x2x5x2x8xf32>
// CHECK: sinter.convolution {{.*}} -> tensor<1x?x8x10xf32>
func.func @moves_before_an_open_filter(%x: tensor<1x3x4x5xf32>, %w: tensor<8x3x2x2xf32>, %v: tensor<?x8x1x1xf32>) -> tensor<1x?x8x10xf32> {
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 2, 2>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x3x4x5xf32>, tensor<8x3x2x2xf32>) -> tensor<1x8x8x10xf32>
  %1 = sinter.convolution %0, %v {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x8x8x10xf32>, tensor<?x8x1x1xf32>) -> tensor<1x?x8x10xf32>
  return %1 : tensor<1x?x8x10xf32>
}
