// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --verify-roundtrip %s | FileCheck %s

// CHECK-LABEL: @bag_sum
func.func @bag_sum(%x: tensor<10x4xf32>, %p: tensor<7xi32>, %s: tensor<4xi64>, %w: tensor<7xf32>) -> tensor<3x4xf32> {
  // CHECK: sinter.bag_sum %{{.*}}, %{{.*}}, %{{.*}} : (tensor<10x4xf32>, tensor<7xi32>, tensor<4xi64>) -> tensor<3x4xf32>
  %0 = sinter.bag_sum %x, %p, %s : (tensor<10x4xf32>, tensor<7xi32>, tensor<4xi64>) -> tensor<3x4xf32>
  %1 = sinter.bag_sum %x, %p, %s, %w : (tensor<10x4xf32>, tensor<7xi32>, tensor<4xi64>, tensor<7xf32>) -> tensor<3x4xf32>
  %2 = sinter.add %0, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}

// CHECK-LABEL: @group_rows
func.func @group_rows(%p: tensor<7xi64>) -> (tensor<7xi64>, tensor<8xi64>, tensor<7xi64>) {
  %0:3 = sinter.group_rows %p {size = 10 : i64} : (tensor<7xi64>) -> (tensor<7xi64>, tensor<8xi64>, tensor<7xi64>)
  return %0#0, %0#1, %0#2 : tensor<7xi64>, tensor<8xi64>, tensor<7xi64>
}

// CHECK-LABEL: @gradient_rows
func.func @gradient_rows(%g: tensor<10x4xf32>) -> (tensor<?xi64>, tensor<?x4xf32>) {
  %0:2 = sinter.gradient_rows %g {table = "emb"} : (tensor<10x4xf32>) -> (tensor<?xi64>, tensor<?x4xf32>)
  return %0#0, %0#1 : tensor<?xi64>, tensor<?x4xf32>
}
