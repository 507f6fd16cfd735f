// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --canonicalize %s | FileCheck %s

// CHECK-LABEL: @dim_and_shape_of_static_axes
// CHECK-DAG: %[[D:.*]] = sinter.constant dense<3> : tensor<i64>
// CHECK-DAG: %[[S:.*]] = sinter.constant dense<[4, 3]> : tensor<2xi64>
// CHECK: return %[[D]], %[[S]]
func.func @dim_and_shape_of_static_axes(%a: tensor<?x3xf32>, %b: tensor<4x3xf32>) -> (tensor<i64>, tensor<2xi64>) {
  %0 = sinter.dim %a {axis = 1} : (tensor<?x3xf32>) -> tensor<i64>
  %1 = sinter.shape %b : (tensor<4x3xf32>) -> tensor<2xi64>
  return %0, %1 : tensor<i64>, tensor<2xi64>
}

// CHECK-LABEL: @keeps_shape_with_unknown_size
// CHECK: sinter.shape
func.func @keeps_shape_with_unknown_size(%a: tensor<?x3xf32>) -> tensor<2xi64> {
  %0 = sinter.shape %a : (tensor<?x3xf32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// CHECK-LABEL: @broadcast_to_own_type
// CHECK-SAME: %[[A:.*]]: tensor<4x3xf32>
// CHECK: return %[[A]]
func.func @broadcast_to_own_type(%a: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = sinter.broadcast %a axes = [0, 1] {type = tensor<4x3xf32>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// CHECK-LABEL: @keeps_broadcast_of_equal_dynamic_types
// CHECK: sinter.broadcast
func.func @keeps_broadcast_of_equal_dynamic_types(%a: tensor<?xf32>, %l: tensor<?xf32>) -> tensor<?xf32> {
  %0 = sinter.broadcast %a like(%l) axes = [0] {type = tensor<?xf32>} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: @broadcast_that_adds_unit_axes_is_a_reshape
// CHECK: sinter.reshape %{{.*}} {type = tensor<1x3x1xf32>}
func.func @broadcast_that_adds_unit_axes_is_a_reshape(%a: tensor<3xf32>) -> tensor<1x3x1xf32> {
  %0 = sinter.broadcast %a axes = [1] {type = tensor<1x3x1xf32>} : (tensor<3xf32>) -> tensor<1x3x1xf32>
  return %0 : tensor<1x3x1xf32>
}

// CHECK-LABEL: @broadcasts_merge
// CHECK-SAME: %[[A:.*]]: tensor<3xf32>
// CHECK-NEXT: sinter.broadcast %[[A]] axes = [2] {type = tensor<2x4x3xf32>}
// CHECK-NEXT: return
func.func @broadcasts_merge(%a: tensor<3xf32>) -> tensor<2x4x3xf32> {
  %0 = sinter.broadcast %a axes = [1] {type = tensor<4x3xf32>} : (tensor<3xf32>) -> tensor<4x3xf32>
  %1 = sinter.broadcast %0 axes = [1, 2] {type = tensor<2x4x3xf32>} : (tensor<4x3xf32>) -> tensor<2x4x3xf32>
  return %1 : tensor<2x4x3xf32>
}

// CHECK-LABEL: @static_broadcast_drops_like
// CHECK: sinter.broadcast %{{.*}} axes = [1] {type = tensor<4x3xf32>} : (tensor<3xf32>)
func.func @static_broadcast_drops_like(%a: tensor<3xf32>, %l: tensor<?x3xf32>) -> tensor<4x3xf32> {
  %0 = sinter.broadcast %a like(%l) axes = [1] {type = tensor<?x3xf32>} : (tensor<3xf32>, tensor<?x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// CHECK-LABEL: @reshapes_merge_and_vanish
// CHECK-SAME: %[[A:.*]]: tensor<4x3xf32>
// CHECK-NEXT: return %[[A]]
func.func @reshapes_merge_and_vanish(%a: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = sinter.reshape %a {type = tensor<12xf32>} : (tensor<4x3xf32>) -> tensor<12xf32>
  %1 = sinter.reshape %0 {type = tensor<4x3xf32>} : (tensor<12xf32>) -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// CHECK-LABEL: @reshape_with_one_unknown_size_drops_shape
// CHECK: sinter.reshape %{{.*}} {type = tensor<?x3xf32>} : (tensor<?x?xf32>) -> tensor<?x3xf32>
func.func @reshape_with_one_unknown_size_drops_shape(%a: tensor<?x?xf32>, %s: tensor<2xi64>) -> tensor<?x3xf32> {
  %0 = sinter.reshape %a, %s {type = tensor<?x3xf32>} : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// What the number of elements does not tell.
// CHECK-LABEL: @reshape_beside_a_zero_keeps_shape
// CHECK: sinter.reshape %{{.*}}, %{{.*}} {type = tensor<?x0xf32>}
func.func @reshape_beside_a_zero_keeps_shape(%a: tensor<?x?xf32>, %s: tensor<2xi64>) -> tensor<?x0xf32> {
  %0 = sinter.reshape %a, %s {type = tensor<?x0xf32>} : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x0xf32>
  return %0 : tensor<?x0xf32>
}

// CHECK-LABEL: @reshape_beside_a_zero_vanishes
// CHECK-SAME: %[[A:.*]]: tensor<?x0xf32>
// CHECK: return %[[A]]
func.func @reshape_beside_a_zero_vanishes(%a: tensor<?x0xf32>) -> tensor<?x0xf32> {
  %0 = sinter.reshape %a {type = tensor<?x0xf32>} : (tensor<?x0xf32>) -> tensor<?x0xf32>
  return %0 : tensor<?x0xf32>
}

// CHECK-LABEL: @reshapes_beside_a_zero_do_not_merge
// CHECK-COUNT-2: sinter.reshape
func.func @reshapes_beside_a_zero_do_not_merge(%a: tensor<?x2x0xf32>, %s: tensor<2xi64>) -> tensor<?x0xf32> {
  %0 = sinter.reshape %a, %s {type = tensor<?x?xf32>} : (tensor<?x2x0xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %1 = sinter.reshape %0 {type = tensor<?x0xf32>} : (tensor<?x?xf32>) -> tensor<?x0xf32>
  return %1 : tensor<?x0xf32>
}

// CHECK-LABEL: @reshape_of_constant
// CHECK: sinter.constant dense<{{\[}}[1, 2], [3, 4]]> : tensor<2x2xi64>
func.func @reshape_of_constant() -> tensor<2x2xi64> {
  %c = sinter.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  %0 = sinter.reshape %c {type = tensor<2x2xi64>} : (tensor<4xi64>) -> tensor<2x2xi64>
  return %0 : tensor<2x2xi64>
}

// CHECK-LABEL: @transposes_merge
// CHECK-NEXT: sinter.transpose %{{.*}} {permutation = array<i64: 1, 2, 0>}
// CHECK-NEXT: return
func.func @transposes_merge(%a: tensor<4x3x2xf32>) -> tensor<3x2x4xf32> {
  %0 = sinter.transpose %a {permutation = array<i64: 2, 0, 1>} : (tensor<4x3x2xf32>) -> tensor<2x4x3xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 2, 0, 1>} : (tensor<2x4x3xf32>) -> tensor<3x2x4xf32>
  return %1 : tensor<3x2x4xf32>
}

// CHECK-LABEL: @transpose_of_unit_axis_is_a_reshape
// CHECK: sinter.reshape %{{.*}} {type = tensor<4x1x3xf32>}
func.func @transpose_of_unit_axis_is_a_reshape(%a: tensor<1x4x3xf32>) -> tensor<4x1x3xf32> {
  %0 = sinter.transpose %a {permutation = array<i64: 1, 0, 2>} : (tensor<1x4x3xf32>) -> tensor<4x1x3xf32>
  return %0 : tensor<4x1x3xf32>
}

// CHECK-LABEL: @whole_slice_and_empty_pad_vanish
// CHECK-SAME: %[[A:.*]]: tensor<?x4xf32>
// CHECK: return %[[A]]
func.func @whole_slice_and_empty_pad_vanish(%a: tensor<?x4xf32>, %v: tensor<f32>) -> tensor<?x4xf32> {
  %0 = sinter.slice %a {starts = array<i64: 0, 0>, limits = array<i64: -1, 4>, steps = array<i64: 1, 1>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = sinter.pad %0, %v {low = array<i64: 0, 0>, high = array<i64: 0, 0>, interior = array<i64: 0, 0>} : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// CHECK-LABEL: @slices_merge
// CHECK-NEXT: sinter.slice %{{.*}} {limits = array<i64: 16>, starts = array<i64: 3>, steps = array<i64: 6>}
// CHECK-NEXT: return
func.func @slices_merge(%a: tensor<20xf32>) -> tensor<3xf32> {
  %0 = sinter.slice %a {starts = array<i64: 1>, limits = array<i64: 18>, steps = array<i64: 2>} : (tensor<20xf32>) -> tensor<9xf32>
  %1 = sinter.slice %0 {starts = array<i64: 1>, limits = array<i64: 9>, steps = array<i64: 3>} : (tensor<9xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// CHECK-LABEL: @range_slice_backward_is_slice_and_reverse
// CHECK: %[[S:.*]] = sinter.slice %{{.*}} {limits = array<i64: 8>, starts = array<i64: 1>, steps = array<i64: 2>}
// CHECK: sinter.reverse %[[S]] {axes = array<i64: 0>}
func.func @range_slice_backward_is_slice_and_reverse(%a: tensor<9xf32>) -> tensor<4xf32> {
  %start = sinter.constant dense<-2> : tensor<1xi64>
  %limit = sinter.constant dense<-100> : tensor<1xi64>
  %step = sinter.constant dense<-2> : tensor<1xi64>
  %0 = sinter.range_slice %a, %start, %limit, %step : (tensor<9xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @range_slice_to_the_end_of_unknown_size
// CHECK: sinter.slice %{{.*}} {limits = array<i64: -1>, starts = array<i64: 2>, steps = array<i64: 1>}
func.func @range_slice_to_the_end_of_unknown_size(%a: tensor<?xf32>) -> tensor<?xf32> {
  %start = sinter.constant dense<2> : tensor<1xi64>
  %limit = sinter.constant dense<9223372036854775807> : tensor<1xi64>
  %step = sinter.constant dense<1> : tensor<1xi64>
  %0 = sinter.range_slice %a, %start, %limit, %step : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: @keeps_range_slice_from_the_end_of_unknown_size
// CHECK: sinter.range_slice
func.func @keeps_range_slice_from_the_end_of_unknown_size(%a: tensor<?xf32>) -> tensor<?xf32> {
  %start = sinter.constant dense<-2> : tensor<1xi64>
  %limit = sinter.constant dense<9223372036854775807> : tensor<1xi64>
  %step = sinter.constant dense<1> : tensor<1xi64>
  %0 = sinter.range_slice %a, %start, %limit, %step : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: @dynamic_slice_at_constant_is_clamped
// CHECK: sinter.slice %{{.*}} {limits = array<i64: 9>, starts = array<i64: 5>, steps = array<i64: 1>}
func.func @dynamic_slice_at_constant_is_clamped(%a: tensor<9xf32>) -> tensor<4xf32> {
  %start = sinter.constant dense<7> : tensor<1xi64>
  %0 = sinter.dynamic_slice %a, %start {sizes = array<i64: 4>} : (tensor<9xf32>, tensor<1xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @dynamic_pad_by_constants
// CHECK: sinter.pad %{{.*}} {high = array<i64: 2>, interior = array<i64: 0>, low = array<i64: 1>}
func.func @dynamic_pad_by_constants(%a: tensor<9xf32>, %v: tensor<f32>) -> tensor<12xf32> {
  %low = sinter.constant dense<1> : tensor<1xi64>
  %high = sinter.constant dense<2> : tensor<1xi64>
  %0 = sinter.dynamic_pad %a, %v, %low, %high : (tensor<9xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}

// CHECK-LABEL: @concatenates_flatten_and_drop_empty_operands
// CHECK-SAME: %[[A:[a-z0-9]*]]: tensor<2xf32>, %[[B:[a-z0-9]*]]: tensor<3xf32>
// CHECK-NEXT: sinter.concatenate %[[A]], %[[B]], %[[A]] {axis = 0 : i64}
// CHECK-NEXT: return
func.func @concatenates_flatten_and_drop_empty_operands(%a: tensor<2xf32>, %b: tensor<3xf32>, %e: tensor<0xf32>) -> tensor<7xf32> {
  %0 = sinter.concatenate %a, %e, %b {axis = 0} : (tensor<2xf32>, tensor<0xf32>, tensor<3xf32>) -> tensor<5xf32>
  %1 = sinter.concatenate %0, %a {axis = 0} : (tensor<5xf32>, tensor<2xf32>) -> tensor<7xf32>
  return %1 : tensor<7xf32>
}

// CHECK-LABEL: @concatenate_of_one
// CHECK-SAME: %[[A:.*]]: tensor<2xf32>
// CHECK-NEXT: return %[[A]]
func.func @concatenate_of_one(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = sinter.concatenate %a {axis = 0} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: @tile_of_unit_axis_is_a_broadcast
// CHECK: sinter.broadcast %{{.*}} axes = [0, 1] {type = tensor<5x3xf32>}
func.func @tile_of_unit_axis_is_a_broadcast(%a: tensor<1x3xf32>) -> tensor<5x3xf32> {
  %r = sinter.constant dense<[5, 1]> : tensor<2xi64>
  %0 = sinter.tile %a, %r : (tensor<1x3xf32>, tensor<2xi64>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

// CHECK-LABEL: @pads_of_one_value_merge
// CHECK-NEXT: sinter.pad %arg0, %arg1 {high = array<i64: 2, 2>, interior = array<i64: 0, 0>, low = array<i64: 3, 0>}
// CHECK-NEXT: return
func.func @pads_of_one_value_merge(%a: tensor<?x4xf32>, %v: tensor<f32>) -> tensor<?x6xf32> {
  %0 = sinter.pad %a, %v {low = array<i64: 1, 0>, high = array<i64: 0, 2>, interior = array<i64: 0, 0>} : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x6xf32>
  %1 = sinter.pad %0, %v {low = array<i64: 2, 0>, high = array<i64: 2, 0>, interior = array<i64: 0, 0>} : (tensor<?x6xf32>, tensor<f32>) -> tensor<?x6xf32>
  return %1 : tensor<?x6xf32>
}

// What a pad removes was filled, what lies between elements is between all, and each value stays where it is.
// CHECK-LABEL: @pads_that_differ_stay
// CHECK-COUNT-6: sinter.pad
func.func @pads_that_differ_stay(%a: tensor<4xf32>, %v: tensor<f32>, %w: tensor<f32>) -> (tensor<6xf32>, tensor<4xf32>, tensor<11xf32>) {
  %0 = sinter.pad %a, %v {low = array<i64: 1>, high = array<i64: 0>, interior = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<5xf32>
  %1 = sinter.pad %0, %w {low = array<i64: 1>, high = array<i64: 0>, interior = array<i64: 0>} : (tensor<5xf32>, tensor<f32>) -> tensor<6xf32>
  %2 = sinter.pad %a, %v {low = array<i64: 2>, high = array<i64: 0>, interior = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  %3 = sinter.pad %2, %v {low = array<i64: 0>, high = array<i64: -2>, interior = array<i64: 0>} : (tensor<6xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = sinter.pad %a, %v {low = array<i64: 0>, high = array<i64: 1>, interior = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<5xf32>
  %5 = sinter.pad %4, %v {low = array<i64: 1>, high = array<i64: 1>, interior = array<i64: 1>} : (tensor<5xf32>, tensor<f32>) -> tensor<11xf32>
  return %1, %3, %5 : tensor<6xf32>, tensor<4xf32>, tensor<11xf32>
}
