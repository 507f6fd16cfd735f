// Few rows times four-bit codes on x86 that multiplies bytes in pairs alone (pmaddubsw): a step of one row takes eight
// codes of two vectors of columns, three digits each, and does not spill. Rows that are bytes have one digit. Sums of
// 16 bits are widened (pmaddwd) behind the loop; codes are asked for ahead. Where four bytes are multiplied, or none, no
// pairs are.
// RUN: sinter compile %s --target=x86-64-v3 --emit=asm -o %t.s
// RUN: FileCheck %s < %t.s
// RUN: sinter compile %S/Inputs/block-row.mlir --target=x86-64-v3 --emit=asm -o %t.row.s
// RUN: python3 %source/tools/check_spills.py %t.row.s 12 vpmaddubsw | FileCheck --check-prefix=ROW %s
// RUN: sinter compile %S/Inputs/block-row.mlir --target=x86-64-v2 --emit=asm -o %t.low.s
// RUN: python3 %source/tools/check_spills.py %t.low.s 12 pmaddubsw | FileCheck --check-prefix=ROW %s
// RUN: sinter compile %S/Inputs/block-row.mlir --target=x86-64-v4 --emit=asm -o %t.wide.s
// RUN: python3 %source/tools/check_spills.py %t.wide.s 12 vpmaddubsw | FileCheck --check-prefix=ROW %s
// RUN: FileCheck --check-prefix=WIDE %s < %t.wide.s
// RUN: sinter compile %s --target=x86-64-v3,+avxvnni --emit=asm -o - | FileCheck --check-prefix=FOURS %s
// RUN: sinter compile %s --target=x86-64 --emit=asm -o - | FileCheck --check-prefix=NONE %s

// ROW: 12 FMAs in {{.*}} no spill
// WIDE: vpmaddubsw {{.*}}%zmm
// FOURS-NOT: pmaddubsw
// FOURS: vpdpbusd
// FOURS-NOT: pmaddubsw
// NONE-NOT: pmaddubsw
// NONE: mulps
// NONE-NOT: pmaddubsw

// CHECK-LABEL: k0_contraction{{[a-z_]*}}:
// CHECK: prefetcht0 {{.*}}4096(
// CHECK: vpmaddubsw {{.*}}%ymm
// CHECK: vpaddw
// CHECK: vpmaddwd
func.func @row(%x: tensor<1x256xf32>) -> tensor<1x64xf32> {
  %q = sinter.constant dense<165> : tensor<64x8x16xui8>
  %s = sinter.constant dense<0.5> : tensor<64x8xf32>
  %p = sinter.block_dot %x, %q, %s : (tensor<1x256xf32>, tensor<64x8x16xui8>, tensor<64x8xf32>) -> tensor<1x64xf32>
  return %p : tensor<1x64xf32>
}

// CHECK-LABEL: k1_contraction{{[a-z_]*}}:
// CHECK: vpmaddubsw
// CHECK: vpmaddwd
func.func @bytes(%x: tensor<16x256xf32>) -> tensor<16x64xf32> {
  %q = sinter.constant dense<165> : tensor<64x8x16xui8>
  %s = sinter.constant dense<0.5> : tensor<64x8xf32>
  %p = sinter.block_dot %x, %q, %s {byte_rows = true} : (tensor<16x256xf32>, tensor<64x8x16xui8>, tensor<64x8xf32>) -> tensor<16x64xf32>
  return %p : tensor<16x64xf32>
}
