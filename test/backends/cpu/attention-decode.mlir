// A step of decoding reads its cache of bf16 as it lies: no kernel widens it.
// RUN: sinter compile %s --target x86-64-v4,+avx512bf16 --emit=fused -o - | FileCheck %s
// RUN: sinter compile %s --target x86-64-v3 --emit=fused -o - | FileCheck %s
// CHECK-LABEL: @main(
// CHECK-NOT: tensor<8x4096x64xf32>
// CHECK: sinter.dot_general {{.*}} : (tensor<8x1x64x{{b?}}f{{[0-9]+}}>, tensor<8x4096x64xbf16>) -> tensor<8x1x4096xf32>
// CHECK-NOT: tensor<8x4096x64xf32>
// CHECK: sinter.dot_general {{.*}} : (tensor<8x1x4096xf32>, tensor<8x4096x64xbf16>) -> tensor<8x1x64xf32>
func.func @main(%q: tensor<8x1x64xbf16>, %k: tensor<8x4096x64xbf16>, %v: tensor<8x4096x64xbf16>) -> tensor<8x1x64xbf16> {
  %0 = sinter.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<8x1x64xbf16>, tensor<8x4096x64xbf16>, tensor<8x4096x64xbf16>) -> tensor<8x1x64xbf16>
  return %0 : tensor<8x1x64xbf16>
}
