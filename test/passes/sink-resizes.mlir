// RUN: sinter-opt %s --sinter-sink-resizes | FileCheck %s

// Sums over the small map are resized, and added to those over what was as large before.
// CHECK-LABEL: @head
// CHECK-DAG: %[[W:.*]] = sinter.slice %{{.*}} {limits = array<i64: 2, 4, 1, 1>, starts = array<i64: 0, 0, 0, 0>
// CHECK-DAG: %[[V:.*]] = sinter.slice %{{.*}} {limits = array<i64: 2, 7, 1, 1>, starts = array<i64: 0, 4, 0, 0>
// CHECK-DAG: %[[SIZES:.*]] = sinter.constant dense<[1, 2, 8, 8]> : tensor<4xi64>
// CHECK-DAG: %[[A:.*]] = sinter.convolution %arg0, %[[W]] {{.*}} -> tensor<1x2x4x4xf32>
// CHECK-DAG: %[[R:.*]] = sinter.resize %[[A]] sizes(%[[SIZES]])
// CHECK-DAG: %[[B:.*]] = sinter.convolution %arg1, %[[V]] {{.*}} -> tensor<1x2x8x8xf32>
// CHECK: %[[S:.*]] = sinter.add %[[B]], %[[R]]
// CHECK-NEXT: return %[[S]]
func.func @head(%small: tensor<1x4x4x4xf32>, %large: tensor<1x3x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %f = sinter.constant dense<[[[[1.0]], [[2.0]], [[3.0]], [[4.0]], [[5.0]], [[6.0]], [[7.0]]], [[[8.0]], [[9.0]], [[10.0]], [[11.0]], [[12.0]], [[13.0]], [[14.0]]]]> : tensor<2x7x1x1xf32>
  %sizes = sinter.constant dense<[1, 4, 8, 8]> : tensor<4xi64>
  %0 = sinter.resize %small sizes(%sizes) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<1x4x4x4xf32>, tensor<4xi64>) -> tensor<1x4x8x8xf32>
  %1 = sinter.concatenate %0, %large {axis = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<1x7x8x8xf32>
  %2 = sinter.convolution %1, %f {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x7x8x8xf32>, tensor<2x7x1x1xf32>) -> tensor<1x2x8x8xf32>
  return %2 : tensor<1x2x8x8xf32>
}

// More results than channels would be resized.
// CHECK-LABEL: @more_channels
// CHECK: %[[R:.*]] = sinter.resize %arg0
// CHECK: sinter.convolution %[[R]]
func.func @more_channels(%small: tensor<1x1x4x4xf32>) -> tensor<1x2x8x8xf32> {
  %f = sinter.constant dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32>
  %sizes = sinter.constant dense<[1, 1, 8, 8]> : tensor<4xi64>
  %0 = sinter.resize %small sizes(%sizes) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<1x1x4x4xf32>, tensor<4xi64>) -> tensor<1x1x8x8xf32>
  %1 = sinter.convolution %0, %f {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x1x8x8xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x8x8xf32>
  return %1 : tensor<1x2x8x8xf32>
}

// Padding is no part of what is resized.
// CHECK-LABEL: @padded
// CHECK: %[[R:.*]] = sinter.resize %arg0
// CHECK: sinter.convolution %[[R]]
func.func @padded(%small: tensor<1x2x4x4xf32>) -> tensor<1x1x10x10xf32> {
  %f = sinter.constant dense<[[[[1.0]], [[2.0]]]]> : tensor<1x2x1x1xf32>
  %sizes = sinter.constant dense<[1, 2, 8, 8]> : tensor<4xi64>
  %0 = sinter.resize %small sizes(%sizes) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<1x2x4x4xf32>, tensor<4xi64>) -> tensor<1x2x8x8xf32>
  %1 = sinter.convolution %0, %f {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x2x8x8xf32>, tensor<1x2x1x1xf32>) -> tensor<1x1x10x10xf32>
  return %1 : tensor<1x1x10x10xf32>
}

// CHECK-LABEL: @same_sizes
// CHECK-NEXT: return %arg0
func.func @same_sizes(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %sizes = sinter.constant dense<[1, 2, 4, 4]> : tensor<4xi64>
  %0 = sinter.resize %x sizes(%sizes) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<1x2x4x4xf32>, tensor<4xi64>) -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}

// Sizes that only running tells: the channels are the filter's, the others are given.
// CHECK-LABEL: @open
// CHECK: %[[A:.*]] = sinter.convolution %arg0, %{{.*}} -> tensor<?x2x?x?xf32>
// CHECK: %[[R:.*]] = sinter.resize %[[A]] scales(%{{.*}}) {{.*}} -> tensor<?x2x?x?xf32>
// CHECK: return %[[R]]
func.func @open(%small: tensor<?x4x?x?xf32>) -> tensor<?x2x?x?xf32> {
  %f = sinter.constant dense<1.0> : tensor<2x4x1x1xf32>
  %scales = sinter.constant dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32>
  %0 = sinter.resize %small scales(%scales) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<?x4x?x?xf32>, tensor<4xf32>) -> tensor<?x4x?x?xf32>
  %1 = sinter.convolution %0, %f {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<?x4x?x?xf32>, tensor<2x4x1x1xf32>) -> tensor<?x2x?x?xf32>
  return %1 : tensor<?x2x?x?xf32>
}
