// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A last element that is truncated is stored with its own size, and nothing behind it is written.
//
// RUN: sinter compile %s --target x86-64-v4 --emit=asm -o %t.s
// RUN: FileCheck %s < %t.s

// CHECK-LABEL: _run_main:
// CHECK: vpmovqw %zmm{{[0-9]+}}, ([[OUT:%r[a-z0-9]+]])
// CHECK: {{(movw|vpextrw)}} {{.*}}, 16([[OUT]])
func.func @main(%x: tensor<9xi64>) -> tensor<9xi16> {
  %0 = sinter.convert %x {element_type = i16} : (tensor<9xi64>) -> tensor<9xi16>
  return %0 : tensor<9xi16>
}
