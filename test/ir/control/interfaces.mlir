// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of MLIR that know control flow by its interfaces alone.
//
// RUN: sinter-opt %s --sccp | FileCheck %s --check-prefix=SCCP
// RUN: sinter-opt %s --loop-invariant-code-motion | FileCheck %s --check-prefix=LICM
// RUN: sinter-opt %s --loop-invariant-code-motion --canonicalize | FileCheck %s --check-prefix=CLEAN
// RUN: sinter-opt %s --remove-dead-values | FileCheck %s --check-prefix=DEAD

// Constants go through captures into the branch that is taken, and stay outside of the other one.
// SCCP-LABEL: @constants_go_through_branches
// SCCP: } else {
// SCCP: ^bb0(%[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>):
// SCCP-NEXT: sinter.sub %[[X]], %[[Y]]
// SCCP-LABEL: @constants_go_through_then
// SCCP: then {
// SCCP-DAG: %[[THREE:.*]] = sinter.constant dense<3.000000e+00>
// SCCP-DAG: %[[FOUR:.*]] = sinter.constant dense<4.000000e+00>
// SCCP: sinter.add %[[THREE]], %[[FOUR]]
// SCCP: } else {
func.func @constants_go_through_branches() -> tensor<f32> {
  %p = sinter.constant dense<true> : tensor<i1>
  %three = sinter.constant dense<3.0> : tensor<f32>
  %four = sinter.constant dense<4.0> : tensor<f32>
  %r = sinter.cond %p(%three, %four) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32> then {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = sinter.add %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield(%s) : tensor<f32>
  } else {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = sinter.sub %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield(%s) : tensor<f32>
  }
  return %r : tensor<f32>
}

func.func @constants_go_through_then() -> tensor<f32> {
  %p = sinter.constant dense<true> : tensor<i1>
  %three = sinter.constant dense<3.0> : tensor<f32>
  %four = sinter.constant dense<4.0> : tensor<f32>
  %r = sinter.cond %p(%three, %four) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32> then {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = sinter.add %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield(%s) : tensor<f32>
  } else {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = sinter.sub %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield(%s) : tensor<f32>
  }
  return %r : tensor<f32>
}

// An index out of range takes the last branch.
// SCCP-LABEL: @constants_choose_a_branch
// SCCP: %[[LAST:.*]] = sinter.constant dense<2.000000e+00> : tensor<f32>
// SCCP-NOT: sinter.switch
// SCCP: return %[[LAST]] : tensor<f32>
func.func @constants_choose_a_branch() -> tensor<f32> {
  %i = sinter.constant dense<-1> : tensor<i64>
  %r = sinter.switch %i() : (tensor<i64>) -> tensor<f32> {
    %a = sinter.constant dense<1.0> : tensor<f32>
    sinter.yield(%a) : tensor<f32>
  }, {
    %a = sinter.constant dense<2.0> : tensor<f32>
    sinter.yield(%a) : tensor<f32>
  }
  return %r : tensor<f32>
}

// What both branches yield is known though nobody knows which one is taken; what they differ in is not.
// SCCP-LABEL: @branches_join
// SCCP: %[[ONE:.*]] = sinter.constant dense<1.000000e+00> : tensor<f32>
// SCCP: %[[R:.*]]:2 = sinter.cond
// SCCP: return %[[ONE]], %[[R]]#1
func.func @branches_join(%p: tensor<i1>) -> (tensor<f32>, tensor<f32>) {
  %r:2 = sinter.cond %p() : (tensor<i1>) -> (tensor<f32>, tensor<f32>) then {
    %a = sinter.constant dense<1.0> : tensor<f32>
    sinter.yield(%a, %a) : tensor<f32>, tensor<f32>
  } else {
    %a = sinter.constant dense<1.0> : tensor<f32>
    %b = sinter.constant dense<2.0> : tensor<f32>
    sinter.yield(%a, %b) : tensor<f32>, tensor<f32>
  }
  return %r#0, %r#1 : tensor<f32>, tensor<f32>
}

