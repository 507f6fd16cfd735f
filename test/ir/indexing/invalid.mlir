// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @gather_axis_outside(%a: tensor<5xf32>, %p: tensor<2xi64>) {
  // expected-error @+2 {{gather requires axes in [0, 1), got 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.gather %a, %p {axis = 1} : (tensor<5xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_elements_positions_too_large(%a: tensor<5x3xf32>, %p: tensor<2x4xi64>) {
  // expected-error @+2 {{gather_elements requires positions within 'tensor<5x3xf32>' outside of axis 0, got 'tensor<2x4xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.gather_elements %a, %p {axis = 0} : (tensor<5x3xf32>, tensor<2x4xi64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @gather_elements_ranks_differ(%a: tensor<5x3xf32>, %p: tensor<2xi64>) {
  // expected-error @+2 {{gather_elements requires positions of rank 2, got 'tensor<2xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.gather_elements %a, %p {axis = 0} : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_nd_tuples_too_long(%a: tensor<5x3xf32>, %p: tensor<2x3xi64>) {
  // expected-error @+2 {{gather_nd requires tuples of at most 2 positions, got 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.gather_nd %a, %p : (tensor<5x3xf32>, tensor<2x3xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_nd_tuples_of_unknown_length(%a: tensor<5x3xf32>, %p: tensor<2x?xi64>) {
  // expected-error @+2 {{gather_nd requires positions with a last axis of known size, got 'tensor<2x?xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.gather_nd %a, %p : (tensor<5x3xf32>, tensor<2x?xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_nd_batches_differ(%a: tensor<5x3xf32>, %p: tensor<2x1xi64>) {
  // expected-error @+2 {{gather_nd requires equal batch sizes, got 5 and 2 for axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.gather_nd %a, %p {batch_axes = 1} : (tensor<5x3xf32>, tensor<2x1xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @scatter_elements_updates_differ(%a: tensor<5x3xf32>, %p: tensor<2x3xi64>, %u: tensor<1x3xf32>) {
  // expected-error @+2 {{scatter_elements requires updates of type 'tensor<2x3xf32>', got 'tensor<1x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.scatter_elements %a, %p, %u {axis = 0} : (tensor<5x3xf32>, tensor<2x3xi64>, tensor<1x3xf32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @scatter_nd_updates_differ(%a: tensor<5x3xf32>, %p: tensor<4x1xi64>, %u: tensor<4xf32>) {
  // expected-error @+2 {{scatter_nd requires updates of type 'tensor<4x3xf32>', got 'tensor<4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.scatter_nd %a, %p, %u : (tensor<5x3xf32>, tensor<4x1xi64>, tensor<4xf32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @compress_mask_too_long(%a: tensor<5xf32>, %m: tensor<6xi1>) {
  // expected-error @+2 {{compress requires a mask of at most 5 elements, got 6}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.compress %a, %m {axis = 0} : (tensor<5xf32>, tensor<6xi1>) -> tensor<?xf32>
  return
}

// -----

func.func @non_max_suppression_boxes(%b: tensor<1x6x3xf32>, %s: tensor<1x2x6xf32>, %max: tensor<i64>, %t: tensor<f32>) {
  // expected-error @+2 {{non_max_suppression requires boxes of shape [batch, count, 4], got 'tensor<1x6x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.non_max_suppression %b, %s, %max, %t, %t : (tensor<1x6x3xf32>, tensor<1x2x6xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<?x3xi64>
  return
}

// -----

func.func @non_max_suppression_scores(%b: tensor<1x6x4xf32>, %s: tensor<1x2x7xf32>, %max: tensor<i64>, %t: tensor<f32>) {
  // expected-error @+2 {{non_max_suppression requires scores of shape [batch, classes, count], got 'tensor<1x2x7xf32>' for boxes 'tensor<1x6x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.non_max_suppression %b, %s, %max, %t, %t : (tensor<1x6x4xf32>, tensor<1x2x7xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<?x3xi64>
  return
}
