// Products of attention of bf16 multiply pairs where the target does, from registers alone; elsewhere they are those of f32.
// RUN: sinter compile %s --target x86-64-v4,+avx512bf16 --emit=asm -o %t.s
// RUN: python3 %source/tools/check_spills.py %t.s 24 vdpbf16ps | FileCheck %s
// RUN: FileCheck %s --check-prefix=ROUND < %t.s
// RUN: sinter compile %s --target x86-64-v4 --emit=asm -o - | FileCheck %s --check-prefix=WIDE
// REQUIRES: x86_64
// CHECK: 24 FMAs
// ROUND: vcvtneps2bf16
// WIDE-NOT: vdpbf16ps
func.func @main(%q: tensor<8x1024x64xbf16>, %k: tensor<8x1024x64xbf16>, %v: tensor<8x1024x64xbf16>, %g: tensor<8x1024x64xbf16>, %r: tensor<8x1024xf32>) -> (tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>) {
  %0:2 = sinter.attention %q, %k, %v {scale = 0.125 : f64, after = 0 : i64, log_sums = true} : (tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>) -> (tensor<8x1024x64xbf16>, tensor<8x1024xf32>)
  %1:3 = sinter.attention_gradient %q, %k, %v, %g, %0#1, %r {scale = 0.125 : f64, after = 0 : i64} : (tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024xf32>, tensor<8x1024xf32>) -> (tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>)
  return %0#0, %1#0, %1#1, %1#2 : tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>
}
