// RUN: sinter-opt %s --sinter-merge-equal-ops | FileCheck %s

// CHECK-LABEL: @equal_kernels_are_one
// CHECK: %[[A:.*]] = sinter.kernel
// CHECK: %[[B:.*]] = sinter.kernel
// CHECK-NOT: sinter.kernel
// CHECK: return %[[A]], %[[B]], %[[A]]
// CHECK-NOT: sinter.digest
func.func @equal_kernels_are_one(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = sinter.kernel map (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = sinter.tanh %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%r) : tensor<4xf32>
  }
  %1 = sinter.kernel map (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = sinter.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%r) : tensor<4xf32>
  }
  %2 = sinter.kernel map (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = sinter.tanh %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%r) : tensor<4xf32>
  }
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A kernel that computes a value again stays, and is like any other from here on.
// CHECK-LABEL: @computed_again
// CHECK: %[[A:.*]] = sinter.kernel
// CHECK: %[[B:.*]] = sinter.kernel
// CHECK: return %[[A]], %[[A]], %[[B]]
// CHECK-NOT: sinter.again
func.func @computed_again(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = sinter.kernel map (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = sinter.tanh %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%r) : tensor<4xf32>
  }
  %1 = sinter.kernel map (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = sinter.tanh %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%r) : tensor<4xf32>
  }
  %2 = sinter.kernel map (%x) {sinter.again} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = sinter.tanh %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%r) : tensor<4xf32>
  }
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
