// Denormals among what is repeated and added to a product are zeros, beside numbers of at least 2^-64.
// RUN: sinter-opt %s -sinter-drop-denormals | FileCheck %s

// CHECK-LABEL: @convolution
// CHECK: %[[BIAS:.*]] = sinter.constant dense<[1.000000e+00, 0.000000e+00, -0.000000e+00]>
// CHECK: %[[REPEATED:.*]] = sinter.broadcast %[[BIAS]]
// CHECK: sinter.add %{{.*}}, %[[REPEATED]]
func.func @convolution(%x: tensor<1x4x4x2xf32>, %w: tensor<3x1x1x2xf32>) -> tensor<1x4x4x3xf32> {
  %b = sinter.constant dense<[1.0, 1.0e-40, -0.0]> : tensor<3xf32>
  %c = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x4x4x2xf32>, tensor<3x1x1x2xf32>) -> tensor<1x4x4x3xf32>
  %r = sinter.broadcast %b axes = [3] {type = tensor<1x4x4x3xf32>} : (tensor<3xf32>) -> tensor<1x4x4x3xf32>
  %y = sinter.add %c, %r : (tensor<1x4x4x3xf32>, tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  return %y : tensor<1x4x4x3xf32>
}

// A product, in f64, on the other side.
// CHECK-LABEL: @product
// CHECK: %[[BIAS:.*]] = sinter.constant dense<[1.000000e-10, 0.000000e+00]>
// CHECK: sinter.broadcast %[[BIAS]]
func.func @product(%x: tensor<4x2xf64>, %w: tensor<2x2xf64>) -> tensor<4x2xf64> {
  %b = sinter.constant dense<[1.0e-10, -1.0e-310]> : tensor<2xf64>
  %p = sinter.dot_general %x, %w {element_type = f64, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x2xf64>, tensor<2x2xf64>) -> tensor<4x2xf64>
  %r = sinter.broadcast %b axes = [1] {type = tensor<4x2xf64>} : (tensor<2xf64>) -> tensor<4x2xf64>
  %y = sinter.add %r, %p : (tensor<4x2xf64>, tensor<4x2xf64>) -> tensor<4x2xf64>
  return %y : tensor<4x2xf64>
}

// Denormals beside none but small numbers stay, and so does what is added to anything else.
// CHECK-LABEL: @kept
// CHECK-DAG: sinter.constant dense<[9.9{{[0-9]+}}e-41, 1.000000e-30]>
// CHECK-DAG: sinter.constant dense<[1.000000e+00, 9.9{{[0-9]+}}e-41]>
// CHECK-NOT: sinter.constant
// CHECK: return
func.func @kept(%x: tensor<4x2xf32>, %w: tensor<2x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %b = sinter.constant dense<[1.0e-40, 1.0e-30]> : tensor<2xf32>
  %c = sinter.constant dense<[1.0, 1.0e-40]> : tensor<2xf32>
  %p = sinter.dot_general %x, %w {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %r = sinter.broadcast %b axes = [1] {type = tensor<4x2xf32>} : (tensor<2xf32>) -> tensor<4x2xf32>
  %s = sinter.broadcast %c axes = [1] {type = tensor<4x2xf32>} : (tensor<2xf32>) -> tensor<4x2xf32>
  %y = sinter.add %p, %r : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %z = sinter.add %x, %s : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %y, %z : tensor<4x2xf32>, tensor<4x2xf32>
}
