// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @iota_axis_outside() {
  // expected-error @+2 {{iota requires axes in [0, 1), got 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.iota {axis = 1, type = tensor<4xi64>} : () -> tensor<4xi64>
  return
}

// -----

func.func @iota_without_sizes() {
  // expected-error @+2 {{iota without shape requires a static type, got 'tensor<?xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.iota {axis = 0, type = tensor<?xi64>} : () -> tensor<?xi64>
  return
}

// -----

func.func @iota_sizes_of_another_rank(%s: tensor<3xi64>) {
  // expected-error @+2 {{iota requires one element of shape per axis (2), got 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.iota %s {axis = 0, type = tensor<?x?xi64>} : (tensor<3xi64>) -> tensor<?x?xi64>
  return
}

// -----

func.func @dim_axis_outside(%a: tensor<f32>) {
  // expected-error @+2 {{dim requires axes in [0, 0), got 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.dim %a {axis = 0} : (tensor<f32>) -> tensor<i64>
  return
}

// -----

func.func @broadcast_sizes_differ(%a: tensor<3xf32>) {
  // expected-error @+2 {{broadcast requires an operand size of 1 or 4 on result axis 0, got 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.broadcast %a axes = [0] {type = tensor<4xf32>} : (tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @broadcast_axes_do_not_increase(%a: tensor<3x3xf32>) {
  // expected-error @+2 {{broadcast requires axes that increase within [0, 3), got 0 as entry 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.broadcast %a axes = [1, 0] {type = tensor<3x3x3xf32>} : (tensor<3x3xf32>) -> tensor<3x3x3xf32>
  return
}

// -----

func.func @broadcast_new_axis_without_size(%a: tensor<3xf32>) {
  // expected-error @+2 {{broadcast requires shape or like for the size of new axis 0 of 'tensor<?x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.broadcast %a axes = [1] {type = tensor<?x3xf32>} : (tensor<3xf32>) -> tensor<?x3xf32>
  return
}

// -----

func.func @broadcast_like_of_another_rank(%a: tensor<3xf32>, %l: tensor<?xf32>) {
  // expected-error @+2 {{broadcast requires a like of rank 2, got 'tensor<?xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.broadcast %a like(%l) axes = [1] {type = tensor<?x3xf32>} : (tensor<3xf32>, tensor<?xf32>) -> tensor<?x3xf32>
  return
}

// -----

func.func @reshape_counts_differ(%a: tensor<4x3xf32>) {
  // expected-error @+2 {{reshape requires as many elements as its operand has, got 10 (5x2) and 12 (4x3)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.reshape %a {type = tensor<5x2xf32>} : (tensor<4x3xf32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @reshape_does_not_divide(%a: tensor<4x3xf32>) {
  // expected-error @+2 {{reshape requires a number of elements that 5 divides, got 12}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.reshape %a {type = tensor<?x5xf32>} : (tensor<4x3xf32>) -> tensor<?x5xf32>
  return
}

// -----

func.func @reshape_beside_a_zero(%a: tensor<4x3xf32>) {
  // expected-error @+2 {{reshape requires as many elements as its operand has, got 0 (4x0) and 12 (4x3)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.reshape %a {type = tensor<?x0xf32>} : (tensor<4x3xf32>) -> tensor<?x0xf32>
  return
}

// -----

