// RUN: sinter-opt %s --sinter-hoist-products | FileCheck %s

// CHECK-LABEL: @multiplies_a_sequence_before_the_loop
// CHECK-SAME: (%[[H:.*]]: tensor<8x16xf32>, %[[X:.*]]: tensor<10x8x4xf32>, %[[W:.*]]: tensor<4x16xf32>)
// CHECK: %[[Y:.*]] = sinter.dot_general %[[X]], %[[W]] {{.*}}lhs_contract = array<i64: 2>{{.*}} -> tensor<10x8x16xf32>
// CHECK: sinter.scan(%[[H]]) over(%[[Y]]) {{.*}}axes = array<i64: 0>{{.*}}reverse = array<i1: true>
// CHECK-NOT: sinter.dot_general
func.func @multiplies_a_sequence_before_the_loop(%h: tensor<8x16xf32>, %xs: tensor<10x8x4xf32>, %w: tensor<4x16xf32>) -> tensor<8x16xf32> {
  %r = sinter.scan (%h) over(%xs) captures(%w) {axes = array<i64: 0>, reverse = array<i1: true>, out_axes = array<i64>, out_reverse = array<i1>} : (tensor<8x16xf32>, tensor<10x8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32> body {
  ^bb0(%c: tensor<8x16xf32>, %x: tensor<8x4xf32>, %m: tensor<4x16xf32>):
    %p = sinter.dot_general %x, %m {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %s = sinter.add %c, %p : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %t = sinter.tanh %s : (tensor<8x16xf32>) -> tensor<8x16xf32>
    sinter.yield(%t) : tensor<8x16xf32>
  }
  return %r : tensor<8x16xf32>
}

// The sequence is walked along its last axis, which is the first free one of the product's; its slices are read elsewhere, too.
// CHECK-LABEL: @keeps_a_sequence_that_trips_read
// CHECK-SAME: (%[[H:.*]]: tensor<4x8xf32>, %[[X:.*]]: tensor<4x8x10xf32>, %[[W:.*]]: tensor<4x8xf32>)
// CHECK: %[[Y:.*]] = sinter.dot_general %[[X]], %[[W]] {{.*}}lhs_contract = array<i64: 0>{{.*}} -> tensor<8x10x8xf32>
// CHECK: sinter.scan(%[[H]]) over(%[[X]], %[[Y]]) {{.*}}axes = array<i64: 2, 1>
func.func @keeps_a_sequence_that_trips_read(%h: tensor<4x8xf32>, %xs: tensor<4x8x10xf32>, %w: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<10x8x8xf32>) {
  %r:2 = sinter.scan (%h) over(%xs) captures(%w) {axes = array<i64: 2>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>} : (tensor<4x8xf32>, tensor<4x8x10xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<10x8x8xf32>) body {
  ^bb0(%c: tensor<4x8xf32>, %x: tensor<4x8xf32>, %m: tensor<4x8xf32>):
    %p = sinter.dot_general %x, %m {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %q = sinter.exp %p : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %s = sinter.add %c, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    sinter.yield(%s, %q) : tensor<4x8xf32>, tensor<8x8xf32>
  }
  return %r#0, %r#1 : tensor<4x8xf32>, tensor<10x8x8xf32>
}

// CHECK-LABEL: @multiplies_what_was_stacked_after_the_loop
// CHECK-SAME: (%[[H:.*]]: tensor<8x16xf32>, %[[W:.*]]: tensor<16x4xf32>, %{{.*}}: tensor<i64>)
// CHECK: %[[R:.*]]:2 = sinter.for
// CHECK-NOT: sinter.dot_general
// CHECK: sinter.yield
// CHECK: %[[Y:.*]] = sinter.dot_general %[[R]]#1, %[[W]] {{.*}}lhs_contract = array<i64: 2>{{.*}} : (tensor<?x8x16xf32>, tensor<16x4xf32>) -> tensor<?x8x4xf32>
// CHECK: return %[[R]]#0, %[[Y]]
func.func @multiplies_what_was_stacked_after_the_loop(%h: tensor<8x16xf32>, %w: tensor<16x4xf32>, %trips: tensor<i64>) -> (tensor<8x16xf32>, tensor<?x8x4xf32>) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %r:2 = sinter.for %zero to %trips step %one (%h) captures(%w) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<8x16xf32>, tensor<16x4xf32>) -> (tensor<8x16xf32>, tensor<?x8x4xf32>) body {
  ^bb0(%i: tensor<i64>, %c: tensor<8x16xf32>, %m: tensor<16x4xf32>):
    %t = sinter.tanh %c : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %p = sinter.dot_general %t, %m {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    sinter.yield(%t, %p) : tensor<8x16xf32>, tensor<8x4xf32>
  }
  return %r#0, %r#1 : tensor<8x16xf32>, tensor<?x8x4xf32>
}

// A product of the carry, one that is read in the loop, one of vectors, and one whose factor is much larger.
// CHECK-LABEL: @keeps_products_that_trips_wait_for
// CHECK-NOT: sinter.dot_general
// CHECK: sinter.scan
// CHECK-COUNT-4: sinter.dot_general
// CHECK: sinter.yield
// CHECK-NOT: sinter.dot_general
func.func @keeps_products_that_trips_wait_for(%h: tensor<2x16xf32>, %xs: tensor<10x16xf32>, %w: tensor<16x16xf32>, %u: tensor<16x1xf32>) -> (tensor<2x16xf32>, tensor<10x2x16xf32>, tensor<10x16xf32>, tensor<10x2x1xf32>) {
  %r:4 = sinter.scan (%h) over(%xs) captures(%w, %u) {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0, 0, 0>, out_reverse = array<i1: false, false, false>} : (tensor<2x16xf32>, tensor<10x16xf32>, tensor<16x16xf32>, tensor<16x1xf32>) -> (tensor<2x16xf32>, tensor<10x2x16xf32>, tensor<10x16xf32>, tensor<10x2x1xf32>) body {
  ^bb0(%c: tensor<2x16xf32>, %x: tensor<16xf32>, %m: tensor<16x16xf32>, %n: tensor<16x1xf32>):
    %p = sinter.dot_general %c, %m {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
    %q = sinter.tanh %p : (tensor<2x16xf32>) -> tensor<2x16xf32>
    %s = sinter.dot_general %q, %m {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
    %t = sinter.exp %s : (tensor<2x16xf32>) -> tensor<2x16xf32>
    %v = sinter.dot_general %x, %m {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<16xf32>, tensor<16x16xf32>) -> tensor<16xf32>
    %y = sinter.dot_general %t, %n {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2x16xf32>, tensor<16x1xf32>) -> tensor<2x1xf32>
    sinter.yield(%q, %s, %v, %y) : tensor<2x16xf32>, tensor<2x16xf32>, tensor<16xf32>, tensor<2x1xf32>
  }
  return %r#0, %r#1, %r#2, %r#3 : tensor<2x16xf32>, tensor<10x2x16xf32>, tensor<10x16xf32>, tensor<10x2x1xf32>
}
