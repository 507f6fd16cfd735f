// RUN: sinter-opt %s --sinter-form-kernels | FileCheck %s

// Where lanes run along channels, the transposes around stay out of the kernel; ops on elements join either.
// CHECK-LABEL: @channels_last
// CHECK: sinter.kernel {{.*}}map(%arg0)
// CHECK-NOT: grid_sample
// CHECK: sinter.transpose
// CHECK: sinter.kernel
// CHECK-NOT: transpose
// CHECK: sinter.grid_sample
// CHECK-NOT: transpose
// CHECK: sinter.kernel
// CHECK: sinter.abs
// CHECK: sinter.transpose
func.func @channels_last(%x: tensor<1x8x4x5xf32>, %grid: tensor<1x6x3x2xf32>) -> tensor<1x8x6x3xf32> {
  %0 = sinter.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x4x5xf32>) -> tensor<1x4x5x8xf32>
  %1 = sinter.grid_sample %0, %grid {layout = #sinter<conv_layout channels_last>, mode = #sinter<resize_mode linear>, padding = #sinter<pad_mode edge>} : (tensor<1x4x5x8xf32>, tensor<1x6x3x2xf32>) -> tensor<1x6x3x8xf32>
  %2 = sinter.abs %1 : (tensor<1x6x3x8xf32>) -> tensor<1x6x3x8xf32>
  %3 = sinter.transpose %2 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x6x3x8xf32>) -> tensor<1x8x6x3xf32>
  return %3 : tensor<1x8x6x3xf32>
}

// The same where an op on elements lies between the transpose and what is sampled.
// CHECK-LABEL: @scaled_before
// CHECK: sinter.kernel {{.*}}map(%arg0
// CHECK-NOT: grid_sample
// CHECK: sinter.transpose
// CHECK: sinter.kernel
// CHECK-NOT: transpose
// CHECK: sinter.grid_sample
func.func @scaled_before(%x: tensor<1x8x4x5xf32>, %grid: tensor<1x6x3x2xf32>) -> tensor<1x6x3x8xf32> {
  %0 = sinter.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x4x5xf32>) -> tensor<1x4x5x8xf32>
  %1 = sinter.abs %0 : (tensor<1x4x5x8xf32>) -> tensor<1x4x5x8xf32>
  %2 = sinter.grid_sample %1, %grid {layout = #sinter<conv_layout channels_last>, mode = #sinter<resize_mode linear>, padding = #sinter<pad_mode edge>} : (tensor<1x4x5x8xf32>, tensor<1x6x3x2xf32>) -> tensor<1x6x3x8xf32>
  return %2 : tensor<1x6x3x8xf32>
}

// Lanes along places: the transposes join.
// CHECK-LABEL: @channels_first
// CHECK: sinter.kernel
// CHECK: sinter.grid_sample
// CHECK: sinter.transpose
// CHECK-NOT: sinter.kernel
func.func @channels_first(%x: tensor<1x8x4x5xf32>, %grid: tensor<1x6x3x2xf32>) -> tensor<1x6x3x8xf32> {
  %0 = sinter.grid_sample %x, %grid {mode = #sinter<resize_mode linear>, padding = #sinter<pad_mode edge>} : (tensor<1x8x4x5xf32>, tensor<1x6x3x2xf32>) -> tensor<1x8x6x3xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x6x3xf32>) -> tensor<1x6x3x8xf32>
  return %1 : tensor<1x6x3x8xf32>
}
