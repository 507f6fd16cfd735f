// Channels that fill at most half of the last vector: two pixels share one vector of accumulators there, so that 24
// channels cost three FMAs for two pixels and not four. Where units multiply half a vector at a time, three vectors of
// half the width cost as little, and nothing is shared. Sums are the same, whoever shares.
// RUN: sinter compile %s --target=znver5 --emit=fused -o - | FileCheck --check-prefix=TILE %s
// RUN: sinter compile %s --target=znver5 --emit=asm -o %t.s
// RUN: python3 %source/tools/check_spills.py %t.s 24
// RUN: sinter compile %s --target=znver4 --emit=fused -o - | FileCheck --check-prefix=HALF %s
// RUN: sinter compile %s --target=znver4 --emit=asm -o %t.half.s
// RUN: python3 %source/tools/check_spills.py %t.half.s 24
// test/numerics/products.py has the numbers.

// 16 pixels of 16 channels, and 8 pairs of the 8 others.
// TILE-LABEL: @half
// TILE: lanes = 16, tile = [1, 16, 2]
// HALF: lanes = 8, tile = [1, 8, 3]
func.func @half(%x: tensor<1x32x32x88xf32>) -> tensor<1x32x32x24xf32> {
  %w = sinter.constant dense<0.5> : tensor<24x3x3x88xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x32x32x88xf32>, tensor<24x3x3x88xf32>) -> tensor<1x32x32x24xf32>
  return %p : tensor<1x32x32x24xf32>
}
