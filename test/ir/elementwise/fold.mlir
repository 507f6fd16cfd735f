// RUN: sinter-opt --canonicalize --split-input-file %s | FileCheck %s

// CHECK-LABEL: @identities_of_floats(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]]
func.func @identities_of_floats(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %negative_zero = sinter.constant dense<-0.0> : tensor<4xf32>
  %zero = sinter.constant dense<0.0> : tensor<4xf32>
  %one = sinter.constant dense<1.0> : tensor<4xf32>
  %0 = sinter.add %x, %negative_zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.sub %x, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = sinter.mul %one, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = sinter.div %x, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A sum with 0.0 turns -0.0 into 0.0, and a product with 0.0 may be NaN.
// CHECK-LABEL: @zero_is_no_identity_of_floats
// CHECK: sinter.add
// CHECK: sinter.mul
func.func @zero_is_no_identity_of_floats(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = sinter.constant dense<0.0> : tensor<4xf32>
  %0 = sinter.add %x, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.mul %x, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @identities_of_integers(
// CHECK-SAME: %[[X:.*]]: tensor<4xi32>
// CHECK: %[[ZERO:.*]] = sinter.constant dense<0>
// CHECK: return %[[X]], %[[X]], %[[ZERO]], %[[ZERO]], %[[X]]
func.func @identities_of_integers(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %zero = sinter.constant dense<0> : tensor<4xi32>
  %ones = sinter.constant dense<-1> : tensor<4xi32>
  %0 = sinter.add %x, %zero : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %1 = sinter.and %x, %ones : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %2 = sinter.and %x, %zero : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %3 = sinter.mul %x, %zero : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %4 = sinter.or %x, %zero : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %0, %1, %2, %3, %4 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}

// -----

// CHECK-LABEL: @equal_operands(
// CHECK-SAME: %[[P:.*]]: tensor<4xi1>, %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[P]], %[[X]]
func.func @equal_operands(%p: tensor<4xi1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xf32>) {
  %0 = sinter.max %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.min %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = sinter.and %p, %p : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %3 = sinter.select %p, %x, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @select_of_a_constant(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]], %[[Y]]
func.func @select_of_a_constant(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %true = sinter.constant dense<true> : tensor<4xi1>
  %false = sinter.constant dense<false> : tensor<4xi1>
  %0 = sinter.select %true, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.select %false, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @convert_to_its_own_type(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @convert_to_its_own_type(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sinter.convert %x {element_type = f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The sum's type is more precise than that of %x: it must not be lost.
// CHECK-LABEL: @keeps_more_precise_types
// CHECK: sinter.mul
func.func @keeps_more_precise_types(%x: tensor<?xf32>) -> tensor<4xf32> {
  %one = sinter.constant dense<1.0> : tensor<4xf32>
  %0 = sinter.mul %x, %one : (tensor<?xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: @powers(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-DAG: %[[ONE:.*]] = sinter.constant dense<1.0
// CHECK-DAG: %[[INF:.*]] = sinter.constant dense<0x7F800000>
// CHECK-DAG: %[[SQUARE:.*]] = sinter.mul %[[X]], %[[X]]
// CHECK-DAG: %[[INVERSE:.*]] = sinter.div %[[ONE]], %[[X]]
// CHECK-DAG: %[[ROOT:.*]] = sinter.sqrt
// CHECK-DAG: %[[HALF:.*]] = sinter.select %{{.*}}, %[[INF]], %[[ROOT]]
// CHECK: return %[[X]], %[[SQUARE]], %[[INVERSE]], %[[HALF]]
func.func @powers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = sinter.constant dense<1.0> : tensor<4xf32>
  %two = sinter.constant dense<2.0> : tensor<4xf32>
  %minus_one = sinter.constant dense<-1.0> : tensor<4xf32>
  %half = sinter.constant dense<0.5> : tensor<4xf32>
  %0 = sinter.pow %x, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.pow %x, %two : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = sinter.pow %x, %minus_one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = sinter.pow %x, %half : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
