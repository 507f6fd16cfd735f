// A gradient that a product gives, and that only next values of states are made of, stays in registers: the product's
// kernel writes weights and moments, where the product stands.
// RUN: sinter-opt %s --mlir-disable-threading --sinter-print-fusion-plan -o /dev/null | FileCheck %s
// RUN: sinter-opt %s --sinter-form-kernels -o - | FileCheck --check-prefix=KERNELS %s

// CHECK-LABEL: @weight_and_moment
// CHECK-NEXT: contraction: [dot_general] broadcast mul add broadcast mul sub -> 2
// CHECK-NEXT: reduce: [reduce] -> 1
// CHECK-NOT: ->
// KERNELS-LABEL: func.func @weight_and_moment
// KERNELS: sinter.kernel contraction
// KERNELS: sinter.kernel reduce
func.func @weight_and_moment(%w: tensor<8x16xf32> {sinter.state = "w"}, %m: tensor<8x16xf32> {sinter.state = "m"}, %x: tensor<4x8xf32>, %y: tensor<4x16xf32>, %rate: tensor<f32>)
    -> (tensor<16xf32>, tensor<8x16xf32> {sinter.state = "w"}, tensor<8x16xf32> {sinter.state = "m"}) {
  %g = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %sum = sinter.reduce add %y axes = [0] : (tensor<4x16xf32>) -> tensor<16xf32>
  %part = sinter.broadcast %rate axes = [] {type = tensor<8x16xf32>} : (tensor<f32>) -> tensor<8x16xf32>
  %kept = sinter.mul %m, %part : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %m1 = sinter.add %kept, %g : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %rates = sinter.broadcast %rate axes = [] {type = tensor<8x16xf32>} : (tensor<f32>) -> tensor<8x16xf32>
  %step = sinter.mul %m1, %rates : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %w1 = sinter.sub %w, %step : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %sum, %w1, %m1 : tensor<16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}

// The rate follows from the number of the step, pointwise: it is computed before the product.
// CHECK-LABEL: @rate_of_the_step
// CHECK-NEXT: contraction: [dot_general] broadcast mul sub -> 1
// CHECK-NEXT: map: add div -> 2
func.func @rate_of_the_step(%w: tensor<8x16xf32> {sinter.state = "w"}, %n: tensor<f32> {sinter.state = "n"}, %x: tensor<4x8xf32>, %y: tensor<4x16xf32>)
    -> (tensor<8x16xf32> {sinter.state = "w"}, tensor<f32> {sinter.state = "n"}) {
  %g = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %one = sinter.constant dense<1.0> : tensor<f32>
  %n1 = sinter.add %n, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %rate = sinter.div %one, %n1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %rates = sinter.broadcast %rate axes = [] {type = tensor<8x16xf32>} : (tensor<f32>) -> tensor<8x16xf32>
  %step = sinter.mul %g, %rates : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %w1 = sinter.sub %w, %step : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %w1, %n1 : tensor<8x16xf32>, tensor<f32>
}

// CHECK-LABEL: @gradient_is_a_result
// CHECK-NEXT: contraction: [dot_general] -> 1
// CHECK-NEXT: map: sub -> 1
func.func @gradient_is_a_result(%w: tensor<8x16xf32> {sinter.state = "w"}, %x: tensor<4x8xf32>, %y: tensor<4x16xf32>) -> (tensor<8x16xf32> {sinter.state = "w"}, tensor<8x16xf32>) {
  %g = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %w1 = sinter.sub %w, %g : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %w1, %g : tensor<8x16xf32>, tensor<8x16xf32>
}

// Clipping needs the norm of all gradients before the first weight moves.
// CHECK-LABEL: @clipped
// CHECK-NEXT: contraction: [dot_general] -> 1
// CHECK-NEXT: reduce: mul [reduce] -> 1
// CHECK-NEXT: map: broadcast mul sub -> 1
func.func @clipped(%w: tensor<8x16xf32> {sinter.state = "w"}, %x: tensor<4x8xf32>, %y: tensor<4x16xf32>) -> (tensor<8x16xf32> {sinter.state = "w"}) {
  %g = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %square = sinter.mul %g, %g : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %norm = sinter.reduce add %square axes = [0, 1] : (tensor<8x16xf32>) -> tensor<f32>
  %norms = sinter.broadcast %norm axes = [] {type = tensor<8x16xf32>} : (tensor<f32>) -> tensor<8x16xf32>
  %step = sinter.mul %g, %norms : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %w1 = sinter.sub %w, %step : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %w1 : tensor<8x16xf32>
}

