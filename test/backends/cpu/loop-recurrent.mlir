// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recurrent layer as it is written: both products in the body. The input's is one over all steps, and so are all gradients but that
// of the state; the matrix that each step needs comes in panels, forward and backward.
// RUN: sinter check %s --input x=random:1 --input w=random:2 --input r=random:3 --input b=random:4 | FileCheck %s --check-prefix=CHECK
// RUN: sinter grad %s --wrt '^[xwrb]$' --loss loss -o %t.mlir
// RUN: sinter check %t.mlir --input x=random:1 --input w=random:2 --input r=random:3 --input b=random:4 | FileCheck %s --check-prefix=CHECK
// CHECK-NOT: MISMATCH
// CHECK: loss: f32
// CHECK-NOT: MISMATCH
// RUN: sinter check --gradient %s --input x=random:1 --input w=random:2 --input r=random:3 --input b=random:4 | FileCheck %s --check-prefix=DIFFERENCES
// DIFFERENCES: r: largest error {{[0-9.e-]+$}}
// DIFFERENCES: along a random direction: largest error {{[0-9.e-]+$}}

// RUN: sinter compile %t.mlir --target=x86-64-v4 --emit=fused -o - | FileCheck %s --check-prefix=FUSED
// FUSED: sinter.dot_general {{.*}} : (tensor<40x5x32xf32>, tensor<32x64xf32>) -> tensor<40x5x64xf32>
// FUSED: sinter.kernel map{{.*}} -> tensor<2x64x32xf32>
// FUSED: sinter.scan
// FUSED: sinter.dot_general {{.*}} : (tensor<5x64xf32>, tensor<64x64xf32>) -> tensor<5x64xf32>
// FUSED-NOT: sinter.dot_general
// FUSED: sinter.yield
// FUSED: sinter.scan
// FUSED: sinter.dot_general {{.*}} : (tensor<5x64xf32>, tensor<64x64xf32>) -> tensor<5x64xf32>
// FUSED-NOT: sinter.dot_general
// FUSED: sinter.yield
// FUSED-DAG: -> tensor<32x64xf32>
// FUSED-DAG: -> tensor<64x64xf32>
// FUSED-DAG: -> tensor<40x5x32xf32>
func.func @main(%x: tensor<40x5x32xf32> {sinter.name = "x"}, %w: tensor<32x64xf32> {sinter.name = "w"}, %r: tensor<64x64xf32> {sinter.name = "r"}, %b: tensor<64xf32> {sinter.name = "b"}) -> (tensor<f32> {sinter.name = "loss"}) {
  %h0 = sinter.constant dense<0.0> : tensor<5x64xf32>
  %small = sinter.constant dense<0.0625> : tensor<64x64xf32>
  %v = sinter.mul %r, %small : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %s:2 = sinter.scan (%h0) over(%x) captures(%w, %v, %b) {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>} : (tensor<5x64xf32>, tensor<40x5x32xf32>, tensor<32x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> (tensor<5x64xf32>, tensor<40x5x64xf32>) body {
  ^bb0(%h: tensor<5x64xf32>, %e: tensor<5x32xf32>, %m: tensor<32x64xf32>, %n: tensor<64x64xf32>, %c: tensor<64xf32>):
    %0 = sinter.dot_general %e, %m {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<5x32xf32>, tensor<32x64xf32>) -> tensor<5x64xf32>
    %1 = sinter.dot_general %h, %n {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<5x64xf32>, tensor<64x64xf32>) -> tensor<5x64xf32>
    %2 = sinter.add %0, %1 : (tensor<5x64xf32>, tensor<5x64xf32>) -> tensor<5x64xf32>
    %3 = sinter.broadcast %c axes = [1] {type = tensor<5x64xf32>} : (tensor<64xf32>) -> tensor<5x64xf32>
    %4 = sinter.add %2, %3 : (tensor<5x64xf32>, tensor<5x64xf32>) -> tensor<5x64xf32>
    %5 = sinter.tanh %4 : (tensor<5x64xf32>) -> tensor<5x64xf32>
    sinter.yield(%5, %5) : tensor<5x64xf32>, tensor<5x64xf32>
  }
  %q = sinter.mul %s#1, %s#1 : (tensor<40x5x64xf32>, tensor<40x5x64xf32>) -> tensor<40x5x64xf32>
  %loss = sinter.reduce add %q axes = [0, 1, 2] : (tensor<40x5x64xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
