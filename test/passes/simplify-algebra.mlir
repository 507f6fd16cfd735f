// RUN: sinter-opt %s --sinter-simplify-algebra | FileCheck %s
// RUN: sinter-opt %s --sinter-simplify-algebra=fast-math=true | FileCheck %s --check-prefix=FAST

// CHECK-LABEL: @product_names_the_axes_of_a_transpose
// CHECK-NOT: sinter.transpose
// CHECK: sinter.dot_general %arg0, %arg1 {{.*}}lhs_batch = array<i64: 0, 2>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0, 2>, rhs_contract = array<i64: 3>
func.func @product_names_the_axes_of_a_transpose(%q: tensor<1x8x4x16xf32>, %k: tensor<1x8x4x16xf32>) -> tensor<1x4x8x8xf32> {
  %0 = sinter.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x8x4x16xf32>) -> tensor<1x4x8x16xf32>
  %1 = sinter.transpose %k {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x4x16xf32>) -> tensor<1x4x16x8xf32>
  %2 = sinter.dot_general %0, %1 {lhs_batch = array<i64: 0, 1>, rhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 2>, element_type = f32} : (tensor<1x4x8x16xf32>, tensor<1x4x16x8xf32>) -> tensor<1x4x8x8xf32>
  return %2 : tensor<1x4x8x8xf32>
}

// CHECK-LABEL: @keeps_a_transpose_that_splits_rows
// CHECK: sinter.transpose
func.func @keeps_a_transpose_that_splits_rows(%a: tensor<2x3x4xf32>, %w: tensor<3x5xf32>) -> tensor<2x4x5xf32> {
  %0 = sinter.transpose %a {permutation = array<i64: 0, 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  %1 = sinter.dot_general %0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2x4x3xf32>, tensor<3x5xf32>) -> tensor<2x4x5xf32>
  return %1 : tensor<2x4x5xf32>
}

// x * 2 may overflow where x * 6 is not asked for.

