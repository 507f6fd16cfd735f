// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --sinter-build-schedule --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-build-schedule --split-input-file | sinter-opt --sinter-lower-schedule --split-input-file | FileCheck %s --check-prefix=LLVM
//
// From kernels to a schedule and from its text to the LLVM dialect.

// A result of one size is written where the caller wants it; the first kernel's result has a place of its own.
// CHECK-LABEL: schedule.function @sinter_run_chain inputs 2 outputs 1
// CHECK: %[[X:.*]] = schedule.input 0
// CHECK: %[[N:.*]] = schedule.input_size 0 axis 0
// CHECK: %[[Y:.*]] = schedule.input 1
// CHECK: %[[BYTES:.*]] = schedule.product %{{.*}}, %[[N]]
// CHECK: %[[A:.*]] = schedule.arena(%[[BYTES]]) lives [
// CHECK: schedule.launch @[[SOFTMAX:.*]](%[[X]], %[[A]], %[[N]]) writes [1] chunks %{{.*}} : !schedule.buffer, !schedule.buffer, i64
// CHECK: %[[OUT:.*]] = schedule.output 0[%[[N]], %{{.*}}]
// CHECK: schedule.launch @[[PRODUCT:.*]](%[[A]], %[[Y]], %[[OUT]], %[[N]]) writes [2] chunks
// CHECK: schedule.return
// CHECK: schedule.kernel @[[SOFTMAX]] for "cpu" sizes ["s0 64"] {
// CHECK: sinter.kernel row(%{{.*}}) {schedule = #sinter.schedule<row
// CHECK: schedule.kernel @[[PRODUCT]] for "cpu" sizes ["s0 64", "64 64"] {
// CHECK: sinter.kernel contraction
// LLVM: module @[[SOFTMAX:.*]]_code
// LLVM: func.func @[[SOFTMAX]](%{{.*}}: memref<
// LLVM: module @[[PRODUCT:.*]]_code
// LLVM: func.func @[[PRODUCT]](%{{.*}}: memref<
// LLVM: llvm.func @sinter_run_chain(
func.func @chain(%x: tensor<?x64xf32>, %y: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %p = sinter.kernel row(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%a: tensor<?x64xf32>):
    %s = sinter.softmax %a {axis = 1 : i64} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    sinter.yield(%s) : tensor<?x64xf32>
  }
  %q = sinter.kernel contraction(%p, %y) : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%a: tensor<?x64xf32>, %b: tensor<64x64xf32>):
    %d = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
    sinter.yield(%d) : tensor<?x64xf32>
  }
  return %q : tensor<?x64xf32>
}

// -----

// A state that is updated element by element is written where it lies, after all that can fail.
// CHECK-LABEL: schedule.function @sinter_run_step inputs 2 outputs 1
// CHECK: %[[W:.*]] = schedule.input 0
// CHECK: %[[G:.*]] = schedule.input 1
// CHECK: schedule.commit
// CHECK: %[[OUT:.*]] = schedule.output 0
// CHECK: schedule.launch {{.*}}(%[[W]], %[[G]], %[[OUT]]) writes [2]
// LLVM: llvm.func @sinter_run_step(
func.func @step(%w: tensor<4096xf32> {sinter.state = "w"}, %g: tensor<4096xf32>) -> (tensor<4096xf32> {sinter.state = "w"}) {
  %n = sinter.kernel map(%w, %g) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%a: tensor<4096xf32>, %b: tensor<4096xf32>):
    %s = sinter.sub %a, %b : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    sinter.yield(%s) : tensor<4096xf32>
  }
  return %n : tensor<4096xf32>
}

// -----

// A counted loop whose carry is a state writes that where it lies: nothing is copied, and it cannot be cancelled.
// CHECK-LABEL: schedule.function @sinter_run_trips inputs 2 outputs 1
// CHECK: %[[W:.*]] = schedule.input 0
// CHECK: schedule.commit
// CHECK: %[[OUT:.*]] = schedule.output 0
// CHECK-NOT: schedule.copy
// CHECK: scf.for
// CHECK-NOT: schedule.poll
// CHECK: schedule.launch {{.*}}(%[[OUT]], %{{.*}}, %[[OUT]]) writes [2]
// CHECK-NOT: schedule.copy
// CHECK: schedule.return
func.func @trips(%w: tensor<4096xf32> {sinter.state = "w"}, %g: tensor<4096xf32>) -> (tensor<4096xf32> {sinter.state = "w"}) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %many = sinter.constant dense<100> : tensor<i64>
  %r = sinter.for %zero to %many step %one(%w) captures(%g) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32> body {
  ^bb0(%i: tensor<i64>, %x: tensor<4096xf32>, %d: tensor<4096xf32>):
    %n = sinter.kernel map(%x, %d) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32> {
    ^bb0(%a: tensor<4096xf32>, %b: tensor<4096xf32>):
      %s = sinter.sub %a, %b : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
      sinter.yield(%s) : tensor<4096xf32>
    }
    sinter.yield(%n) : tensor<4096xf32>
  }
  return %r : tensor<4096xf32>
}

// -----