func.func @reshape_with_two_unknown_sizes(%a: tensor<f32>) {
  // expected-error @+2 {{reshape without shape requires an operand axis 0 for that ? of its type, got 'tensor<f32>' for 'tensor<?x?xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.reshape %a {type = tensor<?x?xf32>} : (tensor<f32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @reshape_element_types_differ(%a: tensor<4xf32>) {
  // expected-error @+2 {{reshape requires one element type, got 'f32' and 'f64'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.reshape %a {type = tensor<4xf64>} : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @transpose_repeats_an_axis(%a: tensor<4x3xf32>) {
  // expected-error @+2 {{transpose requires a permutation of [0, 2), got 1 twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.transpose %a {permutation = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @slice_step_of_zero(%a: tensor<4xf32>) {
  // expected-error @+2 {{slice requires steps of at least 1, got 0 for axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.slice %a {starts = array<i64: 0>, limits = array<i64: 4>, steps = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_past_the_end(%a: tensor<4xf32>) {
  // expected-error @+2 {{slice requires a limit of at most the size 4 of axis 0, got 5}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.slice %a {starts = array<i64: 0>, limits = array<i64: 5>, steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @slice_start_after_limit(%a: tensor<4xf32>) {
  // expected-error @+2 {{slice requires 0 <= start <= limit, got 3 and 2 for axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.slice %a {starts = array<i64: 3>, limits = array<i64: 2>, steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @slice_entries_per_axis(%a: tensor<4x4xf32>) {
  // expected-error @+2 {{slice requires one entry of starts per axis (2), got 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.slice %a {starts = array<i64: 3>, limits = array<i64: 2>, steps = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @dynamic_slice_too_large(%a: tensor<4xf32>, %s: tensor<1xi64>) {
  // expected-error @+2 {{dynamic_slice requires sizes within those of 'tensor<4xf32>', got 5 for axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.dynamic_slice %a, %s {sizes = array<i64: 5>} : (tensor<4xf32>, tensor<1xi64>) -> tensor<5xf32>
  return
}

// -----

func.func @dynamic_update_slice_too_large(%a: tensor<4xf32>, %u: tensor<5xf32>, %s: tensor<1xi64>) {
  // expected-error @+2 {{dynamic_update_slice requires an update within 'tensor<4xf32>', got 'tensor<5xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.dynamic_update_slice %a, %u, %s : (tensor<4xf32>, tensor<5xf32>, tensor<1xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @pad_removes_too_much(%a: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error @+2 {{pad requires a result size of at least 0, got -1 for axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.pad %a, %v {low = array<i64: -5>, high = array<i64: 0>, interior = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<0xf32>
  return
}

// -----

func.func @pad_reflects_too_far(%a: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error @+2 {{pad in mode reflect requires at least 5 elements to take from on axis 0, got 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.pad %a, %v {low = array<i64: 4>, high = array<i64: 0>, interior = array<i64: 0>, mode = #sinter<pad_mode reflect>} : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @pad_removes_what_it_repeats(%a: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error @+2 {{pad in mode wrap requires at least 1 elements to take from on axis 0, got 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.pad %a, %v {low = array<i64: -4>, high = array<i64: 2>, interior = array<i64: 0>, mode = #sinter<pad_mode wrap>} : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @pad_edge_with_interior(%a: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error @+2 {{pad in mode edge requires interior 0, got 1 for axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.pad %a, %v {low = array<i64: 0>, high = array<i64: 0>, interior = array<i64: 1>, mode = #sinter<pad_mode edge>} : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  return
}

// -----

func.func @pad_value_of_another_type(%a: tensor<4xf32>, %v: tensor<f64>) {
  // expected-error @+2 {{pad requires one element type, got 'f32' and 'f64'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.pad %a, %v {low = array<i64: 0>, high = array<i64: 0>, interior = array<i64: 0>} : (tensor<4xf32>, tensor<f64>) -> tensor<4xf32>
  return
}

// -----

func.func @concatenate_sizes_differ(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>) {
  // expected-error @+2 {{concatenate requires equal sizes outside of axis 0, got 2 and 3 for axis 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.concatenate %a, %b {axis = 0} : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<8x2xf32>
  return
}

// -----

func.func @concatenate_nothing() {
  // expected-error @+2 {{concatenate requires at least one operand}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.concatenate {axis = 0} : () -> tensor<8x2xf32>
  return
}

// -----

func.func @reverse_axis_twice(%a: tensor<4x2xf32>) {
  // expected-error @+2 {{reverse requires distinct axes, got 1 twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.reverse %a {axes = array<i64: 1, 1>} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @tile_negative_repeat(%a: tensor<4xf32>) {
  %r = sinter.constant dense<-1> : tensor<1xi64>
  // expected-error @+2 {{tile requires repeats of at least 0, got -1 for axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.tile %a, %r : (tensor<4xf32>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @result_type_disagrees(%a: tensor<4x3xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<3x4xf32>' are incompatible with return type(s) of operation 'tensor<4x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = "sinter.transpose"(%a) {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}