// CHECK-LABEL: @keeps_factors
// CHECK: sinter.mul
// CHECK: sinter.mul
// FAST-LABEL: @keeps_factors
// FAST: %[[C:.*]] = sinter.constant dense<6.0
// FAST: %[[R:.*]] = sinter.mul %arg0, %[[C]]
// FAST: return %[[R]]
func.func @keeps_factors(%a: tensor<4xf32>) -> tensor<4xf32> {
  %two = sinter.constant dense<2.0> : tensor<4xf32>
  %three = sinter.constant dense<3.0> : tensor<4xf32>
  %0 = sinter.mul %a, %two : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.mul %three, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Adding 1.5 * 2^23 rounds x to an integer.

// CHECK-LABEL: @keeps_addends
// CHECK: sinter.add
// CHECK: sinter.add
// FAST-LABEL: @keeps_addends
// FAST: sinter.add %arg0
// FAST-NOT: sinter.add
func.func @keeps_addends(%a: tensor<4xf32>) -> tensor<4xf32> {
  %up = sinter.constant dense<12582912.0> : tensor<4xf32>
  %down = sinter.constant dense<-12582900.0> : tensor<4xf32>
  %0 = sinter.add %a, %up : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.add %0, %down : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Not even fast math makes an infinite number, of which 0 would become NaN.

// CHECK-LABEL: @keeps_factors_whose_product_overflows
// FAST-LABEL: @keeps_factors_whose_product_overflows
// FAST-COUNT-2: sinter.mul {{.*}}tensor<4xf32>
// FAST-COUNT-2: sinter.mul {{.*}}tensor<4xf16>
func.func @keeps_factors_whose_product_overflows(%a: tensor<4xf32>, %b: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>) {
  %large = sinter.constant dense<1.0e20> : tensor<4xf32>
  %0 = sinter.mul %a, %large : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.mul %0, %large : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %half = sinter.constant dense<300.0> : tensor<4xf16>
  %2 = sinter.mul %b, %half : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %3 = sinter.mul %2, %half : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %1, %3 : tensor<4xf32>, tensor<4xf16>
}

// CHECK-LABEL: @divides_exactly_by_multiplying
// CHECK: %[[C:.*]] = sinter.constant dense<1.250000e-01>
// CHECK: sinter.mul %arg0, %[[C]]
// CHECK: sinter.div
// FAST-LABEL: @divides_exactly_by_multiplying
// FAST-NOT: sinter.div
func.func @divides_exactly_by_multiplying(%a: tensor<4xf32>) -> tensor<4xf32> {
  %eight = sinter.constant dense<8.0> : tensor<4xf32>
  %three = sinter.constant dense<3.0> : tensor<4xf32>
  %0 = sinter.div %a, %eight : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.div %0, %three : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// The inverse of 2^127 is denormal, that of 2^-15 is infinite in f16.

// CHECK-LABEL: @divides_where_the_inverse_is_not_normal
// CHECK-COUNT-2: sinter.div
// FAST-LABEL: @divides_where_the_inverse_is_not_normal
// FAST-COUNT-2: sinter.div
func.func @divides_where_the_inverse_is_not_normal(%a: tensor<4xf32>, %b: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>) {
  %large = sinter.constant dense<0x7F000000> : tensor<4xf32>
  %small = sinter.constant dense<0x0200> : tensor<4xf16>
  %0 = sinter.div %a, %large : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.div %b, %small : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %0, %1 : tensor<4xf32>, tensor<4xf16>
}

// CHECK-LABEL: @drops_infinite_bounds
// CHECK-DAG: %[[Z:.*]] = sinter.constant dense<0.0
// CHECK: %[[A:.*]] = sinter.max %arg0, %[[Z]]
// CHECK: %[[B:.*]] = sinter.min %arg0, %[[Z]]
// CHECK: return %[[A]], %[[B]]
func.func @drops_infinite_bounds(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = sinter.constant dense<0.0> : tensor<4xf32>
  %inf = sinter.constant dense<0x7F800000> : tensor<4xf32>
  %least = sinter.constant dense<0xFF800000> : tensor<4xf32>
  %0 = sinter.clamp %zero, %a, %inf : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.clamp %least, %a, %zero : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// 300 as i32 is 44 as i8; by way of f64 it is 127.

// CHECK-LABEL: @keeps_floats_between_integers
// CHECK: sinter.convert %arg0 {{.*}} -> tensor<4xf64>
// CHECK: sinter.convert {{.*}} -> tensor<4xi8>
// CHECK: sinter.convert %arg0 {{.*}} -> tensor<4xi64>
func.func @keeps_floats_between_integers(%a: tensor<4xi32>) -> (tensor<4xi8>, tensor<4xi64>) {
  %0 = sinter.convert %a {element_type = f64} : (tensor<4xi32>) -> tensor<4xf64>
  %1 = sinter.convert %0 {element_type = i8} : (tensor<4xf64>) -> tensor<4xi8>
  %2 = sinter.convert %0 {element_type = i64} : (tensor<4xf64>) -> tensor<4xi64>
  return %1, %2 : tensor<4xi8>, tensor<4xi64>
}

// CHECK-LABEL: @merges_only_conversions_that_lose_nothing
// CHECK: sinter.convert %arg0 {{.*}} : (tensor<4xi32>) -> tensor<4xf32>
// CHECK: %[[N:.*]] = sinter.convert %arg1
// CHECK: sinter.convert %[[N]]
func.func @merges_only_conversions_that_lose_nothing(%a: tensor<4xi32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = sinter.convert %a {element_type = i64} : (tensor<4xi32>) -> tensor<4xi64>
  %1 = sinter.convert %0 {element_type = f32} : (tensor<4xi64>) -> tensor<4xf32>
  %2 = sinter.convert %b {element_type = i64} : (tensor<4xf32>) -> tensor<4xi64>
  %3 = sinter.convert %2 {element_type = f32} : (tensor<4xi64>) -> tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @one_broadcast_adds_and_repeats
// CHECK-NOT: sinter.reshape
// CHECK: sinter.broadcast %arg0 axes = [1] {{.*}} : (tensor<4xf32>) -> tensor<2x4x3xf32>
func.func @one_broadcast_adds_and_repeats(%a: tensor<4xf32>) -> tensor<2x4x3xf32> {
  %0 = sinter.reshape %a {type = tensor<4x1xf32>} : (tensor<4xf32>) -> tensor<4x1xf32>
  %1 = sinter.broadcast %0 axes = [0, 1] {type = tensor<4x3xf32>} : (tensor<4x1xf32>) -> tensor<4x3xf32>
  %2 = sinter.broadcast %1 axes = [1, 2] {type = tensor<2x4x3xf32>} : (tensor<4x3xf32>) -> tensor<2x4x3xf32>
  return %2 : tensor<2x4x3xf32>
}

// CHECK-LABEL: @measures_what_was_transposed
// CHECK: %[[S:.*]] = sinter.dim %arg0 {axis = 1 : i64}
// CHECK: return %[[S]]
func.func @measures_what_was_transposed(%a: tensor<?x?x?x8xf32>) -> tensor<i64> {
  %0 = sinter.transpose %a {permutation = array<i64: 0, 3, 1, 2>} : (tensor<?x?x?x8xf32>) -> tensor<?x8x?x?xf32>
  %1 = sinter.tanh %0 : (tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32>
  %2 = sinter.dim %1 {axis = 2 : i64} : (tensor<?x8x?x?xf32>) -> tensor<i64>
  return %2 : tensor<i64>
}

// CHECK-LABEL: @one_size_of_a_shape
// CHECK: %[[S:.*]] = sinter.dim %arg0 {axis = 1 : i64}
// CHECK: return %[[S]]
func.func @one_size_of_a_shape(%a: tensor<?x?xf32>) -> tensor<i64> {
  %last = sinter.constant dense<-1> : tensor<i64>
  %0 = sinter.shape %a : (tensor<?x?xf32>) -> tensor<2xi64>
  %1 = sinter.gather %0, %last {axis = 0 : i64} : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  return %1 : tensor<i64>
}

// The division may join the reduction's kernel.
// CHECK-LABEL: @reshapes_after_arithmetic_with_numbers
// CHECK: %[[R:.*]] = sinter.reduce
// CHECK: %[[N:.*]] = sinter.broadcast %arg1
// CHECK: %[[D:.*]] = sinter.div %[[R]], %[[N]]
// CHECK: %[[V:.*]] = sinter.reshape %[[D]]
// CHECK: return %[[V]]
func.func @reshapes_after_arithmetic_with_numbers(%a: tensor<2x8x9xf32>, %n: tensor<f32>) -> tensor<2x8x1xf32> {
  %0 = sinter.reduce add %a axes = [2] : (tensor<2x8x9xf32>) -> tensor<2x8xf32>
  %1 = sinter.reshape %0 {type = tensor<2x8x1xf32>} : (tensor<2x8xf32>) -> tensor<2x8x1xf32>
  %2 = sinter.broadcast %n axes = [] {type = tensor<2x8x1xf32>} : (tensor<f32>) -> tensor<2x8x1xf32>
  %3 = sinter.div %1, %2 : (tensor<2x8x1xf32>, tensor<2x8x1xf32>) -> tensor<2x8x1xf32>
  return %3 : tensor<2x8x1xf32>
}

// CHECK-LABEL: @rows_are_read_as_they_lie
// CHECK: sinter.dot_general %arg1, %arg0 {{.*}}lhs_contract = array<i64: 0>{{.*}}rhs_contract = array<i64: 0>
// CHECK: sinter.dot_general %arg0, %arg1
func.func @rows_are_read_as_they_lie(%a: tensor<4x4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = sinter.dot_general %a, %x {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32}
     : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.dot_general %a, %x {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32}
     : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @transposed_product_swaps_its_factors
// CHECK-NEXT: sinter.dot_general %arg1, %arg0 {{.*}}lhs_contract = array<i64: 0>{{.*}}rhs_contract = array<i64: 0>{{.*}} -> tensor<8x4xf32>
// CHECK-NOT: sinter.transpose
func.func @transposed_product_swaps_its_factors(%x: tensor<16x4xf32>, %dy: tensor<16x8xf32>) -> tensor<8x4xf32> {
  %0 = sinter.dot_general %x, %dy {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<16x4xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// CHECK-LABEL: @transposed_batched_product_swaps_its_factors
// CHECK-NEXT: sinter.dot_general %arg1, %arg0 {{.*}}lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>{{.*}}rhs_contract = array<i64: 3>
// CHECK-NOT: sinter.transpose
func.func @transposed_batched_product_swaps_its_factors(%a: tensor<2x3x4x5xf32>, %b: tensor<2x6x5xf32>) -> tensor<2x6x3x4xf32> {
  %0 = sinter.dot_general %a, %b {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 2>, element_type = f32} : (tensor<2x3x4x5xf32>, tensor<2x6x5xf32>) -> tensor<2x3x4x6xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<2x3x4x6xf32>) -> tensor<2x6x3x4xf32>
  return %1 : tensor<2x6x3x4xf32>
}

// Rows of the new product are moved whole.

// CHECK-LABEL: @transposed_product_of_heads_swaps_its_factors
// CHECK-NEXT: %[[P:.*]] = sinter.dot_general %arg1, %arg0 {{.*}}lhs_contract = array<i64: 2>{{.*}}rhs_contract = array<i64: 1>{{.*}} -> tensor<2x3x6x4xf32>
// CHECK-NEXT: sinter.transpose %[[P]] {permutation = array<i64: 0, 2, 1, 3>}
func.func @transposed_product_of_heads_swaps_its_factors(%q: tensor<2x5x3x4xf32>, %ds: tensor<2x3x5x6xf32>) -> tensor<2x6x3x4xf32> {
  %0 = sinter.dot_general %q, %ds {lhs_batch = array<i64: 0, 2>, rhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 2>, element_type = f32} : (tensor<2x5x3x4xf32>, tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<2x3x4x6xf32>) -> tensor<2x6x3x4xf32>
  return %1 : tensor<2x6x3x4xf32>
}

// CHECK-LABEL: @keeps_a_transposed_product_whose_columns_would_be_apart
// CHECK: sinter.dot_general %arg0, %arg1
// CHECK: sinter.transpose
func.func @keeps_a_transposed_product_whose_columns_would_be_apart(%x: tensor<4x16xf32>, %dy: tensor<16x8xf32>) -> tensor<8x4xf32> {
  %0 = sinter.dot_general %x, %dy {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// CHECK-LABEL: @keeps_a_transpose_of_a_product_that_others_read
// CHECK: sinter.transpose
func.func @keeps_a_transpose_of_a_product_that_others_read(%x: tensor<16x4xf32>, %dy: tensor<16x8xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32>) {
  %0 = sinter.dot_general %x, %dy {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<16x4xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %1 = sinter.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<8x4xf32>
}

// Of -0 a sum with zeros makes 0.

// CHECK-LABEL: @sum_of_parts_is_a_concatenation
// CHECK: %[[B:.*]] = sinter.add %arg1, %{{.*}} : (tensor<2x2xf32>
// CHECK: %[[C:.*]] = sinter.add %arg2, %{{.*}} : (tensor<2x4xf32>
// CHECK: %[[A:.*]] = sinter.add %arg0, %{{.*}} : (tensor<2x3xf32>
// CHECK-NEXT: %[[R:.*]] = sinter.concatenate %[[B]], %[[C]], %[[A]] {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x9xf32>
// CHECK-NEXT: return %[[R]]
func.func @sum_of_parts_is_a_concatenation(%a: tensor<2x3xf32>, %b: tensor<2x2xf32>, %c: tensor<2x4xf32>) -> tensor<2x9xf32> {
  %zero = sinter.constant dense<0.0> : tensor<f32>
  %0 = sinter.pad %a, %zero {low = array<i64: 0, 6>, high = array<i64: 0, 0>, interior = array<i64: 0, 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x9xf32>
  %1 = sinter.pad %b, %zero {low = array<i64: 0, 0>, high = array<i64: 0, 7>, interior = array<i64: 0, 0>} : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x9xf32>
  %2 = sinter.pad %c, %zero {low = array<i64: 0, 2>, high = array<i64: 0, 3>, interior = array<i64: 0, 0>} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x9xf32>
  %3 = sinter.add %0, %1 : (tensor<2x9xf32>, tensor<2x9xf32>) -> tensor<2x9xf32>
  %4 = sinter.add %3, %2 : (tensor<2x9xf32>, tensor<2x9xf32>) -> tensor<2x9xf32>
  return %4 : tensor<2x9xf32>
}

// CHECK-LABEL: @zeros_stay_between_and_around_parts
// CHECK-DAG: %[[ZEROS:.*]] = sinter.constant dense<0.0{{.*}}> : tensor<2xf32>
// CHECK-DAG: %[[A:.*]] = sinter.add %arg0
// CHECK-DAG: %[[B:.*]] = sinter.add %arg1
// CHECK: %[[C:.*]] = sinter.concatenate %[[A]], %[[ZEROS]], %[[B]] {{.*}} -> tensor<7xf32>
// CHECK: sinter.pad %[[C]], {{.*}}high = array<i64: 1>{{.*}}low = array<i64: 2>
func.func @zeros_stay_between_and_around_parts(%a: tensor<3xf32>, %b: tensor<2xf32>) -> tensor<10xf32> {
  %zero = sinter.constant dense<0.0> : tensor<f32>
  %0 = sinter.pad %a, %zero {low = array<i64: 2>, high = array<i64: 5>, interior = array<i64: 0>} : (tensor<3xf32>, tensor<f32>) -> tensor<10xf32>
  %1 = sinter.pad %b, %zero {low = array<i64: 7>, high = array<i64: 1>, interior = array<i64: 0>} : (tensor<2xf32>, tensor<f32>) -> tensor<10xf32>
  %2 = sinter.add %0, %1 : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  return %2 : tensor<10xf32>
}

// CHECK-LABEL: @keeps_a_sum_of_parts_that_overlap
// CHECK: sinter.add
func.func @keeps_a_sum_of_parts_that_overlap(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<5xf32> {
  %zero = sinter.constant dense<0.0> : tensor<f32>
  %0 = sinter.pad %a, %zero {low = array<i64: 0>, high = array<i64: 2>, interior = array<i64: 0>} : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  %1 = sinter.pad %b, %zero {low = array<i64: 2>, high = array<i64: 0>, interior = array<i64: 0>} : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  %2 = sinter.add %0, %1 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %2 : tensor<5xf32>
}

// CHECK-LABEL: @keeps_a_sum_of_parts_that_overlap_after_a_gap
// CHECK: sinter.add
func.func @keeps_a_sum_of_parts_that_overlap_after_a_gap(%a: tensor<1xf32>, %b: tensor<1xf32>, %c: tensor<1xf32>) -> tensor<3xf32> {
  %zero = sinter.constant dense<0.0> : tensor<f32>
  %0 = sinter.pad %a, %zero {low = array<i64: 0>, high = array<i64: 2>, interior = array<i64: 0>} : (tensor<1xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = sinter.pad %b, %zero {low = array<i64: 2>, high = array<i64: 0>, interior = array<i64: 0>} : (tensor<1xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = sinter.pad %c, %zero {low = array<i64: 2>, high = array<i64: 0>, interior = array<i64: 0>} : (tensor<1xf32>, tensor<f32>) -> tensor<3xf32>
  %3 = sinter.add %0, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %4 = sinter.add %3, %2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %4 : tensor<3xf32>
}

// CHECK-LABEL: @keeps_a_sum_of_parts_in_ones
// CHECK: sinter.add
func.func @keeps_a_sum_of_parts_in_ones(%a: tensor<3xf32>, %b: tensor<2xf32>) -> tensor<5xf32> {
  %one = sinter.constant dense<1.0> : tensor<f32>
  %0 = sinter.pad %a, %one {low = array<i64: 0>, high = array<i64: 2>, interior = array<i64: 0>} : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  %1 = sinter.pad %b, %one {low = array<i64: 3>, high = array<i64: 0>, interior = array<i64: 0>} : (tensor<2xf32>, tensor<f32>) -> tensor<5xf32>
  %2 = sinter.add %0, %1 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %2 : tensor<5xf32>
}

// CHECK-LABEL: @sum_of_what_a_label_picks_is_a_selection
// CHECK-SAME: (%[[L:.*]]: tensor<2x3xi64>, %[[S:.*]]: tensor<f32>)
// CHECK-NOT: sinter.reduce
// CHECK-DAG: %[[X:.*]] = sinter.broadcast %[[S]] axes = [] {{.*}} -> tensor<2x3xf32>
// CHECK-DAG: %[[LOW:.*]] = sinter.compare ge %[[L]],
// CHECK-DAG: %[[HIGH:.*]] = sinter.compare lt %[[L]],
// CHECK: %[[VALID:.*]] = sinter.and %[[LOW]], %[[HIGH]]
// CHECK: sinter.select %[[VALID]], %[[X]],
func.func @sum_of_what_a_label_picks_is_a_selection(%labels: tensor<2x3xi64>, %scale: tensor<f32>) -> tensor<2x3xf32> {
  %i = sinter.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
  %zero = sinter.constant dense<0.0> : tensor<2x3x4xf32>
  %0 = sinter.broadcast %labels axes = [0, 1] {type = tensor<2x3x4xi64>} : (tensor<2x3xi64>) -> tensor<2x3x4xi64>
  %1 = sinter.broadcast %i axes = [2] {type = tensor<2x3x4xi64>} : (tensor<4xi64>) -> tensor<2x3x4xi64>
  %2 = sinter.compare eq %0, %1 : (tensor<2x3x4xi64>, tensor<2x3x4xi64>) -> tensor<2x3x4xi1>
  %3 = sinter.broadcast %scale axes = [] {type = tensor<2x3x4xf32>} : (tensor<f32>) -> tensor<2x3x4xf32>
  %4 = sinter.select %2, %3, %zero : (tensor<2x3x4xi1>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %5 = sinter.reduce add %4 axes = [2] : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  return %5 : tensor<2x3xf32>
}

// CHECK-LABEL: @sum_of_picked_elements_reads_them
// CHECK-SAME: (%[[L:.*]]: tensor<2xi64>, %[[X:.*]]: tensor<2x4xf32>)
// CHECK: %[[AT:.*]] = sinter.reshape %[[L]] {{.*}} -> tensor<2x1xi64>
// CHECK: %[[ONE:.*]] = sinter.gather_elements %[[X]], %[[AT]] {axis = 1 : i64}
// CHECK: %[[FOUND:.*]] = sinter.reshape %[[ONE]] {{.*}} -> tensor<2xf32>
// CHECK: %[[VALID:.*]] = sinter.and
// CHECK: %[[PICKED:.*]] = sinter.select %[[VALID]], %[[FOUND]],
// CHECK: sinter.reduce add %[[PICKED]] axes = [0] : (tensor<2xf32>) -> tensor<f32>
func.func @sum_of_picked_elements_reads_them(%labels: tensor<2xi64>, %x: tensor<2x4xf32>) -> tensor<f32> {
  %i = sinter.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
  %zero = sinter.constant dense<0.0> : tensor<2x4xf32>
  %0 = sinter.broadcast %labels axes = [0] {type = tensor<2x4xi64>} : (tensor<2xi64>) -> tensor<2x4xi64>
  %1 = sinter.broadcast %i axes = [1] {type = tensor<2x4xi64>} : (tensor<4xi64>) -> tensor<2x4xi64>
  %2 = sinter.compare eq %0, %1 : (tensor<2x4xi64>, tensor<2x4xi64>) -> tensor<2x4xi1>
  %3 = sinter.select %2, %x, %zero : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = sinter.reduce add %3 axes = [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  return %4 : tensor<f32>
}

// Other positions, another axis.
// CHECK-LABEL: @keeps_sums_of_what_no_label_picks
// CHECK-COUNT-2: sinter.reduce add
func.func @keeps_sums_of_what_no_label_picks(%labels: tensor<2xi64>, %scale: tensor<f32>) -> (tensor<2xf32>, tensor<4xf32>) {
  %i = sinter.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
  %o = sinter.constant dense<[0, 1, 1, 3]> : tensor<4xi64>
  %zero = sinter.constant dense<0.0> : tensor<2x4xf32>
  %0 = sinter.broadcast %labels axes = [0] {type = tensor<2x4xi64>} : (tensor<2xi64>) -> tensor<2x4xi64>
  %1 = sinter.broadcast %i axes = [1] {type = tensor<2x4xi64>} : (tensor<4xi64>) -> tensor<2x4xi64>
  %2 = sinter.broadcast %o axes = [1] {type = tensor<2x4xi64>} : (tensor<4xi64>) -> tensor<2x4xi64>
  %3 = sinter.compare eq %0, %1 : (tensor<2x4xi64>, tensor<2x4xi64>) -> tensor<2x4xi1>
  %4 = sinter.compare eq %0, %2 : (tensor<2x4xi64>, tensor<2x4xi64>) -> tensor<2x4xi1>
  %5 = sinter.broadcast %scale axes = [] {type = tensor<2x4xf32>} : (tensor<f32>) -> tensor<2x4xf32>
  %6 = sinter.select %4, %5, %zero : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %7 = sinter.reduce add %6 axes = [1] : (tensor<2x4xf32>) -> tensor<2xf32>
  %8 = sinter.select %3, %5, %zero : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %9 = sinter.reduce add %8 axes = [0] : (tensor<2x4xf32>) -> tensor<4xf32>
  return %7, %9 : tensor<2xf32>, tensor<4xf32>
}

// CHECK-LABEL: @reduces_a_large_array_by_rows
// CHECK-SAME: (%[[X:.*]]: tensor<512x4x128xf32>, %[[Y:.*]]: tensor<512x4xf32>
// CHECK-DAG: %[[ROWS:.*]] = sinter.reduce add %[[X]] axes = [1, 2] : (tensor<512x4x128xf32>) -> tensor<512xf32>
// CHECK-DAG: sinter.reduce add %[[ROWS]] axes = [0] : (tensor<512xf32>) -> tensor<f32>
// CHECK-DAG: sinter.reduce add %[[Y]] axes = [0, 1] : (tensor<512x4xf32>) -> tensor<f32>
func.func @reduces_a_large_array_by_rows(%x: tensor<512x4x128xf32>, %y: tensor<512x4xf32>) -> (tensor<f32>, tensor<f32>) {
  %0 = sinter.reduce add %x axes = [0, 1, 2] : (tensor<512x4x128xf32>) -> tensor<f32>
  %1 = sinter.reduce add %y axes = [0, 1] : (tensor<512x4xf32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// The greatest of bytes that become floats is found among the bytes.
// CHECK-LABEL: @greatest_bytes
// CHECK: sinter.reduce_window max %arg0
// CHECK-SAME: tensor<1x9x8x3xui8>) -> tensor<1x5x4x3xui8>
// CHECK: sinter.convert
// CHECK: sinter.sub
// CHECK: sinter.convert
// CHECK: sinter.mul {{.*}} tensor<1x5x4x3xf32>
func.func @greatest_bytes(%x: tensor<1x9x8x3xui8>) -> tensor<1x5x4x3xf32> {
  %z = sinter.constant dense<128> : tensor<1x9x8x3xi32>
  %s = sinter.constant dense<0.3> : tensor<1x9x8x3xf32>
  %0 = sinter.convert %x {element_type = i32} : (tensor<1x9x8x3xui8>) -> tensor<1x9x8x3xi32>
  %1 = sinter.sub %0, %z : (tensor<1x9x8x3xi32>, tensor<1x9x8x3xi32>) -> tensor<1x9x8x3xi32>
  %2 = sinter.convert %1 {element_type = f32} : (tensor<1x9x8x3xi32>) -> tensor<1x9x8x3xf32>
  %3 = sinter.mul %2, %s : (tensor<1x9x8x3xf32>, tensor<1x9x8x3xf32>) -> tensor<1x9x8x3xf32>
  %4 = sinter.reduce_window max %3 {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 2, 2, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<1x9x8x3xf32>) -> tensor<1x5x4x3xf32>
  return %4 : tensor<1x5x4x3xf32>
}

// A negative scale turns the order around.
// CHECK-LABEL: @greatest_of_turned_bytes
// CHECK: sinter.mul
// CHECK: sinter.reduce_window max {{.*}} -> tensor<1x7xf32>
func.func @greatest_of_turned_bytes(%x: tensor<1x9xi8>) -> tensor<1x7xf32> {
  %s = sinter.constant dense<-0.3> : tensor<1x9xf32>
  %0 = sinter.convert %x {element_type = f32} : (tensor<1x9xi8>) -> tensor<1x9xf32>
  %1 = sinter.mul %0, %s : (tensor<1x9xf32>, tensor<1x9xf32>) -> tensor<1x9xf32>
  %2 = sinter.reduce_window max %1 {window = array<i64: 1, 3>, strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x9xf32>) -> tensor<1x7xf32>
  return %2 : tensor<1x7xf32>
}

// A sum of bytes wraps, which turns the order around: it stays before the window.
// CHECK-LABEL: @greatest_of_wrapped_bytes
// CHECK: %[[WRAPPED:.*]] = sinter.add {{.*}} tensor<1x9xui8>
// CHECK: sinter.reduce_window max %[[WRAPPED]] {{.*}} -> tensor<1x7xui8>
func.func @greatest_of_wrapped_bytes(%x: tensor<1x9xi8>) -> tensor<1x7xf32> {
  %c = sinter.constant dense<128> : tensor<1x9xui8>
  %0 = sinter.convert %x {element_type = ui8} : (tensor<1x9xi8>) -> tensor<1x9xui8>
  %1 = sinter.add %0, %c : (tensor<1x9xui8>, tensor<1x9xui8>) -> tensor<1x9xui8>
  %2 = sinter.convert %1 {element_type = f32} : (tensor<1x9xui8>) -> tensor<1x9xf32>
  %3 = sinter.reduce_window max %2 {window = array<i64: 1, 3>, strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x9xf32>) -> tensor<1x7xf32>
  return %3 : tensor<1x7xf32>
}

// The first window holds padding alone: negative infinity, which no byte is.
// CHECK-LABEL: @greatest_of_padding_alone
// CHECK: sinter.reduce_window max {{.*}} -> tensor<1x10xf32>
func.func @greatest_of_padding_alone(%x: tensor<1x9xi8>) -> tensor<1x10xf32> {
  %0 = sinter.convert %x {element_type = f32} : (tensor<1x9xi8>) -> tensor<1x9xf32>
  %1 = sinter.reduce_window max %0 {window = array<i64: 1, 3>, strides = array<i64: 1, 1>, low = array<i64: 0, 3>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x9xf32>) -> tensor<1x10xf32>
  return %1 : tensor<1x10xf32>
}

// What else reads the floats has them made anyway.
// CHECK-LABEL: @greatest_and_others
// CHECK: sinter.reduce_window max {{.*}} -> tensor<1x7xf32>
func.func @greatest_and_others(%x: tensor<1x9xi8>) -> (tensor<1x7xf32>, tensor<1x9xf32>) {
  %0 = sinter.convert %x {element_type = f32} : (tensor<1x9xi8>) -> tensor<1x9xf32>
  %1 = sinter.reduce_window max %0 {window = array<i64: 1, 3>, strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x9xf32>) -> tensor<1x7xf32>
  return %1, %0 : tensor<1x7xf32>, tensor<1x9xf32>
}

// x * sigmoid(x) moves before the reshape of x as a whole: what computes x may compute it, too.
// CHECK-LABEL: @reshapes_after_an_activation
// CHECK: %[[X:.*]] = sinter.reduce
// CHECK: %[[S:.*]] = sinter.logistic %[[X]]
// CHECK: %[[Y:.*]] = sinter.mul %[[X]], %[[S]]
// CHECK: %[[V:.*]] = sinter.reshape %[[Y]] {type = tensor<16xf32>}
// CHECK: return %[[V]]
func.func @reshapes_after_an_activation(%a: tensor<2x8x9xf32>) -> tensor<16xf32> {
  %0 = sinter.reduce add %a axes = [2] : (tensor<2x8x9xf32>) -> tensor<2x8xf32>
  %1 = sinter.reshape %0 {type = tensor<16xf32>} : (tensor<2x8xf32>) -> tensor<16xf32>
  %2 = sinter.logistic %1 : (tensor<16xf32>) -> tensor<16xf32>
  %3 = sinter.mul %1, %2 : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %3 : tensor<16xf32>
}

// A choice by comparison moves as a whole, too: a leaky relu.
// CHECK-LABEL: @reshapes_after_a_choice
// CHECK: %[[C:.*]] = sinter.compare
// CHECK: %[[S:.*]] = sinter.select %[[C]]
// CHECK: %[[V:.*]] = sinter.reshape %[[S]] {type = tensor<16xf32>}
// CHECK: return %[[V]]
func.func @reshapes_after_a_choice(%a: tensor<2x8x9xf32>) -> tensor<16xf32> {
  %zero = sinter.constant dense<0.0> : tensor<16xf32>
  %tenth = sinter.constant dense<0.1> : tensor<16xf32>
  %0 = sinter.reduce add %a axes = [2] : (tensor<2x8x9xf32>) -> tensor<2x8xf32>
  %1 = sinter.reshape %0 {type = tensor<16xf32>} : (tensor<2x8xf32>) -> tensor<16xf32>
  %2 = sinter.compare lt %1, %zero : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xi1>
  %3 = sinter.mul %1, %tenth : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %4 = sinter.select %2, %3, %1 : (tensor<16xi1>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %4 : tensor<16xf32>
}

// A bias along the last axis, which the reshape leaves alone, fills what was reshaped.
// CHECK-LABEL: @reshapes_after_a_bias
// CHECK: %[[D:.*]] = sinter.dot_general
// CHECK: %[[B:.*]] = sinter.broadcast %arg1 axes = [1] {type = tensor<6x9xf32>}
// CHECK: %[[S:.*]] = sinter.add %[[D]], %[[B]]
// CHECK: %[[V:.*]] = sinter.reshape %[[S]] {type = tensor<2x3x9xf32>}
// CHECK: return %[[V]]
func.func @reshapes_after_a_bias(%a: tensor<6x8xf32>, %bias: tensor<9xf32>, %w: tensor<8x9xf32>) -> tensor<2x3x9xf32> {
  %0 = sinter.dot_general %a, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<6x8xf32>, tensor<8x9xf32>) -> tensor<6x9xf32>
  %1 = sinter.reshape %0 {type = tensor<2x3x9xf32>} : (tensor<6x9xf32>) -> tensor<2x3x9xf32>
  %2 = sinter.broadcast %bias axes = [2] {type = tensor<2x3x9xf32>} : (tensor<9xf32>) -> tensor<2x3x9xf32>
  %3 = sinter.add %1, %2 : (tensor<2x3x9xf32>, tensor<2x3x9xf32>) -> tensor<2x3x9xf32>
  return %3 : tensor<2x3x9xf32>
}

// What differs along an axis that the reshape splits stays behind it.
// CHECK-LABEL: @reshapes_before_a_bias_of_a_split_axis
// CHECK: %[[V:.*]] = sinter.reshape
// CHECK: %[[B:.*]] = sinter.broadcast %arg1 axes = [1] {type = tensor<2x3x9xf32>}
// CHECK: sinter.add %[[V]], %[[B]]
func.func @reshapes_before_a_bias_of_a_split_axis(%a: tensor<6x8xf32>, %bias: tensor<3xf32>, %w: tensor<8x9xf32>) -> tensor<2x3x9xf32> {
  %0 = sinter.dot_general %a, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<6x8xf32>, tensor<8x9xf32>) -> tensor<6x9xf32>
  %1 = sinter.reshape %0 {type = tensor<2x3x9xf32>} : (tensor<6x9xf32>) -> tensor<2x3x9xf32>
  %2 = sinter.broadcast %bias axes = [1] {type = tensor<2x3x9xf32>} : (tensor<3xf32>) -> tensor<2x3x9xf32>
  %3 = sinter.add %1, %2 : (tensor<2x3x9xf32>, tensor<2x3x9xf32>) -> tensor<2x3x9xf32>
  return %3 : tensor<2x3x9xf32>
}

// Another tensor keeps its shape, and so does what is added to it.
// CHECK-LABEL: @reshapes_before_another_tensor
// CHECK: %[[V:.*]] = sinter.reshape
// CHECK: %[[S:.*]] = sinter.logistic %[[V]]
// CHECK: sinter.add %[[V]], %arg1
func.func @reshapes_before_another_tensor(%a: tensor<2x8x9xf32>, %b: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %0 = sinter.reduce add %a axes = [2] : (tensor<2x8x9xf32>) -> tensor<2x8xf32>
  %1 = sinter.reshape %0 {type = tensor<16xf32>} : (tensor<2x8xf32>) -> tensor<16xf32>
  %2 = sinter.logistic %1 : (tensor<16xf32>) -> tensor<16xf32>
  %3 = sinter.add %1, %b : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %2, %3 : tensor<16xf32>, tensor<16xf32>
}

// Positions 17 to 30 of 64 are read: one line of the cache, from column 16 on.
// CHECK-LABEL: @columns_that_are_read
// CHECK: %[[W:.*]] = sinter.slice %{{.*}} {limits = array<i64: 2, 32>, starts = array<i64: 0, 16>
// CHECK: %[[P:.*]] = sinter.dot_general %arg0, %[[W]] {{.*}} -> tensor<2x16xf32>
// CHECK: %[[D:.*]] = sinter.sub
// CHECK: %[[AT:.*]] = sinter.broadcast %[[D]]
// CHECK: sinter.gather_elements %[[P]], %[[AT]]
func.func @columns_that_are_read(%x: tensor<2x2xf32>) -> tensor<2x3xf32> {
  %w = sinter.constant dense<[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0, 37.0, 38.0, 39.0, 40.0, 41.0, 42.0, 43.0, 44.0, 45.0, 46.0, 47.0, 48.0, 49.0, 50.0, 51.0, 52.0, 53.0, 54.0, 55.0, 56.0, 57.0, 58.0, 59.0, 60.0, 61.0, 62.0, 63.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0, 37.0, 38.0, 39.0, 40.0, 41.0, 42.0, 43.0, 44.0, 45.0, 46.0, 47.0, 48.0, 49.0, 50.0, 51.0, 52.0, 53.0, 54.0, 55.0, 56.0, 57.0, 58.0, 59.0, 60.0, 61.0, 62.0, 63.0, 64.0]]> : tensor<2x64xf32>
  %at = sinter.constant dense<[17, 30, 20]> : tensor<3xi64>
  %0 = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2x2xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  %1 = sinter.broadcast %at axes = [1] {type = tensor<2x3xi64>} : (tensor<3xi64>) -> tensor<2x3xi64>
  %2 = sinter.gather_elements %0, %1 {axis = 1 : i64} : (tensor<2x64xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// The last position reads the last column, so that nothing is saved.
// CHECK-LABEL: @all_columns_are_read
// CHECK: sinter.dot_general {{.*}} -> tensor<2x64xf32>
func.func @all_columns_are_read(%x: tensor<2x2xf32>) -> tensor<2x3xf32> {
  %w = sinter.constant dense<1.0> : tensor<2x64xf32>
  %at = sinter.constant dense<[[0, 63, 20], [1, 2, 3]]> : tensor<2x3xi64>
  %0 = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2x2xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  %1 = sinter.gather_elements %0, %at {axis = 1 : i64} : (tensor<2x64xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// A number that is as large as the reshaped tensor reads its sizes alone.
// CHECK-LABEL: @reshapes_after_a_number_of_its_size
// CHECK: %[[R:.*]] = sinter.reduce
// CHECK: %[[D:.*]] = sinter.div %[[R]]
// CHECK: sinter.reshape %[[D]]
func.func @reshapes_after_a_number_of_its_size(%a: tensor<?x8x9xf32>, %n: tensor<f32>) -> tensor<?x8x1xf32> {
  %0 = sinter.reduce add %a axes = [2] : (tensor<?x8x9xf32>) -> tensor<?x8xf32>
  %1 = sinter.reshape %0 {type = tensor<?x8x1xf32>} : (tensor<?x8xf32>) -> tensor<?x8x1xf32>
  %2 = sinter.broadcast %n like(%1) axes = [] {type = tensor<?x8x1xf32>} : (tensor<f32>, tensor<?x8x1xf32>) -> tensor<?x8x1xf32>
  %3 = sinter.div %1, %2 : (tensor<?x8x1xf32>, tensor<?x8x1xf32>) -> tensor<?x8x1xf32>
  return %3 : tensor<?x8x1xf32>
}

// An einsum bhwc,hkc->bhwk: its batch lies between its rows, which become one run. Where it lies before or behind them,
// rows are one already.
// CHECK-LABEL: @batch_between_rows
// CHECK: %[[T:.*]] = sinter.transpose %arg0 {permutation = array<i64: 1, 0, 2, 3>}
// CHECK: sinter.dot_general %[[T]], %arg1 {{{.*}}lhs_batch = array<i64: 0>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0>
// CHECK: sinter.dot_general %arg0, %arg1 {{{.*}}lhs_batch = array<i64: 2>
func.func @batch_between_rows(%x: tensor<12x7x7x64xf32>, %y: tensor<7x9x64xf32>) -> (tensor<7x12x7x9xf32>, tensor<7x12x7x9xf32>) {
  %0 = sinter.dot_general %x, %y {element_type = f32, lhs_batch = array<i64: 1>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 2>} : (tensor<12x7x7x64xf32>, tensor<7x9x64xf32>) -> tensor<7x12x7x9xf32>
  %1 = sinter.dot_general %x, %y {element_type = f32, lhs_batch = array<i64: 2>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 0>, rhs_contract = array<i64: 2>} : (tensor<12x7x7x64xf32>, tensor<7x9x64xf32>) -> tensor<7x12x7x9xf32>
  return %0, %1 : tensor<7x12x7x9xf32>, tensor<7x12x7x9xf32>
}

// Columns of the right operand lie side by side behind the sum; batches of one element are no matter.
// CHECK-LABEL: @batch_side_by_side
// CHECK: %[[T:.*]] = sinter.transpose %arg1 {permutation = array<i64: 2, 0, 1>}
// CHECK: sinter.dot_general %arg0, %[[T]] {{{.*}}rhs_batch = array<i64: 0>, rhs_contract = array<i64: 1>
func.func @batch_side_by_side(%x: tensor<5x1x3x4xf32>, %y: tensor<4x6x3xf32>) -> tensor<3x5x1x6xf32> {
  %0 = sinter.dot_general %x, %y {element_type = f32, lhs_batch = array<i64: 2>, lhs_contract = array<i64: 3>, rhs_batch = array<i64: 2>, rhs_contract = array<i64: 0>} : (tensor<5x1x3x4xf32>, tensor<4x6x3xf32>) -> tensor<3x5x1x6xf32>
  return %0 : tensor<3x5x1x6xf32>
}
