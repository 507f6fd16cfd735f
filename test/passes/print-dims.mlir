// RUN: sinter-opt %s --sinter-print-dims | FileCheck %s

// CHECK-LABEL: @equal_names_are_equal_sizes
// CHECK: sinter.concatenate{{.*}}sinter.sizes = ["[2*n, 8]"]
func.func @equal_names_are_equal_sizes(%a: tensor<?x8xf32> {sinter.dims = ["n", 8]}, %b: tensor<?x8xf32> {sinter.dims = ["n", 8]}) -> tensor<?x8xf32> {
  %0 = sinter.concatenate %a, %b {axis = 0} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// CHECK-LABEL: @follows_shape_arithmetic
// CHECK: sinter.shape{{.*}}sinter.contents = ["[n, 12]"]
// CHECK: sinter.mul{{.*}}sinter.contents = ["[3*n]"]
// CHECK: sinter.concatenate{{.*}}sinter.contents = ["[3*n, 4]"]
// CHECK: sinter.reshape{{.*}}sinter.sizes = ["[3*n, 4]"]
func.func @follows_shape_arithmetic(%a: tensor<?x12xf32> {sinter.dims = ["n", 12]}) -> tensor<?x?xf32> {
  %three = sinter.constant dense<3> : tensor<1xi64>
  %four = sinter.constant dense<4> : tensor<1xi64>
  %0 = sinter.shape %a : (tensor<?x12xf32>) -> tensor<2xi64>
  %1 = sinter.slice %0 {starts = array<i64: 0>, limits = array<i64: 1>, steps = array<i64: 1>} : (tensor<2xi64>) -> tensor<1xi64>
  %2 = sinter.mul %1, %three : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %3 = sinter.concatenate %2, %four {axis = 0} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %4 = sinter.reshape %a, %3 {type = tensor<?x?xf32>} : (tensor<?x12xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %4 : tensor<?x?xf32>
}

// The pattern of torch's expand: -1 keeps a size, and no size is -1.
// CHECK-LABEL: @decides_selects_by_bounds
// CHECK: sinter.select{{.*}}sinter.contents = ["[n, 1]"]
func.func @decides_selects_by_bounds(%a: tensor<?x1xf32> {sinter.dims = ["n", 1]}) -> tensor<2xi64> {
  %minus = sinter.constant dense<-1> : tensor<2xi64>
  %one = sinter.constant dense<1> : tensor<2xi64>
  %0 = sinter.shape %a : (tensor<?x1xf32>) -> tensor<2xi64>
  %1 = sinter.compare eq %0, %minus : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %2 = sinter.select %1, %one, %0 : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  return %2 : tensor<2xi64>
}

// CHECK-LABEL: @unknown_elements_are_symbols
// CHECK: sinter.broadcast{{.*}}sinter.sizes = ["[s{{[0-9]+}}, 4]"]
func.func @unknown_elements_are_symbols(%a: tensor<4xf32>, %s: tensor<2xi64>) -> tensor<?x4xf32> {
  %0 = sinter.broadcast %a shape(%s) axes = [1] {type = tensor<?x4xf32>} : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: @captures_have_the_sizes_outside
// CHECK: sinter.tanh{{.*}}sinter.sizes = ["[n]"]
func.func @captures_have_the_sizes_outside(%p: tensor<i1>, %a: tensor<?xf32> {sinter.dims = ["n"]}) -> tensor<?xf32> {
  %0 = sinter.cond %p(%a) : (tensor<i1>, tensor<?xf32>) -> tensor<?xf32> then {
  ^bb0(%x: tensor<?xf32>):
    %1 = sinter.tanh %x : (tensor<?xf32>) -> tensor<?xf32>
    sinter.yield(%1) : tensor<?xf32>
  } else {
  ^bb0(%x: tensor<?xf32>):
    sinter.yield(%x) : tensor<?xf32>
  }
  return %0 : tensor<?xf32>
}
