// RUN: sinter-opt %s --sinter-refine-shapes | FileCheck %s

// CHECK-LABEL: @sizes_reach_the_results
// CHECK-SAME: -> tensor<2x6xf32>
// CHECK: sinter.concatenate{{.*}} -> tensor<2x6xf32>
// CHECK: return %{{.*}} : tensor<2x6xf32>
func.func @sizes_reach_the_results(%a: tensor<2x3xf32>) -> tensor<?x?xf32> {
  %0 = sinter.concatenate %a, %a {axis = 1} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: @reshape_keeps_no_operand_for_one_unknown
// CHECK: sinter.reshape %arg0 {type = tensor<?x4x3xf32>} : (tensor<?x12xf32>) -> tensor<?x4x3xf32>
// CHECK-NOT: sinter.shape
func.func @reshape_keeps_no_operand_for_one_unknown(%a: tensor<?x12xf32> {sinter.dims = ["n", 12]}) -> tensor<?x?x?xf32> {
  %rest = sinter.constant dense<[4, 3]> : tensor<2xi64>
  %0 = sinter.shape %a : (tensor<?x12xf32>) -> tensor<2xi64>
  %1 = sinter.slice %0 {starts = array<i64: 0>, limits = array<i64: 1>, steps = array<i64: 1>} : (tensor<2xi64>) -> tensor<1xi64>
  %2 = sinter.concatenate %1, %rest {axis = 0} : (tensor<1xi64>, tensor<2xi64>) -> tensor<3xi64>
  %3 = sinter.reshape %a, %2 {type = tensor<?x?x?xf32>} : (tensor<?x12xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  return %3 : tensor<?x?x?xf32>
}

// CHECK-LABEL: @broadcast_reads_sizes_from_an_argument
// CHECK: sinter.broadcast %arg1 like(%arg0)
func.func @broadcast_reads_sizes_from_an_argument(%a: tensor<?x?xf32> {sinter.dims = ["n", "m"]}, %b: tensor<f32>) -> tensor<?x?xf32> {
  %0 = sinter.shape %a : (tensor<?x?xf32>) -> tensor<2xi64>
  %1 = sinter.broadcast %b shape(%0) axes = [] {type = tensor<?x?xf32>} : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// CHECK-LABEL: @known_elements_become_a_constant
// CHECK: %[[C:.*]] = sinter.constant dense<[4, 8]>
// CHECK: return %[[C]]
func.func @known_elements_become_a_constant(%a: tensor<4x8xf32>) -> tensor<2xi64> {
  %0 = sinter.shape %a : (tensor<4x8xf32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// CHECK-LABEL: @carries_keep_their_size
// CHECK: sinter.for {{.*}} -> tensor<4xf32> body
// CHECK: ^bb0(%{{.*}}: tensor<i64>, %{{.*}}: tensor<4xf32>)
func.func @carries_keep_their_size(%n: tensor<i64>, %a: tensor<4xf32>) -> tensor<?xf32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %0 = sinter.for %zero to %n step %one(%a) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4xf32>) -> tensor<?xf32> body {
  ^bb0(%i: tensor<i64>, %x: tensor<?xf32>):
    %1 = sinter.tanh %x : (tensor<?xf32>) -> tensor<?xf32>
    sinter.yield(%1) : tensor<?xf32>
  }
  return %0 : tensor<?xf32>
}

// Sizes before the last are copied from the operand.
// CHECK-LABEL: @reshape_keeps_no_operand_for_copied_sizes
// CHECK: sinter.reshape %arg0 {type = tensor<?x?x4x3xf32>} : (tensor<?x?x12xf32>) -> tensor<?x?x4x3xf32>
func.func @reshape_keeps_no_operand_for_copied_sizes(%a: tensor<?x?x12xf32> {sinter.dims = ["n", "m", 12]}) -> tensor<?x?x?x?xf32> {
  %rest = sinter.constant dense<[4, 3]> : tensor<2xi64>
  %0 = sinter.shape %a : (tensor<?x?x12xf32>) -> tensor<3xi64>
  %1 = sinter.slice %0 {starts = array<i64: 0>, limits = array<i64: 2>, steps = array<i64: 1>} : (tensor<3xi64>) -> tensor<2xi64>
  %2 = sinter.concatenate %1, %rest {axis = 0 : i64} : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
  %3 = sinter.reshape %a, %2 {type = tensor<?x?x?x?xf32>} : (tensor<?x?x12xf32>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
  return %3 : tensor<?x?x?x?xf32>
}

// Beside a 0 what does not come from the operand's own axis stays.
// CHECK-LABEL: @reshape_beside_a_zero
// CHECK: sinter.reshape %arg0 {type = tensor<?x0xf32>}
// CHECK: sinter.reshape %arg1, %{{.*}} {type = tensor<?x0xf32>}
func.func @reshape_beside_a_zero(%a: tensor<?x0xf32> {sinter.dims = ["n", 0]}, %b: tensor<0x?xf32> {sinter.dims = [0, "n"]}) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %0 = sinter.shape %a : (tensor<?x0xf32>) -> tensor<2xi64>
  %1 = sinter.reshape %a, %0 {type = tensor<?x?xf32>} : (tensor<?x0xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %2 = sinter.reshape %b, %0 {type = tensor<?x?xf32>} : (tensor<0x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %1, %2 : tensor<?x?xf32>, tensor<?x?xf32>
}

// As importers broadcast: where a size is 1, the other's; equal ones are that size anyway.
// CHECK-LABEL: @broadcast_to_itself_needs_no_sizes
// CHECK-NOT: sinter.shape
// CHECK: sinter.broadcast %arg0 axes = [0, 1]
func.func @broadcast_to_itself_needs_no_sizes(%a: tensor<?x4xf32> {sinter.dims = ["n", 4]}, %b: tensor<1x4xf32>) -> tensor<?x4xf32> {
  %one = sinter.constant dense<1> : tensor<2xi64>
  %0 = sinter.shape %a : (tensor<?x4xf32>) -> tensor<2xi64>
  %1 = sinter.shape %b : (tensor<1x4xf32>) -> tensor<2xi64>
  %2 = sinter.compare eq %0, %one : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %3 = sinter.select %2, %1, %0 : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %4 = sinter.broadcast %a shape(%3) axes = [0, 1] {type = tensor<?x4xf32>} : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  return %4 : tensor<?x4xf32>
}

// What pads windows to multiples of 7, as torch writes it: sizes that only a remainder, a logical op or a reversal gives.
// CHECK-LABEL: @computed_amounts
// CHECK-SAME: -> tensor<35x21xf32>
// CHECK: sinter.dynamic_pad {{.*}} -> tensor<35x21xf32>
func.func @computed_amounts(%a: tensor<30x20xf32>, %fill: tensor<f32>) -> tensor<?x?xf32> {
  %seven = sinter.constant dense<7> : tensor<2xi64>
  %zero = sinter.constant dense<0> : tensor<2xi64>
  %no = sinter.constant dense<false> : tensor<2xi1>
  %sizes = sinter.shape %a : (tensor<30x20xf32>) -> tensor<2xi64>
  %swapped = sinter.reverse %sizes {axes = array<i64: 0>} : (tensor<2xi64>) -> tensor<2xi64>
  %rest = sinter.rem %swapped, %seven : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %negative = sinter.compare lt %rest, %zero : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %differs = sinter.xor %negative, %no : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %lifted = sinter.add %rest, %seven : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %modulo = sinter.select %differs, %lifted, %rest : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %missing = sinter.sub %seven, %modulo : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %high = sinter.reverse %missing {axes = array<i64: 0>} : (tensor<2xi64>) -> tensor<2xi64>
  %0 = sinter.dynamic_pad %a, %fill, %zero, %high : (tensor<30x20xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// What pads a signal to whole steps, as torch writes it: floats divide the size and are rounded up. The next amount
// follows from the size before, all in one walk. A number beside it that is not known is no matter.
// CHECK-LABEL: @amounts_through_floats
// CHECK-SAME: -> (tensor<12xf32>, tensor<15xf32>, tensor<?xf32>)
func.func @amounts_through_floats(%a: tensor<10xf32>, %fill: tensor<f32>, %step: tensor<f32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %zero = sinter.constant dense<0> : tensor<1xi64>
  %four = sinter.constant dense<4.0> : tensor<f32>
  %five = sinter.constant dense<5.0> : tensor<f32>
  %n = sinter.dim %a {axis = 0 : i64} : (tensor<10xf32>) -> tensor<i64>
  %nf = sinter.convert %n {element_type = f32} : (tensor<i64>) -> tensor<f32>
  %q = sinter.div %nf, %four : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %c = sinter.ceil %q : (tensor<f32>) -> tensor<f32>
  %w = sinter.mul %c, %four : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %d = sinter.sub %w, %nf : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %i = sinter.convert %d {element_type = i64} : (tensor<f32>) -> tensor<i64>
  %high = sinter.reshape %i {type = tensor<1xi64>} : (tensor<i64>) -> tensor<1xi64>
  %0 = sinter.dynamic_pad %a, %fill, %zero, %high : (tensor<10xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  %m = sinter.dim %0 {axis = 0 : i64} : (tensor<?xf32>) -> tensor<i64>
  %mf = sinter.convert %m {element_type = f32} : (tensor<i64>) -> tensor<f32>
  %q1 = sinter.div %mf, %five : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %c1 = sinter.ceil %q1 : (tensor<f32>) -> tensor<f32>
  %w1 = sinter.mul %c1, %five : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %d1 = sinter.sub %w1, %mf : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %i1 = sinter.convert %d1 {element_type = i64} : (tensor<f32>) -> tensor<i64>
  %high1 = sinter.reshape %i1 {type = tensor<1xi64>} : (tensor<i64>) -> tensor<1xi64>
  %1 = sinter.dynamic_pad %0, %fill, %zero, %high1 : (tensor<?xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  %d2 = sinter.mul %c1, %step : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %i2 = sinter.convert %d2 {element_type = i64} : (tensor<f32>) -> tensor<i64>
  %high2 = sinter.reshape %i2 {type = tensor<1xi64>} : (tensor<i64>) -> tensor<1xi64>
  %2 = sinter.dynamic_pad %1, %fill, %zero, %high2 : (tensor<?xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return %0, %1, %2 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}

// What a broadcast or a reshape says of its type is what its result is, once no operand tells its sizes.
// CHECK-LABEL: @type_of_known_sizes
// CHECK: sinter.broadcast %arg0 axes = [] {type = tensor<1x5xf32>}
// CHECK: sinter.reshape %arg1 {type = tensor<2x3xf32>}
func.func @type_of_known_sizes(%c: tensor<f32>, %x: tensor<6xf32>) -> (tensor<1x5xf32>, tensor<2x3xf32>) {
  %s = sinter.constant dense<[1, 5]> : tensor<2xi64>
  %0 = sinter.broadcast %c shape(%s) axes = [] {type = tensor<1x?xf32>} : (tensor<f32>, tensor<2xi64>) -> tensor<1x5xf32>
  %t = sinter.constant dense<[2, 3]> : tensor<2xi64>
  %1 = sinter.reshape %x, %t {type = tensor<?x3xf32>} : (tensor<6xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return %0, %1 : tensor<1x5xf32>, tensor<2x3xf32>
}

// A size that need not fit is still compared.
// CHECK-LABEL: @sizes_that_may_not_fit
// CHECK: sinter.reshape %arg0, %{{.*}} {type = tensor<?x?xf32>}
func.func @sizes_that_may_not_fit(%x: tensor<?x?x?xf32>) -> tensor<?x?xf32> {
  %s = sinter.shape %x : (tensor<?x?x?xf32>) -> tensor<3xi64>
  %0 = sinter.slice %s {starts = array<i64: 0>, limits = array<i64: 2>, steps = array<i64: 1>} : (tensor<3xi64>) -> tensor<2xi64>
  %1 = sinter.reshape %x, %0 {type = tensor<?x?xf32>} : (tensor<?x?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}
