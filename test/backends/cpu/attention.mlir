// Large attention is one kernel, and so is its backward part; so is attention of few keys that has none. Very small attention, open sizes, and one whose gradient forms the scores again are not.
// RUN: sinter compile %s --target=x86-64-v4 --emit=fused -o - | FileCheck %s
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

// CHECK-LABEL: @one_block(
// CHECK: sinter.kernel attention
// CHECK-NOT: sinter.softmax
func.func @one_block(%q: tensor<2x16x8xf32>, %k: tensor<2x256x8xf32>, %v: tensor<2x256x8xf32>) -> tensor<2x16x8xf32> {
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x16x8xf32>, tensor<2x256x8xf32>, tensor<2x256x8xf32>) -> tensor<2x16x8xf32>
  return %0 : tensor<2x16x8xf32>
}

// Scores that registers do not hold, in one block whose keys and values the second-level cache does.
// CHECK-LABEL: @one_long_block(
// CHECK: sinter.kernel attention{{.*}}, 320]
// CHECK-NOT: sinter.softmax
func.func @one_long_block(%q: tensor<2x16x8xf32>, %k: tensor<2x307x8xf32>, %v: tensor<2x307x8xf32>, %b: tensor<1x16x307xf32>) -> tensor<2x16x8xf32> {
  %0 = sinter.attention %q, %k, %v, %b {scale = 0.5 : f64} : (tensor<2x16x8xf32>, tensor<2x307x8xf32>, tensor<2x307x8xf32>, tensor<1x16x307xf32>) -> tensor<2x16x8xf32>
  return %0 : tensor<2x16x8xf32>
}

// With a band or a long mask blocks are left out: 256 keys each.
// CHECK-LABEL: @blocks_of_a_band(
// CHECK: sinter.kernel attention{{.*}}, 256]
// CHECK: sinter.kernel attention{{.*}}, 256]
func.func @blocks_of_a_band(%q: tensor<2x64x8xf32>, %k: tensor<2x1307x8xf32>, %v: tensor<2x1307x8xf32>, %b: tensor<1x1x1307xf32>) -> (tensor<2x64x8xf32>, tensor<2x64x8xf32>) {
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64, after = 0 : i64} : (tensor<2x64x8xf32>, tensor<2x1307x8xf32>, tensor<2x1307x8xf32>) -> tensor<2x64x8xf32>
  %1 = sinter.attention %q, %k, %v, %b {scale = 0.5 : f64} : (tensor<2x64x8xf32>, tensor<2x1307x8xf32>, tensor<2x1307x8xf32>, tensor<1x1x1307xf32>) -> tensor<2x64x8xf32>
  return %0, %1 : tensor<2x64x8xf32>, tensor<2x64x8xf32>
}

// A gradient reads sums, which it would compute shares from again: it keeps them instead.
// CHECK-LABEL: @one_block_of_a_gradient(
// CHECK-NOT: attention
// CHECK: sinter.softmax
func.func @one_block_of_a_gradient(%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>, %v: tensor<2x64x8xf32>) -> (tensor<2x64x8xf32>, tensor<2x64xf32>) {
  %0:2 = sinter.attention %q, %k, %v {scale = 0.5 : f64, log_sums = true} : (tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<2x64x8xf32>) -> (tensor<2x64x8xf32>, tensor<2x64xf32>)
  return %0#0, %0#1 : tensor<2x64x8xf32>, tensor<2x64xf32>
}

