// Tiles of six rows that do not divide what they go through: the last ones have five, so that nothing is computed twice,
// where a tile that reaches back would compute one in fifty or more again, and the last block of rows holds all of them.
// RUN: sinter compile %s --target=x86-64-v3 --emit=loops -o - | FileCheck %s

// 128 rows in twenty-two tiles: four of five rows.
// CHECK-LABEL: func.func @{{.*}}k0_contraction(
// CHECK: scf.for {{.*}} step %c6 {
// CHECK: scf.for {{.*}} step %c5 {
func.func @rows(%x: tensor<128x64xf32>) -> tensor<128x64xf32> {
  %w = sinter.constant dense<0.5> : tensor<64x64xf32>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  return %p : tensor<128x64xf32>
}

// 197 rows: one of 198 is computed twice.
// CHECK-LABEL: func.func @{{.*}}k1_contraction(
// CHECK: scf.for {{.*}} step %c6 {
// CHECK-NOT: step %c5 {
func.func @few(%x: tensor<197x64xf32>) -> tensor<197x64xf32> {
  %w = sinter.constant dense<0.5> : tensor<64x64xf32>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<197x64xf32>, tensor<64x64xf32>) -> tensor<197x64xf32>
  return %p : tensor<197x64xf32>
}

// 28 pixels: three tiles of six and two of five.
// CHECK-LABEL: func.func @{{.*}}k2_convolution(
// CHECK: scf.for {{.*}} = %c0 to %c18{{.*}} step %c6 {
// CHECK: scf.for {{.*}} = %c18{{.*}} to %c28 step %c5 {
func.func @pixels(%x: tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32> {
  %w = sinter.constant dense<0.5> : tensor<64x3x3x64xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x28x28x64xf32>, tensor<64x3x3x64xf32>) -> tensor<1x28x28x64xf32>
  return %p : tensor<1x28x28x64xf32>
}
