// RUN: sinter-opt %s --sinter-form-kernels --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-form-kernels=max-ops=1 --split-input-file | FileCheck %s --check-prefix=ALONE

// CHECK-LABEL: @fuses_a_pointwise_chain
// CHECK: %[[K:.*]] = sinter.kernel map(%arg0, %arg1)
// CHECK: sinter.add
// CHECK-NEXT: sinter.tanh
// CHECK-NEXT: sinter.yield
// CHECK: return %[[K]]
// ALONE-LABEL: @fuses_a_pointwise_chain
// ALONE-COUNT-2: sinter.kernel map
func.func @fuses_a_pointwise_chain(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = sinter.add %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.tanh %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// A filter that is not a constant is moved once, with what was to be moved already; the convolution reads it in that order.
// CHECK-LABEL: @filters_by_argument_have_taps_first
// CHECK: %[[W:.*]] = sinter.kernel map(%arg1)
// CHECK: sinter.transpose %{{.*}} {permutation = array<i64: 2, 3, 1, 0>}
// CHECK-NEXT: sinter.yield
// CHECK: sinter.kernel convolution(%[[W]], %arg0)
// CHECK: sinter.transpose %{{.*}} {permutation = array<i64: 3, 0, 1, 2>}
// CHECK-NEXT: sinter.convolution
// ALONE-LABEL: @filters_by_argument_have_taps_first
// ALONE: sinter.transpose %{{.*}} {permutation = array<i64: 0, 2, 3, 1>}
func.func @filters_by_argument_have_taps_first(%x: tensor<1x8x8x4xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32> {
  %0 = sinter.transpose %w {permutation = array<i64: 0, 2, 3, 1>} : (tensor<6x4x3x3xf32>) -> tensor<6x3x3x4xf32>
  %1 = sinter.convolution %x, %0 {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x8x8x4xf32>, tensor<6x3x3x4xf32>) -> tensor<1x6x6x6xf32>
  return %1 : tensor<1x6x6x6xf32>
}

// -----

// CHECK-LABEL: @product_takes_bias_and_activation
// CHECK: %[[K:.*]] = sinter.kernel contraction(%arg0, %{{.*}}, %arg1)
// CHECK: sinter.constant dense<0.0
// CHECK: sinter.dot_general
// CHECK: sinter.broadcast
// CHECK: sinter.add
// CHECK: sinter.max
// CHECK: return %[[K]]
func.func @product_takes_bias_and_activation(%x: tensor<4x8xf32>, %bias: tensor<16xf32>) -> tensor<4x16xf32> {
  %w = sinter.constant dense<1.0> : tensor<8x16xf32>
  %zero = sinter.constant dense<0.0> : tensor<4x16xf32>
  %0 = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = sinter.broadcast %bias axes = [1] {type = tensor<4x16xf32>} : (tensor<16xf32>) -> tensor<4x16xf32>
  %2 = sinter.add %0, %1 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %3 = sinter.max %2, %zero : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}

// -----

// What a join of the last axis reads in place is computed once, as the kernel walks its parts; a costly op joins it.
// CHECK-LABEL: @joined_parts_are_computed_once
// CHECK: sinter.kernel map(%arg0, %arg1)
// CHECK: sinter.tanh
// CHECK-NEXT: sinter.concatenate
// CHECK-NOT: sinter.kernel
func.func @joined_parts_are_computed_once(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %0 = sinter.tanh %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.concatenate %0, %b {axis = 1} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

// -----

// Read from its end, it would be computed for all lanes.
// CHECK-LABEL: @joins_in_another_order_keep_costly_parts_outside
// CHECK: sinter.kernel map(%arg0)
// CHECK: sinter.kernel map(
func.func @joins_in_another_order_keep_costly_parts_outside(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %0 = sinter.tanh %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.concatenate %0, %b {axis = 1} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  %2 = sinter.reverse %1 {axes = array<i64: 1>} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: @keeps_what_sizes_are_read_from_outside
// CHECK: %[[S:.*]] = sinter.kernel map(%arg1
// CHECK: sinter.select
// CHECK: sinter.kernel map(
// CHECK-SAME: %[[S]]
// CHECK: sinter.broadcast
func.func @keeps_what_sizes_are_read_from_outside(%x: tensor<3x1xf32>, %s: tensor<2xi64>, %t: tensor<2xi64>) -> tensor<3x?xf32> {
  %0 = sinter.compare eq %s, %t : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %1 = sinter.select %0, %s, %t : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %2 = sinter.broadcast %x shape(%1) axes = [0, 1] {type = tensor<3x?xf32>} : (tensor<3x1xf32>, tensor<2xi64>) -> tensor<3x?xf32>
  return %2 : tensor<3x?xf32>
}

// -----

// The kernel of sine and cosine comes before the product, which does not wait until after the last one.

// CHECK-LABEL: @what_can_come_late_stays_late
// CHECK: sinter.kernel map(
// CHECK: sinter.kernel contraction(
// CHECK: sinter.kernel map(
// CHECK: sinter.tanh
func.func @what_can_come_late_stays_late(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %s = sinter.sin %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = sinter.dot_general %s, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = sinter.tanh %y : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %q = sinter.dot_general %p, %t {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = sinter.cos %s : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %p, %q, %c : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// The product's epilogue computes what it alone reads at the place that it writes, however dear.

// CHECK-LABEL: @epilogue_computes_its_operand
// CHECK: sinter.kernel contraction(
// CHECK: sinter.exp
// CHECK-NOT: sinter.kernel
// CHECK: return
func.func @epilogue_computes_its_operand(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %z: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %e = sinter.exp %z : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = sinter.mul %p, %e : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// Two kernels compute a large tensor from another rather than go through memory; a small one is stored.

// CHECK-LABEL: @large_values_are_computed_twice
// CHECK-COUNT-2: sinter.erf
// CHECK-LABEL: @small_values_are_stored
// CHECK-COUNT-1: sinter.erf
// CHECK-NOT: sinter.erf
func.func @large_values_are_computed_twice(%x: tensor<512x8xf32>, %y: tensor<8x512xf32>, %z: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  %e = sinter.erf %z : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %g = sinter.mul %z, %e : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<512x8xf32>, tensor<8x512xf32>) -> tensor<512x512xf32>
  %r = sinter.mul %p, %e : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %g, %r : tensor<512x512xf32>, tensor<512x512xf32>
}
func.func @small_values_are_stored(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %z: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %e = sinter.erf %z : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %g = sinter.mul %z, %e : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = sinter.mul %p, %e : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %g, %r : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// What multiplies rows behind a mask may leave out blocks of zeros.

// CHECK-LABEL: @probabilities_behind_a_mask
// CHECK: sinter.kernel row
// CHECK: sinter.kernel contraction({{.*}}) {zeros = array<i64: 0>}
// CHECK-LABEL: @probabilities_behind_numbers
// CHECK-NOT: zeros
func.func @probabilities_behind_a_mask(%x: tensor<2x4xf32>, %v: tensor<4x8xf32>) -> tensor<2x8xf32> {
  %mask = sinter.constant dense<[[0.0, -1.0e9, -1.0e9, -1.0e9], [0.0, 0.0, -1.0e9, -1.0e9]]> : tensor<2x4xf32>
  %s = sinter.add %x, %mask : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = sinter.softmax %s {axis = 1, logarithm = false} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %r = sinter.dot_general %p, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}
func.func @probabilities_behind_numbers(%x: tensor<2x4xf32>, %v: tensor<4x8xf32>) -> tensor<2x8xf32> {
  %numbers = sinter.constant dense<[[0.0, -1.0, -2.0, -3.0], [0.0, 0.0, -1.0, -1.0e9]]> : tensor<2x4xf32>
  %s = sinter.add %x, %numbers : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %p = sinter.softmax %s {axis = 1, logarithm = false} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %r = sinter.dot_general %p, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}

// -----

// One number repeated is stored up to 16 MiB; what would be more is written at run time. In a kernel it is a number as ever,
// and zeros that are updated are cleared memory.
// CHECK-LABEL: @spreads_large_numbers
// CHECK: %[[SMALL:.*]] = sinter.constant dense<3.0{{.*}}> : tensor<2048x1024xf32>
// CHECK: sinter.kernel single(%[[SMALL]])
// CHECK: %[[W:.*]] = sinter.kernel map() : () -> tensor<2048x2048xf32> {
// CHECK-NEXT: %[[N:.*]] = sinter.constant dense<2.0{{.*}}> : tensor<f32>
// CHECK-NEXT: sinter.broadcast %[[N]]
// CHECK: sinter.kernel single(%[[W]])
// CHECK: sinter.kernel map(%arg0)
// CHECK: sinter.constant dense<2.0{{.*}}> : tensor<2048x2048xf32>
// CHECK-NEXT: sinter.add
// CHECK: sinter.kernel single(%{{[0-9]*}}, %arg1, %arg2)
// CHECK-NOT: sinter.broadcast
func.func @spreads_large_numbers(%x: tensor<2048x2048xf32>, %at: tensor<2x2xi64>, %u: tensor<2xf32>) -> (tensor<2048x1024xf32>, tensor<2048x2048xf32>, tensor<2048x2048xf32>, tensor<2048x2048xf32>) {
  %small = sinter.constant dense<3.0> : tensor<2048x1024xf32>
  %large = sinter.constant dense<2.0> : tensor<2048x2048xf32>
  %zeros = sinter.constant dense<0.0> : tensor<2048x2048xf32>
  %0 = sinter.cumulative add %small {axis = 0 : i64, exclusive = false, reverse = false} : (tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %1 = sinter.cumulative add %large {axis = 0 : i64, exclusive = false, reverse = false} : (tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %2 = sinter.add %x, %large : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %3 = sinter.scatter_nd %zeros, %at, %u : (tensor<2048x2048xf32>, tensor<2x2xi64>, tensor<2xf32>) -> tensor<2048x2048xf32>
  return %0, %1, %2, %3 : tensor<2048x1024xf32>, tensor<2048x2048xf32>, tensor<2048x2048xf32>, tensor<2048x2048xf32>
}

// -----

// A kernel joins up to 64 operands at once, and not many such joins: more are joined in steps.
// CHECK-LABEL: @joins_many_in_parts
// CHECK: %[[PART:.*]] = sinter.kernel map(%arg0) : (tensor<2xf32>) -> tensor<128xf32>
// CHECK: sinter.kernel map(%{{.*}}) : {{.*}} -> tensor<260xf32>
// ALONE-LABEL: @joins_many_in_parts
// ALONE-COUNT-2: -> tensor<128xf32>
// ALONE: -> tensor<260xf32>
func.func @joins_many_in_parts(%a: tensor<2xf32>) -> tensor<260xf32> {
  %0 = sinter.concatenate %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a {axis = 0} : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<260xf32>
  return %0 : tensor<260xf32>
}

// -----

// What a product reads as narrower numbers leaves the kernel before it beside what others read.
// CHECK-LABEL: @stores_narrow_numbers_beside_the_sums
// CHECK: %[[K:.*]]:2 = sinter.kernel contraction(%arg0, %arg1)
// CHECK: sinter.dot_general
// CHECK: %[[M:.*]] = sinter.max
// CHECK: %[[N:.*]] = sinter.convert %[[M]] {element_type = bf16}
// CHECK-NEXT: sinter.yield(%[[M]], %[[N]])
// CHECK: %[[Q:.*]] = sinter.kernel contraction(%[[K]]#1, %arg2)
// CHECK: return %[[K]]#0, %[[Q]]
// ALONE-LABEL: @stores_narrow_numbers_beside_the_sums
func.func @stores_narrow_numbers_beside_the_sums(%a: tensor<8x32xbf16>, %b: tensor<32x16xbf16>, %c: tensor<16x4xbf16>) -> (tensor<8x16xf32>, tensor<8x4xf32>) {
  %0 = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x32xbf16>, tensor<32x16xbf16>) -> tensor<8x16xf32>
  %z = sinter.constant dense<0.0> : tensor<8x16xf32>
  %1 = sinter.max %0, %z : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = sinter.convert %1 {element_type = bf16} : (tensor<8x16xf32>) -> tensor<8x16xbf16>
  %3 = sinter.dot_general %2, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x16xbf16>, tensor<16x4xbf16>) -> tensor<8x4xf32>
  return %1, %3 : tensor<8x16xf32>, tensor<8x4xf32>
}

// -----

// Bytes, by a chain that nothing else reads. What no product reads, or another tensor too, is a kernel of its own.
// CHECK-LABEL: @stores_bytes_beside_the_sums
// CHECK: %[[K:.*]]:2 = sinter.kernel contraction(%arg0, %arg1)
// CHECK: %[[P:.*]] = sinter.dot_general
// CHECK: %[[D:.*]] = sinter.div %[[P]]
// CHECK: %[[R:.*]] = sinter.round %[[D]]
// CHECK: %[[B:.*]] = sinter.convert %[[R]] {element_type = i8}
// CHECK-NEXT: sinter.yield(%[[P]], %[[B]])
// CHECK-DAG: sinter.kernel map(%[[K]]#0)
// CHECK-DAG: sinter.kernel contraction(%[[K]]#1, %arg2)
// ALONE-LABEL: @stores_bytes_beside_the_sums
func.func @stores_bytes_beside_the_sums(%a: tensor<8x32xf32>, %b: tensor<32x16xf32>, %c: tensor<16x4xi8>) -> (tensor<8x16xf32>, tensor<8x4xi32>, tensor<8x16xbf16>) {
  %0 = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %s = sinter.constant dense<0.5> : tensor<8x16xf32>
  %1 = sinter.div %0, %s : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = sinter.round %1 : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %3 = sinter.convert %2 {element_type = i8} : (tensor<8x16xf32>) -> tensor<8x16xi8>
  %4 = sinter.dot_general %3, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<8x16xi8>, tensor<16x4xi8>) -> tensor<8x4xi32>
  %5 = sinter.convert %0 {element_type = bf16} : (tensor<8x16xf32>) -> tensor<8x16xbf16>
  return %0, %4, %5 : tensor<8x16xf32>, tensor<8x4xi32>, tensor<8x16xbf16>
}

// -----

// A scale that follows from the product is known after its kernel: what is scaled is a kernel of its own.
// CHECK-LABEL: @scales_by_the_largest_sum_in_another_kernel
// CHECK: %[[K:.*]] = sinter.kernel contraction(%arg0, %arg1)
// CHECK: %[[M:.*]] = sinter.kernel reduce(%[[K]])
// CHECK: %[[N:.*]] = sinter.kernel map(%[[M]], %[[K]])
// CHECK: sinter.convert
// CHECK: sinter.kernel contraction(%[[N]], %arg2)
// ALONE-LABEL: @scales_by_the_largest_sum_in_another_kernel
func.func @scales_by_the_largest_sum_in_another_kernel(%a: tensor<8x32xf32>, %b: tensor<32x16xf32>, %c: tensor<16x4xbf16>) -> (tensor<8x16xf32>, tensor<8x4xf32>) {
  %0 = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %m = sinter.reduce max %0 axes = [0, 1] : (tensor<8x16xf32>) -> tensor<f32>
  %s = sinter.broadcast %m axes = [] {type = tensor<8x16xf32>} : (tensor<f32>) -> tensor<8x16xf32>
  %1 = sinter.div %0, %s : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = sinter.convert %1 {element_type = bf16} : (tensor<8x16xf32>) -> tensor<8x16xbf16>
  %3 = sinter.dot_general %2, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x16xbf16>, tensor<16x4xbf16>) -> tensor<8x4xf32>
  return %0, %3 : tensor<8x16xf32>, tensor<8x4xf32>
}

// -----

// Scales of columns that are constants go along.
// CHECK-LABEL: @stores_bytes_of_scaled_columns
// CHECK: %[[K:.*]]:2 = sinter.kernel contraction(%arg0, %arg1, %{{.*}})
// CHECK: sinter.convert {{.*}}{element_type = i8}
// CHECK-NEXT: sinter.yield
// CHECK: sinter.kernel contraction(%[[K]]#1, %arg2)
// ALONE-LABEL: @stores_bytes_of_scaled_columns
func.func @stores_bytes_of_scaled_columns(%a: tensor<8x32xf32>, %b: tensor<32x4xf32>, %c: tensor<4x4xi8>) -> (tensor<8x4xf32>, tensor<8x4xi32>) {
  %0 = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x32xf32>, tensor<32x4xf32>) -> tensor<8x4xf32>
  %s = sinter.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %l = sinter.broadcast %s axes = [1] {type = tensor<8x4xf32>} : (tensor<4xf32>) -> tensor<8x4xf32>
  %1 = sinter.mul %0, %l : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = sinter.convert %1 {element_type = i8} : (tensor<8x4xf32>) -> tensor<8x4xi8>
  %3 = sinter.dot_general %2, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<8x4xi8>, tensor<4x4xi8>) -> tensor<8x4xi32>
  return %0, %3 : tensor<8x4xf32>, tensor<8x4xi32>
}

// -----

// A number that both repeat has the size of what is made of the sums in another kernel, which waits for the sums.
// CHECK-LABEL: @bytes_of_a_size_that_comes_later
// CHECK: %[[K:.*]] = sinter.kernel contraction(%arg0, %arg1)
// CHECK: sinter.dot_general
// CHECK-NEXT: sinter.yield
// CHECK: sinter.kernel map(%[[K]]
// CHECK: sinter.kernel contraction(
// ALONE-LABEL: @bytes_of_a_size_that_comes_later
func.func @bytes_of_a_size_that_comes_later(%a: tensor<?x32xf32>, %b: tensor<32x16xf32>, %c: tensor<16x4xi8>) -> (tensor<?x16xf32>, tensor<?x4xi32>) {
  %two = sinter.constant dense<2.0> : tensor<f32>
  %0 = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<?x32xf32>, tensor<32x16xf32>) -> tensor<?x16xf32>
  %s = sinter.broadcast %two like(%0) axes = [] {type = tensor<?x16xf32>} : (tensor<f32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  %1 = sinter.mul %0, %s : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  %t = sinter.broadcast %two like(%1) axes = [] {type = tensor<?x16xf32>} : (tensor<f32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = sinter.sub %1, %t : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  %3 = sinter.add %0, %t : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  %4 = sinter.convert %3 {element_type = i8} : (tensor<?x16xf32>) -> tensor<?x16xi8>
  %5 = sinter.dot_general %4, %c {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<?x16xi8>, tensor<16x4xi8>) -> tensor<?x4xi32>
  return %2, %5 : tensor<?x16xf32>, tensor<?x4xi32>
}

// -----

// A convolution pads a tensor: what is added before is stored.
// CHECK-LABEL: @padding_of_a_sum
// CHECK: %[[S:.*]] = sinter.kernel map(
// CHECK: sinter.add
// CHECK: sinter.kernel convolution(%[[S]],
// CHECK: sinter.pad
// CHECK: sinter.convolution
func.func @padding_of_a_sum(%a: tensor<1x9x16xf32>, %b: tensor<1x9x16xf32>) -> tensor<1x9x16xf32> {
  %f = sinter.constant dense<1.0> : tensor<16x2x16xf32>
  %zero = sinter.constant dense<0.0> : tensor<f32>
  %0 = sinter.add %a, %b : (tensor<1x9x16xf32>, tensor<1x9x16xf32>) -> tensor<1x9x16xf32>
  %1 = sinter.pad %0, %zero {low = array<i64: 0, 1, 0>, high = array<i64: 0, 0, 0>, interior = array<i64: 0, 0, 0>} : (tensor<1x9x16xf32>, tensor<f32>) -> tensor<1x10x16xf32>
  %2 = sinter.convolution %1, %f {layout = #sinter<conv_layout channels_last>, strides = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, input_dilation = array<i64: 1>, dilation = array<i64: 1>, element_type = f32} : (tensor<1x10x16xf32>, tensor<16x2x16xf32>) -> tensor<1x9x16xf32>
  return %2 : tensor<1x9x16xf32>
}