// Of a band half of the blocks are left out: the backward part is a kernel from 128 keys on.
// CHECK-LABEL: @band_of_a_gradient(
// CHECK: %[[F:.*]]:2 = sinter.kernel attention
// CHECK: sinter.kernel attention({{.*}}%[[F]]#1
// CHECK: sinter.attention_gradient {{.*}}after = 0
// CHECK-NOT: sinter.softmax
func.func @band_of_a_gradient(%q: tensor<2x128x8xf32>, %k: tensor<2x128x8xf32>, %v: tensor<2x128x8xf32>, %g: tensor<2x128x8xf32>, %r: tensor<2x128xf32>) -> (tensor<2x128x8xf32>, tensor<2x128x8xf32>, tensor<2x128x8xf32>, tensor<2x128x8xf32>) {
  %0:2 = sinter.attention %q, %k, %v {scale = 0.5 : f64, after = 0 : i64, log_sums = true} : (tensor<2x128x8xf32>, tensor<2x128x8xf32>, tensor<2x128x8xf32>) -> (tensor<2x128x8xf32>, tensor<2x128xf32>)
  %1:3 = sinter.attention_gradient %q, %k, %v, %g, %0#1, %r {scale = 0.5 : f64, after = 0 : i64} : (tensor<2x128x8xf32>, tensor<2x128x8xf32>, tensor<2x128x8xf32>, tensor<2x128x8xf32>, tensor<2x128xf32>, tensor<2x128xf32>) -> (tensor<2x128x8xf32>, tensor<2x128x8xf32>, tensor<2x128x8xf32>)
  return %0#0, %1#0, %1#1, %1#2 : tensor<2x128x8xf32>, tensor<2x128x8xf32>, tensor<2x128x8xf32>, tensor<2x128x8xf32>
}

// CHECK-LABEL: @few_keys_of_a_band(
// CHECK-NOT: attention
// CHECK: sinter.softmax
func.func @few_keys_of_a_band(%q: tensor<2x127x8xf32>, %k: tensor<2x127x8xf32>, %v: tensor<2x127x8xf32>) -> (tensor<2x127x8xf32>, tensor<2x127xf32>) {
  %0:2 = sinter.attention %q, %k, %v {scale = 0.5 : f64, after = 0 : i64, log_sums = true} : (tensor<2x127x8xf32>, tensor<2x127x8xf32>, tensor<2x127x8xf32>) -> (tensor<2x127x8xf32>, tensor<2x127xf32>)
  return %0#0, %0#1 : tensor<2x127x8xf32>, tensor<2x127xf32>
}

