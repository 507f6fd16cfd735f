// RUN: sinter-opt --canonicalize %s | FileCheck %s

// CHECK-LABEL: @known_branch
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @known_branch(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[N:.*]] = sinter.neg %[[X]]
  // CHECK-NEXT: return %[[N]]
  %p = sinter.constant dense<true> : tensor<i1>
  %0 = sinter.cond %p (%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %n = sinter.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%n) : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    sinter.yield (%a) : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// The branch knows more about its size than the result's type says.
// CHECK-LABEL: @known_branch_of_joined_type
func.func @known_branch_of_joined_type(%x: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<?xf32> {
  // CHECK-NOT: sinter.cond
  // CHECK: %[[R:.*]] = sinter.reshape
  // CHECK: return %[[R]] : tensor<?xf32>
  %p = sinter.constant dense<false> : tensor<i1>
  %0 = sinter.cond %p (%x, %y) : (tensor<i1>, tensor<4xf32>, tensor<5xf32>) -> tensor<?xf32> then {
  ^bb0(%a: tensor<4xf32>, %b: tensor<5xf32>):
    sinter.yield (%a) : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>, %b: tensor<5xf32>):
    sinter.yield (%b) : tensor<5xf32>
  }
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: @index_out_of_range_takes_last
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @index_out_of_range_takes_last(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: return %[[X]]
  %i = sinter.constant dense<-7> : tensor<i64>
  %0 = sinter.switch %i (%x) : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %n = sinter.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%n) : tensor<4xf32>
  }, {
  ^bb0(%a: tensor<4xf32>):
    sinter.yield (%a) : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @captures_are_used_distinct_and_not_constant
// CHECK-SAME: (%[[P:.*]]: tensor<i1>, %[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>)
func.func @captures_are_used_distinct_and_not_constant(%p: tensor<i1>, %x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  // CHECK: sinter.cond %[[P]](%[[X]])
  // CHECK: sinter.constant dense<3.0
  %c = sinter.constant dense<3.0> : tensor<f32>
  %0 = sinter.cond %p (%x, %y, %x, %c) : (tensor<i1>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32> then {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %d: tensor<f32>, %e: tensor<f32>):
    %n = sinter.div %a, %d : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %m = sinter.div %n, %e : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield (%m) : tensor<f32>
  } else {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %d: tensor<f32>, %e: tensor<f32>):
    sinter.yield (%d) : tensor<f32>
  }
  return %0 : tensor<f32>
}

// CHECK-LABEL: @unused_results_go
func.func @unused_results_go(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  // CHECK: sinter.cond
  // CHECK-SAME: -> tensor<f32> then
  // CHECK-NOT: sinter.exp
  %0:2 = sinter.cond %p (%x) : (tensor<i1>, tensor<f32>) -> (tensor<f32>, tensor<f32>) then {
  ^bb0(%a: tensor<f32>):
    %n = sinter.neg %a : (tensor<f32>) -> tensor<f32>
    %e = sinter.exp %a : (tensor<f32>) -> tensor<f32>
    sinter.yield (%e, %n) : tensor<f32>, tensor<f32>
  } else {
  ^bb0(%a: tensor<f32>):
    sinter.yield (%a, %a) : tensor<f32>, tensor<f32>
  }
  return %0#1 : tensor<f32>
}

// CHECK-LABEL: @branches_agree_on_a_capture
// CHECK-SAME: (%[[P:.*]]: tensor<i1>, %[[X:.*]]: tensor<f32>)
func.func @branches_agree_on_a_capture(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: return %[[X]]
  %0 = sinter.cond %p (%x) : (tensor<i1>, tensor<f32>) -> tensor<f32> then {
  ^bb0(%a: tensor<f32>):
    sinter.yield (%a) : tensor<f32>
  } else {
  ^bb0(%a: tensor<f32>):
    sinter.yield (%a) : tensor<f32>
  }
  return %0 : tensor<f32>
}

// CHECK-LABEL: @while_that_never_runs
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @while_that_never_runs(%x: tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
  // CHECK-NEXT: %[[Z:.*]] = sinter.constant dense<0> : tensor<i64>
  // CHECK-NEXT: return %[[Z]], %[[X]]
  %0:2 = sinter.while (%x) captures() : (tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) cond {
  ^bb0(%a: tensor<4xf32>):
    %p = sinter.constant dense<false> : tensor<i1>
    sinter.yield (%p) : tensor<i1>
  } body {
  ^bb0(%a: tensor<4xf32>):
    %n = sinter.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%n) : tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<i64>, tensor<4xf32>
}

