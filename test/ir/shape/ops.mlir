// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --verify-roundtrip %s

func.func @constant() -> tensor<2xi64> {
  %0 = sinter.constant dense<[3, 4]> : tensor<2xi64>
  return %0 : tensor<2xi64>
}

func.func @iota_static() -> tensor<4x3xi32> {
  %0 = sinter.iota {axis = 1, type = tensor<4x3xi32>} : () -> tensor<4x3xi32>
  return %0 : tensor<4x3xi32>
}

func.func @iota_of_sizes(%s: tensor<2xi64>) -> tensor<?x3xi32> {
  %0 = sinter.iota %s {axis = 0, type = tensor<?x3xi32>} : (tensor<2xi64>) -> tensor<?x3xi32>
  return %0 : tensor<?x3xi32>
}

func.func @dim_and_shape(%a: tensor<?x3xf32>) -> (tensor<i64>, tensor<2xi64>) {
  %0 = sinter.dim %a {axis = 0} : (tensor<?x3xf32>) -> tensor<i64>
  %1 = sinter.shape %a : (tensor<?x3xf32>) -> tensor<2xi64>
  return %0, %1 : tensor<i64>, tensor<2xi64>
}

func.func @broadcast_new_axis(%a: tensor<1x3xf32>) -> tensor<4x2x3xf32> {
  %0 = sinter.broadcast %a axes = [1, 2] {type = tensor<4x2x3xf32>} : (tensor<1x3xf32>) -> tensor<4x2x3xf32>
  return %0 : tensor<4x2x3xf32>
}

func.func @broadcast_to_sizes(%a: tensor<3xf32>, %s: tensor<2xi64>) -> tensor<?x3xf32> {
  %0 = sinter.broadcast %a shape(%s) axes = [1] {type = tensor<?x?xf32>} : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

func.func @broadcast_like(%a: tensor<3xf32>, %l: tensor<?x3xi8>) -> tensor<?x3xf32> {
  %0 = sinter.broadcast %a like(%l) axes = [1] {type = tensor<?x3xf32>} : (tensor<3xf32>, tensor<?x3xi8>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

func.func @reshape_infers_one_size(%a: tensor<?x6xf32>) -> tensor<2x?x3xf32> {
  %0 = sinter.reshape %a {type = tensor<2x?x3xf32>} : (tensor<?x6xf32>) -> tensor<2x?x3xf32>
  return %0 : tensor<2x?x3xf32>
}

// Beside a 0 every `?` is the operand's size of that axis.
func.func @reshape_beside_a_zero(%a: tensor<5x3x0xf32>) -> tensor<5x0xf32> {
  %0 = sinter.reshape %a {type = tensor<?x0xf32>} : (tensor<5x3x0xf32>) -> tensor<5x0xf32>
  return %0 : tensor<5x0xf32>
}

func.func @reshape_by_constant_sizes(%a: tensor<?x6xf32>) -> tensor<4x3xf32> {
  %s = sinter.constant dense<[4, 3]> : tensor<2xi64>
  %0 = sinter.reshape %a, %s {type = tensor<?x?xf32>} : (tensor<?x6xf32>, tensor<2xi64>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

func.func @transpose(%a: tensor<2x?x4xf32>) -> tensor<4x2x?xf32> {
  %0 = sinter.transpose %a {permutation = array<i64: 2, 0, 1>} : (tensor<2x?x4xf32>) -> tensor<4x2x?xf32>
  return %0 : tensor<4x2x?xf32>
}

func.func @slice(%a: tensor<9x?xf32>) -> tensor<3x?xf32> {
  %0 = sinter.slice %a {starts = array<i64: 1, 0>, limits = array<i64: 8, -1>, steps = array<i64: 3, 1>} : (tensor<9x?xf32>) -> tensor<3x?xf32>
  return %0 : tensor<3x?xf32>
}

func.func @range_slice_by_constants(%a: tensor<9xf32>) -> tensor<4xf32> {
  %start = sinter.constant dense<-2> : tensor<1xi64>
  %limit = sinter.constant dense<-100> : tensor<1xi64>
  %step = sinter.constant dense<-2> : tensor<1xi64>
  %0 = sinter.range_slice %a, %start, %limit, %step : (tensor<9xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @dynamic_slice_and_update(%a: tensor<9xf32>, %s: tensor<1xi64>) -> tensor<9xf32> {
  %0 = sinter.dynamic_slice %a, %s {sizes = array<i64: 4>} : (tensor<9xf32>, tensor<1xi64>) -> tensor<4xf32>
  %1 = sinter.dynamic_update_slice %a, %0, %s : (tensor<9xf32>, tensor<4xf32>, tensor<1xi64>) -> tensor<9xf32>
  return %1 : tensor<9xf32>
}

func.func @pad(%a: tensor<3x?xf32>, %v: tensor<f32>) -> tensor<8x?xf32> {
  %0 = sinter.pad %a, %v {low = array<i64: 2, 0>, high = array<i64: -1, 0>, interior = array<i64: 2, 0>} : (tensor<3x?xf32>, tensor<f32>) -> tensor<8x?xf32>
  return %0 : tensor<8x?xf32>
}

func.func @pad_reflect(%a: tensor<3xf32>, %v: tensor<f32>) -> tensor<7xf32> {
  %0 = sinter.pad %a, %v {low = array<i64: 2>, high = array<i64: 2>, interior = array<i64: 0>, mode = #sinter<pad_mode reflect>} : (tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

func.func @dynamic_pad(%a: tensor<3xf32>, %v: tensor<f32>, %low: tensor<1xi64>, %high: tensor<1xi64>) -> tensor<?xf32> {
  %0 = sinter.dynamic_pad %a, %v, %low, %high : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

func.func @concatenate(%a: tensor<2x?xf32>, %b: tensor<3x4xf32>) -> tensor<5x4xf32> {
  %0 = sinter.concatenate %a, %b {axis = 0} : (tensor<2x?xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

func.func @reverse(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = sinter.reverse %a {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

func.func @tile_by_constants(%a: tensor<2x3xf32>) -> tensor<2x12xf32> {
  %r = sinter.constant dense<[1, 4]> : tensor<2xi64>
  %0 = sinter.tile %a, %r : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x12xf32>
  return %0 : tensor<2x12xf32>
}
