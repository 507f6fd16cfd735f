// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --sinter-split-resizes %s | FileCheck %s

// CHECK-LABEL: @last_axis_first
// CHECK: %[[ALL:.*]] = sinter.constant dense<[2, 3, 16, 32]>
// CHECK: %[[LINE:.*]] = sinter.constant dense<[2, 3, 8, 32]>
// CHECK: %[[LINES:.*]] = sinter.resize %arg0 sizes(%[[LINE]]) {{.*}} -> tensor<2x3x8x32xf32>
// CHECK: sinter.resize %[[LINES]] sizes(%[[ALL]]) {{.*}} -> tensor<2x3x16x32xf32>
func.func @last_axis_first(%x: tensor<2x3x8x8xf32>) -> tensor<2x3x16x32xf32> {
  %s = sinter.constant dense<[2, 3, 16, 32]> : tensor<4xi64>
  %0 = sinter.resize %x sizes(%s) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<2x3x8x8xf32>, tensor<4xi64>) -> tensor<2x3x16x32xf32>
  return %0 : tensor<2x3x16x32xf32>
}

// Scales stay those of their axes: a size of 5 becomes 11 by 2.25.
// CHECK-LABEL: @keeps_scales
// CHECK: %[[REST:.*]] = sinter.constant dense<[1.000000e+00, 2.250000e+00, 1.000000e+00]> : tensor<3xf32>
// CHECK: %[[LAST:.*]] = sinter.constant dense<[1.000000e+00, 1.000000e+00, 1.500000e+00]> : tensor<3xf32>
// CHECK: scales(%[[LAST]]) {{.*}} -> tensor<2x5x9xf64>
// CHECK: scales(%[[REST]]) {{.*}} -> tensor<2x11x9xf64>
func.func @keeps_scales(%x: tensor<2x5x6xf64>) -> tensor<2x11x9xf64> {
  %s = sinter.constant dense<[1.0, 2.25, 1.5]> : tensor<3xf32>
  %0 = sinter.resize %x scales(%s) {mode = #sinter<resize_mode cubic>, coordinates = #sinter<coordinate_mode align_corners>} : (tensor<2x5x6xf64>, tensor<3xf32>) -> tensor<2x11x9xf64>
  return %0 : tensor<2x11x9xf64>
}

// CHECK-LABEL: @transposes_fewer_elements
// CHECK: %[[FIRST:.*]] = sinter.transpose %arg0 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x4x4x5xf32>) -> tensor<1x5x4x4xf32>
// CHECK: sinter.resize %[[FIRST]] {{.*}} -> tensor<1x5x4x8xf32>
// CHECK: sinter.resize {{.*}} -> tensor<1x5x8x8xf32>
// CHECK-NOT: transpose
// CHECK: return
func.func @transposes_fewer_elements(%x: tensor<1x4x4x5xf32>) -> tensor<1x5x8x8xf32> {
  %s = sinter.constant dense<[1, 8, 8, 5]> : tensor<4xi64>
  %0 = sinter.resize %x sizes(%s) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<1x4x4x5xf32>, tensor<4xi64>) -> tensor<1x8x8x5xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x8x8x5xf32>) -> tensor<1x5x8x8xf32>
  return %1 : tensor<1x5x8x8xf32>
}

// Sums along rows and columns would change places.
// CHECK-LABEL: @turned
// CHECK: sinter.resize {{.*}} -> tensor<8x8x5xf32>
// CHECK-NEXT: sinter.transpose
func.func @turned(%x: tensor<4x4x5xf32>) -> tensor<8x8x5xf32> {
  %s = sinter.constant dense<[8, 8, 5]> : tensor<3xi64>
  %0 = sinter.resize %x sizes(%s) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<4x4x5xf32>, tensor<3xi64>) -> tensor<8x8x5xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<8x8x5xf32>) -> tensor<8x8x5xf32>
  return %1 : tensor<8x8x5xf32>
}