// Carry 0 never changes, carry 1 feeds only itself, carry 2 is needed.
// CHECK-LABEL: @carries_that_change_and_matter_stay
// CHECK-SAME: (%[[N:.*]]: tensor<i64>, %[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>, %[[Z:.*]]: tensor<f32>)
func.func @carries_that_change_and_matter_stay(%n: tensor<i64>, %x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK: %[[R:.*]] = sinter.for {{.*}}(%[[Z]]) captures(%[[X]])
  // CHECK: ^bb0(%{{.*}}: tensor<i64>, %[[C:.*]]: tensor<f32>, %[[K:.*]]: tensor<f32>):
  // CHECK-NEXT: %[[S:.*]] = sinter.div %[[C]], %[[K]]
  // CHECK-NEXT: sinter.yield(%[[S]])
  // CHECK: return %[[X]], %[[R]]
  %one = sinter.constant dense<1> : tensor<i64>
  %0:3 = sinter.for %one to %n step %one (%x, %y, %z) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>)
       -> (tensor<f32>, tensor<f32>, tensor<f32>) body {
  ^bb0(%i: tensor<i64>, %a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>):
    %e = sinter.exp %b : (tensor<f32>) -> tensor<f32>
    %s = sinter.div %c, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield (%a, %e, %s) : tensor<f32>, tensor<f32>, tensor<f32>
  }
  return %0#0, %0#2 : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: @unused_stack_goes
func.func @unused_stack_goes(%x: tensor<f32>, %xs: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: sinter.scan
  // CHECK-SAME: out_axes = array<i64: 0>
  // CHECK-SAME: -> tensor<3xf32> body
  %0:3 = sinter.scan (%x) over(%xs) captures() {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0, 0>, out_reverse = array<i1: false, true>}
       : (tensor<f32>, tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>, tensor<3xf32>) body {
  ^bb0(%c: tensor<f32>, %s: tensor<f32>):
    %e = sinter.exp %s : (tensor<f32>) -> tensor<f32>
    %n = sinter.add %c, %e : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield (%n, %e, %n) : tensor<f32>, tensor<f32>, tensor<f32>
  }
  return %0#1 : tensor<3xf32>
}

// CHECK-LABEL: @stacks_of_the_same_are_one
// CHECK: %[[R:.*]]:2 = sinter.scan
// CHECK: return %[[R]]#0, %[[R]]#0, %[[R]]#1
func.func @stacks_of_the_same_are_one(%xs: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  %0:3 = sinter.scan () over(%xs) captures() {axes = array<i64: 0>, reverse = array<i1: true>, out_axes = array<i64: 0, 0, 0>, out_reverse = array<i1: true, true, false>} : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) body {
  ^bb0(%x: tensor<3xf32>):
    %1 = sinter.tanh %x : (tensor<3xf32>) -> tensor<3xf32>
    sinter.yield(%1, %1, %1) : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}

// CHECK-LABEL: @stack_of_slices_is_the_sequence
// CHECK: %[[R:.*]]:2 = sinter.scan
// CHECK: return %arg0, %[[R]]#0, %[[R]]#1
func.func @stack_of_slices_is_the_sequence(%xs: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  %0:3 = sinter.scan () over(%xs) captures() {axes = array<i64: 0>, reverse = array<i1: true>, out_axes = array<i64: 0, 0, 0>, out_reverse = array<i1: true, false, true>} : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) body {
  ^bb0(%x: tensor<3xf32>):
    %1 = sinter.tanh %x : (tensor<3xf32>) -> tensor<3xf32>
    sinter.yield(%x, %x, %1) : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}

// A loop that may report an error instead stays between its operands and what uses its results.
// CHECK-LABEL: @carry_of_a_loop_that_traps
// CHECK: %trips, %[[R:.*]] = sinter.while
// CHECK: return %[[R]]
func.func @carry_of_a_loop_that_traps(%x: tensor<f32>, %p: tensor<i1>) -> tensor<f32> {
  %0:2 = sinter.while (%x) captures(%p) {max_trip = 0 : i64, on_limit = #sinter<limit_policy trap>} : (tensor<f32>, tensor<i1>) -> (tensor<i64>, tensor<f32>) cond {
  ^bb0(%c: tensor<f32>, %q: tensor<i1>):
    sinter.yield(%q) : tensor<i1>
  } body {
  ^bb0(%c: tensor<f32>, %q: tensor<i1>):
    sinter.yield(%c) : tensor<f32>
  }
  return %0#1 : tensor<f32>
}
