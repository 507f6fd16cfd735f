// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --sinter-align-matrices | FileCheck %s
// RUN: sinter-opt %s --sinter-align-matrices=max-bytes=4096 | FileCheck %s --check-prefix=SMALL

// The sum along contiguous rows becomes one over rows of a transposed copy, which fill cache lines.
// CHECK-LABEL: @rows_are_summed
// CHECK: %[[T:.*]] = sinter.transpose %arg1 {permutation = array<i64: 1, 0>} : (tensor<60x60xf32>) -> tensor<60x60xf32>
// CHECK: %[[P:.*]] = sinter.pad %[[T]], {{.*}} {high = array<i64: 0, 4>, {{.*}} -> tensor<60x64xf32>
// CHECK: sinter.for {{.*}} captures(%arg1, %[[P]])
// CHECK: ^bb0(%{{.*}}: tensor<i64>, %[[X:.*]]: tensor<60xf32>, %{{.*}}: tensor<60x60xf32>, %[[M:.*]]: tensor<60x64xf32>)
// CHECK-NEXT: %[[R:.*]] = sinter.slice %[[M]]
// CHECK-NEXT: sinter.dot_general %[[X]], %[[R]] {{.*}}lhs_contract = array<i64: 0>{{.*}}rhs_contract = array<i64: 0>
// SMALL-LABEL: @rows_are_summed
// SMALL-NOT: sinter.pad
// SMALL-LABEL: @whole_lines
func.func @rows_are_summed(%n: tensor<i64>, %a: tensor<60x60xf32>, %x0: tensor<60xf32>) -> tensor<60xf32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %0 = sinter.for %zero to %n step %one(%x0) captures(%a) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<60xf32>, tensor<60x60xf32>) -> tensor<60xf32> body {
  ^bb0(%i: tensor<i64>, %x: tensor<60xf32>, %m: tensor<60x60xf32>):
    %1 = sinter.dot_general %m, %x {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<60x60xf32>, tensor<60xf32>) -> tensor<60xf32>
    sinter.yield(%1) : tensor<60xf32>
  }
  return %0 : tensor<60xf32>
}

// A row of whole cache lines needs no room at its end, and columns that are summed need no copy then.
// CHECK-LABEL: @whole_lines
// CHECK: sinter.transpose
// CHECK-NOT: sinter.pad
// CHECK-NOT: sinter.slice
// CHECK: sinter.scan
// CHECK-COUNT-2: sinter.dot_general %{{.*}}, %{{.*}} {{.*}}rhs_contract = array<i64: 0>
func.func @whole_lines(%xs: tensor<9x32xf64>, %a: tensor<32x32xf64>, %x0: tensor<32xf64>) -> tensor<32xf64> {
  %0 = sinter.scan(%x0) over(%xs) captures(%a) {axes = array<i64: 0>, out_axes = array<i64>, out_reverse = array<i1>, reverse = array<i1: true>} : (tensor<32xf64>, tensor<9x32xf64>, tensor<32x32xf64>) -> tensor<32xf64> body {
  ^bb0(%x: tensor<32xf64>, %s: tensor<32xf64>, %m: tensor<32x32xf64>):
    %1 = sinter.dot_general %m, %x {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f64} : (tensor<32x32xf64>, tensor<32xf64>) -> tensor<32xf64>
    %2 = sinter.dot_general %1, %m {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f64} : (tensor<32xf64>, tensor<32x32xf64>) -> tensor<32xf64>
    sinter.yield(%2) : tensor<32xf64>
  }
  return %0 : tensor<32xf64>
}

// The copy is made before the outermost loop.
// CHECK-LABEL: @nested
// CHECK: sinter.pad
// CHECK: sinter.for
// CHECK-NOT: sinter.pad
// CHECK: sinter.while
// CHECK: sinter.dot_general
func.func @nested(%n: tensor<i64>, %a: tensor<20x30xf32>, %x0: tensor<30xf32>) -> tensor<30xf32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %0 = sinter.for %zero to %n step %one(%x0) captures(%a) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<30xf32>, tensor<20x30xf32>) -> tensor<30xf32> body {
  ^bb0(%i: tensor<i64>, %x: tensor<30xf32>, %m: tensor<20x30xf32>):
    %trips, %1 = sinter.while(%x) captures(%m) : (tensor<30xf32>, tensor<20x30xf32>) -> (tensor<i64>, tensor<30xf32>) cond {
    ^bb0(%y: tensor<30xf32>, %k: tensor<20x30xf32>):
      %limit = sinter.constant dense<4.0> : tensor<f32>
      %sum = sinter.reduce add %y axes = [0] : (tensor<30xf32>) -> tensor<f32>
      %go = sinter.compare lt %sum, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      sinter.yield(%go) : tensor<i1>
    } body {
    ^bb0(%y: tensor<30xf32>, %k: tensor<20x30xf32>):
      %2 = sinter.slice %y {starts = array<i64: 0>, limits = array<i64: 20>, steps = array<i64: 1>} : (tensor<30xf32>) -> tensor<20xf32>
      %3 = sinter.dot_general %2, %k {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20xf32>, tensor<20x30xf32>) -> tensor<30xf32>
      sinter.yield(%3) : tensor<30xf32>
    }
    sinter.yield(%1) : tensor<30xf32>
  }
  return %0 : tensor<30xf32>
}

// A matrix that changes from trip to trip, or that no loop reads, stays.
// CHECK-LABEL: @no_capture
// CHECK-NOT: sinter.pad
// CHECK-NOT: sinter.transpose
func.func @no_capture(%n: tensor<i64>, %a: tensor<20x20xf32>, %x: tensor<20xf32>) -> (tensor<20x20xf32>, tensor<20xf32>) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %0 = sinter.for %zero to %n step %one(%a) captures(%x) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<20x20xf32>, tensor<20xf32>) -> tensor<20x20xf32> body {
  ^bb0(%i: tensor<i64>, %m: tensor<20x20xf32>, %v: tensor<20xf32>):
    %1 = sinter.dot_general %m, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x20xf32>, tensor<20xf32>) -> tensor<20xf32>
    %2 = sinter.broadcast %1 axes = [1] {type = tensor<20x20xf32>} : (tensor<20xf32>) -> tensor<20x20xf32>
    sinter.yield(%2) : tensor<20x20xf32>
  }
  %3 = sinter.dot_general %a, %x {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x20xf32>, tensor<20xf32>) -> tensor<20xf32>
  return %0, %3 : tensor<20x20xf32>, tensor<20xf32>
}

// Sums along long rows of whole cache lines stay.
// CHECK-LABEL: @long_rows
// CHECK-NOT: sinter.transpose
func.func @long_rows(%n: tensor<i64>, %a: tensor<128x128xf32>, %x0: tensor<128xf32>) -> tensor<128xf32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %0 = sinter.for %zero to %n step %one(%x0) captures(%a) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<128xf32>, tensor<128x128xf32>) -> tensor<128xf32> body {
  ^bb0(%i: tensor<i64>, %x: tensor<128xf32>, %m: tensor<128x128xf32>):
    %1 = sinter.dot_general %m, %x {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<128x128xf32>, tensor<128xf32>) -> tensor<128xf32>
    sinter.yield(%1) : tensor<128xf32>
  }
  return %0 : tensor<128xf32>
}