// A carry that each trip gives on is what it was in the first one, one that changes is not known, nor is a stack.
// SCCP-LABEL: @carries_that_stay
// SCCP: %[[ONE:.*]] = sinter.constant dense<1.000000e+00> : tensor<f32>
// SCCP: %[[R:.*]]:3 = sinter.for
// SCCP: return %[[ONE]], %[[R]]#1, %[[R]]#2
func.func @carries_that_stay(%n: tensor<i64>) -> (tensor<f32>, tensor<f32>, tensor<?xf32>) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %x = sinter.constant dense<1.0> : tensor<f32>
  %y = sinter.constant dense<2.0> : tensor<f32>
  %r:3 = sinter.for %zero to %n step %one(%x, %y) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<?xf32>) body {
  ^bb0(%i: tensor<i64>, %a: tensor<f32>, %b: tensor<f32>):
    %c = sinter.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield(%a, %c, %a) : tensor<f32>, tensor<f32>, tensor<f32>
  }
  return %r#0, %r#1, %r#2 : tensor<f32>, tensor<f32>, tensor<?xf32>
}

// What a while does not know of its carries it does not guess: they come from the condition's arguments.
// SCCP-LABEL: @a_while_counts
// SCCP: %[[TRIPS:.*]], %[[R:.*]] = sinter.while
// SCCP: return %[[TRIPS]], %[[R]]
func.func @a_while_counts(%n: tensor<f32>) -> (tensor<i64>, tensor<f32>) {
  %x = sinter.constant dense<1.0> : tensor<f32>
  %r:2 = sinter.while (%x) captures(%n) : (tensor<f32>, tensor<f32>) -> (tensor<i64>, tensor<f32>) cond {
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %p = sinter.compare lt %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%p) : tensor<i1>
  } body {
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %d = sinter.add %a, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield(%d) : tensor<f32>
  }
  return %r#0, %r#1 : tensor<i64>, tensor<f32>
}

// What a trip computes from captures alone leaves the loop, with what follows from it, and comes back as a capture.
// LICM-LABEL: @invariants_leave_for
// LICM-SAME: (%[[N:.*]]: tensor<i64>, %[[X:.*]]: tensor<4xf32>)
// LICM: %[[E:.*]] = sinter.exp %[[X]]
// LICM: %[[S:.*]] = sinter.sin %[[E]]
// LICM: sinter.for {{.*}} captures(%[[X]], %[[E]], %[[S]])
// LICM: ^bb0(%{{.*}}: tensor<i64>, %[[A:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %[[T:.*]]: tensor<4xf32>):
// LICM-NEXT: %[[B:.*]] = sinter.add %[[A]], %[[T]]
// LICM-NEXT: sinter.yield(%[[B]])
// CLEAN-LABEL: @invariants_leave_for
// CLEAN: sinter.for {{.*}} captures(%{{[^,]*}}) :
func.func @invariants_leave_for(%n: tensor<i64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %r = sinter.for %zero to %n step %one(%x) captures(%x) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> body {
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>, %c: tensor<4xf32>):
    %e = sinter.exp %c : (tensor<4xf32>) -> tensor<4xf32>
    %s = sinter.sin %e : (tensor<4xf32>) -> tensor<4xf32>
    %b = sinter.add %a, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%b) : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// Both regions of a while; what hangs on a carry stays.
// LICM-LABEL: @invariants_leave_while
// LICM: sinter.exp
// LICM: sinter.sin
// LICM: sinter.while
// LICM-NOT: sinter.exp
// LICM-NOT: sinter.sin
// LICM: sinter.cos
// LICM: return
func.func @invariants_leave_while(%x: tensor<f32>) -> tensor<f32> {
  %r:2 = sinter.while (%x) captures(%x) : (tensor<f32>, tensor<f32>) -> (tensor<i64>, tensor<f32>) cond {
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %e = sinter.exp %c : (tensor<f32>) -> tensor<f32>
    %p = sinter.compare lt %a, %e : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%p) : tensor<i1>
  } body {
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %s = sinter.sin %c : (tensor<f32>) -> tensor<f32>
    %t = sinter.cos %a : (tensor<f32>) -> tensor<f32>
    %d = sinter.add %s, %t : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield(%d) : tensor<f32>
  }
  return %r#1 : tensor<f32>
}

