// RUN: sinter-opt %s --sinter-recognize-attention --canonicalize | FileCheck %s
// RUN: sinter-opt %s --sinter-recognize-attention=constants-known=false --canonicalize | FileCheck %s --check-prefix=EARLY
// RUN: sinter-opt %s --sinter-recognize-attention=straighten=false --canonicalize | FileCheck %s --check-prefix=CUT

// BERT: heads in the third axis, the quotient of scores, a mask that is added.
// CHECK-LABEL: @quotient_and_mask
// CHECK: %[[Q:.*]] = sinter.transpose %arg0 {permutation = array<i64: 0, 2, 1, 3>}
// CHECK: %[[K:.*]] = sinter.transpose %arg1 {permutation = array<i64: 0, 2, 1, 3>}
// CHECK: %[[V:.*]] = sinter.transpose %arg2 {permutation = array<i64: 0, 2, 1, 3>}
// CHECK: %[[Y:.*]], %{{.*}} = sinter.attention %[[Q]], %[[K]], %[[V]], %arg3 {log_sums = true, scale = 2.500000e-01 : f64}
// CHECK: return %[[Y]]
func.func @quotient_and_mask(%q: tensor<1x6x4x16xf32>, %k: tensor<1x6x4x16xf32>, %v: tensor<1x6x4x16xf32>, %m: tensor<1x1x6x6xf32>) -> tensor<1x4x6x16xf32> {
  %c = sinter.constant dense<4.0> : tensor<1x4x6x6xf32>
  %0 = sinter.dot_general %q, %k {element_type = f32, lhs_batch = array<i64: 0, 2>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 2>, rhs_contract = array<i64: 3>} : (tensor<1x6x4x16xf32>, tensor<1x6x4x16xf32>) -> tensor<1x4x6x6xf32>
  %1 = sinter.div %0, %c : (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %2 = sinter.broadcast %m axes = [0, 1, 2, 3] {type = tensor<1x4x6x6xf32>} : (tensor<1x1x6x6xf32>) -> tensor<1x4x6x6xf32>
  %3 = sinter.add %1, %2 : (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %4 = sinter.softmax %3 {axis = 3 : i64} : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %5 = sinter.dot_general %4, %v {element_type = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 2>, rhs_contract = array<i64: 1>} : (tensor<1x4x6x6xf32>, tensor<1x6x4x16xf32>) -> tensor<1x4x6x16xf32>
  return %5 : tensor<1x4x6x16xf32>
}

// Llama and GPT-2 by torch.onnx: scales on both sides, keys spread over groups of heads and turned in three axes, a
// causal mask, and shares that are no numbers made zero.
// CHECK-LABEL: @groups_and_causal
// CHECK: %[[Y:.*]], %[[S:.*]] = sinter.attention %arg0, %arg1, %arg2 {after = 0 : i64, log_sums = true, scale = 2.500000e-01 : f64}
// CHECK: %[[D:.*]] = sinter.sub %[[S]], %[[S]]
// CHECK: sinter.compare eq %[[D]]
// CHECK: sinter.select {{.*}}%[[Y]]
// CHECK-NOT: sinter.softmax
func.func @groups_and_causal(%q: tensor<1x4x3x16xf32>, %k: tensor<1x2x3x16xf32>, %v: tensor<1x2x3x16xf32>) -> tensor<1x4x3x16xf32> {
  %half = sinter.constant dense<0.5> : tensor<1x4x3x16xf32>
  %halves = sinter.constant dense<0.5> : tensor<1x2x2x3x16xf32>
  %zero = sinter.constant dense<0.0> : tensor<1x4x3x3xf32>
  %m = sinter.constant dense<[[[[0.0, -3.40282347E+38, -3.40282347E+38], [0.0, 0.0, -3.40282347E+38], [0.0, 0.0, 0.0]]]]> : tensor<1x1x3x3xf32>
  %0 = sinter.mul %q, %half : (tensor<1x4x3x16xf32>, tensor<1x4x3x16xf32>) -> tensor<1x4x3x16xf32>
  %1 = sinter.broadcast %k axes = [0, 1, 3, 4] {type = tensor<1x2x2x3x16xf32>} : (tensor<1x2x3x16xf32>) -> tensor<1x2x2x3x16xf32>
  %2 = sinter.mul %1, %halves : (tensor<1x2x2x3x16xf32>, tensor<1x2x2x3x16xf32>) -> tensor<1x2x2x3x16xf32>
  %3 = sinter.reshape %2 {type = tensor<4x3x16xf32>} : (tensor<1x2x2x3x16xf32>) -> tensor<4x3x16xf32>
  %4 = sinter.transpose %3 {permutation = array<i64: 0, 2, 1>} : (tensor<4x3x16xf32>) -> tensor<4x16x3xf32>
  %5 = sinter.reshape %4 {type = tensor<1x4x16x3xf32>} : (tensor<4x16x3xf32>) -> tensor<1x4x16x3xf32>
  %6 = sinter.dot_general %0, %5 {element_type = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<1x4x3x16xf32>, tensor<1x4x16x3xf32>) -> tensor<1x4x3x3xf32>
  %7 = sinter.broadcast %m axes = [0, 1, 2, 3] {type = tensor<1x4x3x3xf32>} : (tensor<1x1x3x3xf32>) -> tensor<1x4x3x3xf32>
  %8 = sinter.add %6, %7 : (tensor<1x4x3x3xf32>, tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
  %9 = sinter.softmax %8 {axis = 3 : i64} : (tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
  %10 = sinter.is_nan %9 : (tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xi1>
  %11 = sinter.select %10, %zero, %9 : (tensor<1x4x3x3xi1>, tensor<1x4x3x3xf32>, tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
  %12 = sinter.broadcast %v axes = [0, 1, 3, 4] {type = tensor<1x2x2x3x16xf32>} : (tensor<1x2x3x16xf32>) -> tensor<1x2x2x3x16xf32>
  %13 = sinter.reshape %12 {type = tensor<1x4x3x16xf32>} : (tensor<1x2x2x3x16xf32>) -> tensor<1x4x3x16xf32>
  %14 = sinter.dot_general %11, %13 {element_type = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<1x4x3x3xf32>, tensor<1x4x3x16xf32>) -> tensor<1x4x3x16xf32>
  return %14 : tensor<1x4x3x16xf32>
}

// The mask as a matrix, which is the same for all heads.
// CHECK-LABEL: @mask_without_heads
// CHECK: sinter.attention %arg0, %arg1, %arg1 {after = 0 : i64, log_sums = true, scale = 1.000000e+00 : f64}
func.func @mask_without_heads(%q: tensor<2x2x4xf32>, %k: tensor<2x2x4xf32>) -> tensor<2x2x4xf32> {
  %m = sinter.constant dense<[[0.0, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
  %0 = sinter.dot_general %q, %k {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 2>} : (tensor<2x2x4xf32>, tensor<2x2x4xf32>) -> tensor<2x2x2xf32>
  %1 = sinter.broadcast %m axes = [1, 2] {type = tensor<2x2x2xf32>} : (tensor<2x2xf32>) -> tensor<2x2x2xf32>
  %2 = sinter.add %0, %1 : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %3 = sinter.softmax %2 {axis = 2 : i64} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %4 = sinter.dot_general %3, %k {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<2x2x2xf32>, tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
  return %4 : tensor<2x2x4xf32>
}

// A sliding window of two keys, computed from positions and selected.
// CHECK-LABEL: @window_of_positions
// CHECK: sinter.attention %arg0, %arg1, %arg1 {after = 0 : i64, before = 1 : i64, log_sums = true, scale = 1.000000e+00 : f64}
func.func @window_of_positions(%q: tensor<2x5x4xf32>, %k: tensor<2x5x4xf32>) -> tensor<2x5x4xf32> {
  %one = sinter.constant dense<1> : tensor<5x5xi64>
  %never = sinter.constant dense<0xFF800000> : tensor<2x5x5xf32>
  %c = sinter.iota {axis = 1 : i64, type = tensor<5x5xi64>} : () -> tensor<5x5xi64>
  %r = sinter.iota {axis = 0 : i64, type = tensor<5x5xi64>} : () -> tensor<5x5xi64>
  %before = sinter.sub %r, %one : (tensor<5x5xi64>, tensor<5x5xi64>) -> tensor<5x5xi64>
  %0 = sinter.compare le %c, %r : (tensor<5x5xi64>, tensor<5x5xi64>) -> tensor<5x5xi1>
  %1 = sinter.compare ge %c, %before : (tensor<5x5xi64>, tensor<5x5xi64>) -> tensor<5x5xi1>
  %2 = sinter.and %0, %1 : (tensor<5x5xi1>, tensor<5x5xi1>) -> tensor<5x5xi1>
  %3 = sinter.broadcast %2 axes = [1, 2] {type = tensor<2x5x5xi1>} : (tensor<5x5xi1>) -> tensor<2x5x5xi1>
  %4 = sinter.dot_general %q, %k {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 2>} : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x5xf32>
  %5 = sinter.select %3, %4, %never : (tensor<2x5x5xi1>, tensor<2x5x5xf32>, tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %6 = sinter.softmax %5 {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %7 = sinter.dot_general %6, %k {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<2x5x5xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  return %7 : tensor<2x5x4xf32>
}

// Shares that are read elsewhere are formed anyway.
// CHECK-LABEL: @shares_are_read
// CHECK-NOT: sinter.attention
// CHECK: return
func.func @shares_are_read(%q: tensor<2x5x4xf32>, %k: tensor<2x5x4xf32>) -> (tensor<2x5x4xf32>, tensor<2x5x5xf32>) {
  %0 = sinter.dot_general %q, %k {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 2>} : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x5xf32>
  %1 = sinter.softmax %0 {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %2 = sinter.dot_general %1, %k {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<2x5x5xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  return %2, %1 : tensor<2x5x4xf32>, tensor<2x5x5xf32>
}

// Keras, and many models in torch, write -1e9.
// CHECK-LABEL: @mask_of_a_billion
// CHECK: sinter.attention %arg0, %arg1, %arg1 {after = 0 : i64, log_sums = true, scale = 1.000000e+00 : f64}
func.func @mask_of_a_billion(%q: tensor<2x2x4xf32>, %k: tensor<2x2x4xf32>) -> tensor<2x2x4xf32> {
  %m = sinter.constant dense<[[0.0, -1.0e+9], [0.0, 0.0]]> : tensor<2x2xf32>
  %w = sinter.broadcast %m axes = [1, 2] {type = tensor<2x2x2xf32>} : (tensor<2x2xf32>) -> tensor<2x2x2xf32>
  %0 = sinter.dot_general %q, %k {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 2>} : (tensor<2x2x4xf32>, tensor<2x2x4xf32>) -> tensor<2x2x2xf32>
  %1 = sinter.add %0, %w : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %2 = sinter.softmax %1 {axis = 2 : i64} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %3 = sinter.dot_general %2, %k {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<2x2x2xf32>, tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
  return %3 : tensor<2x2x4xf32>
}

// A mask of -10000 leaves something of what it hides, and a band with a row that counts nothing is NaN as a bias only.
// CHECK-LABEL: @masks_that_are_no_bands
// CHECK: sinter.attention %arg0, %arg1, %arg1, %{{.*}} {log_sums = true, scale
// CHECK: sinter.attention %arg0, %arg1, %arg1, %{{.*}} {log_sums = true, scale
func.func @masks_that_are_no_bands(%q: tensor<2x2x4xf32>, %k: tensor<2x2x4xf32>) -> (tensor<2x2x4xf32>, tensor<2x2x4xf32>) {
  %a = sinter.constant dense<[[[0.0, -10000.0], [0.0, 0.0]], [[0.0, -10000.0], [0.0, 0.0]]]> : tensor<2x2x2xf32>
  %b = sinter.constant dense<[[[0.0, 0.0], [0xFF800000, 0xFF800000]]]> : tensor<1x2x2xf32>
  %0 = sinter.dot_general %q, %k {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 2>} : (tensor<2x2x4xf32>, tensor<2x2x4xf32>) -> tensor<2x2x2xf32>
  %1 = sinter.add %0, %a : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %2 = sinter.softmax %1 {axis = 2 : i64} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %3 = sinter.dot_general %2, %k {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<2x2x2xf32>, tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
  %4 = sinter.dot_general %q, %k {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 2>} : (tensor<2x2x4xf32>, tensor<2x2x4xf32>) -> tensor<2x2x2xf32>
  %5 = sinter.broadcast %b axes = [0, 1, 2] {type = tensor<2x2x2xf32>} : (tensor<1x2x2xf32>) -> tensor<2x2x2xf32>
  %6 = sinter.add %4, %5 : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %7 = sinter.softmax %6 {axis = 2 : i64} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %8 = sinter.dot_general %7, %k {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<2x2x2xf32>, tensor<2x2x4xf32>) -> tensor<2x2x4xf32>
  return %3, %8 : tensor<2x2x4xf32>, tensor<2x2x4xf32>
}

// Windows of two pictures: a mask of windows is added to scores that have pictures and windows in axes of their own.
// CHECK-LABEL: @mask_of_windows
// CHECK: %[[M:.*]] = sinter.broadcast %{{.*}}tensor<2x3x1x4x4xf32>
// CHECK: %[[W:.*]] = sinter.reshape %[[M]] {type = tensor<6x1x4x4xf32>}
// CHECK: %[[B:.*]] = sinter.add
// CHECK: sinter.attention %arg0, %arg1, %arg2, %[[B]]
// CHECK-NOT: sinter.softmax
func.func @mask_of_windows(%q: tensor<6x2x4x8xf32>, %k: tensor<6x2x4x8xf32>, %v: tensor<6x2x4x8xf32>, %b: tensor<1x2x4x4xf32>, %m: tensor<3x4x4xf32>) -> tensor<6x2x4x8xf32> {
  %0 = sinter.dot_general %q, %k {element_type = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 3>} : (tensor<6x2x4x8xf32>, tensor<6x2x4x8xf32>) -> tensor<6x2x4x4xf32>
  %1 = sinter.broadcast %b axes = [0, 1, 2, 3] {type = tensor<6x2x4x4xf32>} : (tensor<1x2x4x4xf32>) -> tensor<6x2x4x4xf32>
  %2 = sinter.add %0, %1 : (tensor<6x2x4x4xf32>, tensor<6x2x4x4xf32>) -> tensor<6x2x4x4xf32>
  %3 = sinter.reshape %2 {type = tensor<2x3x2x4x4xf32>} : (tensor<6x2x4x4xf32>) -> tensor<2x3x2x4x4xf32>
  %4 = sinter.broadcast %m axes = [1, 3, 4] {type = tensor<2x3x2x4x4xf32>} : (tensor<3x4x4xf32>) -> tensor<2x3x2x4x4xf32>
  %5 = sinter.add %3, %4 : (tensor<2x3x2x4x4xf32>, tensor<2x3x2x4x4xf32>) -> tensor<2x3x2x4x4xf32>
  %6 = sinter.reshape %5 {type = tensor<6x2x4x4xf32>} : (tensor<2x3x2x4x4xf32>) -> tensor<6x2x4x4xf32>
  %7 = sinter.softmax %6 {axis = 3 : i64} : (tensor<6x2x4x4xf32>) -> tensor<6x2x4x4xf32>
  %8 = sinter.dot_general %7, %v {element_type = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<6x2x4x4xf32>, tensor<6x2x4x8xf32>) -> tensor<6x2x4x8xf32>
  return %8 : tensor<6x2x4x8xf32>
}

// A reshape that splits rows is none of leading axes.
// CHECK-LABEL: @rows_are_split
// CHECK-NOT: sinter.attention
// CHECK: return
func.func @rows_are_split(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>, %b: tensor<2x2x2x4xf32>) -> tensor<2x4x8xf32> {
  %0 = sinter.dot_general %q, %k {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 2>} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  %1 = sinter.reshape %0 {type = tensor<2x2x2x4xf32>} : (tensor<2x4x4xf32>) -> tensor<2x2x2x4xf32>
  %2 = sinter.add %1, %b : (tensor<2x2x2x4xf32>, tensor<2x2x2x4xf32>) -> tensor<2x2x2x4xf32>
  %3 = sinter.reshape %2 {type = tensor<2x4x4xf32>} : (tensor<2x2x2x4xf32>) -> tensor<2x4x4xf32>
  %4 = sinter.softmax %3 {axis = 2 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %5 = sinter.dot_general %4, %v {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %5 : tensor<2x4x8xf32>
}

// What no input reaches is a constant later: a factor goes to the scale then.
// CHECK-LABEL: @factor_to_be_computed
// CHECK: sinter.attention
// EARLY-LABEL: @factor_to_be_computed
// EARLY-NOT: sinter.attention
// EARLY: return
func.func @factor_to_be_computed(%q: tensor<2x5x4xf32>, %k: tensor<2x5x4xf32>) -> tensor<2x5x4xf32> {
  %four = sinter.constant dense<4.0> : tensor<f32>
  %two = sinter.sqrt %four : (tensor<f32>) -> tensor<f32>
  %f = sinter.broadcast %two axes = [] {type = tensor<2x5x4xf32>} : (tensor<f32>) -> tensor<2x5x4xf32>
  %s = sinter.mul %q, %f : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  %0 = sinter.dot_general %s, %k {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 2>} : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x5xf32>
  %1 = sinter.softmax %0 {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %2 = sinter.dot_general %1, %k {element_type = f32, lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>} : (tensor<2x5x5xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  return %2 : tensor<2x5x4xf32>
}

// torch's attention takes queries, keys and values out of one product by reshapes and transposes in turns. Before
// gradients are formed they stay what they are.
// CHECK-LABEL: @parts_of_one_product
// CHECK: %[[X:.*]] = sinter.reshape %arg0 {type = tensor<1x7x3x2x8xf32>}
// CHECK: %[[G:.*]] = sinter.gather %[[X]], %{{.*}} {axis = 2 : i64}
// CHECK: %[[Q:.*]] = sinter.transpose %[[G]] {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x8xf32>) -> tensor<1x2x7x8xf32>
// CHECK: sinter.attention %[[Q]]
// CHECK-NOT: sinter.softmax
// CUT-LABEL: @parts_of_one_product
// CUT: sinter.gather %{{.*}} {axis = 0 : i64}
// CUT-NOT: {axis = 2 : i64}
// CUT: sinter.attention
func.func @parts_of_one_product(%x: tensor<7x1x48xf32>) -> tensor<1x2x7x8xf32> {
  %i0 = sinter.constant dense<0> : tensor<i64>
  %i1 = sinter.constant dense<1> : tensor<i64>
  %i2 = sinter.constant dense<2> : tensor<i64>
  %0 = sinter.reshape %x {type = tensor<1x7x1x3x16xf32>} : (tensor<7x1x48xf32>) -> tensor<1x7x1x3x16xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 3, 1, 2, 0, 4>} : (tensor<1x7x1x3x16xf32>) -> tensor<3x7x1x1x16xf32>
  %2 = sinter.reshape %1 {type = tensor<3x7x1x16xf32>} : (tensor<3x7x1x1x16xf32>) -> tensor<3x7x1x16xf32>
  %3 = sinter.gather %2, %i0 {axis = 0 : i64} : (tensor<3x7x1x16xf32>, tensor<i64>) -> tensor<7x1x16xf32>
  %4 = sinter.reshape %3 {type = tensor<7x2x8xf32>} : (tensor<7x1x16xf32>) -> tensor<7x2x8xf32>
  %5 = sinter.transpose %4 {permutation = array<i64: 1, 0, 2>} : (tensor<7x2x8xf32>) -> tensor<2x7x8xf32>
  %q = sinter.reshape %5 {type = tensor<1x2x7x8xf32>} : (tensor<2x7x8xf32>) -> tensor<1x2x7x8xf32>
  %6 = sinter.gather %2, %i1 {axis = 0 : i64} : (tensor<3x7x1x16xf32>, tensor<i64>) -> tensor<7x1x16xf32>
  %7 = sinter.reshape %6 {type = tensor<7x2x8xf32>} : (tensor<7x1x16xf32>) -> tensor<7x2x8xf32>
  %8 = sinter.transpose %7 {permutation = array<i64: 1, 0, 2>} : (tensor<7x2x8xf32>) -> tensor<2x7x8xf32>
  %k = sinter.reshape %8 {type = tensor<1x2x7x8xf32>} : (tensor<2x7x8xf32>) -> tensor<1x2x7x8xf32>
  %9 = sinter.gather %2, %i2 {axis = 0 : i64} : (tensor<3x7x1x16xf32>, tensor<i64>) -> tensor<7x1x16xf32>
  %10 = sinter.reshape %9 {type = tensor<7x2x8xf32>} : (tensor<7x1x16xf32>) -> tensor<7x2x8xf32>
  %11 = sinter.transpose %10 {permutation = array<i64: 1, 0, 2>} : (tensor<7x2x8xf32>) -> tensor<2x7x8xf32>
  %v = sinter.reshape %11 {type = tensor<1x2x7x8xf32>} : (tensor<2x7x8xf32>) -> tensor<1x2x7x8xf32>
  %12 = sinter.dot_general %q, %k {element_type = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 3>} : (tensor<1x2x7x8xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x7x7xf32>
  %13 = sinter.softmax %12 {axis = 3 : i64} : (tensor<1x2x7x7xf32>) -> tensor<1x2x7x7xf32>
  %14 = sinter.dot_general %13, %v {element_type = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<1x2x7x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x7x8xf32>
  return %14 : tensor<1x2x7x8xf32>
}

// Any number of sequences: numbers and masks are spread over scores, whose sizes they take. A mask whose own number is the sequences' is narrowed, one that may be 1 is read as it is spread.
// CHECK-LABEL: @open_sequences
// CHECK-NOT: dot_general
// CHECK: sinter.attention %arg0, %arg1, %arg2, %arg3 {log_sums = true, scale = 2.500000e-01 : f64}
// CHECK: %[[WIDE:.*]] = sinter.broadcast %arg4 like(
// CHECK: sinter.attention %arg0, %arg1, %arg2, %[[WIDE]] {log_sums = true, scale = 2.500000e-01 : f64}
func.func @open_sequences(%q: tensor<?x4x6x16xf32> {sinter.dims = ["n", 4, 6, 16]}, %k: tensor<?x4x6x16xf32> {sinter.dims = ["n", 4, 6, 16]}, %v: tensor<?x4x6x16xf32> {sinter.dims = ["n", 4, 6, 16]},
                          %m: tensor<?x1x6x6xf32> {sinter.dims = ["n", 1, 6, 6]}, %any: tensor<?x1x6x6xf32>) -> (tensor<?x4x6x16xf32>, tensor<?x4x6x16xf32>) {
  %c = sinter.constant dense<0.25> : tensor<f32>
  %0 = sinter.dot_general %q, %k {element_type = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 3>} : (tensor<?x4x6x16xf32>, tensor<?x4x6x16xf32>) -> tensor<?x4x6x6xf32>
  %c0 = sinter.broadcast %c like(%0) axes = [] {type = tensor<?x4x6x6xf32>} : (tensor<f32>, tensor<?x4x6x6xf32>) -> tensor<?x4x6x6xf32>
  %1 = sinter.mul %0, %c0 : (tensor<?x4x6x6xf32>, tensor<?x4x6x6xf32>) -> tensor<?x4x6x6xf32>
  %2 = sinter.broadcast %m like(%1) axes = [0, 1, 2, 3] {type = tensor<?x4x6x6xf32>} : (tensor<?x1x6x6xf32>, tensor<?x4x6x6xf32>) -> tensor<?x4x6x6xf32>
  %3 = sinter.add %1, %2 : (tensor<?x4x6x6xf32>, tensor<?x4x6x6xf32>) -> tensor<?x4x6x6xf32>
  %4 = sinter.softmax %3 {axis = 3 : i64} : (tensor<?x4x6x6xf32>) -> tensor<?x4x6x6xf32>
  %5 = sinter.dot_general %4, %v {element_type = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<?x4x6x6xf32>, tensor<?x4x6x16xf32>) -> tensor<?x4x6x16xf32>
  %6 = sinter.dot_general %q, %k {element_type = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 3>} : (tensor<?x4x6x16xf32>, tensor<?x4x6x16xf32>) -> tensor<?x4x6x6xf32>
  %c1 = sinter.broadcast %c like(%6) axes = [] {type = tensor<?x4x6x6xf32>} : (tensor<f32>, tensor<?x4x6x6xf32>) -> tensor<?x4x6x6xf32>
  %7 = sinter.mul %6, %c1 : (tensor<?x4x6x6xf32>, tensor<?x4x6x6xf32>) -> tensor<?x4x6x6xf32>
  %8 = sinter.broadcast %any like(%q) axes = [0, 1, 2, 3] {type = tensor<?x4x6x6xf32>} : (tensor<?x1x6x6xf32>, tensor<?x4x6x16xf32>) -> tensor<?x4x6x6xf32>
  %9 = sinter.add %7, %8 : (tensor<?x4x6x6xf32>, tensor<?x4x6x6xf32>) -> tensor<?x4x6x6xf32>
  %10 = sinter.softmax %9 {axis = 3 : i64} : (tensor<?x4x6x6xf32>) -> tensor<?x4x6x6xf32>
  %11 = sinter.dot_general %10, %v {element_type = f32, lhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 1>, rhs_contract = array<i64: 2>} : (tensor<?x4x6x6xf32>, tensor<?x4x6x16xf32>) -> tensor<?x4x6x16xf32>
  return %5, %11 : tensor<?x4x6x16xf32>, tensor<?x4x6x16xf32>
}
