// Long functions of four vectors of a map, and of a row of a tile, are computed side by side: each instruction of one
// vector waits for the one before it. A logistic function is one polynomial and one quotient.
// RUN: sinter compile %s --target=x86-64-v3 --emit=asm -o - | FileCheck %s
// RUN: sinter compile %s --target=x86-64-v4 --emit=asm -o - | FileCheck --check-prefix=WIDE %s
// RUN: sinter check %s

// CHECK: k0_map:
// CHECK: vmovups -96(
// CHECK-NOT: vfmadd
// CHECK: vmovups -64(
// CHECK-NOT: vfmadd
// CHECK: vmovups -32(
// CHECK-NOT: vfmadd
// CHECK: vfmadd
// CHECK: .Lfunc_end

// Four vectors, one of the loop for what four do not divide, and lanes one by one.
// CHECK: k1_map{{.*}}:
// CHECK-NOT: vblendvps
// CHECK-COUNT-5: vdivps
// CHECK-NOT: {{vdivps|vblendvps}}
// CHECK: .Lfunc_end

// CHECK: k2_contraction:
// CHECK: vorps
// CHECK-NOT: vfmadd
// CHECK: vorps
// CHECK: vfmadd
// CHECK: .Lfunc_end

// WIDE: k0_map:
// WIDE: vmovups -192(
// WIDE-NOT: vfmadd
// WIDE: vmovups (%{{.*}}), %zmm
// WIDE: vfmadd
// WIDE: k1_map{{.*}}:
// WIDE-NOT: vscalefps
// WIDE: k2_contraction:
func.func @main(%x: tensor<64x1000xf32>, %y: tensor<1003xf32>, %w: tensor<1000x128xf32>) ->
    (tensor<64x1000xf32>, tensor<1003xf32>, tensor<64x128xf32>) {
  %erf = sinter.erf %x : (tensor<64x1000xf32>) -> tensor<64x1000xf32>
  %share = sinter.logistic %y : (tensor<1003xf32>) -> tensor<1003xf32>
  %dot = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<64x1000xf32>, tensor<1000x128xf32>) -> tensor<64x128xf32>
  %root = sinter.constant dense<0.70710678> : tensor<64x128xf32>
  %one = sinter.constant dense<1.0> : tensor<64x128xf32>
  %half = sinter.constant dense<0.5> : tensor<64x128xf32>
  %scaled = sinter.mul %dot, %root : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %part = sinter.erf %scaled : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %sum = sinter.add %part, %one : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %product = sinter.mul %dot, %sum : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  %gelu = sinter.mul %product, %half : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  return %erf, %share, %gelu : tensor<64x1000xf32>, tensor<1003xf32>, tensor<64x128xf32>
}