// Lines in between would be as many, rounded to 16 bits, or only copied; channels that are last are read side by side.
// CHECK-LABEL: @whole
// CHECK-COUNT-4: sinter.resize
// CHECK-NOT: sinter.resize
// CHECK: return
func.func @whole(%x: tensor<8x8xf32>, %h: tensor<8x8xf16>, %c: tensor<4x4x16xf32>) -> (tensor<4x16xf32>, tensor<16x16xf16>, tensor<16x16xf32>, tensor<8x8x16xf32>) {
  %s = sinter.constant dense<[4, 16]> : tensor<2xi64>
  %0 = sinter.resize %x sizes(%s) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<8x8xf32>, tensor<2xi64>) -> tensor<4x16xf32>
  %t = sinter.constant dense<[16, 16]> : tensor<2xi64>
  %1 = sinter.resize %h sizes(%t) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<8x8xf16>, tensor<2xi64>) -> tensor<16x16xf16>
  %2 = sinter.resize %x sizes(%t) {mode = #sinter<resize_mode nearest>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<8x8xf32>, tensor<2xi64>) -> tensor<16x16xf32>
  %u = sinter.constant dense<[8, 8, 16]> : tensor<3xi64>
  %3 = sinter.resize %c sizes(%u) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<4x4x16xf32>, tensor<3xi64>) -> tensor<8x8x16xf32>
  return %0, %1, %2, %3 : tensor<4x16xf32>, tensor<16x16xf16>, tensor<16x16xf32>, tensor<8x8x16xf32>
}

// Sizes that only running tells count as those of images: what grows by a scale does, and so does what is given large sizes of its own.
// CHECK-LABEL: @open
// CHECK: %[[ONE:.*]] = sinter.constant dense<[1.000000e+00, 1.000000e+00, 4.000000e+00]>
// CHECK: %[[LINES:.*]] = sinter.resize %arg0 scales(%{{.*}}) {{.*}} -> tensor<3x?x?xf32>
// CHECK: sinter.resize %[[LINES]] scales(%{{.*}}) {{.*}} -> tensor<3x?x?xf32>
// CHECK: %[[LINE:.*]] = sinter.concatenate %{{[^,]*}}, %{{[^,]*}} {axis = 0 : i64}
// CHECK: %[[BY_SIZES:.*]] = sinter.resize %arg1 sizes(%[[LINE]]) {{.*}} -> tensor<3x8x?xf32>
// CHECK: sinter.resize %[[BY_SIZES]] sizes(%{{.*}}) {{.*}} -> tensor<3x?x?xf32>
func.func @open(%x: tensor<3x?x?xf32>, %y: tensor<3x8x8xf32>, %s: tensor<3xi64>) -> (tensor<3x?x?xf32>, tensor<3x?x?xf32>) {
  %f = sinter.constant dense<[1.0, 4.0, 4.0]> : tensor<3xf32>
  %0 = sinter.resize %x scales(%f) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<3x?x?xf32>, tensor<3xf32>) -> tensor<3x?x?xf32>
  %1 = sinter.resize %y sizes(%s) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<3x8x8xf32>, tensor<3xi64>) -> tensor<3x?x?xf32>
  return %0, %1 : tensor<3x?x?xf32>, tensor<3x?x?xf32>
}

// Of nothing there is nothing to split.
// CHECK-LABEL: @empty
// CHECK: sinter.resize
// CHECK-NOT: sinter.resize
// CHECK: return
func.func @empty(%x: tensor<2x23x1xf32>) -> tensor<2x11x0xf32> {
  %f = sinter.constant dense<[1.0, 0.5, 0.5]> : tensor<3xf32>
  %0 = sinter.resize %x scales(%f) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<2x23x1xf32>, tensor<3xf32>) -> tensor<2x11x0xf32>
  return %0 : tensor<2x11x0xf32>
}
