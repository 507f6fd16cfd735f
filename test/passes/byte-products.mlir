// RUN: sinter-opt %s --split-input-file --sinter-multiply-integers --sinter-simplify-algebra | FileCheck %s
// Products of bytes for devices: what is summed lies inside, however their operands came; signed codes stay signed.

module attributes {sinter.devices = {cuda = "sm_80"}} {
// CHECK-LABEL: @turns_what_has_its_sums_outside
// CHECK: %[[X:.*]] = sinter.transpose %arg0 {permutation = array<i64: 1, 0>}
// CHECK: %[[Y:.*]] = sinter.transpose %arg1 {permutation = array<i64: 1, 0>}
// CHECK: sinter.dot_general %[[X]], %[[Y]] {{.*}}lhs_contract = array<i64: 1>{{.*}}rhs_contract = array<i64: 1>
func.func @turns_what_has_its_sums_outside(%x: tensor<32x8xui8>, %y: tensor<32x16xi8>) -> tensor<8x16xi32> {
  %0 = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<32x8xui8>, tensor<32x16xi8>) -> tensor<8x16xi32>
  return %0 : tensor<8x16xi32>
}

// CHECK-LABEL: @turns_batches
// CHECK: %[[Y:.*]] = sinter.transpose %arg1 {permutation = array<i64: 1, 2, 0>}
// CHECK: sinter.dot_general %arg0, %[[Y]] {{.*}}lhs_batch = array<i64: 1>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 2>
func.func @turns_batches(%x: tensor<8x?x32xi8>, %y: tensor<32x?x16xi8>) -> tensor<?x8x16xi32> {
  %0 = sinter.dot_general %x, %y {lhs_batch = array<i64: 1>, rhs_batch = array<i64: 1>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<8x?x32xi8>, tensor<32x?x16xi8>) -> tensor<?x8x16xi32>
  return %0 : tensor<?x8x16xi32>
}

// CHECK-LABEL: @keeps_what_has_its_sums_inside
// CHECK-NEXT: sinter.dot_general %arg0, %arg1
func.func @keeps_what_has_its_sums_inside(%x: tensor<8x32xi8>, %y: tensor<16x32xui8>) -> tensor<8x16xi32> {
  %0 = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = i32} : (tensor<8x32xi8>, tensor<16x32xui8>) -> tensor<8x16xi32>
  return %0 : tensor<8x16xi32>
}

// CHECK-LABEL: @keeps_sums_of_other_types
// CHECK-NEXT: sinter.dot_general %arg0, %arg1
func.func @keeps_sums_of_other_types(%x: tensor<8x32xi8>, %y: tensor<32x16xi8>) -> tensor<8x16xi8> {
  %0 = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i8} : (tensor<8x32xi8>, tensor<32x16xi8>) -> tensor<8x16xi8>
  return %0 : tensor<8x16xi8>
}

// Vectors of CPUs would have them without a sign.

// CHECK-LABEL: @keeps_signed_codes
// CHECK-NOT: ui8
// CHECK: return
func.func @keeps_signed_codes(%x: tensor<8x32xf32>) -> tensor<8x32xi32> {
  %scale = sinter.constant dense<0.5> : tensor<f32>
  %low = sinter.constant dense<-128.0> : tensor<f32>
  %high = sinter.constant dense<127.0> : tensor<f32>
  %0 = sinter.broadcast %scale axes = [] {type = tensor<8x32xf32>} : (tensor<f32>) -> tensor<8x32xf32>
  %1 = sinter.div %x, %0 : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  %2 = sinter.round %1 : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %3 = sinter.broadcast %low axes = [] {type = tensor<8x32xf32>} : (tensor<f32>) -> tensor<8x32xf32>
  %4 = sinter.max %2, %3 : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  %5 = sinter.broadcast %high axes = [] {type = tensor<8x32xf32>} : (tensor<f32>) -> tensor<8x32xf32>
  %6 = sinter.min %4, %5 : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  %7 = sinter.convert %6 {element_type = i8} : (tensor<8x32xf32>) -> tensor<8x32xi8>
  %8 = sinter.convert %7 {element_type = i32} : (tensor<8x32xi8>) -> tensor<8x32xi32>
  return %8 : tensor<8x32xi32>
}
}

// -----

// CPUs pack such matrices whichever way they lie.

// CHECK-LABEL: @turns_nothing_for_cpus
// CHECK-NEXT: sinter.dot_general %arg0, %arg1
func.func @turns_nothing_for_cpus(%x: tensor<8x32xui8>, %y: tensor<32x16xi8>) -> tensor<8x16xi32> {
  %0 = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<8x32xui8>, tensor<32x16xi8>) -> tensor<8x16xi32>
  return %0 : tensor<8x16xi32>
}