// One that reads the old state in every trip, too, works beside it and may be cancelled until then.
// CHECK-LABEL: schedule.function @sinter_run_reads_old inputs 1 outputs 1
// CHECK: %[[W:.*]] = schedule.input 0
// CHECK: schedule.copy %[[W]]  to %[[BESIDE:[^ ]*]]
// CHECK: scf.for
// CHECK: schedule.poll
// CHECK: schedule.launch {{.*}}(%[[BESIDE]], %[[W]], %[[BESIDE]]) writes [2]
// CHECK: schedule.copy %[[BESIDE]]
func.func @reads_old(%w: tensor<4096xf32> {sinter.state = "w"}) -> (tensor<4096xf32> {sinter.state = "w"}) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %many = sinter.constant dense<100> : tensor<i64>
  %r = sinter.for %zero to %many step %one(%w) captures(%w) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32> body {
  ^bb0(%i: tensor<i64>, %x: tensor<4096xf32>, %d: tensor<4096xf32>):
    %n = sinter.kernel map(%x, %d) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32> {
    ^bb0(%a: tensor<4096xf32>, %b: tensor<4096xf32>):
      %s = sinter.sub %a, %b : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
      sinter.yield(%s) : tensor<4096xf32>
    }
    sinter.yield(%n) : tensor<4096xf32>
  }
  return %r : tensor<4096xf32>
}

// -----

// A loop carries the trip, single elements and buffers; of two buffers, one is read and one written in each trip.
// CHECK-LABEL: schedule.function @sinter_run_loop
// CHECK: %[[A:.*]]:2 = schedule.arena
// CHECK: %[[R:.*]]:4 = scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %[[A]]#0, %{{.*}} = %[[A]]#1, %{{.*}} = %{{.*}}) : (i64, !schedule.buffer, !schedule.buffer, f32) -> (i64, !schedule.buffer, !schedule.buffer, f32)
// CHECK: schedule.poll %{{.*}} every 256
// CHECK: %[[GO:.*]] = arith.cmpf olt
// CHECK: schedule.require %{{.*}} else 7 "a loop requires at most {} trips, its condition still holds after {}"
// CHECK: scf.condition(%[[GO]])
// CHECK: ^bb0(%[[TRIP:.*]]: i64, %[[NOW:.*]]: !schedule.buffer, %[[OTHER:.*]]: !schedule.buffer, %[[T:.*]]: f32):
// CHECK: schedule.launch inline @{{.*}}(%[[NOW]], %[[OTHER]]) writes [1]
// CHECK: scf.yield %{{.*}}, %[[OTHER]], %[[NOW]], %{{.*}}
// CHECK: schedule.copy %[[R]]#1 to
// LLVM: llvm.func @sinter_run_loop(
func.func @loop(%x: tensor<64xf32>, %t: tensor<f32>) -> tensor<64xf32> {
  %n, %c:2 = sinter.while (%x, %t) captures() {max_trip = 100 : i64, on_limit = #sinter<limit_policy trap>} : (tensor<64xf32>, tensor<f32>) -> (tensor<i64>, tensor<64xf32>, tensor<f32>) cond {
  ^bb0(%a: tensor<64xf32>, %u: tensor<f32>):
    %limit = sinter.constant dense<9.0> : tensor<f32>
    %go = sinter.kernel map(%u, %limit) : (tensor<f32>, tensor<f32>) -> tensor<i1> {
    ^bb0(%v: tensor<f32>, %w: tensor<f32>):
      %l = sinter.compare lt %v, %w : (tensor<f32>, tensor<f32>) -> tensor<i1>
      sinter.yield(%l) : tensor<i1>
    }
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%a: tensor<64xf32>, %u: tensor<f32>):
    %r = sinter.kernel map(%a) : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%b: tensor<64xf32>):
      %s = sinter.reverse %b {axes = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32>
      sinter.yield(%s) : tensor<64xf32>
    }
    %m = sinter.kernel map(%u) : (tensor<f32>) -> tensor<f32> {
    ^bb0(%v: tensor<f32>):
      %s = sinter.add %v, %v : (tensor<f32>, tensor<f32>) -> tensor<f32>
      sinter.yield(%s) : tensor<f32>
    }
    sinter.yield(%r, %m) : tensor<64xf32>, tensor<f32>
  }
  return %c#0 : tensor<64xf32>
}

// -----

// One of two results is written over what dies here, the other has a place of its own; the third place is the product's.
// CHECK-LABEL: schedule.function @sinter_run_two_results
// CHECK: %[[A:.*]]:3 = schedule.arena(%{{.*}}, %{{.*}}, %{{.*}}) lives
// CHECK: schedule.launch {{.*}}@{{.*}}(%{{.*}}, %[[A]]#0) writes [1]
// CHECK: schedule.launch {{.*}}@{{.*}}(%[[A]]#0, %[[A]]#0, %[[A]]#1) writes [1, 2]
// LLVM: llvm.func @sinter_run_two_results(
func.func @two_results(%x: tensor<256x64xf32>) -> tensor<256x256xf32> {
  %p = sinter.kernel row(%x) : (tensor<256x64xf32>) -> tensor<256x64xf32> {
  ^bb0(%a: tensor<256x64xf32>):
    %s = sinter.softmax %a {axis = 1 : i64} : (tensor<256x64xf32>) -> tensor<256x64xf32>
    sinter.yield(%s) : tensor<256x64xf32>
  }
  %q:2 = sinter.kernel map(%p) : (tensor<256x64xf32>) -> (tensor<256x64xf32>, tensor<256x64xf32>) {
  ^bb0(%a: tensor<256x64xf32>):
    %d = sinter.add %a, %a : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
    %e = sinter.mul %a, %a : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
    sinter.yield(%d, %e) : tensor<256x64xf32>, tensor<256x64xf32>
  }
  %r = sinter.kernel contraction(%q#0, %q#1) : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x256xf32> {
  ^bb0(%a: tensor<256x64xf32>, %b: tensor<256x64xf32>):
    %d = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x256xf32>
    sinter.yield(%d) : tensor<256x256xf32>
  }
  return %r : tensor<256x256xf32>
}
