// RUN: sinter-opt %s --sinter-fold-constants --canonicalize | FileCheck %s
// RUN: sinter-opt %s --sinter-fold-constants=growth-bytes=16 --canonicalize | FileCheck %s --check-prefix=SMALL
// RUN: sinter-opt %s --sinter-fold-constants=max-steps=5 --canonicalize | FileCheck %s --check-prefix=FEW
// RUN: sinter-opt %s --sinter-fold-constants=max-steps=8 --canonicalize | FileCheck %s --check-prefix=DEAD

// Steps are counted, so that the result depends on no clock: the sum takes 2 + 2 + 2 of them and one for the op.
// FEW-LABEL: @evaluates_on_constants
// FEW: sinter.add

// CHECK-LABEL: @evaluates_on_constants
// CHECK: %[[C:.*]] = sinter.constant dense<[4.000000e+00, 6.000000e+00]>
// CHECK: return %[[C]]
func.func @evaluates_on_constants() -> tensor<2xf32> {
  %a = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = sinter.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %0 = sinter.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// What nothing reads is not evaluated: the steps are those of one sum.
// DEAD-LABEL: @evaluates_nothing_dead
// DEAD-NEXT: sinter.constant dense<[4.000000e+00, 6.000000e+00]>
// DEAD-NEXT: return
func.func @evaluates_nothing_dead() -> tensor<2xf32> {
  %a = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = sinter.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %dead = sinter.mul %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %too = sinter.sub %dead, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %0 = sinter.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: @one_number_stays_one_number
// CHECK: sinter.constant dense<2.500000e+00> : tensor<1000x1000xf32>
func.func @one_number_stays_one_number() -> tensor<1000x1000xf32> {
  %a = sinter.constant dense<2.5> : tensor<f32>
  %0 = sinter.broadcast %a axes = [] {type = tensor<1000x1000xf32>} : (tensor<f32>) -> tensor<1000x1000xf32>
  return %0 : tensor<1000x1000xf32>
}

// SMALL-LABEL: @keeps_what_only_grows
// SMALL: sinter.broadcast
// CHECK-LABEL: @keeps_what_only_grows
// CHECK-NOT: sinter.broadcast
func.func @keeps_what_only_grows() -> tensor<8x2xf32> {
  %a = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = sinter.broadcast %a axes = [1] {type = tensor<8x2xf32>} : (tensor<2xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

// SMALL-LABEL: @looks_through_what_it_kept
// SMALL: %[[C:.*]] = sinter.constant dense<{{.*}}2.000000e+00, 6.000000e+00{{.*}}> : tensor<8x2xf32>
// SMALL: return %[[C]]
func.func @looks_through_what_it_kept() -> tensor<8x2xf32> {
  %w = sinter.constant dense<[[2.0, 3.0], [2.0, 3.0], [2.0, 3.0], [2.0, 3.0], [2.0, 3.0], [2.0, 3.0], [2.0, 3.0], [0.0, 0.0]]> : tensor<8x2xf32>
  %a = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = sinter.broadcast %a axes = [1] {type = tensor<8x2xf32>} : (tensor<2xf32>) -> tensor<8x2xf32>
  %1 = sinter.mul %w, %0 : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  return %1 : tensor<8x2xf32>
}

// What constants hold is limited by what the function was given, so that small graphs do not fold to large ones.
// CHECK-LABEL: @holds_64_mib_more_than_it_was_given
// CHECK: sinter.iota
// CHECK: sinter.cumulative
func.func @holds_64_mib_more_than_it_was_given() -> (tensor<8388609xi64>, tensor<33554433xf32>) {
  %0 = sinter.iota {axis = 0, type = tensor<8388609xi64>} : () -> tensor<8388609xi64>
  %zero = sinter.constant dense<0.0> : tensor<33554433xf32>
  %1 = sinter.cumulative add %zero {axis = 0 : i64} : (tensor<33554433xf32>) -> tensor<33554433xf32>
  return %0, %1 : tensor<8388609xi64>, tensor<33554433xf32>
}

// CHECK-LABEL: @keeps_the_types_of_results
// CHECK: %[[R:.*]] = sinter.nonzero
// CHECK: return %[[R]] : tensor<1x?xi64>
func.func @keeps_the_types_of_results() -> tensor<1x?xi64> {
  %a = sinter.constant dense<[true, false, true]> : tensor<3xi1>
  %0 = sinter.nonzero %a : (tensor<3xi1>) -> tensor<1x?xi64>
  return %0 : tensor<1x?xi64>
}

// A product reads bytes as they are; sums do not.
// CHECK-LABEL: @keeps_bytes_that_a_product_reads
// CHECK-DAG: sinter.constant {{.*}} : tensor<2x2xi8>
// CHECK-DAG: sinter.constant {{.*}} : tensor<2x2xf32>
// CHECK: %[[F:.*]] = sinter.convert {{.*}} -> tensor<2x2xf32>
// CHECK: sinter.dot_general %arg0, %[[F]]
// CHECK-NOT: sinter.convert
func.func @keeps_bytes_that_a_product_reads(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = sinter.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %v = sinter.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi8>
  %0 = sinter.convert %w {element_type = f32} : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %1 = sinter.convert %v {element_type = f32} : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %2 = sinter.dot_general %x, %0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = sinter.add %x, %1 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %2, %3 : tensor<2x2xf32>, tensor<2x2xf32>
}