// Shifted windows: queries, keys and values are parts of one product, a bias of heads and a mask of windows are added in
// two shapes. One kernel, which moves nothing.
// CHECK-LABEL: @windows(
// CHECK: %[[X:.*]] = sinter.reshape %arg0
// CHECK-NEXT: %[[Y:.*]] = sinter.kernel attention(%[[X]], %{{.*}}) {{.*}} -> tensor<8x49x3x32xf32>
// CHECK: sinter.attention
// CHECK-NEXT: sinter.transpose
// CHECK-NEXT: sinter.yield
// CHECK-NOT: sinter.kernel
// CHECK: return
func.func @windows(%x: tensor<8x49x288xf32>) -> tensor<8x49x96xf32> {
  %i0 = sinter.constant dense<0> : tensor<i64>
  %i1 = sinter.constant dense<1> : tensor<i64>
  %i2 = sinter.constant dense<2> : tensor<i64>
  %scale = sinter.constant dense<0.17677669> : tensor<8x3x49x32xf32>
  %i = sinter.iota {axis = 3 : i64, type = tensor<1x3x49x49xf32>} : () -> tensor<1x3x49x49xf32>
  %bias = sinter.sin %i : (tensor<1x3x49x49xf32>) -> tensor<1x3x49x49xf32>
  %j = sinter.iota {axis = 4 : i64, type = tensor<1x4x1x49x49xf32>} : () -> tensor<1x4x1x49x49xf32>
  %mask = sinter.cos %j : (tensor<1x4x1x49x49xf32>) -> tensor<1x4x1x49x49xf32>
  %0 = sinter.reshape %x {type = tensor<8x49x3x3x32xf32>} : (tensor<8x49x288xf32>) -> tensor<8x49x3x3x32xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 2, 0, 3, 1, 4>} : (tensor<8x49x3x3x32xf32>) -> tensor<3x8x3x49x32xf32>
  %q = sinter.gather %1, %i0 {axis = 0 : i64} : (tensor<3x8x3x49x32xf32>, tensor<i64>) -> tensor<8x3x49x32xf32>
  %k = sinter.gather %1, %i1 {axis = 0 : i64} : (tensor<3x8x3x49x32xf32>, tensor<i64>) -> tensor<8x3x49x32xf32>
  %v = sinter.gather %1, %i2 {axis = 0 : i64} : (tensor<3x8x3x49x32xf32>, tensor<i64>) -> tensor<8x3x49x32xf32>
  %2 = sinter.mul %q, %scale : (tensor<8x3x49x32xf32>, tensor<8x3x49x32xf32>) -> tensor<8x3x49x32xf32>
  %3 = sinter.dot_general %2, %k {lhs_batch = array<i64: 0, 1>, rhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 3>, element_type = f32} : (tensor<8x3x49x32xf32>, tensor<8x3x49x32xf32>) -> tensor<8x3x49x49xf32>
  %4 = sinter.broadcast %bias axes = [0, 1, 2, 3] {type = tensor<8x3x49x49xf32>} : (tensor<1x3x49x49xf32>) -> tensor<8x3x49x49xf32>
  %5 = sinter.add %3, %4 : (tensor<8x3x49x49xf32>, tensor<8x3x49x49xf32>) -> tensor<8x3x49x49xf32>
  %6 = sinter.reshape %5 {type = tensor<2x4x3x49x49xf32>} : (tensor<8x3x49x49xf32>) -> tensor<2x4x3x49x49xf32>
  %7 = sinter.broadcast %mask axes = [0, 1, 2, 3, 4] {type = tensor<2x4x3x49x49xf32>} : (tensor<1x4x1x49x49xf32>) -> tensor<2x4x3x49x49xf32>
  %8 = sinter.add %6, %7 : (tensor<2x4x3x49x49xf32>, tensor<2x4x3x49x49xf32>) -> tensor<2x4x3x49x49xf32>
  %9 = sinter.reshape %8 {type = tensor<8x3x49x49xf32>} : (tensor<2x4x3x49x49xf32>) -> tensor<8x3x49x49xf32>
  %10 = sinter.softmax %9 {axis = 3 : i64} : (tensor<8x3x49x49xf32>) -> tensor<8x3x49x49xf32>
  %11 = sinter.dot_general %10, %v {lhs_batch = array<i64: 0, 1>, rhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 2>, element_type = f32} : (tensor<8x3x49x49xf32>, tensor<8x3x49x32xf32>) -> tensor<8x3x49x32xf32>
  %12 = sinter.transpose %11 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<8x3x49x32xf32>) -> tensor<8x49x3x32xf32>
  %13 = sinter.reshape %12 {type = tensor<8x49x96xf32>} : (tensor<8x49x3x32xf32>) -> tensor<8x49x96xf32>
  return %13 : tensor<8x49x96xf32>
}

// CHECK-LABEL: @few_keys(
// CHECK-NOT: attention
// CHECK: sinter.softmax
func.func @few_keys(%q: tensor<2x64x8xf32>, %k: tensor<2x15x8xf32>, %v: tensor<2x15x8xf32>) -> tensor<2x64x8xf32> {
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x64x8xf32>, tensor<2x15x8xf32>, tensor<2x15x8xf32>) -> tensor<2x64x8xf32>
  return %0 : tensor<2x64x8xf32>
}

// CHECK-LABEL: @open_sequences(
// CHECK: sinter.kernel{{ +}}attention(
func.func @open_sequences(%q: tensor<?x64x8xf32>, %k: tensor<?x2048x8xf32>, %v: tensor<?x2048x8xf32>) -> tensor<?x64x8xf32> {
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<?x64x8xf32>, tensor<?x2048x8xf32>, tensor<?x2048x8xf32>) -> tensor<?x64x8xf32>
  return %0 : tensor<?x64x8xf32>
}

// CHECK-LABEL: @open_sizes(
// CHECK-NOT: attention
// CHECK: sinter.softmax
func.func @open_sizes(%q: tensor<?x?x8xf32>, %k: tensor<?x2048x8xf32>, %v: tensor<?x2048x8xf32>) -> tensor<?x?x8xf32> {
  %0 = sinter.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<?x?x8xf32>, tensor<?x2048x8xf32>, tensor<?x2048x8xf32>) -> tensor<?x?x8xf32>
  return %0 : tensor<?x?x8xf32>
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
