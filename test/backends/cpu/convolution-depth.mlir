// Convolutions over three axes: tiles walk the planes of the filter that lie inside, and nothing is copied. Values are
// those of the reference.
// RUN: sinter check %s
// RUN: sinter compile %s --target=x86-64-v3 --emit=fused -o - | FileCheck %s
// RUN: sinter compile %s --target=x86-64-v3 --emit=loops -o - | FileCheck --check-prefix=LOOPS %s
// REQUIRES: x86_64

// Tiles have no workspace.
// LOOPS-LABEL: func.func @{{.*}}k0_convolution(
// LOOPS-NOT: xi8>

// The second has pixels of a plane as one row, planes of the filter that lie two apart, and every second position.
// CHECK-LABEL: @main
// CHECK-NOT: sinter.concatenate
// CHECK: sinter.convolution {{.*}} (tensor<1x3x7x7x16xf32>, tensor<24x3x3x3x16xf32>) -> tensor<1x3x7x7x24xf32>
// CHECK: sinter.convolution {{.*}} (tensor<2x6x5x4x8xf32>, tensor<40x3x1x1x8xf32>) -> tensor<2x3x5x4x40xf32>
func.func @main(%x: tensor<1x3x7x7x16xf32>, %y: tensor<2x6x5x4x8xf32>) -> (tensor<1x3x7x7x24xf32>, tensor<2x3x5x4x40xf32>) {
  %w = sinter.constant dense<0.5> : tensor<24x3x3x3x16xf32>
  %v = sinter.constant dense<0.25> : tensor<40x3x1x1x8xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1, 1>, low = array<i64: 1, 1, 1>, high = array<i64: 1, 1, 1>, input_dilation = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x3x7x7x16xf32>, tensor<24x3x3x3x16xf32>) -> tensor<1x3x7x7x24xf32>
  %q = sinter.convolution %y, %v {strides = array<i64: 2, 1, 1>, low = array<i64: 2, 0, 0>, high = array<i64: 1, 0, 0>, input_dilation = array<i64: 1, 1, 1>, dilation = array<i64: 2, 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<2x6x5x4x8xf32>, tensor<40x3x1x1x8xf32>) -> tensor<2x3x5x4x40xf32>
  return %p, %q : tensor<1x3x7x7x24xf32>, tensor<2x3x5x4x40xf32>
}

// Few channels become more by the taps.
// CHECK-LABEL: @of_few_channels
// CHECK: sinter.convolution {{.*}} (tensor<4x7x7x9xf32>, tensor<16x3x3x9xf32>)
func.func @of_few_channels(%x: tensor<1x4x7x7x3xf32>) -> tensor<1x4x7x7x16xf32> {
  %w = sinter.constant dense<0.5> : tensor<16x3x3x3x3xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1, 1>, low = array<i64: 1, 1, 1>, high = array<i64: 1, 1, 1>, input_dilation = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x4x7x7x3xf32>, tensor<16x3x3x3x3xf32>) -> tensor<1x4x7x7x16xf32>
  return %p : tensor<1x4x7x7x16xf32>
}
