// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --canonicalize --split-input-file %s | FileCheck %s
// RUN: sinter-opt --sinter-decompose --split-input-file --verify-diagnostics %s -o /dev/null

// CHECK-LABEL: @sums_of_lookups_are_joined
// CHECK-SAME:    (%[[I:.*]]: tensor<4x1xi64>, %[[A:.*]]: tensor<4x3xf32>, %[[J:.*]]: tensor<2x1xi64>, %[[B:.*]]: tensor<2x3xf32>)
// CHECK-DAG:     %[[P:.*]] = sinter.reshape %[[I]] {{.*}} -> tensor<4xi64>
// CHECK-DAG:     %[[Q:.*]] = sinter.reshape %[[J]] {{.*}} -> tensor<2xi64>
// CHECK:         %[[AT:.*]] = sinter.concatenate %[[P]], %[[Q]]
// CHECK:         %[[ROWS:.*]], %[[SPLITS:.*]], %[[ORDER:.*]] = sinter.group_rows %[[AT]] {size = 1000 : i64}
// CHECK:         %[[V:.*]] = sinter.concatenate %[[A]], %[[B]]
// CHECK:         sinter.bag_sum %[[V]], %[[ORDER]], %[[SPLITS]]
// CHECK-NOT:     tensor<1000x3xf32>
func.func @sums_of_lookups_are_joined(%i: tensor<4x1xi64>, %a: tensor<4x3xf32>, %j: tensor<2x1xi64>, %b: tensor<2x3xf32>) -> (tensor<?xi64>, tensor<?x3xf32>) {
  %zero = sinter.constant dense<0.0> : tensor<1000x3xf32>
  %0 = sinter.scatter_nd %zero, %i, %a {combiner = #sinter<combiner add>} : (tensor<1000x3xf32>, tensor<4x1xi64>, tensor<4x3xf32>) -> tensor<1000x3xf32>
  %1 = sinter.scatter_nd %zero, %j, %b {combiner = #sinter<combiner add>} : (tensor<1000x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>) -> tensor<1000x3xf32>
  %2 = sinter.add %0, %1 : (tensor<1000x3xf32>, tensor<1000x3xf32>) -> tensor<1000x3xf32>
  %3:2 = sinter.gradient_rows %2 : (tensor<1000x3xf32>) -> (tensor<?xi64>, tensor<?x3xf32>)
  return %3#0, %3#1 : tensor<?xi64>, tensor<?x3xf32>
}

// -----

// CHECK-LABEL: @other_sums_stay
// CHECK:         sinter.gradient_rows
func.func @other_sums_stay(%i: tensor<4x1xi64>, %a: tensor<4x3xf32>, %g: tensor<1000x3xf32>) -> (tensor<?xi64>, tensor<?x3xf32>) {
  %0 = sinter.scatter_nd %g, %i, %a {combiner = #sinter<combiner add>} : (tensor<1000x3xf32>, tensor<4x1xi64>, tensor<4x3xf32>) -> tensor<1000x3xf32>
  // expected-error @+2 {{the gradient of 'emb' is a sum of more than what lookups of rows give back}}
  // expected-error @+1 {{has no decomposition in this form}}
  %1:2 = sinter.gradient_rows %0 {table = "emb"} : (tensor<1000x3xf32>) -> (tensor<?xi64>, tensor<?x3xf32>)
  return %1#0, %1#1 : tensor<?xi64>, tensor<?x3xf32>
}
