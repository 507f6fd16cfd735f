// As many chunks as threads may share (24 and more), where they are not brief and copy few rows twice: not 2, 3 or 5.
// RUN: sinter compile %s --target=emeraldrapids --emit=schedule -o - | FileCheck %s
// RUN: sinter compile %s --target=znver4 --emit=schedule -o - | FileCheck %s

// CHECK-LABEL: run_pointwise
// CHECK: convolution({{.*}} chunks %c17_i64
func.func @pointwise(%x: tensor<1x112x112x32xf32>) -> tensor<1x112x112x16xf32> {
  %w = sinter.constant dense<0.5> : tensor<16x1x1x32xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x112x112x32xf32>, tensor<16x1x1x32xf32>) -> tensor<1x112x112x16xf32>
  return %p : tensor<1x112x112x16xf32>
}

// CHECK-LABEL: run_first
// CHECK: convolution({{.*}} chunks %c28_i64
func.func @first(%x: tensor<1x224x224x3xf32>) -> tensor<1x112x112x32xf32> {
  %w = sinter.constant dense<0.5> : tensor<32x3x3x3xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 2, 2>, low = array<i64: 1, 1>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x224x224x3xf32>, tensor<32x3x3x3xf32>) -> tensor<1x112x112x32xf32>
  return %p : tensor<1x112x112x32xf32>
}

// CHECK-LABEL: run_small
// CHECK: convolution({{.*}} chunks %c1_i64
func.func @small(%x: tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xf32> {
  %w = sinter.constant dense<0.5> : tensor<32x1x1x32xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x14x14x32xf32>, tensor<32x1x1x32xf32>) -> tensor<1x14x14x32xf32>
  return %p : tensor<1x14x14x32xf32>
}
