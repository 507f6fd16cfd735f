// RUN: sinter-opt %s --mlir-disable-threading --sinter-print-fusion-plan -o /dev/null | FileCheck %s

// The sum leaves, too: the norm's kernel stores it as well.
// CHECK-LABEL: @norm_keeps_the_sum_it_reads
// CHECK-NEXT: row: add [layer_norm] -> 2
func.func @norm_keeps_the_sum_it_reads(%a: tensor<2x8xf32>, %b: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %0 = sinter.add %a, %b : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %1:3 = sinter.layer_norm %0 {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return %0, %1#0 : tensor<2x8xf32>, tensor<2x8xf32>
}

// An exponential is not computed once per copy.
// CHECK-LABEL: @stores_what_is_dear_before_it_is_repeated
// CHECK-NEXT: map: exp -> 1
// CHECK-NEXT: map: broadcast add -> 1
func.func @stores_what_is_dear_before_it_is_repeated(%a: tensor<8xf32>, %b: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %0 = sinter.exp %a : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sinter.broadcast %0 axes = [1] {type = tensor<64x8xf32>} : (tensor<8xf32>) -> tensor<64x8xf32>
  %2 = sinter.add %1, %b : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  return %2 : tensor<64x8xf32>
}

// The path through the reduction comes back to the division: exp and div may not share a kernel.
// CHECK-LABEL: @groups_stay_convex
// CHECK-NEXT: map: exp -> 1
// CHECK-NEXT: reduce: [reduce] -> 1
// CHECK-NEXT: map: broadcast div -> 1
func.func @groups_stay_convex(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = sinter.exp %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.reduce add %0 axes = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %2 = sinter.broadcast %1 axes = [0] {type = tensor<4x8xf32>} : (tensor<4xf32>) -> tensor<4x8xf32>
  %3 = sinter.div %0, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// Both sides of x * logistic(x) read the product: all of it is its epilogue.
// CHECK-LABEL: @epilogue_may_branch_and_join
// CHECK-NEXT: contraction: [dot_general] logistic mul -> 1
func.func @epilogue_may_branch_and_join(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = sinter.logistic %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = sinter.mul %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// CHECK-LABEL: @residual_goes_to_the_later_root
// CHECK-NEXT: contraction: [dot_general] -> 1
// CHECK-NEXT: contraction: [dot_general] add -> 1
func.func @residual_goes_to_the_later_root(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = sinter.dot_general %a, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %2 = sinter.add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// Sizes of arguments that have no names may be equal, but one kernel has results of one size.
// CHECK-LABEL: @results_of_unrelated_sizes_are_apart
// CHECK-NEXT: map: exp -> 1
// CHECK-NEXT: map: mul -> 1
func.func @results_of_unrelated_sizes_are_apart(%x: tensor<?x2xf32>, %y: tensor<?x2xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  %0 = sinter.exp %x : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %1 = sinter.mul %y, %0 : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  return %0, %1 : tensor<?x2xf32>, tensor<?x2xf32>
}

// The schedule reads sizes before it launches what they size.
// CHECK-LABEL: @computed_sizes_stay_outside
// CHECK-NEXT: map: add -> 1
// CHECK-NEXT: map: broadcast add -> 1
func.func @computed_sizes_stay_outside(%a: tensor<f32>, %s: tensor<1xi64>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = sinter.add %s, %s : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %1 = sinter.broadcast %a shape(%0) axes = [] {type = tensor<?xf32>} : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
  %2 = sinter.add %1, %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %2 : tensor<?xf32>
}

// Each update reads the one before it at two places, in code of its own for lanes inside: 4^8 of them in one kernel.
// CHECK-LABEL: @moves_upon_moves_are_not_one_kernel
// CHECK-NEXT: map: slice -> 1
// CHECK-NEXT: map: dynamic_update_slice{{( slice dynamic_update_slice)+}} -> 1
func.func @moves_upon_moves_are_not_one_kernel(%x: tensor<6xf64>) -> tensor<6xf64> {
  %zero = sinter.constant dense<0> : tensor<1xi64>
  %p0 = sinter.slice %x {starts = array<i64: 1>, limits = array<i64: 6>, steps = array<i64: 1>} : (tensor<6xf64>) -> tensor<5xf64>
  %u0 = sinter.dynamic_update_slice %x, %p0, %zero : (tensor<6xf64>, tensor<5xf64>, tensor<1xi64>) -> tensor<6xf64>
  %p1 = sinter.slice %u0 {starts = array<i64: 1>, limits = array<i64: 6>, steps = array<i64: 1>} : (tensor<6xf64>) -> tensor<5xf64>
  %u1 = sinter.dynamic_update_slice %u0, %p1, %zero : (tensor<6xf64>, tensor<5xf64>, tensor<1xi64>) -> tensor<6xf64>
  %p2 = sinter.slice %u1 {starts = array<i64: 1>, limits = array<i64: 6>, steps = array<i64: 1>} : (tensor<6xf64>) -> tensor<5xf64>
  %u2 = sinter.dynamic_update_slice %u1, %p2, %zero : (tensor<6xf64>, tensor<5xf64>, tensor<1xi64>) -> tensor<6xf64>
  %p3 = sinter.slice %u2 {starts = array<i64: 1>, limits = array<i64: 6>, steps = array<i64: 1>} : (tensor<6xf64>) -> tensor<5xf64>
  %u3 = sinter.dynamic_update_slice %u2, %p3, %zero : (tensor<6xf64>, tensor<5xf64>, tensor<1xi64>) -> tensor<6xf64>
  %p4 = sinter.slice %u3 {starts = array<i64: 1>, limits = array<i64: 6>, steps = array<i64: 1>} : (tensor<6xf64>) -> tensor<5xf64>
  %u4 = sinter.dynamic_update_slice %u3, %p4, %zero : (tensor<6xf64>, tensor<5xf64>, tensor<1xi64>) -> tensor<6xf64>
  %p5 = sinter.slice %u4 {starts = array<i64: 1>, limits = array<i64: 6>, steps = array<i64: 1>} : (tensor<6xf64>) -> tensor<5xf64>
  %u5 = sinter.dynamic_update_slice %u4, %p5, %zero : (tensor<6xf64>, tensor<5xf64>, tensor<1xi64>) -> tensor<6xf64>
  %p6 = sinter.slice %u5 {starts = array<i64: 1>, limits = array<i64: 6>, steps = array<i64: 1>} : (tensor<6xf64>) -> tensor<5xf64>
  %u6 = sinter.dynamic_update_slice %u5, %p6, %zero : (tensor<6xf64>, tensor<5xf64>, tensor<1xi64>) -> tensor<6xf64>
  %p7 = sinter.slice %u6 {starts = array<i64: 1>, limits = array<i64: 6>, steps = array<i64: 1>} : (tensor<6xf64>) -> tensor<5xf64>
  %u7 = sinter.dynamic_update_slice %u6, %p7, %zero : (tensor<6xf64>, tensor<5xf64>, tensor<1xi64>) -> tensor<6xf64>
  return %u7 : tensor<6xf64>
}

// A convolution with a constant filter fills the borders of the rows that it copies.
// CHECK-LABEL: @padding_joins_its_convolution
// CHECK-NEXT: convolution: pad [convolution] -> 1
func.func @padding_joins_its_convolution(%x: tensor<1x4x4x8xui8>) -> tensor<1x4x4x2xi32> {
  %zero = sinter.constant dense<7> : tensor<ui8>
  %w = sinter.constant dense<1> : tensor<2x3x3x8xi8>
  %0 = sinter.pad %x, %zero {low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, interior = array<i64: 0, 0, 0, 0>} : (tensor<1x4x4x8xui8>, tensor<ui8>) -> tensor<1x6x6x8xui8>
  %1 = sinter.convolution %0, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, layout = #sinter<conv_layout channels_last>, element_type = i32} : (tensor<1x6x6x8xui8>, tensor<2x3x3x8xi8>) -> tensor<1x4x4x2xi32>
  return %1 : tensor<1x4x4x2xi32>
}

// Products make floats of constant bytes in registers, each of those that read them.
// CHECK-LABEL: @floats_of_bytes_join_their_products
// CHECK-NEXT: contraction: convert [dot_general] -> 1
// CHECK-NEXT: contraction: convert [dot_general] add -> 1
func.func @floats_of_bytes_join_their_products(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<8x2xf32> {
  %w = sinter.constant dense<[[1, 2], [3, 4], [5, 6], [7, -128]]> : tensor<4x2xi8>
  %0 = sinter.convert %w {element_type = f32} : (tensor<4x2xi8>) -> tensor<4x2xf32>
  %1 = sinter.dot_general %x, %0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %2 = sinter.dot_general %y, %0 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %3 = sinter.add %1, %2 : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  return %3 : tensor<8x2xf32>
}

// Bytes take a quarter of the memory of their numbers, which are made in each kernel that reads them.
// CHECK-LABEL: @numbers_of_bytes_are_made_where_they_are_read
// CHECK-NEXT: row: decode_float8 [softmax] -> 1
// CHECK-NEXT: reduce: decode_float8 [reduce] -> 1
func.func @numbers_of_bytes_are_made_where_they_are_read(%x: tensor<4x8xui8>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %0 = sinter.decode_float8 %x {format = f8E5M2, element_type = f32} : (tensor<4x8xui8>) -> tensor<4x8xf32>
  %1 = sinter.softmax %0 {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = sinter.reduce add %0 axes = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<4xf32>
}

// The first product's kernel stores bytes, and the second's epilogue makes floats of them.
// CHECK-LABEL: @another_kernel_widens_what_it_reads
// CHECK-NEXT: contraction: [dot_general] round convert -> 1
// CHECK-NEXT: contraction: convert mul [dot_general] add -> 1
func.func @another_kernel_widens_what_it_reads(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %scale = sinter.constant dense<0.5> : tensor<4x4xf32>
  %0 = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = sinter.round %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = sinter.convert %1 {element_type = ui8} : (tensor<4x4xf32>) -> tensor<4x4xui8>
  %3 = sinter.convert %2 {element_type = f32} : (tensor<4x4xui8>) -> tensor<4x4xf32>
  %4 = sinter.mul %3, %scale : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = sinter.dot_general %a, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %6 = sinter.add %5, %4 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}

// What leaves the function is widened where it is computed.
// CHECK-LABEL: @the_result_is_widened_at_once
// CHECK-NEXT: contraction: [dot_general] round convert convert -> 1
func.func @the_result_is_widened_at_once(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = sinter.round %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = sinter.convert %1 {element_type = ui8} : (tensor<4x4xf32>) -> tensor<4x4xui8>
  %3 = sinter.convert %2 {element_type = f32} : (tensor<4x4xui8>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}
