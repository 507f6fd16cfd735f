// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --sinter-split-phases %s | FileCheck %s

// Elements two and three apart: six phases of five channels each.
// CHECK-LABEL: @phases_are_channels
// CHECK: sinter.reverse {{.*}}axes = array<i64: 2, 4>
// CHECK: sinter.convolution {{.*}}input_dilation = array<i64: 1, 1>{{.*}} (tensor<2x4x6x3xf32>, tensor<30x1x1x3xf32>) -> tensor<2x4x6x30xf32>
// CHECK: sinter.transpose {{.*}} (tensor<2x4x6x2x3x5xf32>) -> tensor<2x4x2x6x3x5xf32>
// CHECK: sinter.reshape {{.*}} -> tensor<2x8x18x5xf32>
// CHECK: sinter.transpose {{.*}} -> tensor<2x5x8x18xf32>
func.func @phases_are_channels(%x: tensor<2x3x4x6xf32>, %w: tensor<5x3x2x3xf32>) -> tensor<2x5x8x18xf32> {
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 2>, high = array<i64: 1, 2>, input_dilation = array<i64: 2, 3>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<2x3x4x6xf32>, tensor<5x3x2x3xf32>) -> tensor<2x5x8x18xf32>
  return %0 : tensor<2x5x8x18xf32>
}

// What follows is computed with the product: what is one number for a channel is there once for each phase.
// CHECK-LABEL: @pointwise_comes_first
// CHECK: %[[P:.*]] = sinter.convolution {{.*}} -> tensor<2x4x6x12xf32>
// CHECK: %[[B:.*]] = sinter.concatenate %arg2, %arg2, %arg2, %arg2 {axis = 0 : i64}
// CHECK: %[[S:.*]] = sinter.broadcast %[[B]] axes = [3] {type = tensor<2x4x6x12xf32>}
// CHECK: %[[A:.*]] = sinter.add %[[P]], %[[S]]
// CHECK: %[[M:.*]] = sinter.max %[[A]], %{{.*}} : (tensor<2x4x6x12xf32>
// CHECK: %[[R:.*]] = sinter.reshape %[[M]]
// CHECK: sinter.transpose %[[R]]
// CHECK: %[[Y:.*]] = sinter.transpose {{.*}} -> tensor<2x3x8x12xf32>
// CHECK: sinter.mul %[[Y]], %arg3
func.func @pointwise_comes_first(%x: tensor<2x3x4x6xf32>, %w: tensor<3x3x2x2xf32>, %bias: tensor<3xf32>, %other: tensor<2x3x8x12xf32>) -> tensor<2x3x8x12xf32> {
  %zero = sinter.constant dense<0.0> : tensor<2x3x8x12xf32>
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 2, 2>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<2x3x4x6xf32>, tensor<3x3x2x2xf32>) -> tensor<2x3x8x12xf32>
  %1 = sinter.broadcast %bias axes = [1] {type = tensor<2x3x8x12xf32>} : (tensor<3xf32>) -> tensor<2x3x8x12xf32>
  %2 = sinter.add %0, %1 : (tensor<2x3x8x12xf32>, tensor<2x3x8x12xf32>) -> tensor<2x3x8x12xf32>
  %3 = sinter.max %2, %zero : (tensor<2x3x8x12xf32>, tensor<2x3x8x12xf32>) -> tensor<2x3x8x12xf32>
  %4 = sinter.mul %3, %other : (tensor<2x3x8x12xf32>, tensor<2x3x8x12xf32>) -> tensor<2x3x8x12xf32>
  return %4 : tensor<2x3x8x12xf32>
}

