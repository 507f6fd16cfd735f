// Tiles leave out what is beyond the image, so that no rows are copied: the kernel has no workspace. Rows that are left of
// the last tile are multiplied alone, and each tile asks for its share of the next panel and for what its epilogue writes.
// RUN: sinter compile %s --target=emeraldrapids --emit=loops -o - | FileCheck %s
// RUN: sinter compile %s --target=emeraldrapids --emit=fused -o - | FileCheck --check-prefix=TILE %s
// RUN: sinter compile %s --target=x86-64-v4 --emit=fused -o - | FileCheck --check-prefix=TILE %s

// CHECK-LABEL: func.func @{{.*}}k0_convolution(
// CHECK-NOT: xi8>
// CHECK: memref.prefetch {{.*}}, write
// CHECK: memref.prefetch {{.*}}, read, locality<2>
// CHECK-LABEL: func.func @{{.*}}k1_convolution(
// CHECK-NOT: xi8>
// CHECK-LABEL: func.func @{{.*}}k2_convolution(
// CHECK-SAME: memref<1099511627776xi8>
// CHECK-LABEL: func.func @{{.*}}k3_convolution(
// CHECK-NOT: xi8>
// CHECK-LABEL: func.func @{{.*}}k4_convolution(
// CHECK-SAME: memref<1099511627776xi8>
// CHECK-LABEL: func.func @{{.*}}k5_convolution(
// CHECK-NOT: xi8>

// Two rows of 7 pixels, three times, and one.
// TILE-LABEL: @narrow
// TILE: tile = [2, 7, 2]
func.func @narrow(%x: tensor<1x7x7x512xf32>) -> tensor<1x7x7x512xf32> {
  %w = sinter.constant dense<0.5> : tensor<512x3x3x512xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x7x7x512xf32>, tensor<512x3x3x512xf32>) -> tensor<1x7x7x512xf32>
  return %p : tensor<1x7x7x512xf32>
}

// Taps that lie apart are a run each.
func.func @dilated(%x: tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32> {
  %w = sinter.constant dense<0.5> : tensor<64x3x3x64xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 2, 2>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x28x28x64xf32>, tensor<64x3x3x64xf32>) -> tensor<1x28x28x64xf32>
  return %p : tensor<1x28x28x64xf32>
}

// Pixels 4 KiB apart are copied further.
func.func @conflicting(%x: tensor<1x14x14x1024xf32>) -> tensor<1x14x14x64xf32> {
  %w = sinter.constant dense<0.5> : tensor<64x3x3x1024xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x14x14x1024xf32>, tensor<64x3x3x1024xf32>) -> tensor<1x14x14x64xf32>
  return %p : tensor<1x14x14x64xf32>
}

// Most of the copy would be zeros.
func.func @far(%x: tensor<1x16x16x1024xf32>) -> tensor<1x16x16x64xf32> {
  %w = sinter.constant dense<0.5> : tensor<64x3x3x1024xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 12, 12>, high = array<i64: 12, 12>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 12, 12>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x16x16x1024xf32>, tensor<64x3x3x1024xf32>) -> tensor<1x16x16x64xf32>
  return %p : tensor<1x16x16x64xf32>
}

// Taps would be written out for each of many tiles.
func.func @wide(%x: tensor<1x16x512x32xf32>) -> tensor<1x16x512x64xf32> {
  %w = sinter.constant dense<0.5> : tensor<64x3x3x32xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 8, 64>, high = array<i64: 8, 64>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 8, 64>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x16x512x32xf32>, tensor<64x3x3x32xf32>) -> tensor<1x16x512x64xf32>
  return %p : tensor<1x16x512x64xf32>
}

// Channels on their own whose taps lie apart: rows are cut where a tap enters or leaves the image. Pixels
// 0 to 7 leave out the first tap, pixels 1992 to 1999 the last one.
func.func @apart(%x: tensor<1x2000x128xf32>) -> tensor<1x2000x128xf32> {
  %w = sinter.constant dense<0.5> : tensor<128x3x1xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 8>, high = array<i64: 8>, input_dilation = array<i64: 1>, dilation = array<i64: 8>, groups = 128 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x2000x128xf32>, tensor<128x3x1xf32>) -> tensor<1x2000x128xf32>
  return %p : tensor<1x2000x128xf32>
}

// Three vectors are one tile, and not one of two and a narrow one.
// TILE-LABEL: @three_vectors
// TILE: tile = [1, 8, 3]
func.func @three_vectors(%x: tensor<1x96x96x48xf32>) -> tensor<1x96x96x48xf32> {
  %w = sinter.constant dense<0.5> : tensor<48x3x3x48xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x96x96x48xf32>, tensor<48x3x3x48xf32>) -> tensor<1x96x96x48xf32>
  return %p : tensor<1x96x96x48xf32>
}