// Another part of the gradient comes later, as of tied weights: the last product takes the update.
// CHECK-LABEL: @tied
// CHECK-NEXT: contraction: [dot_general] -> 1
// CHECK-NEXT: contraction: [dot_general] add sub -> 1
func.func @tied(%w: tensor<8x16xf32> {sinter.state = "w"}, %x: tensor<4x8xf32>, %y: tensor<4x16xf32>, %z: tensor<4x8xf32>) -> (tensor<8x16xf32> {sinter.state = "w"}) {
  %g = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %h = sinter.dot_general %z, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %sum = sinter.add %g, %h : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %w1 = sinter.sub %w, %sum : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %w1 : tensor<8x16xf32>
}

// The step may still end without new states.
// CHECK-LABEL: @fails_later
// CHECK-NEXT: contraction: [dot_general] -> 1
// CHECK-NEXT: map: sub -> 1
func.func @fails_later(%w: tensor<8x16xf32> {sinter.state = "w"}, %x: tensor<4x8xf32>, %y: tensor<4x16xf32>, %holds: tensor<i1>, %n: tensor<i64>) -> (tensor<8x16xf32> {sinter.state = "w"}, tensor<i64>) {
  %g = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %n1 = sinter.require %holds, %n, %n, %n {message = "got {} for {}"} : (tensor<i1>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<i64>
  %w1 = sinter.sub %w, %g : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %w1, %n1 : tensor<8x16xf32>, tensor<i64>
}

// What was required before the product does not fail again.
// CHECK-LABEL: @required_before
// CHECK-NEXT: contraction: [dot_general] sub -> 1
func.func @required_before(%w: tensor<8x16xf32> {sinter.state = "w"}, %x: tensor<4x8xf32>, %y: tensor<4x16xf32>, %holds: tensor<i1>, %n: tensor<i64>) -> (tensor<8x16xf32> {sinter.state = "w"}, tensor<i64>) {
  %n0 = sinter.require %holds, %n, %n, %n {message = "got {} for {}"} : (tensor<i1>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<i64>
  %g = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %n1 = sinter.require %holds, %n0, %n, %n {message = "got {} for {}"} : (tensor<i1>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<i64>
  %w1 = sinter.sub %w, %g : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %w1, %n1 : tensor<8x16xf32>, tensor<i64>
}

// Other forms of tiles compute parts of a result twice.
// CHECK-LABEL: @multiplied_in_16_bits
// CHECK-NEXT: contraction: [dot_general] -> 1
// CHECK-NEXT: map: sub -> 1
func.func @multiplied_in_16_bits(%w: tensor<8x16xf32> {sinter.state = "w"}, %x: tensor<4x8xbf16>, %y: tensor<4x16xbf16>) -> (tensor<8x16xf32> {sinter.state = "w"}) {
  %g = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xbf16>, tensor<4x16xbf16>) -> tensor<8x16xf32>
  %w1 = sinter.sub %w, %g : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %w1 : tensor<8x16xf32>
}

// CHECK-LABEL: @few_columns
// CHECK-NEXT: contraction: [dot_general] -> 1
// CHECK-NEXT: map: sub -> 1
func.func @few_columns(%w: tensor<8x15xf32> {sinter.state = "w"}, %x: tensor<4x8xf32>, %y: tensor<4x15xf32>) -> (tensor<8x15xf32> {sinter.state = "w"}) {
  %g = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<4x15xf32>) -> tensor<8x15xf32>
  %w1 = sinter.sub %w, %g : (tensor<8x15xf32>, tensor<8x15xf32>) -> tensor<8x15xf32>
  return %w1 : tensor<8x15xf32>
}

// CHECK-LABEL: @of_open_size
// CHECK-NEXT: contraction: [dot_general] -> 1
// CHECK-NEXT: map: sub -> 1
func.func @of_open_size(%w: tensor<8x16xf32> {sinter.state = "w"}, %x: tensor<?x8xf32>, %y: tensor<?x16xf32>) -> (tensor<8x16xf32> {sinter.state = "w"}) {
  %g = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<?x8xf32>, tensor<?x16xf32>) -> tensor<8x16xf32>
  %w1 = sinter.sub %w, %g : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %w1 : tensor<8x16xf32>
}