// CHECK-LABEL: @along_one_axis
// CHECK: sinter.convolution {{.*}} (tensor<1x7x3xf32>, tensor<8x1x3xf32>) -> tensor<1x7x8xf32>
func.func @along_one_axis(%x: tensor<1x7x3xf32>, %w: tensor<2x4x3xf32>) -> tensor<1x28x2xf32> {
  %0 = sinter.convolution %x, %w {layout = #sinter<conv_layout channels_last>, strides = array<i64: 1>, low = array<i64: 3>, high = array<i64: 3>, input_dilation = array<i64: 4>, dilation = array<i64: 1>, element_type = f32} : (tensor<1x7x3xf32>, tensor<2x4x3xf32>) -> tensor<1x28x2xf32>
  return %0 : tensor<1x28x2xf32>
}

// Filters of twice the distance: windows of two elements, of which the first and the last one reach beyond the image. The
// first result is the second one of the first window.
// CHECK-LABEL: @windows_of_two
// CHECK: sinter.reverse {{.*}}axes = array<i64: 2, 4>{{.*}} (tensor<8x2x2x2x2x3xf32>)
// CHECK: sinter.convolution {{.*}}high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>{{.*}}low = array<i64: 1, 1>{{.*}} (tensor<1x5x7x3xf32>, tensor<32x2x2x3xf32>) -> tensor<1x6x8x32xf32>
// CHECK: sinter.transpose {{.*}} (tensor<1x6x8x2x2x8xf32>) -> tensor<1x6x2x8x2x8xf32>
// CHECK: sinter.reshape {{.*}} -> tensor<1x12x16x8xf32>
// CHECK: sinter.slice {{.*}}limits = array<i64: 1, 11, 15, 8>, starts = array<i64: 0, 1, 1, 0>{{.*}} -> tensor<1x10x14x8xf32>
func.func @windows_of_two(%x: tensor<1x5x7x3xf32>, %w: tensor<8x4x4x3xf32>) -> tensor<1x10x14x8xf32> {
  %0 = sinter.convolution %x, %w {layout = #sinter<conv_layout channels_last>, strides = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, input_dilation = array<i64: 2, 2>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x5x7x3xf32>, tensor<8x4x4x3xf32>) -> tensor<1x10x14x8xf32>
  return %0 : tensor<1x10x14x8xf32>
}

// An image of one pixel is one window.
// CHECK-LABEL: @one_pixel
// CHECK: sinter.convolution {{.*}} (tensor<4x1x1x100xf32>, tensor<128x1x1x100xf32>) -> tensor<4x1x1x128xf32>
// CHECK-NOT: sinter.slice
func.func @one_pixel(%x: tensor<4x1x1x100xf32>, %w: tensor<8x4x4x100xf32>) -> tensor<4x4x4x8xf32> {
  %0 = sinter.convolution %x, %w {layout = #sinter<conv_layout channels_last>, strides = array<i64: 1, 1>, low = array<i64: 3, 3>, high = array<i64: 3, 3>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<4x1x1x100xf32>, tensor<8x4x4x100xf32>) -> tensor<4x4x4x8xf32>
  return %0 : tensor<4x4x4x8xf32>
}

// Results meet one tap or two.
// CHECK-LABEL: @keeps_filters_that_overlap
// CHECK: sinter.convolution {{.*}}input_dilation = array<i64: 2, 2>
func.func @keeps_filters_that_overlap(%x: tensor<1x3x4x4xf32>, %w: tensor<3x3x3x3xf32>) -> tensor<1x3x7x7xf32> {
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 2, 2>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x3x4x4xf32>, tensor<3x3x3x3xf32>) -> tensor<1x3x7x7xf32>
  return %0 : tensor<1x3x7x7xf32>
}

// CHECK-LABEL: @keeps_infinite_weights
// CHECK: sinter.convolution {{.*}}input_dilation = array<i64: 2>
func.func @keeps_infinite_weights(%x: tensor<1x1x3xf32>) -> tensor<1x1x6xf32> {
  %w = sinter.constant dense<[[[1.0, 0x7F800000]]]> : tensor<1x1x2xf32>
  %0 = sinter.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, input_dilation = array<i64: 2>, dilation = array<i64: 1>, element_type = f32} : (tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x6xf32>
  return %0 : tensor<1x1x6xf32>
}

// CHECK-LABEL: @keeps_groups
// CHECK: sinter.convolution {{.*}}groups = 3
func.func @keeps_groups(%x: tensor<1x3x4xf32>, %w: tensor<3x1x2xf32>) -> tensor<1x3x8xf32> {
  %0 = sinter.convolution %x, %w {groups = 3 : i64, strides = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, input_dilation = array<i64: 2>, dilation = array<i64: 1>, element_type = f32} : (tensor<1x3x4xf32>, tensor<3x1x2xf32>) -> tensor<1x3x8xf32>
  return %0 : tensor<1x3x8xf32>
}

// Sums of bytes, too; what makes floats of them is computed before results are placed.

// CHECK-LABEL: @splits_sums_of_bytes
// CHECK: %[[S:.*]] = sinter.convolution {{.*}}input_dilation = array<i64: 1, 1>{{.*}} -> tensor<1x4x4x12xi32>
// CHECK-NEXT: sinter.convert %[[S]] {element_type = f32}
func.func @splits_sums_of_bytes(%x: tensor<1x2x4x4xui8>, %w: tensor<3x2x2x2xi8>) -> tensor<1x3x8x8xf32> {
  %0 = sinter.convolution %x, %w {dilation = array<i64: 1, 1>, element_type = i32, high = array<i64: 1, 1>, input_dilation = array<i64: 2, 2>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x2x4x4xui8>, tensor<3x2x2x2xi8>) -> tensor<1x3x8x8xi32>
  %1 = sinter.convert %0 {element_type = f32} : (tensor<1x3x8x8xi32>) -> tensor<1x3x8x8xf32>
  return %1 : tensor<1x3x8x8xf32>
}
