// RUN: sinter-opt --sinter-decompose --split-input-file %s | FileCheck %s
// RUN: sinter-opt --sinter-decompose=keep=softmax --split-input-file %s | FileCheck %s --check-prefix=KEEP

// CHECK-LABEL: @writes_softmax_in_primitives
// CHECK-SAME: (%[[X:.*]]: tensor<2x?xf32>)
// KEEP-LABEL: @writes_softmax_in_primitives
func.func @writes_softmax_in_primitives(%x: tensor<2x?xf32>) -> tensor<2x?xf32> {
  // CHECK: %[[M:.*]] = sinter.reduce max %[[X]] axes = [1]
  // CHECK: %[[B:.*]] = sinter.broadcast %[[M]] like(%[[X]]) axes = [0]
  // CHECK: %[[D:.*]] = sinter.sub %[[X]], %[[B]]
  // CHECK: %[[E:.*]] = sinter.exp %[[D]]
  // CHECK: %[[S:.*]] = sinter.reduce add %[[E]] axes = [1]
  // CHECK: %[[T:.*]] = sinter.broadcast %[[S]]
  // CHECK: sinter.div %[[E]], %[[T]]
  // CHECK-NOT: sinter.softmax
  // KEEP: sinter.softmax
  %0 = sinter.softmax %x {axis = 1 : i64} : (tensor<2x?xf32>) -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// -----

// CHECK-LABEL: @writes_cells_as_scans
func.func @writes_cells_as_scans(%x: tensor<?x2x3xf32>, %w: tensor<4x3xf32>, %r: tensor<4x4xf32>, %h: tensor<2x4xf32>) -> tensor<?x2x4xf32> {
  // CHECK: %[[G:.*]] = sinter.dot_general
  // CHECK: sinter.scan(%{{.*}}) over(%[[G]]) captures(%{{.*}}) {axes = array<i64: 0>, out_axes = array<i64: 0>, out_reverse = array<i1: true>, reverse = array<i1: true>}
  // CHECK: sinter.dot_general
  // CHECK: sinter.tanh
  %0:2 = sinter.rnn %x input_weights(%w), %r, %h {direction = #sinter<direction reverse>}
       : (tensor<?x2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<2x4xf32>) -> (tensor<?x2x4xf32>, tensor<2x4xf32>)
  return %0#0 : tensor<?x2x4xf32>
}

// -----

// Exporters bring the gates i, f, g, o into the order i, o, f, g. Weights are read where they lie.
// CHECK-LABEL: @reads_reordered_gates_in_place
// CHECK-SAME: %[[X:.*]]: tensor<5x2x3xf32>, %[[W:.*]]: tensor<16x3xf32>, %[[R:.*]]: tensor<16x4xf32>, %[[B:.*]]: tensor<16xf32>
func.func @reads_reordered_gates_in_place(%x: tensor<5x2x3xf32>, %w: tensor<16x3xf32>, %r: tensor<16x4xf32>, %b: tensor<16xf32>, %h: tensor<2x4xf32>) -> tensor<5x2x4xf32> {
  // CHECK-DAG: %[[F:.*]] = sinter.slice %[[B]] {limits = array<i64: 12>, starts = array<i64: 8>
  // CHECK-DAG: %[[G:.*]] = sinter.slice %[[B]] {limits = array<i64: 16>, starts = array<i64: 12>
  // CHECK-DAG: %[[O:.*]] = sinter.slice %[[B]] {limits = array<i64: 8>, starts = array<i64: 4>
  // CHECK: sinter.concatenate %{{.*}}, %[[F]], %[[G]], %[[O]] {axis = 0 : i64}
  // CHECK: sinter.dot_general %[[X]], %[[W]]
  // CHECK: sinter.scan({{.*}} captures(%[[R]])
  %w0 = sinter.slice %w {starts = array<i64: 0, 0>, limits = array<i64: 4, 3>, steps = array<i64: 1, 1>} : (tensor<16x3xf32>) -> tensor<4x3xf32>
  %w1 = sinter.slice %w {starts = array<i64: 12, 0>, limits = array<i64: 16, 3>, steps = array<i64: 1, 1>} : (tensor<16x3xf32>) -> tensor<4x3xf32>
  %w2 = sinter.slice %w {starts = array<i64: 4, 0>, limits = array<i64: 12, 3>, steps = array<i64: 1, 1>} : (tensor<16x3xf32>) -> tensor<8x3xf32>
  %r0 = sinter.slice %r {starts = array<i64: 0, 0>, limits = array<i64: 4, 4>, steps = array<i64: 1, 1>} : (tensor<16x4xf32>) -> tensor<4x4xf32>
  %r1 = sinter.slice %r {starts = array<i64: 12, 0>, limits = array<i64: 16, 4>, steps = array<i64: 1, 1>} : (tensor<16x4xf32>) -> tensor<4x4xf32>
  %r2 = sinter.slice %r {starts = array<i64: 4, 0>, limits = array<i64: 12, 4>, steps = array<i64: 1, 1>} : (tensor<16x4xf32>) -> tensor<8x4xf32>
  %ww = sinter.concatenate %w0, %w1, %w2 {axis = 0 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<8x3xf32>) -> tensor<16x3xf32>
  %rr = sinter.concatenate %r0, %r1, %r2 {axis = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %0:3 = sinter.lstm %x input_weights(%ww), %rr, %h, %h bias(%b)
       : (tensor<5x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return %0#0 : tensor<5x2x4xf32>
}

// -----

// Of 10 positions 7 words: the words are multiplied, then read.
// CHECK-LABEL: @multiplies_words_once
// CHECK-SAME: %[[E:.*]]: tensor<7x3xf32>, %[[I:.*]]: tensor<2x5xi64>, %[[W:.*]]: tensor<4x3xf32>
func.func @multiplies_words_once(%e: tensor<7x3xf32>, %i: tensor<2x5xi64>, %w: tensor<4x3xf32>, %r: tensor<4x4xf32>, %h: tensor<2x4xf32>) -> tensor<5x2x4xf32> {
  // CHECK-DAG: %[[T:.*]] = sinter.transpose %[[I]]
  // CHECK-DAG: %[[P:.*]] = sinter.dot_general %[[E]], %[[W]] {{.*}} -> tensor<7x4xf32>
  // CHECK: %[[G:.*]] = sinter.gather %[[P]], %[[T]] {axis = 0 : i64} {{.*}} -> tensor<5x2x4xf32>
  // CHECK: sinter.scan(%{{.*}}) over(%[[G]])
  %g = sinter.gather %e, %i {axis = 0 : i64} : (tensor<7x3xf32>, tensor<2x5xi64>) -> tensor<2x5x3xf32>
  %x = sinter.transpose %g {permutation = array<i64: 1, 0, 2>} : (tensor<2x5x3xf32>) -> tensor<5x2x3xf32>
  %0:2 = sinter.rnn %x input_weights(%w), %r, %h
       : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
  return %0#0 : tensor<5x2x4xf32>
}

// -----

// Of as many words as positions each is multiplied where it occurs.
// CHECK-LABEL: @keeps_a_large_vocabulary
// CHECK: sinter.gather
// CHECK: sinter.dot_general
// CHECK: sinter.scan
func.func @keeps_a_large_vocabulary(%e: tensor<10x3xf32>, %i: tensor<5x2xi64>, %w: tensor<4x3xf32>, %r: tensor<4x4xf32>, %h: tensor<2x4xf32>) -> tensor<5x2x4xf32> {
  %x = sinter.gather %e, %i {axis = 0 : i64} : (tensor<10x3xf32>, tensor<5x2xi64>) -> tensor<5x2x3xf32>
  %0:2 = sinter.rnn %x input_weights(%w), %r, %h
       : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
  return %0#0 : tensor<5x2x4xf32>
}

// -----

// f16 is computed in f32 and rounded once.
// CHECK-LABEL: @keeps_the_result_type
func.func @keeps_the_result_type(%x: tensor<2x4xf16>, %s: tensor<4xf16>) -> tensor<2x?xf16> {
  // CHECK: sinter.convert %{{.*}} : (tensor<2x4xf16>) -> tensor<2x4xf32>
  // CHECK: sinter.convert %{{.*}} : (tensor<2x4xf32>) -> tensor<2x4xf16>
  // CHECK: sinter.reshape {{.*}} -> tensor<2x?xf16>
  %0:3 = sinter.layer_norm %x scale(%s) {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4xf16>, tensor<4xf16>) -> (tensor<2x?xf16>, tensor<2x1xf16>, tensor<2x1xf16>)
  return %0#0 : tensor<2x?xf16>
}

// -----

// CHECK-LABEL: @regions_in_regions
// CHECK-NEXT: %[[E:.*]] = sinter.exp %arg0
// CHECK-NEXT: %[[S:.*]] = sinter.sin %[[E]]
// CHECK-NEXT: return %[[S]]
func.func @regions_in_regions(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sinter.checkpoint (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = sinter.checkpoint (%a) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %e = sinter.exp %b : (tensor<4xf32>) -> tensor<4xf32>
      sinter.yield (%e) : tensor<4xf32>
    }
    %s = sinter.sin %1 : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%s) : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
