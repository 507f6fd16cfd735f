// Large attention is one kernel; small attention, open sizes, and one whose gradient forms the scores again are not.
// RUN: sinter compile %s --emit=fused -o - | FileCheck %s
// CHECK-LABEL: @large(
// CHECK: sinter.kernel attention
// CHECK-NOT: sinter.softmax
func.func @large(%q: tensor<2x64x8xf32>, %k: tensor<2x2048x8xf32>, %v: tensor<2x2048x8xf32>) -> tensor<2x64x8xf32> {
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x64x8xf32>, tensor<2x2048x8xf32>, tensor<2x2048x8xf32>) -> tensor<2x64x8xf32>
  return %0 : tensor<2x64x8xf32>
}

// CHECK-LABEL: @few_keys(
// CHECK-NOT: attention
// CHECK: sinter.softmax
func.func @few_keys(%q: tensor<2x64x8xf32>, %k: tensor<2x2047x8xf32>, %v: tensor<2x2047x8xf32>) -> tensor<2x64x8xf32> {
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x64x8xf32>, tensor<2x2047x8xf32>, tensor<2x2047x8xf32>) -> tensor<2x64x8xf32>
  return %0 : tensor<2x64x8xf32>
}

// CHECK-LABEL: @open_sizes(
// CHECK-NOT: attention
// CHECK: sinter.softmax
func.func @open_sizes(%q: tensor<?x64x8xf32>, %k: tensor<?x2048x8xf32>, %v: tensor<?x2048x8xf32>) -> tensor<?x64x8xf32> {
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<?x64x8xf32>, tensor<?x2048x8xf32>, tensor<?x2048x8xf32>) -> tensor<?x64x8xf32>
  return %0 : tensor<?x64x8xf32>
}

// CHECK-LABEL: @scores_are_formed_anyway(
// CHECK-NOT: attention
// CHECK: sinter.softmax
func.func @scores_are_formed_anyway(%q: tensor<2x64x8xf32>, %k: tensor<2x2048x8xf32>, %v: tensor<2x2048x8xf32>) -> (tensor<2x64x8xf32>, tensor<2x64x2048xf32>) {
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x64x8xf32>, tensor<2x2048x8xf32>, tensor<2x2048x8xf32>) -> tensor<2x64x8xf32>
  %1 = sinter.dot_general %q, %k {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>, element_type = f32} : (tensor<2x64x8xf32>, tensor<2x2048x8xf32>) -> tensor<2x64x2048xf32>
  return %0, %1 : tensor<2x64x8xf32>, tensor<2x64x2048xf32>
}
