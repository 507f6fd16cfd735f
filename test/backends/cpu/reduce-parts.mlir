// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter compile %s --emit=schedule --target=x86-64-v3 -o - | FileCheck %s
//
// Few numbers of long axes are combined by parts, and those in a second step.

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