// A slice of a sequence is another one in each trip; an invariant of the inner loop leaves both.
// LICM-LABEL: @invariants_leave_nested_scans
// LICM: sinter.exp
// LICM: sinter.scan
// LICM: sinter.sin
// LICM: sinter.scan
// LICM: sinter.cos
// LICM: return
func.func @invariants_leave_nested_scans(%xs: tensor<3xf32>, %ys: tensor<5xf32>, %c: tensor<f32>) -> tensor<3x5xf32> {
  %r = sinter.scan () over(%xs) captures(%ys, %c) {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>}
    : (tensor<3xf32>, tensor<5xf32>, tensor<f32>) -> tensor<3x5xf32> body {
  ^bb0(%x: tensor<f32>, %zs: tensor<5xf32>, %d: tensor<f32>):
    %q = sinter.scan () over(%zs) captures(%x, %d) {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>}
      : (tensor<5xf32>, tensor<f32>, tensor<f32>) -> tensor<5xf32> body {
    ^bb0(%y: tensor<f32>, %w: tensor<f32>, %e: tensor<f32>):
      %f = sinter.exp %e : (tensor<f32>) -> tensor<f32>
      %g = sinter.sin %w : (tensor<f32>) -> tensor<f32>
      %h = sinter.cos %y : (tensor<f32>) -> tensor<f32>
      %i = sinter.add %f, %g : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %j = sinter.add %h, %i : (tensor<f32>, tensor<f32>) -> tensor<f32>
      sinter.yield(%j) : tensor<f32>
    }
    sinter.yield(%q) : tensor<5xf32>
  }
  return %r : tensor<3x5xf32>
}

// A carry, a capture and a stack that nobody reads leave the loop together with what computes them.
// DEAD-LABEL: @dead_for
// DEAD-SAME: (%[[N:.*]]: tensor<i64>, %[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>, %{{.*}}: tensor<f32>)
// DEAD: sinter.for %{{.*}} to %[[N]] step %{{.*}}(%[[Y]]) captures(%[[X]]) : {{.*}} -> tensor<f32> body
// DEAD: ^bb0(%{{.*}}: tensor<i64>, %[[B:.*]]: tensor<f32>, %[[D:.*]]: tensor<f32>):
// DEAD-NEXT: %[[F:.*]] = sinter.add %[[B]], %[[D]]
// DEAD-NEXT: sinter.yield(%[[F]]) : tensor<f32>
func.func @dead_for(%n: tensor<i64>, %x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>) -> tensor<f32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %r:3 = sinter.for %zero to %n step %one(%x, %y) captures(%z, %x) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<?xf32>) body {
  ^bb0(%i: tensor<i64>, %a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %e = sinter.exp %a : (tensor<f32>) -> tensor<f32>
    %f = sinter.add %b, %d : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %g = sinter.sin %c : (tensor<f32>) -> tensor<f32>
    sinter.yield(%e, %f, %g) : tensor<f32>, tensor<f32>, tensor<f32>
  }
  return %r#1 : tensor<f32>
}

// What neither region reads for others goes.
// DEAD-LABEL: @dead_while
// DEAD-SAME: (%[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>, %[[Z:.*]]: tensor<f32>)
// DEAD: sinter.while(%[[Y]]) captures(%[[Z]])
// DEAD: sinter.compare  lt
// DEAD-NOT: sinter.cos
// DEAD: sinter.exp
// DEAD: return
func.func @dead_while(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>) -> tensor<f32> {
  %r:3 = sinter.while (%x, %y) captures(%z, %x) : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<i64>, tensor<f32>, tensor<f32>) cond {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %p = sinter.compare lt %b, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%p) : tensor<i1>
  } body {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %t = sinter.cos %a : (tensor<f32>) -> tensor<f32>
    %u = sinter.exp %b : (tensor<f32>) -> tensor<f32>
    sinter.yield(%t, %u) : tensor<f32>, tensor<f32>
  }
  return %r#2 : tensor<f32>
}

// A carry that only the condition reads is not dead, though nobody reads its result.
// DEAD-LABEL: @counts_trips
// DEAD: sinter.while(%{{.*}}, %{{.*}}) captures
// DEAD: return
func.func @counts_trips(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>) -> tensor<f32> {
  %r:3 = sinter.while (%x, %y) captures(%z) : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<i64>, tensor<f32>, tensor<f32>) cond {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>):
    %p = sinter.compare lt %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%p) : tensor<i1>
  } body {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>):
    %t = sinter.exp %a : (tensor<f32>) -> tensor<f32>
    %u = sinter.exp %b : (tensor<f32>) -> tensor<f32>
    sinter.yield(%t, %u) : tensor<f32>, tensor<f32>
  }
  return %r#2 : tensor<f32>
}
