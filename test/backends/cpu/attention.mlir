// Large attention is one kernel, and so is its backward part; small attention, open sizes, and one whose gradient forms the scores again are not.
// RUN: sinter compile %s --emit=fused -o - | FileCheck %s
// CHECK-LABEL: @large(
// CHECK: sinter.kernel attention
// CHECK-NOT: sinter.softmax
func.func @large(%q: tensor<2x64x8xf32>, %k: tensor<2x2048x8xf32>, %v: tensor<2x2048x8xf32>) -> tensor<2x64x8xf32> {
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x64x8xf32>, tensor<2x2048x8xf32>, tensor<2x2048x8xf32>) -> tensor<2x64x8xf32>
  return %0 : tensor<2x64x8xf32>
}

// CHECK-LABEL: @of_16_bits(
// CHECK: sinter.kernel attention
// CHECK-NOT: sinter.softmax
// CHECK: sinter.attention {{.*}}xbf16>, tensor<1x1x2048xf32>) -> tensor<2x64x8xbf16>
func.func @of_16_bits(%q: tensor<2x64x8xbf16>, %k: tensor<2x2048x8xbf16>, %v: tensor<2x2048x8xbf16>, %b: tensor<1x1x2048xf32>) -> tensor<2x64x8xbf16> {
  %0 = sinter.attention %q, %k, %v, %b {scale = 0.5 : f64} : (tensor<2x64x8xbf16>, tensor<2x2048x8xbf16>, tensor<2x2048x8xbf16>, tensor<1x1x2048xf32>) -> tensor<2x64x8xbf16>
  return %0 : tensor<2x64x8xbf16>
}

// CHECK-LABEL: @few_keys(
// CHECK-NOT: attention
// CHECK: sinter.softmax
func.func @few_keys(%q: tensor<2x64x8xf32>, %k: tensor<2x1023x8xf32>, %v: tensor<2x1023x8xf32>) -> tensor<2x64x8xf32> {
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x64x8xf32>, tensor<2x1023x8xf32>, tensor<2x1023x8xf32>) -> tensor<2x64x8xf32>
  return %0 : tensor<2x64x8xf32>
}

// CHECK-LABEL: @open_sizes(
// CHECK-NOT: attention
// CHECK: sinter.softmax
func.func @open_sizes(%q: tensor<?x64x8xf32>, %k: tensor<?x2048x8xf32>, %v: tensor<?x2048x8xf32>) -> tensor<?x64x8xf32> {
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<?x64x8xf32>, tensor<?x2048x8xf32>, tensor<?x2048x8xf32>) -> tensor<?x64x8xf32>
  return %0 : tensor<?x64x8xf32>
}

// CHECK-LABEL: @scores_are_formed_anyway(
// CHECK-NOT: attention
// CHECK: sinter.softmax
func.func @scores_are_formed_anyway(%q: tensor<2x64x8xf32>, %k: tensor<2x2048x8xf32>, %v: tensor<2x2048x8xf32>) -> (tensor<2x64x8xf32>, tensor<2x64x2048xf32>) {
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x64x8xf32>, tensor<2x2048x8xf32>, tensor<2x2048x8xf32>) -> tensor<2x64x8xf32>
  %1 = sinter.dot_general %q, %k {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>, element_type = f32} : (tensor<2x64x8xf32>, tensor<2x2048x8xf32>) -> tensor<2x64x2048xf32>
  return %0, %1 : tensor<2x64x8xf32>, tensor<2x64x2048xf32>
}

