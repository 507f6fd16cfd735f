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

// -----

// What bags give back stays the bags' rows: 16 of them, not one for each of 80 ids.
// CHECK-LABEL: @bags_are_read_where_they_are
// CHECK-SAME:    (%[[I:.*]]: tensor<80x1xi64>, %[[BAG:.*]]: tensor<80xi64>, %[[D:.*]]: tensor<16x3xf32>)
// CHECK:         %[[P:.*]] = sinter.reshape %[[I]]
// CHECK:         %[[ROWS:.*]], %[[SPLITS:.*]], %[[ORDER:.*]] = sinter.group_rows %[[P]]
// CHECK:         %[[AT:.*]] = sinter.gather %[[BAG]], %[[ORDER]]
// CHECK:         sinter.bag_sum %[[D]], %[[AT]], %[[SPLITS]] :
// CHECK-NOT:     tensor<80x3xf32>, tensor<80xi64>
func.func @bags_are_read_where_they_are(%i: tensor<80x1xi64>, %bag: tensor<80xi64>, %d: tensor<16x3xf32>) -> (tensor<?xi64>, tensor<?x3xf32>) {
  %zero = sinter.constant dense<0.0> : tensor<1000x3xf32>
  %each = sinter.gather %d, %bag {axis = 0 : i64} : (tensor<16x3xf32>, tensor<80xi64>) -> tensor<80x3xf32>
  %0 = sinter.scatter_nd %zero, %i, %each {combiner = #sinter<combiner add>} : (tensor<1000x3xf32>, tensor<80x1xi64>, tensor<80x3xf32>) -> tensor<1000x3xf32>
  %1:2 = sinter.gradient_rows %0 : (tensor<1000x3xf32>) -> (tensor<?xi64>, tensor<?x3xf32>)
  return %1#0, %1#1 : tensor<?xi64>, tensor<?x3xf32>
}

// -----

// CHECK-LABEL: @bags_with_weights_and_single_rows_are_joined
// CHECK-SAME:    %[[D:[a-z0-9]*]]: tensor<16x3xf32>, %[[W:[a-z0-9]*]]: tensor<80xf32>, {{.*}}, %[[B:[a-z0-9]*]]: tensor<2x3xf32>)
// CHECK:         %[[WEIGHTS:.*]] = sinter.concatenate %[[W]], %{{.*}} : (tensor<80xf32>, tensor<2xf32>)
// CHECK-DAG:     %[[ROWS:.*]] = sinter.concatenate %[[D]], %[[B]]
// CHECK-DAG:     %[[EACH:.*]] = sinter.gather %[[WEIGHTS]], %[[ORDER:.*]] {
// CHECK:         sinter.bag_sum %[[ROWS]], %{{.*}}, %{{.*}}, %[[EACH]]
func.func @bags_with_weights_and_single_rows_are_joined(%i: tensor<80x1xi64>, %bag: tensor<80xi64>, %d: tensor<16x3xf32>, %w: tensor<80xf32>, %j: tensor<2x1xi64>, %b: tensor<2x3xf32>) -> (tensor<?xi64>, tensor<?x3xf32>) {
  %zero = sinter.constant dense<0.0> : tensor<1000x3xf32>
  %g = sinter.gather %d, %bag {axis = 0 : i64} : (tensor<16x3xf32>, tensor<80xi64>) -> tensor<80x3xf32>
  %s = sinter.broadcast %w axes = [0] {type = tensor<80x3xf32>} : (tensor<80xf32>) -> tensor<80x3xf32>
  %each = sinter.mul %g, %s : (tensor<80x3xf32>, tensor<80x3xf32>) -> tensor<80x3xf32>
  %0 = sinter.scatter_nd %zero, %i, %each {combiner = #sinter<combiner add>} : (tensor<1000x3xf32>, tensor<80x1xi64>, tensor<80x3xf32>) -> tensor<1000x3xf32>
  %1 = sinter.scatter_nd %zero, %j, %b {combiner = #sinter<combiner add>} : (tensor<1000x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>) -> tensor<1000x3xf32>
  %2 = sinter.add %0, %1 : (tensor<1000x3xf32>, tensor<1000x3xf32>) -> tensor<1000x3xf32>
  %3:2 = sinter.gradient_rows %2 : (tensor<1000x3xf32>) -> (tensor<?xi64>, tensor<?x3xf32>)
  return %3#0, %3#1 : tensor<?xi64>, tensor<?x3xf32>
}

// -----

// What the trips of a loop look up is stacked; its carry is gone with its last use.
// CHECK-LABEL: @trips_of_a_scan_stack_their_lookups
// CHECK:         %[[STACKS:.*]]:2 = sinter.scan() over
// CHECK-NOT:     1000x3
// CHECK:         %[[POSITIONS:.*]] = sinter.reshape %[[STACKS]]#0 {type = tensor<20xi64>}
// CHECK:         %[[VALUES:.*]] = sinter.reshape %[[STACKS]]#1 {type = tensor<20x3xf32>}
// CHECK:         sinter.group_rows %[[POSITIONS]] {size = 1000 : i64}
// CHECK:         sinter.bag_sum %[[VALUES]]
func.func @trips_of_a_scan_stack_their_lookups(%i: tensor<5x4xi64>, %a: tensor<5x4x3xf32>) -> (tensor<?xi64>, tensor<?x3xf32>) {
  %zero = sinter.constant dense<0.0> : tensor<1000x3xf32>
  %sum = sinter.scan(%zero) over(%i, %a) captures() {axes = array<i64: 0, 0>, out_axes = array<i64>, out_reverse = array<i1>, reverse = array<i1: true, true>} : (tensor<1000x3xf32>, tensor<5x4xi64>, tensor<5x4x3xf32>) -> tensor<1000x3xf32> body {
  ^bb0(%carry: tensor<1000x3xf32>, %at: tensor<4xi64>, %rows: tensor<4x3xf32>):
    %none = sinter.constant dense<0.0> : tensor<1000x3xf32>
    %column = sinter.reshape %at {type = tensor<4x1xi64>} : (tensor<4xi64>) -> tensor<4x1xi64>
    %one = sinter.scatter_nd %none, %column, %rows {combiner = #sinter<combiner add>} : (tensor<1000x3xf32>, tensor<4x1xi64>, tensor<4x3xf32>) -> tensor<1000x3xf32>
    %next = sinter.add %carry, %one : (tensor<1000x3xf32>, tensor<1000x3xf32>) -> tensor<1000x3xf32>
    sinter.yield(%next) : tensor<1000x3xf32>
  }
  %rows:2 = sinter.gradient_rows %sum : (tensor<1000x3xf32>) -> (tensor<?xi64>, tensor<?x3xf32>)
  return %rows#0, %rows#1 : tensor<?xi64>, tensor<?x3xf32>
}

// -----

// Each trip shrinks what the others gave: no sum.
// CHECK-LABEL: @trips_that_scale_the_carry_are_no_sum
// CHECK:         sinter.gradient_rows
func.func @trips_that_scale_the_carry_are_no_sum(%i: tensor<5x4x1xi64>, %a: tensor<5x4x3xf32>) -> (tensor<?xi64>, tensor<?x3xf32>) {
  %zero = sinter.constant dense<0.0> : tensor<1000x3xf32>
  %sum = sinter.scan(%zero) over(%i, %a) captures() {axes = array<i64: 0, 0>, out_axes = array<i64>, out_reverse = array<i1>, reverse = array<i1: true, true>} : (tensor<1000x3xf32>, tensor<5x4x1xi64>, tensor<5x4x3xf32>) -> tensor<1000x3xf32> body {
  ^bb0(%carry: tensor<1000x3xf32>, %at: tensor<4x1xi64>, %rows: tensor<4x3xf32>):
    %half = sinter.constant dense<0.5> : tensor<1000x3xf32>
    %less = sinter.mul %carry, %half : (tensor<1000x3xf32>, tensor<1000x3xf32>) -> tensor<1000x3xf32>
    %next = sinter.scatter_nd %less, %at, %rows {combiner = #sinter<combiner add>} : (tensor<1000x3xf32>, tensor<4x1xi64>, tensor<4x3xf32>) -> tensor<1000x3xf32>
    sinter.yield(%next) : tensor<1000x3xf32>
  }
  // expected-error @+2 {{the gradient of 'emb' is a sum of more than what lookups of rows give back}}
  // expected-error @+1 {{has no decomposition in this form}}
  %rows:2 = sinter.gradient_rows %sum {table = "emb"} : (tensor<1000x3xf32>) -> (tensor<?xi64>, tensor<?x3xf32>)
  return %rows#0, %rows#1 : tensor<?xi64>, tensor<?x3xf32>
}
