// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Positions are checked by one addition and one maximum of a vector: nothing is stored and no branch is taken for a
// position. Those of 32 bits stay so wide.
//
// RUN: sinter compile %s --target x86-64-v4 --emit=asm -o %t.s
// RUN: FileCheck %s < %t.s
// RUN: FileCheck %s --check-prefix=WIDE < %t.s

// CHECK-LABEL: k0_reduce_body:
// CHECK:       [[LOOP:.LBB[0-9_]+]]:{{[[:space:]]+}}vpaddd {{[0-9]+}}(%rdi,{{.*}}), %zmm{{[0-9]+}}, %zmm{{[0-9]+}}
// CHECK-NOT:   {{(mov|jmp|call|vpscatter)}}
// CHECK:       vpmaxud
// CHECK-NOT:   {{(mov|jmp|call|vpscatter)}}
// CHECK:       jb [[LOOP]]
func.func @narrow(%x: tensor<1000xf32>, %p: tensor<4096xi32>) -> tensor<4096xf32> {
  %n = sinter.constant dense<1000> : tensor<i64>
  %q = sinter.check_positions %p, %n {axes = array<i64: 0>, what = "gather"} : (tensor<4096xi32>, tensor<i64>) -> tensor<4096xi32>
  %y = sinter.gather %x, %q {axis = 0} : (tensor<1000xf32>, tensor<4096xi32>) -> tensor<4096xf32>
  return %y : tensor<4096xf32>
}

// WIDE-LABEL: k2_reduce_body:
// WIDE:       [[LOOP:.LBB[0-9_]+]]:{{[[:space:]]+}}vpaddq {{[0-9]+}}(%rdi,{{.*}}), %zmm{{[0-9]+}}, %zmm{{[0-9]+}}
// WIDE-NOT:   {{(mov|jmp|call|vpscatter)}}
// WIDE:       vpmaxuq
// WIDE-NOT:   {{(mov|jmp|call|vpscatter)}}
// WIDE:       jb [[LOOP]]
func.func @wide(%x: tensor<1000xf32>, %p: tensor<4096xi64>) -> tensor<4096xf32> {
  %n = sinter.constant dense<1000> : tensor<i64>
  %q = sinter.check_positions %p, %n {axes = array<i64: 0>, what = "gather"} : (tensor<4096xi64>, tensor<i64>) -> tensor<4096xi64>
  %y = sinter.gather %x, %q {axis = 0} : (tensor<1000xf32>, tensor<4096xi64>) -> tensor<4096xf32>
  return %y : tensor<4096xf32>
}
