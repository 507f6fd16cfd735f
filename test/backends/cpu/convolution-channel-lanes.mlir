// Vectors hold input channels where columns are few: of one image, or those of small groups side by side. A step multiplies
// vectors, and lanes are added up behind the last one. Nothing is copied for borders, of groups of whole vectors neither.
// RUN: sinter compile %s --target=emeraldrapids --emit=loops -o - | FileCheck %s
// RUN: sinter compile %s --target=emeraldrapids --emit=fused -o - | FileCheck --check-prefix=WIDE %s
// RUN: sinter compile %s --target=x86-64-v3 --emit=fused -o - | FileCheck --check-prefix=HALF %s

// CHECK-LABEL: func.func @{{.*}}k0_convolution(
// CHECK-NOT: xi8>
// CHECK-NOT: vector.broadcast
// CHECK: vector.fma
// CHECK: vector.shuffle
// CHECK-LABEL: func.func @{{.*}}k1_convolution(
// CHECK-NOT: xi8>
// CHECK-NOT: vector.maskedload
// CHECK: vector.shuffle
// CHECK-LABEL: func.func @{{.*}}k2_convolution(
// CHECK-NOT: xi8>
// CHECK: vector.maskedload
// CHECK: vector.shuffle
// CHECK-LABEL: func.func @{{.*}}k3_convolution(
// CHECK-NOT: vector.shuffle
// Groups of a block of pixels follow each other.
// CHECK-LABEL: func.func @{{.*}}k4_convolution(
// CHECK-NOT: xi8>
// CHECK: arith.divui %{{.*}}, %c8 :
// CHECK: arith.divui %{{.*}}, %c4 :
// CHECK-NOT: vector.shuffle
// CHECK: return

// Eight pixels by three columns.
// WIDE-LABEL: @few
// WIDE: lanes = 16, tile = [1, 8, 1]
// HALF-LABEL: @few
// HALF: lanes = 8, tile = [1, 3, 1]
func.func @few(%x: tensor<1x64x64x32xf32>) -> tensor<1x64x64x3xf32> {
  %w = sinter.constant dense<0.5> : tensor<3x5x5x32xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x64x64x32xf32>, tensor<3x5x5x32xf32>) -> tensor<1x64x64x3xf32>
  return %p : tensor<1x64x64x3xf32>
}

// Four groups in 16 lanes, two in 8.
// WIDE-LABEL: @groups_of_4
// WIDE: lanes = 16, tile = [1, 6, 1]
// HALF-LABEL: @groups_of_4
// HALF: lanes = 8, tile = [1, 2, 1]
func.func @groups_of_4(%x: tensor<1x56x56x128xf32>) -> tensor<1x56x56x128xf32> {
  %w = sinter.constant dense<0.5> : tensor<128x3x3x4xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 32 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x56x56x128xf32>, tensor<128x3x3x4xf32>) -> tensor<1x56x56x128xf32>
  return %p : tensor<1x56x56x128xf32>
}

// The last of 13 groups is alone in a vector of 16 lanes, so that what is behind its pixels is not read. A group fills 8
// lanes.
// WIDE-LABEL: @odd_groups_of_8
// WIDE: lanes = 16, tile = [1, 3, 1]
// HALF-LABEL: @odd_groups_of_8
// HALF: lanes = 8, tile = [1, 14, 1]
func.func @odd_groups_of_8(%x: tensor<1x28x28x104xf32>) -> tensor<1x28x28x104xf32> {
  %w = sinter.constant dense<0.5> : tensor<104x3x3x8xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 13 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x28x28x104xf32>, tensor<104x3x3x8xf32>) -> tensor<1x28x28x104xf32>
  return %p : tensor<1x28x28x104xf32>
}

// 14 columns fill 16 lanes.
// WIDE-LABEL: @many
// WIDE: lanes = 16, tile = [1, 28, 1]
func.func @many(%x: tensor<1x28x28x32xf32>) -> tensor<1x28x28x14xf32> {
  %w = sinter.constant dense<0.5> : tensor<14x3x3x32xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x28x28x32xf32>, tensor<14x3x3x32xf32>) -> tensor<1x28x28x14xf32>
  return %p : tensor<1x28x28x14xf32>
}

// A group fills a vector. Each tap of it is a run, as channels of others lie between.
func.func @groups_of_16(%x: tensor<1x28x28x128xf32>) -> tensor<1x28x28x128xf32> {
  %w = sinter.constant dense<0.5> : tensor<128x3x3x16xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 8 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x28x28x128xf32>, tensor<128x3x3x16xf32>) -> tensor<1x28x28x128xf32>
  return %p : tensor<1x28x28x128xf32>
}

// 24 columns would fill three quarters of two vectors. They are three tiles of three pixels by eight columns, whose
// results end before those of the next. With 16 registers, columns fill lanes of eight.
// CHECK-LABEL: func.func @{{.*}}k5_convolution(
// CHECK-NOT: xi8>
// CHECK-NOT: vector.broadcast
// CHECK: vector.fma
// CHECK: vector.shuffle
// WIDE-LABEL: @tiles_of_columns
// WIDE: lanes = 16, tile = [1, 3, 1]
// HALF-LABEL: @tiles_of_columns
// HALF: lanes = 8, tile = [1, 3, 3]
func.func @tiles_of_columns(%x: tensor<1x28x30x96xf32>) -> tensor<1x28x30x24xf32> {
  %w = sinter.constant dense<0.5> : tensor<24x3x3x96xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x28x30x96xf32>, tensor<24x3x3x96xf32>) -> tensor<1x28x30x24xf32>
  return %p : tensor<1x28x30x24xf32>
}
