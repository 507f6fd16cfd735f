// The tiles of a narrow image are as wide as it is, wherever its pixels lie: copies of pixels that would share cache sets
// have a stride of their own, and up to as many pixels as the cache has ways do not mind. No pixel is computed twice.
// RUN: sinter compile %s --target=emeraldrapids --emit=fused -o - | FileCheck --check-prefixes=CHECK,WIDE %s
// RUN: sinter compile %s --target=znver4 --emit=fused -o - | FileCheck --check-prefixes=CHECK,WIDE %s
// RUN: sinter compile %s --target=haswell --emit=fused -o - | FileCheck --check-prefixes=CHECK,NARROW %s

// CHECK-LABEL: @padded
// WIDE: tile = [2, 7, 2]
// NARROW: tile = [1, 7, 2]
func.func @padded(%x: tensor<1x14x14x512xf32>) -> tensor<1x7x7x512xf32> {
  %w = sinter.constant dense<0.5> : tensor<512x3x3x512xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 2, 2>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x14x14x512xf32>, tensor<512x3x3x512xf32>) -> tensor<1x7x7x512xf32>
  return %p : tensor<1x7x7x512xf32>
}

// CHECK-LABEL: @pointwise
// WIDE: tile = [1, 7, 2]
// NARROW: tile = [1, 7, 2]
func.func @pointwise(%x: tensor<1x14x14x1024xf32>) -> tensor<1x7x7x512xf32> {
  %w = sinter.constant dense<0.5> : tensor<512x1x1x1024xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 2, 2>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x14x14x1024xf32>, tensor<512x1x1x1024xf32>) -> tensor<1x7x7x512xf32>
  return %p : tensor<1x7x7x512xf32>
}

// Channels that fill one vector have tiles of one vector, not of a whole panel; of 72 channels the last tile has one, too.
// The loops hold their tiles in registers; of seven pixels by two vectors of 16 registers, multiply-adds read the second
// vector of the filter from memory.
// RUN: sinter compile %s --target=znver4 --emit=asm -o %t.s
// RUN: python3 %source/tools/check_spills.py %t.s 29 | FileCheck --check-prefix=TILE %s
// RUN: sinter compile %s --target=haswell --emit=asm -o %t.narrow.s
// RUN: python3 %source/tools/check_spills.py %t.narrow.s 14 | FileCheck --check-prefix=TILE %s
// RUN: FileCheck --check-prefix=MEMORY %s < %t.narrow.s
// RUN: sinter check %s
// MEMORY: vfmadd231ps {{[0-9]*}}(%{{.*}}), %ymm{{[0-9]+}}, %ymm{{[0-9]+}}
// TILE: FMAs in
// CHECK-LABEL: @one_vector
// WIDE: tile = [1, 29, 1]
// NARROW: tile = [1, 6, 2]
func.func @one_vector(%x: tensor<1x30x29x32xf32>) -> tensor<1x30x29x16xf32> {
  %w = sinter.constant dense<0.5> : tensor<16x1x1x32xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x30x29x32xf32>, tensor<16x1x1x32xf32>) -> tensor<1x30x29x16xf32>
  return %p : tensor<1x30x29x16xf32>
}

// CHECK-LABEL: @last_vectors
// WIDE: tile = [1, 14, 2]
// NARROW: tile = [1, 6, 2]
func.func @last_vectors(%x: tensor<1x14x28x24xf32>) -> tensor<1x14x28x72xf32> {
  %w = sinter.constant dense<0.5> : tensor<72x3x3x24xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x14x28x24xf32>, tensor<72x3x3x24xf32>) -> tensor<1x14x28x72xf32>
  return %p : tensor<1x14x28x72xf32>
}