// CHECK-LABEL: @both_parts(
// CHECK: %[[F:.*]]:2 = sinter.kernel attention
// CHECK: sinter.attention {{.*}}after = 0
// CHECK: sinter.kernel attention({{.*}}%[[F]]#1
// CHECK: sinter.attention_gradient {{.*}}after = 0
// CHECK-NOT: tensor<{{.*}}64x2048x
func.func @both_parts(%q: tensor<4x64x8xf32>, %k: tensor<2x2048x8xf32>, %v: tensor<2x2048x8xf32>, %g: tensor<4x64x8xf32>, %r: tensor<4x64xf32>) -> (tensor<4x64x8xf32>, tensor<4x64x8xf32>, tensor<2x2048x8xf32>, tensor<2x2048x8xf32>) {
  %0:2 = sinter.attention %q, %k, %v {scale = 0.5 : f64, after = 0 : i64, log_sums = true} : (tensor<4x64x8xf32>, tensor<2x2048x8xf32>, tensor<2x2048x8xf32>) -> (tensor<4x64x8xf32>, tensor<4x64xf32>)
  %1:3 = sinter.attention_gradient %q, %k, %v, %g, %0#1, %r {scale = 0.5 : f64, after = 0 : i64} : (tensor<4x64x8xf32>, tensor<2x2048x8xf32>, tensor<2x2048x8xf32>, tensor<4x64x8xf32>, tensor<4x64xf32>, tensor<4x64xf32>) -> (tensor<4x64x8xf32>, tensor<2x2048x8xf32>, tensor<2x2048x8xf32>)
  return %0#0, %1#0, %1#1, %1#2 : tensor<4x64x8xf32>, tensor<4x64x8xf32>, tensor<2x2048x8xf32>, tensor<2x2048x8xf32>
}

// Keys of the other heads are not repeated, and no mask lies in memory, where there is no kernel either.
// CHECK-LABEL: @small(
// CHECK-NOT: tensor<4x5x8xf32>
// CHECK: sinter.softmax
func.func @small(%q: tensor<4x3x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x8xf32>) -> tensor<4x3x8xf32> {
  %0:2 = sinter.attention %q, %k, %v {scale = 0.5 : f64, after = 2 : i64, log_sums = true} : (tensor<4x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> (tensor<4x3x8xf32>, tensor<4x3xf32>)
  return %0#0 : tensor<4x3x8xf32>
}

// Products and a softmax are attention where they are long, causal masks a bound of keys.
// CHECK-LABEL: @exported(
// CHECK: sinter.attention {{.*}}after = 0
// CHECK-NOT: sinter.softmax
func.func @exported(%q: tensor<2x2048x8xf32>, %k: tensor<2x2048x8xf32>, %v: tensor<2x2048x8xf32>) -> tensor<2x2048x8xf32> {
  %c = sinter.iota {axis = 1 : i64, type = tensor<2048x2048xi64>} : () -> tensor<2048x2048xi64>
  %r = sinter.iota {axis = 0 : i64, type = tensor<2048x2048xi64>} : () -> tensor<2048x2048xi64>
  %m = sinter.compare le %c, %r : (tensor<2048x2048xi64>, tensor<2048x2048xi64>) -> tensor<2048x2048xi1>
  %z = sinter.constant dense<0.0> : tensor<2048x2048xf32>
  %n = sinter.constant dense<-3.40282347E+38> : tensor<2048x2048xf32>
  %b = sinter.select %m, %z, %n : (tensor<2048x2048xi1>, tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %s = sinter.dot_general %q, %k {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>, element_type = f32} : (tensor<2x2048x8xf32>, tensor<2x2048x8xf32>) -> tensor<2x2048x2048xf32>
  %w = sinter.broadcast %b axes = [1, 2] {type = tensor<2x2048x2048xf32>} : (tensor<2048x2048xf32>) -> tensor<2x2048x2048xf32>
  %t = sinter.add %s, %w : (tensor<2x2048x2048xf32>, tensor<2x2048x2048xf32>) -> tensor<2x2048x2048xf32>
  %p = sinter.softmax %t {axis = 2 : i64} : (tensor<2x2048x2048xf32>) -> tensor<2x2048x2048xf32>
  %y = sinter.dot_general %p, %v {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<2x2048x2048xf32>, tensor<2x2048x8xf32>) -> tensor<2x2048x8xf32>
  return %y : tensor<2x2048x8xf32>
}
