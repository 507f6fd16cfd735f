// All pixels of a pointwise convolution are one row, and so are those of what it writes: none is taken apart into an image,
// a row and a column of it, which would take as many instructions as the products of few channels do.
// RUN: sinter compile %s --target=x86-64-v4 --emit=loops -o - | FileCheck %s
// RUN: sinter check %s

// CHECK-LABEL: func.func @convolution_places_k0_convolution
// CHECK: vector.fma
// CHECK-NOT: arith.divui
// CHECK: return
func.func @pointwise(%x: tensor<3x8x9x24xf32>, %y: tensor<3x8x9x32xf32>) -> tensor<3x8x9x32xf32> {
  %w = sinter.constant dense<0.5> : tensor<32x1x1x24xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<3x8x9x24xf32>, tensor<32x1x1x24xf32>) -> tensor<3x8x9x32xf32>
  %s = sinter.add %p, %y : (tensor<3x8x9x32xf32>, tensor<3x8x9x32xf32>) -> tensor<3x8x9x32xf32>
  return %s : tensor<3x8x9x32xf32>
}
