// RUN: sinter-opt --sinter-unroll-loops %s | FileCheck %s
// RUN: sinter-opt --sinter-unroll-loops=max-trips=2 %s | FileCheck %s --check-prefix=TRIPS
// RUN: sinter-opt --sinter-unroll-loops=max-ops=2 %s | FileCheck %s --check-prefix=OPS

// CHECK-LABEL: @three_trips_down
// CHECK-SAME: (%[[X:.*]]: tensor<i64>)
// TRIPS-LABEL: @three_trips_down
// OPS-LABEL: @three_trips_down
func.func @three_trips_down(%x: tensor<i64>) -> (tensor<i64>, tensor<3xi64>) {
  // CHECK-NOT: sinter.for
  // CHECK: sinter.constant dense<5>
  // CHECK: %[[P:.*]] = sinter.add %[[X]],
  // CHECK: sinter.constant dense<3>
  // CHECK: %[[Q:.*]] = sinter.add %[[P]],
  // CHECK: sinter.constant dense<1>
  // CHECK: %[[R:.*]] = sinter.add %[[Q]],
  // CHECK: %[[S:.*]] = sinter.concatenate
  // CHECK: return %[[R]], %[[S]]
  // TRIPS: sinter.for
  // OPS: sinter.for
  %lower = sinter.constant dense<5> : tensor<i64>
  %upper = sinter.constant dense<0> : tensor<i64>
  %step = sinter.constant dense<-2> : tensor<i64>
  %c, %s = sinter.for %lower to %upper step %step(%x) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<3xi64>) body {
  ^bb0(%i: tensor<i64>, %a: tensor<i64>):
    %n = sinter.add %a, %i : (tensor<i64>, tensor<i64>) -> tensor<i64>
    sinter.yield(%n, %i) : tensor<i64>, tensor<i64>
  }
  return %c, %s : tensor<i64>, tensor<3xi64>
}

// CHECK-LABEL: @scan_backwards
func.func @scan_backwards(%x: tensor<4xf32>, %s: tensor<4x2xf32>, %k: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
  // CHECK-NOT: sinter.scan
  // CHECK: sinter.slice %{{.*}} {limits = array<i64: 4, 2>, starts = array<i64: 0, 1>
  // CHECK: sinter.slice %{{.*}} {limits = array<i64: 4, 1>, starts = array<i64: 0, 0>
  // CHECK: sinter.concatenate
  %c, %y = sinter.scan(%x) over(%s) captures(%k) {axes = array<i64: 1>, reverse = array<i1: true>, out_axes = array<i64: 0>, out_reverse = array<i1: true>}
      : (tensor<4xf32>, tensor<4x2xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) body {
  ^bb0(%a: tensor<4xf32>, %e: tensor<4xf32>, %l: tensor<4xf32>):
    %n = sinter.mul %a, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %m = sinter.add %n, %l : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%m, %n) : tensor<4xf32>, tensor<4xf32>
  }
  return %c, %y : tensor<4xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: @unknown_number_of_trips_stays
func.func @unknown_number_of_trips_stays(%n: tensor<i64>, %x: tensor<i64>) -> tensor<i64> {
  // CHECK: sinter.for
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %c = sinter.for %zero to %n step %one(%x) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<i64> body {
  ^bb0(%i: tensor<i64>, %a: tensor<i64>):
    %m = sinter.add %a, %i : (tensor<i64>, tensor<i64>) -> tensor<i64>
    sinter.yield(%m) : tensor<i64>
  }
  return %c : tensor<i64>
}

// CHECK-LABEL: @carry_of_changing_size_of_one_type
func.func @carry_of_changing_size_of_one_type(%x: tensor<?xi64>) -> tensor<?xi64> {
  // CHECK: sinter.concatenate
  // CHECK: sinter.concatenate
  // CHECK-NOT: sinter.for
  %zero = sinter.constant dense<0> : tensor<i64>
  %two = sinter.constant dense<2> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %c = sinter.for %zero to %two step %one(%x) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<?xi64>) -> tensor<?xi64> body {
  ^bb0(%i: tensor<i64>, %a: tensor<?xi64>):
    %m = sinter.concatenate %a, %a {axis = 0 : i64} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
    sinter.yield(%m) : tensor<?xi64>
  }
  return %c : tensor<?xi64>
}

// What a stated memory policy expanded stays a loop: other policies run its trips in other loops.
// CHECK-LABEL: @keeps_loop_of_a_policy
func.func @keeps_loop_of_a_policy(%x: tensor<i64>) -> tensor<i64> {
  %lower = sinter.constant dense<0> : tensor<i64>
  %upper = sinter.constant dense<3> : tensor<i64>
  %step = sinter.constant dense<1> : tensor<i64>
  // CHECK: sinter.for
  %0 = sinter.for %lower to %upper step %step (%x) captures() {sinter.stays_rolled} : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<i64> body {
  ^bb0(%i: tensor<i64>, %c: tensor<i64>):
    %n = sinter.add %c, %i : (tensor<i64>, tensor<i64>) -> tensor<i64>
    sinter.yield (%n) : tensor<i64>
  }
  return %0 : tensor<i64>
}
