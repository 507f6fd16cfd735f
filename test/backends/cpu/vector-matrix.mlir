// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter compile %s --emit=asm --target=x86-64-v4 -o - | FileCheck %s
// RUN: sinter check %s
// RUN: sinter check %s --target=x86-64-v3
//
// A trip broadcasts elements of the vector and multiplies them with rows of the aligned copy from memory, without masks
// and without sums across lanes.

// CHECK-LABEL: _run_step:
// CHECK: .p2align 4
// CHECK: .p2align 4
// CHECK-NEXT: [[LOOP:.LBB0_[0-9]+]]:
// CHECK-NEXT: vbroadcastss {{.*}}(%r{{.*}}), %zmm
// CHECK-NOT: {{vperm|vshuf|z}|vmov}}
// CHECK-COUNT-8: vfmadd231ps {{.*}}(%r{{.*}}), %zmm{{[0-9]+}}, %zmm{{[0-9]+$}}
// CHECK-NOT: {{vperm|vshuf|z}|vmov}}
// CHECK: jb [[LOOP]]
func.func @step(%a: tensor<60x60xf32>, %x0: tensor<60xf32>) -> tensor<60xf32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %n = sinter.constant dense<50> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %0 = sinter.for %zero to %n step %one(%x0) captures(%a) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<60xf32>, tensor<60x60xf32>) -> tensor<60xf32> body {
  ^bb0(%i: tensor<i64>, %x: tensor<60xf32>, %m: tensor<60x60xf32>):
    %scale = sinter.constant dense<0.22> : tensor<60xf32>
    %1 = sinter.dot_general %m, %x {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<60x60xf32>, tensor<60xf32>) -> tensor<60xf32>
    %2 = sinter.mul %1, %scale : (tensor<60xf32>, tensor<60xf32>) -> tensor<60xf32>
    sinter.yield(%2) : tensor<60xf32>
  }
  return %0 : tensor<60xf32>
}
