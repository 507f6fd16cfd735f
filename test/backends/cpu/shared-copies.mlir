// The padded rows of a block are copied by the first of its columns' chunks in a call, to the same place for all blocks of
// the call.
// RUN: sinter compile %s --target=x86-64-v4 --emit=loops -o - | FileCheck %s

// CHECK-LABEL: func.func @{{.*}}convolution(
// CHECK-SAME: memref<1099511627776xi8>, %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index)
// CHECK: scf.for %[[CHUNK:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: arith.muli %[[BEGIN]],
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[CHUNK]], %[[BEGIN]]
// CHECK: %[[MAKE:.*]] = arith.ori %[[FIRST]],
// CHECK: scf.if %[[MAKE]]
func.func @main(%x: tensor<1x14x14x1024xf32>) -> tensor<1x14x14x256xf32> {
  %w = sinter.constant dense<0.5> : tensor<256x3x3x1024xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x14x14x1024xf32>, tensor<256x3x3x1024xf32>) -> tensor<1x14x14x256xf32>
  return %p : tensor<1x14x14x256xf32>
}
