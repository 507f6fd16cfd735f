// RUN: sinter-opt %s --sinter-pack-invariants | FileCheck %s

// CHECK-LABEL: @recurrent_weights_come_in_panels
// CHECK-SAME: %[[W:[^:]*]]: tensor<128x64xf32>)
// CHECK: %[[PARTS:.*]] = sinter.reshape %[[W]] {{.*}} -> tensor<4x32x64xf32>
// CHECK: %[[PANELS:.*]] = sinter.kernel map(%[[PARTS]]) : {{.*}} -> tensor<4x64x32xf32>
// CHECK: sinter.transpose {{.*}}permutation = array<i64: 0, 2, 1>
// CHECK: sinter.scan({{.*}}) over({{.*}}) captures({{.*}}%[[PANELS]])
// CHECK: sinter.kernel contraction
// CHECK: %[[T:.*]] = sinter.transpose {{.*}} : (tensor<4x64x32xf32>) -> tensor<4x32x64xf32>
// CHECK: %[[M:.*]] = sinter.reshape %[[T]] {{.*}} -> tensor<128x64xf32>
// CHECK: sinter.dot_general {{.*}}, %[[M]] {{.*}}rhs_contract = array<i64: 1>
func.func @recurrent_weights_come_in_panels(%h: tensor<8x64xf32>, %xs: tensor<10x8x128xf32>, %w: tensor<128x64xf32>) -> tensor<8x64xf32> {
  %r = sinter.scan (%h) over(%xs) captures(%w) {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64>, out_reverse = array<i1>} : (tensor<8x64xf32>, tensor<10x8x128xf32>, tensor<128x64xf32>) -> tensor<8x64xf32> body {
  ^bb0(%c: tensor<8x64xf32>, %x: tensor<8x128xf32>, %m: tensor<128x64xf32>):
    %p = sinter.kernel contraction(%c, %m, %x) : (tensor<8x64xf32>, tensor<128x64xf32>, tensor<8x128xf32>) -> tensor<8x128xf32> {
    ^bb0(%a: tensor<8x64xf32>, %b: tensor<128x64xf32>, %y: tensor<8x128xf32>):
      %d = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<8x64xf32>, tensor<128x64xf32>) -> tensor<8x128xf32>
      %s = sinter.add %d, %y : (tensor<8x128xf32>, tensor<8x128xf32>) -> tensor<8x128xf32>
      sinter.yield(%s) : tensor<8x128xf32>
    }
    %n = sinter.kernel map(%p) : (tensor<8x128xf32>) -> tensor<8x64xf32> {
    ^bb0(%a: tensor<8x128xf32>):
      %l = sinter.slice %a {starts = array<i64: 0, 0>, limits = array<i64: 8, 64>, steps = array<i64: 1, 1>} : (tensor<8x128xf32>) -> tensor<8x64xf32>
      sinter.yield(%l) : tensor<8x64xf32>
    }
    sinter.yield(%n) : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}

// Out of both loops, from rows.
// CHECK-LABEL: @packs_before_the_outermost_loop
// CHECK-SAME: %[[W:[^:]*]]: tensor<64x64xf32>)
// CHECK: sinter.reshape %[[W]] {{.*}} -> tensor<64x2x32xf32>
// CHECK: sinter.kernel map
// CHECK: sinter.transpose {{.*}}permutation = array<i64: 1, 0, 2>
// CHECK: sinter.for
// CHECK-NOT: sinter.kernel map
// CHECK: sinter.for
// CHECK-NOT: sinter.kernel map
// CHECK: sinter.dot_general {{.*}}rhs_contract = array<i64: 1>{{.*}}tensor<64x64xf32>) -> tensor<8x64xf32>
func.func @packs_before_the_outermost_loop(%h: tensor<8x64xf32>, %trips: tensor<i64>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %r = sinter.for %zero to %trips step %one (%h) captures(%zero, %trips, %one, %w) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<8x64xf32>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<64x64xf32>) -> tensor<8x64xf32> body {
  ^bb0(%i: tensor<i64>, %c: tensor<8x64xf32>, %low: tensor<i64>, %high: tensor<i64>, %step: tensor<i64>, %m: tensor<64x64xf32>):
    %q = sinter.for %low to %high step %step (%c) captures(%m) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32> body {
    ^bb0(%j: tensor<i64>, %e: tensor<8x64xf32>, %o: tensor<64x64xf32>):
      %p = sinter.kernel contraction(%e, %o) : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32> {
      ^bb0(%a: tensor<8x64xf32>, %b: tensor<64x64xf32>):
        %d = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
        sinter.yield(%d) : tensor<8x64xf32>
      }
      sinter.yield(%p) : tensor<8x64xf32>
    }
    sinter.yield(%q) : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}

// CHECK-LABEL: @keeps_a_matrix_that_changes
// CHECK-NOT: sinter.transpose
func.func @keeps_a_matrix_that_changes(%h: tensor<64x64xf32>, %x: tensor<8x64xf32>, %trips: tensor<i64>) -> (tensor<64x64xf32>, tensor<8x64xf32>) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %r:2 = sinter.for %zero to %trips step %one (%h, %x) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<64x64xf32>, tensor<8x64xf32>) -> (tensor<64x64xf32>, tensor<8x64xf32>) body {
  ^bb0(%i: tensor<i64>, %m: tensor<64x64xf32>, %c: tensor<8x64xf32>):
    %p = sinter.kernel contraction(%c, %m) : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32> {
    ^bb0(%a: tensor<8x64xf32>, %b: tensor<64x64xf32>):
      %d = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
      sinter.yield(%d) : tensor<8x64xf32>
    }
    %n = sinter.kernel map(%m) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%a: tensor<64x64xf32>):
      %t = sinter.tanh %a : (tensor<64x64xf32>) -> tensor<64x64xf32>
      sinter.yield(%t) : tensor<64x64xf32>
    }
    sinter.yield(%n, %p) : tensor<64x64xf32>, tensor<8x64xf32>
  }
  return %r#0, %r#1 : tensor<64x64xf32>, tensor<8x64xf32>
}

