// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @bag_sum_c1_rank_0(%x: tensor<f32>, %p: tensor<7xi64>, %s: tensor<4xi64>) {
  // expected-error @+2 {{bag_sum requires an operand of rank 1 or more, got 'tensor<f32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.bag_sum %x, %p, %s : (tensor<f32>, tensor<7xi64>, tensor<4xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @bag_sum_c2_weights_differ(%x: tensor<10x4xf32>, %p: tensor<7xi64>, %s: tensor<4xi64>, %w: tensor<6xf32>) {
  // expected-error @+2 {{bag_sum requires weights of type 'tensor<7xf32>', got 'tensor<6xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.bag_sum %x, %p, %s, %w : (tensor<10x4xf32>, tensor<7xi64>, tensor<4xi64>, tensor<6xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @no_splits(%x: tensor<10x4xf32>, %p: tensor<7xi64>, %s: tensor<0xi64>) {
  // expected-error @+2 {{bag_sum requires a list of splits with at least one element, got 'tensor<0xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.bag_sum %x, %p, %s : (tensor<10x4xf32>, tensor<7xi64>, tensor<0xi64>) -> tensor<?x4xf32>
  return
}

// -----

func.func @group_rows_c1_negative_size(%p: tensor<7xi64>) {
  // expected-error @+2 {{group_rows requires a size of 0 or more, got -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = sinter.group_rows %p {size = -1 : i64} : (tensor<7xi64>) -> (tensor<7xi64>, tensor<8xi64>, tensor<7xi64>)
  return
}

// -----

func.func @gradient_rows_c1_rank_0(%g: tensor<f32>) {
  // expected-error @+2 {{gradient_rows requires a gradient of rank 1 or more, got 'tensor<f32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = sinter.gradient_rows %g : (tensor<f32>) -> (tensor<?xi64>, tensor<?xf32>)
  return
}
