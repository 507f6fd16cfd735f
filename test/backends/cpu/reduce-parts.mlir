// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter compile %s --emit=schedule --target=x86-64-v3 -o - | FileCheck %s
//
// Few numbers of long axes are combined by parts, and those in a second step; so are few rows of many rows, whose axes
// are walked as one.

// CHECK-LABEL: function @reduce_parts_run_one
// CHECK: schedule.launch {{.*}} chunks %c64_i64 steps
func.func @one(%x: tensor<4000037xf32>) -> tensor<f32> {
  %y = sinter.reduce add %x axes = [0] : (tensor<4000037xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// CHECK-LABEL: function @reduce_parts_run_three
// CHECK: schedule.launch {{.*}} chunks %c63_i64 steps
func.func @three(%x: tensor<3x4000000xf32>) -> tensor<3xf32> {
  %y = sinter.reduce max %x axes = [1] : (tensor<3x4000000xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// CHECK-LABEL: function @reduce_parts_run_short
// CHECK: schedule.launch {{.*}} chunks %c1_i64 :
func.func @short(%x: tensor<40000xf32>) -> tensor<f32> {
  %y = sinter.reduce add %x axes = [0] : (tensor<40000xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// CHECK-LABEL: function @reduce_parts_run_rows
// CHECK: schedule.launch {{.*}} chunks %c18_i64 steps
func.func @rows(%x: tensor<8x48x48x32xf32>) -> tensor<32xf32> {
  %y = sinter.reduce add %x axes = [0, 1, 2] : (tensor<8x48x48x32xf32>) -> tensor<32xf32>
  return %y : tensor<32xf32>
}

// CHECK-LABEL: function @reduce_parts_run_images
// CHECK: schedule.launch {{.*}} chunks %c36_i64 steps
func.func @images(%x: tensor<2x18432x32xf32>) -> tensor<2x32xf32> {
  %y = sinter.reduce add %x axes = [1] : (tensor<2x18432x32xf32>) -> tensor<2x32xf32>
  return %y : tensor<2x32xf32>
}

// Columns are split where rows are few.
// CHECK-LABEL: function @reduce_parts_run_wide
// CHECK: schedule.launch {{.*}} chunks %c64_i64 :
func.func @wide(%x: tensor<256x8192xf32>) -> tensor<8192xf32> {
  %y = sinter.reduce add %x axes = [0] : (tensor<256x8192xf32>) -> tensor<8192xf32>
  return %y : tensor<8192xf32>
}