// Three trips, one row, columns that fill no panel.
// CHECK-LABEL: @keeps_what_packing_does_not_help
// CHECK-NOT: sinter.transpose
func.func @keeps_what_packing_does_not_help(%h: tensor<8x64xf32>, %xs: tensor<3x4xf32>, %w: tensor<64x64xf32>, %v: tensor<1x64xf32>, %g: tensor<8x72xf32>, %u: tensor<72x72xf32>, %trips: tensor<i64>) -> (tensor<8x64xf32>, tensor<1x64xf32>, tensor<8x72xf32>) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %r = sinter.scan (%h) over(%xs) captures(%w) {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64>, out_reverse = array<i1>} : (tensor<8x64xf32>, tensor<3x4xf32>, tensor<64x64xf32>) -> tensor<8x64xf32> body {
  ^bb0(%c: tensor<8x64xf32>, %x: tensor<4xf32>, %m: tensor<64x64xf32>):
    %p = sinter.kernel contraction(%c, %m) : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32> {
    ^bb0(%a: tensor<8x64xf32>, %b: tensor<64x64xf32>):
      %d = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
      sinter.yield(%d) : tensor<8x64xf32>
    }
    sinter.yield(%p) : tensor<8x64xf32>
  }
  %s:2 = sinter.for %zero to %trips step %one (%v, %g) captures(%w, %u) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<1x64xf32>, tensor<8x72xf32>, tensor<64x64xf32>, tensor<72x72xf32>) -> (tensor<1x64xf32>, tensor<8x72xf32>) body {
  ^bb0(%i: tensor<i64>, %c: tensor<1x64xf32>, %e: tensor<8x72xf32>, %m: tensor<64x64xf32>, %n: tensor<72x72xf32>):
    %p = sinter.kernel contraction(%c, %m) : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32> {
    ^bb0(%a: tensor<1x64xf32>, %b: tensor<64x64xf32>):
      %d = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
      sinter.yield(%d) : tensor<1x64xf32>
    }
    %q = sinter.kernel contraction(%e, %n) : (tensor<8x72xf32>, tensor<72x72xf32>) -> tensor<8x72xf32> {
    ^bb0(%a: tensor<8x72xf32>, %b: tensor<72x72xf32>):
      %d = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x72xf32>, tensor<72x72xf32>) -> tensor<8x72xf32>
      sinter.yield(%d) : tensor<8x72xf32>
    }
    sinter.yield(%p, %q) : tensor<1x64xf32>, tensor<8x72xf32>
  }
  return %r, %s#0, %s#1 : tensor<8x64xf32>, tensor<1x64xf32>, tensor<8x72xf32>
}

// Two axes are summed, and the first factor is 16 times as large as the second.
// CHECK-LABEL: @packs_a_small_factor_beside_a_large_one
// CHECK: sinter.reshape %arg1 {{.*}} -> tensor<560x2x32xf32>
// CHECK: sinter.transpose {{.*}}permutation = array<i64: 1, 0, 2>{{.*}} -> tensor<2x560x32xf32>
// CHECK: sinter.transpose {{.*}}permutation = array<i64: 0, 2, 1>
// CHECK: sinter.reshape {{.*}} -> tensor<64x35x16xf32>
// CHECK: sinter.dot_general {{.*}}lhs_contract = array<i64: 0, 1>{{.*}}rhs_contract = array<i64: 1, 2>
func.func @packs_a_small_factor_beside_a_large_one(%dy: tensor<35x16x1024xf32>, %x: tensor<35x16x64xf32>) -> tensor<1024x64xf32> {
  %p = sinter.kernel contraction(%dy, %x) : (tensor<35x16x1024xf32>, tensor<35x16x64xf32>) -> tensor<1024x64xf32> {
  ^bb0(%a: tensor<35x16x1024xf32>, %b: tensor<35x16x64xf32>):
    %d = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0, 1>, rhs_contract = array<i64: 0, 1>, element_type = f32} : (tensor<35x16x1024xf32>, tensor<35x16x64xf32>) -> tensor<1024x64xf32>
    sinter.yield(%d) : tensor<1024x64xf32>
  }
  return %p : tensor<1024x64xf32>
}

// CHECK-LABEL: @keeps_factors_of_which_none_is_large
// CHECK-NOT: sinter.transpose
func.func @keeps_factors_of_which_none_is_large(%dy: tensor<560x512xf32>, %x: tensor<560x64xf32>) -> tensor<512x64xf32> {
  %p = sinter.kernel contraction(%dy, %x) : (tensor<560x512xf32>, tensor<560x64xf32>) -> tensor<512x64xf32> {
  ^bb0(%a: tensor<560x512xf32>, %b: tensor<560x64xf32>):
    %d = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<560x512xf32>, tensor<560x64xf32>) -> tensor<512x64xf32>
    sinter.yield(%d) : tensor<512x64xf32>
  }
  return %p : tensor<512x64xf32>
}
