// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is left of a pixel's channels behind whole vectors, and what fills them up to a step, is copied and filled by
// shorter vectors: 64 + 16 of 80 bytes, and 32 + 16 up to 128.
// RUN: sinter compile %s --target=sapphirerapids --emit=loops -o - | FileCheck %s
// RUN: sinter check %s

// CHECK: %[[WHOLE:.*]] = vector.load {{.*}} vector<64xi8>
// CHECK: vector.store %[[WHOLE]], {{.*}} vector<64xi8>
// CHECK: %[[REST:.*]] = vector.load {{.*}} vector<16xi8>
// CHECK: vector.store %[[REST]], {{.*}} vector<16xi8>
// CHECK: } else {
// CHECK: vector.store {{.*}} vector<64xi8>
// CHECK: vector.store {{.*}} vector<16xi8>
// CHECK: }
// CHECK: vector.store {{.*}} vector<32xi8>
// CHECK: vector.store {{.*}} vector<16xi8>
// CHECK-NOT: memref.store {{.*}}xi8>
// CHECK: tdpbusd
func.func @main(%x: tensor<1x20x20x80xui8>) -> tensor<1x20x20x32xi32> {
  %w = sinter.constant dense<1> : tensor<32x3x3x80xi8>
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = i32} : (tensor<1x20x20x80xui8>, tensor<32x3x3x80xi8>) -> tensor<1x20x20x32xi32>
  return %0 : tensor<1x20x20x32xi32>
}
