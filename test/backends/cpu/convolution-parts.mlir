// A panel of 512 channels by nine taps fills more than three quarters of a small second-level cache: a chunk goes
// through all of its tiles with a row of the filter before it takes the next, and sums wait in the workspace meanwhile.
// Where a row is too large, too, parts of it follow each other. What fits the cache is walked at once.
// RUN: sinter compile %s --target=haswell --emit=loops -o - | FileCheck --check-prefixes=CHECK,KIB256 %s
// RUN: sinter compile %s --target=icelake-client --emit=loops -o - | FileCheck --check-prefixes=CHECK,KIB512 %s
// RUN: sinter compile %s --target=emeraldrapids --emit=loops -o - | FileCheck --check-prefixes=CHECK,MIB2 %s
// RUN: sinter compile %s --target=emeraldrapids --emit=fused -o - | FileCheck --check-prefix=CHUNK2 %s
// RUN: sinter compile %s --target=icelake-client --emit=fused -o - | FileCheck --check-prefix=CHUNK512 %s

// The loops over chunks, rows of the filter, rows and tiles.
// CHECK-LABEL: func.func @{{.*}}k0_convolution(
// KIB256-SAME: memref<{{[0-9]+}}xi8>, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// KIB256: scf.for {{.*}} = %[[BEGIN]] to %[[END]] step %c1
// KIB256: scf.for {{.*}} = %c0 to %c3 step %c1 {
// KIB256: scf.for {{.*}} step %c1 {
// KIB256: scf.for {{.*}} = %c0 to %c18{{.*}} step %c6 {
// KIB256: scf.for {{.*}} = %c18{{.*}} to %c28 step %c5 {
// KIB512-SAME: memref<{{[0-9]+}}xi8>, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// KIB512: scf.for {{.*}} = %[[BEGIN]] to %[[END]] step %c1
// KIB512: scf.for {{.*}} = %c0 to %c3 step %c1 {
// KIB512: scf.for {{.*}} step %c1 {
// KIB512: scf.for {{.*}} = %c0 to %c28 step %c14 {
// MIB2-NOT: xi8>
// MIB2: scf.for
// MIB2-NOT: scf.for {{.*}} = %c0 to %c3 step %c1 {
// MIB2: scf.for {{.*}} = %c0 to %c28 step %c14 {
// CHUNK2-LABEL: @rows
// CHUNK2: chunk = 8388608,
// CHUNK512-LABEL: @rows
// CHUNK512: chunk = 8388608,
func.func @rows(%x: tensor<1x28x28x512xf32>) -> tensor<1x28x28x64xf32> {
  %w = sinter.constant dense<0.5> : tensor<64x3x3x512xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x28x28x512xf32>, tensor<64x3x3x512xf32>) -> tensor<1x28x28x64xf32>
  return %p : tensor<1x28x28x64xf32>
}

// A row of 2000 channels in twelve chains of a sum: two and three of them at a time.
// CHECK-LABEL: func.func @{{.*}}k1_convolution(
// KIB256: scf.for {{.*}} = %c0 to %c3 step %c1 {
// KIB256: scf.for {{.*}} = %c0 to %c12 step %c3 {
// KIB512: scf.for {{.*}} = %c0 to %c3 step %c1 {
// KIB512: scf.for {{.*}} = %c0 to %c12 step %c3 {
// MIB2: scf.for {{.*}} = %c0 to %c3 step %c1 {
// MIB2: scf.for {{.*}} = %c0 to %c28 step %c14 {
// Chunks are as many rows as read a quarter of the cache, or four tiles.
// CHUNK2-LABEL: @parts_of_rows
// CHUNK2: chunk = 32256000,
// CHUNK512-LABEL: @parts_of_rows
// CHUNK512: chunk = 32256000,
func.func @parts_of_rows(%x: tensor<1x28x28x2000xf32>) -> tensor<1x28x28x64xf32> {
  %w = sinter.constant dense<0.5> : tensor<64x3x3x2000xf32>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x28x28x2000xf32>, tensor<64x3x3x2000xf32>) -> tensor<1x28x28x64xf32>
  return %p : tensor<1x28x28x64xf32>
}
