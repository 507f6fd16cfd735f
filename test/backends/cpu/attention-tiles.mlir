// Products of attention of bf16 multiply tiles where the target has them: both of the forward part, all five of the backward one, which loop over loads and products alone.
// Shares are rounded by one instruction where there is one.
// RUN: sinter compile %s --target sapphirerapids --emit=fused -o - | FileCheck %s --check-prefix=SCHEDULE
// RUN: sinter compile %s --target sapphirerapids --emit=asm -o - | FileCheck %s
// RUN: sinter compile %s --target sapphirerapids,-avx512bf16 --emit=asm -o - | FileCheck %s --check-prefix=ROUNDED
// RUN: sinter compile %s --target sapphirerapids,-amx-bf16 --emit=asm -o - | FileCheck %s --check-prefix=NONE
// RUN: sinter compile %s --target sapphirerapids -o %t.smod && sinter inspect %t.smod | FileCheck %s --check-prefix=INSPECT
// REQUIRES: x86_64

// SCHEDULE: schedule<attention, lanes = 16, tile = [32, 2, 256], chunk = 256>
// SCHEDULE: schedule<attention_gradient, lanes = 16, tile = [32, 2, 128], chunk = 64>
// CHECK-LABEL: ldtilecfg
// CHECK: tilezero
// CHECK: tdpbf16ps %tmm6, %tmm4, %tmm0
// CHECK: tilestored
// CHECK: vcvtneps2bf16
// CHECK: tileloadd {{.*}}%tmm0
// CHECK: tdpbf16ps %tmm6, %tmm4, %tmm0
// CHECK: tilerelease
// CHECK-LABEL: ldtilecfg
// CHECK-COUNT-5: tdpbf16ps %tmm7, %tmm5, %tmm3
// CHECK: tilerelease
// ROUNDED: tdpbf16ps
// ROUNDED-NOT: vcvtneps2bf16
// NONE-NOT: tdpbf16ps
// INSPECT: amx-bf16
func.func @main(%q: tensor<8x1024x64xbf16>, %k: tensor<8x1024x64xbf16>, %v: tensor<8x1024x64xbf16>, %g: tensor<8x1024x64xbf16>, %r: tensor<8x1024xf32>) -> (tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>) {
  %0:2 = sinter.attention %q, %k, %v {scale = 0.125 : f64, after = 0 : i64, log_sums = true} : (tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>) -> (tensor<8x1024x64xbf16>, tensor<8x1024xf32>)
  %1:3 = sinter.attention_gradient %q, %k, %v, %g, %0#1, %r {scale = 0.125 : f64, after = 0 : i64} : (tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024xf32>, tensor<8x1024xf32>) -> (tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>)
  return %0#0, %1#0, %1#1, %1#2 : tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>
}
