// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ordinary weights meet zeros here, denormal ones 1e30: beside ordinary weights these are zeros, alone they stay.
// RUN: sinter run %s --input x=ones --input y=ones --print | FileCheck %s
// REQUIRES: x86_64
// CHECK: beside: f32 1x4x4x16 [0, 0,
// CHECK: alone: f32 1x4x4x16 [2e-10
// CHECK: product: f32 4x16 [0, 0,
func.func @main(%in: tensor<1x4x4x2xf32> {sinter.name = "x"}, %rows: tensor<4x2xf32> {sinter.name = "y"}) -> (tensor<1x4x4x16xf32> {sinter.name = "beside"}, tensor<1x4x4x16xf32> {sinter.name = "alone"}, tensor<4x16xf32> {sinter.name = "product"}) {
  %pixels = sinter.constant dense<[[[[0.0, 1.0e30], [0.0, 1.0e30], [0.0, 1.0e30], [0.0, 1.0e30]], [[0.0, 1.0e30], [0.0, 1.0e30], [0.0, 1.0e30], [0.0, 1.0e30]], [[0.0, 1.0e30], [0.0, 1.0e30], [0.0, 1.0e30], [0.0, 1.0e30]], [[0.0, 1.0e30], [0.0, 1.0e30], [0.0, 1.0e30], [0.0, 1.0e30]]]]> : tensor<1x4x4x2xf32>
  %x = sinter.mul %in, %pixels : (tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %zero = sinter.constant dense<[[0.0, 1.0e30], [0.0, 1.0e30], [0.0, 1.0e30], [0.0, 1.0e30]]> : tensor<4x2xf32>
  %y = sinter.mul %rows, %zero : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %f = sinter.constant dense<[[[[1.0, 1.0e-40]]], [[[1.0, 1.0e-40]]], [[[1.0, 1.0e-40]]], [[[1.0, 1.0e-40]]], [[[1.0, 1.0e-40]]], [[[1.0, 1.0e-40]]], [[[1.0, 1.0e-40]]], [[[1.0, 1.0e-40]]], [[[1.0, 1.0e-40]]], [[[1.0, 1.0e-40]]], [[[1.0, 1.0e-40]]], [[[1.0, 1.0e-40]]], [[[1.0, 1.0e-40]]], [[[1.0, 1.0e-40]]], [[[1.0, 1.0e-40]]], [[[1.0, 1.0e-40]]]]> : tensor<16x1x1x2xf32>
  %g = sinter.constant dense<[[[[1.0e-40, 2.0e-40]]], [[[1.0e-40, 2.0e-40]]], [[[1.0e-40, 2.0e-40]]], [[[1.0e-40, 2.0e-40]]], [[[1.0e-40, 2.0e-40]]], [[[1.0e-40, 2.0e-40]]], [[[1.0e-40, 2.0e-40]]], [[[1.0e-40, 2.0e-40]]], [[[1.0e-40, 2.0e-40]]], [[[1.0e-40, 2.0e-40]]], [[[1.0e-40, 2.0e-40]]], [[[1.0e-40, 2.0e-40]]], [[[1.0e-40, 2.0e-40]]], [[[1.0e-40, 2.0e-40]]], [[[1.0e-40, 2.0e-40]]], [[[1.0e-40, 2.0e-40]]]]> : tensor<16x1x1x2xf32>
  %m = sinter.constant dense<[[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0e-40, 1.0e-40, 1.0e-40, 1.0e-40, 1.0e-40, 1.0e-40, 1.0e-40, 1.0e-40, 1.0e-40, 1.0e-40, 1.0e-40, 1.0e-40, 1.0e-40, 1.0e-40, 1.0e-40, 1.0e-40]]> : tensor<2x16xf32>
  %0 = sinter.convolution %x, %f {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x4x4x2xf32>, tensor<16x1x1x2xf32>) -> tensor<1x4x4x16xf32>
  %1 = sinter.convolution %x, %g {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x4x4x2xf32>, tensor<16x1x1x2xf32>) -> tensor<1x4x4x16xf32>
  %2 = sinter.dot_general %y, %m {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x2xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  return %0, %1, %2 : tensor<1x4x4x16xf32>, tensor<1x4x4x16xf32>, tensor<4x16xf32>
}
