// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --sinter-recompute-values=min-bytes=64 --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-recompute-values --split-input-file | FileCheck %s --check-prefix=LARGE

// Of the chain product -> exp -> neg the last value that gives the others stays; eighteen products are in between.

// CHECK-LABEL: @keeps_one_value_of_a_chain
// CHECK-SAME: (%[[X:.*]]: tensor<8x8xf32>
// CHECK: %[[H:.*]] = sinter.dot_general
// CHECK: %[[E:.*]] = sinter.exp %[[H]]
// CHECK: %[[S:.*]] = sinter.neg %[[E]]
// CHECK: sinter.dot_general %[[S]]
// CHECK-COUNT-17: sinter.dot_general
// CHECK: %[[A:.*]] = sinter.mul %{{.*}}, %[[E]]
// CHECK: %[[S2:.*]] = sinter.neg %[[E]]
// CHECK: sinter.mul %[[A]], %[[S2]]
// LARGE-LABEL: @keeps_one_value_of_a_chain
// LARGE-COUNT-1: sinter.neg
// LARGE-NOT: sinter.neg
func.func @keeps_one_value_of_a_chain(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %h = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %e = sinter.exp %h : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = sinter.neg %e : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %d0 = sinter.dot_general %s, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d1 = sinter.dot_general %d0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d2 = sinter.dot_general %d1, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d3 = sinter.dot_general %d2, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d4 = sinter.dot_general %d3, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d5 = sinter.dot_general %d4, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d6 = sinter.dot_general %d5, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d7 = sinter.dot_general %d6, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d8 = sinter.dot_general %d7, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d9 = sinter.dot_general %d8, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d10 = sinter.dot_general %d9, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d11 = sinter.dot_general %d10, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d12 = sinter.dot_general %d11, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d13 = sinter.dot_general %d12, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d14 = sinter.dot_general %d13, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d15 = sinter.dot_general %d14, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d16 = sinter.dot_general %d15, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d17 = sinter.dot_general %d16, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = sinter.mul %d17, %e : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = sinter.mul %a, %s : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}

// -----

// What only late ops read is computed late, from what is there anyhow.

// CHECK-LABEL: @makes_nothing_early
// LARGE-LABEL: @makes_nothing_early
// CHECK: %[[H:.*]] = sinter.dot_general
// CHECK: sinter.dot_general %[[H]]
// CHECK-NOT: sinter.{{exp|sin}}
// CHECK-COUNT-17: sinter.dot_general
// CHECK: %[[E:.*]] = sinter.exp %[[H]]
// CHECK: %[[S:.*]] = sinter.sin %[[H]]
func.func @makes_nothing_early(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %h = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %e = sinter.exp %h : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = sinter.sin %h : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %d0 = sinter.dot_general %h, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d1 = sinter.dot_general %d0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d2 = sinter.dot_general %d1, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d3 = sinter.dot_general %d2, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d4 = sinter.dot_general %d3, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d5 = sinter.dot_general %d4, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d6 = sinter.dot_general %d5, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d7 = sinter.dot_general %d6, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d8 = sinter.dot_general %d7, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d9 = sinter.dot_general %d8, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d10 = sinter.dot_general %d9, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d11 = sinter.dot_general %d10, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d12 = sinter.dot_general %d11, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d13 = sinter.dot_general %d12, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d14 = sinter.dot_general %d13, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d15 = sinter.dot_general %d14, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d16 = sinter.dot_general %d15, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d17 = sinter.dot_general %d16, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = sinter.mul %d17, %e : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = sinter.mul %a, %s : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}

// -----

// A product is not run twice, and what a result holds in any case is read from there.

// CHECK-LABEL: @takes_what_is_returned
// CHECK-SAME: (%[[X:.*]]: tensor<8x8xf32>
// CHECK: %[[H:.*]] = sinter.dot_general
// CHECK: %[[E:.*]] = sinter.exp %[[H]]
// CHECK: %[[S:.*]] = sinter.neg %[[E]]
// CHECK-COUNT-18: sinter.dot_general
// CHECK: sinter.mul %{{.*}}, %[[E]]
// CHECK: sinter.neg %[[E]]
func.func @takes_what_is_returned(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %h = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %e = sinter.exp %h : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = sinter.neg %e : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %d0 = sinter.dot_general %s, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d1 = sinter.dot_general %d0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d2 = sinter.dot_general %d1, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d3 = sinter.dot_general %d2, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d4 = sinter.dot_general %d3, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d5 = sinter.dot_general %d4, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d6 = sinter.dot_general %d5, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d7 = sinter.dot_general %d6, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d8 = sinter.dot_general %d7, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d9 = sinter.dot_general %d8, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d10 = sinter.dot_general %d9, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d11 = sinter.dot_general %d10, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d12 = sinter.dot_general %d11, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d13 = sinter.dot_general %d12, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d14 = sinter.dot_general %d13, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d15 = sinter.dot_general %d14, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d16 = sinter.dot_general %d15, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d17 = sinter.dot_general %d16, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = sinter.mul %d17, %e : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = sinter.mul %a, %s : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %b, %e : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// What becomes larger is made again from what it was made of, by a kernel of its own if need be (sinter.again).
// CHECK-LABEL: @sixteen_bits_stay
// CHECK: %[[N:.*]] = sinter.convert {{.*}} -> tensor<8x8xbf16>
// CHECK: sinter.convert %[[N]] {{.*}} -> tensor<8x8xf32>
// CHECK-COUNT-18: sinter.dot_general
// CHECK: %[[F:.*]] = sinter.convert %[[N]] {element_type = f32, sinter.again}
// CHECK: sinter.dot_general %{{.*}}, %[[F]]
func.func @sixteen_bits_stay(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %h = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %n = sinter.convert %h {element_type = bf16} : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %f = sinter.convert %n {element_type = f32} : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %d0 = sinter.dot_general %f, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d1 = sinter.dot_general %d0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d2 = sinter.dot_general %d1, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d3 = sinter.dot_general %d2, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d4 = sinter.dot_general %d3, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d5 = sinter.dot_general %d4, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d6 = sinter.dot_general %d5, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d7 = sinter.dot_general %d6, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d8 = sinter.dot_general %d7, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d9 = sinter.dot_general %d8, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d10 = sinter.dot_general %d9, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d11 = sinter.dot_general %d10, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d12 = sinter.dot_general %d11, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d13 = sinter.dot_general %d12, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d14 = sinter.dot_general %d13, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d15 = sinter.dot_general %d14, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d16 = sinter.dot_general %d15, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d17 = sinter.dot_general %d16, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = sinter.dot_general %d17, %f {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
