// Blocks and tiles of pointwise convolutions of f32 by the caches of the target.
// RUN: sinter compile %s --target=emeraldrapids --emit=fused -o - | FileCheck --check-prefixes=TILE,WAYS12 %s
// RUN: sinter compile %s --target=x86-64-v4 --emit=fused -o - | FileCheck --check-prefixes=TILE,WAYS8 %s

// Pixels 8 KiB apart: twelve ways hold ten of them, eight ways ask for low, wide tiles, of which the last have five.
// TILE-LABEL: @pointwise
// WAYS12: tile = [1, 10, 2]
// WAYS8: tile = [1, 6, 4]
func.func @pointwise(%x: tensor<1x7x7x2048xf32>) -> tensor<1x7x7x512xf32> {
  %w = sinter.constant dense<0.5> : tensor<512x1x1x2048xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x7x7x2048xf32>, tensor<512x1x1x2048xf32>) -> tensor<1x7x7x512xf32>
  return %p : tensor<1x7x7x512xf32>
}

// Few products for each result: a block is what a sixteenth of the second-level cache has of results and of what is added
// to them, 64 pixels of 2 KiB where that has 2 MiB.
// TILE-LABEL: @residual
// WAYS12: chunk = 131072,
// WAYS8: chunk = 65536,
func.func @residual(%x: tensor<1x56x56x64xf32>, %r: tensor<1x56x56x256xf32>) -> tensor<1x56x56x256xf32> {
  %w = sinter.constant dense<0.5> : tensor<256x1x1x64xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x56x56x64xf32>, tensor<256x1x1x64xf32>) -> tensor<1x56x56x256xf32>
  %s = sinter.add %p, %r : (tensor<1x56x56x256xf32>, tensor<1x56x56x256xf32>) -> tensor<1x56x56x256xf32>
  return %s : tensor<1x56x56x256xf32>
}
