// RUN: sinter-opt %s --sinter-multiply-integers --canonicalize | FileCheck %s
// RUN: sinter-opt %s --sinter-multiply-integers --sinter-fold-constants --canonicalize | FileCheck %s --check-prefix=FOLDED

// (a - 3) 0.5 times b (0.25, 0.125): products of bytes, less 3 times the sums of columns, times the products of scales.

// CHECK-LABEL: @product_of_bytes
// CHECK-DAG: %[[B:.*]] = sinter.constant {{.*}} : tensor<4x2xi8>
// CHECK-DAG: %[[S:.*]] = sinter.constant dense<[1.250000e-01, 6.250000e-02]>
// CHECK: %[[P:.*]] = sinter.dot_general %arg0, %[[B]] {element_type = i32
// The corrections are as short as the columns while they are multiplied, so that constants stay short.
// CHECK: %[[T:.*]] = sinter.reduce add
// CHECK: %[[M:.*]] = sinter.mul %[[T]], {{.*}} -> tensor<2xi32>
// CHECK: %[[L:.*]] = sinter.broadcast %[[M]]
// CHECK: sinter.sub %[[P]], %[[L]]
// CHECK: sinter.mul {{.*}} : {{.*}}tensor<8x2xf32>
func.func @product_of_bytes(%x: tensor<8x4xui8>) -> tensor<8x2xf32> {
  %three = sinter.constant dense<3> : tensor<i32>
  %half = sinter.constant dense<0.5> : tensor<f32>
  %w = sinter.constant dense<[[1, 2], [3, 4], [5, 6], [7, -128]]> : tensor<4x2xi8>
  %scales = sinter.constant dense<[0.25, 0.125]> : tensor<2xf32>
  %0 = sinter.convert %x {element_type = i32} : (tensor<8x4xui8>) -> tensor<8x4xi32>
  %1 = sinter.broadcast %three axes = [] {type = tensor<8x4xi32>} : (tensor<i32>) -> tensor<8x4xi32>
  %2 = sinter.sub %0, %1 : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi32>
  %3 = sinter.convert %2 {element_type = f32} : (tensor<8x4xi32>) -> tensor<8x4xf32>
  %4 = sinter.broadcast %half axes = [] {type = tensor<8x4xf32>} : (tensor<f32>) -> tensor<8x4xf32>
  %5 = sinter.mul %3, %4 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %6 = sinter.convert %w {element_type = f32} : (tensor<4x2xi8>) -> tensor<4x2xf32>
  %7 = sinter.broadcast %scales axes = [1] {type = tensor<4x2xf32>} : (tensor<2xf32>) -> tensor<4x2xf32>
  %8 = sinter.mul %6, %7 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %9 = sinter.dot_general %5, %8 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %9 : tensor<8x2xf32>
}

// 255 * 128 * 70000 does not fit 31 bits.

// CHECK-LABEL: @keeps_sums_that_are_too_long
// CHECK: sinter.dot_general {{.*}}element_type = f32
func.func @keeps_sums_that_are_too_long(%x: tensor<1x70000xui8>, %w: tensor<70000x1xi8>) -> tensor<1x1xf32> {
  %half = sinter.constant dense<0.5> : tensor<f32>
  %0 = sinter.convert %x {element_type = f32} : (tensor<1x70000xui8>) -> tensor<1x70000xf32>
  %1 = sinter.broadcast %half axes = [] {type = tensor<1x70000xf32>} : (tensor<f32>) -> tensor<1x70000xf32>
  %2 = sinter.mul %0, %1 : (tensor<1x70000xf32>, tensor<1x70000xf32>) -> tensor<1x70000xf32>
  %3 = sinter.convert %w {element_type = f32} : (tensor<70000x1xi8>) -> tensor<70000x1xf32>
  %4 = sinter.broadcast %half axes = [] {type = tensor<70000x1xf32>} : (tensor<f32>) -> tensor<70000x1xf32>
  %5 = sinter.mul %3, %4 : (tensor<70000x1xf32>, tensor<70000x1xf32>) -> tensor<70000x1xf32>
  %6 = sinter.dot_general %2, %5 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<1x70000xf32>, tensor<70000x1xf32>) -> tensor<1x1xf32>
  return %6 : tensor<1x1xf32>
}

// A scale that is no constant may be anything.

// CHECK-LABEL: @keeps_scales_of_run_time
// CHECK: sinter.dot_general {{.*}}element_type = f32
func.func @keeps_scales_of_run_time(%x: tensor<2x4xui8>, %w: tensor<4x2xi8>, %s: tensor<f32>) -> tensor<2x2xf32> {
  %0 = sinter.convert %x {element_type = f32} : (tensor<2x4xui8>) -> tensor<2x4xf32>
  %1 = sinter.broadcast %s axes = [] {type = tensor<2x4xf32>} : (tensor<f32>) -> tensor<2x4xf32>
  %2 = sinter.mul %0, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = sinter.convert %w {element_type = f32} : (tensor<4x2xi8>) -> tensor<4x2xf32>
  %4 = sinter.broadcast %s axes = [] {type = tensor<4x2xf32>} : (tensor<f32>) -> tensor<4x2xf32>
  %5 = sinter.mul %3, %4 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %6 = sinter.dot_general %2, %5 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  return %6 : tensor<2x2xf32>
}

// Padding stands for 0, which is the code 7. Weights of 128 + w without their zero point are w.

// CHECK-LABEL: @convolution_of_bytes
// CHECK-DAG: %[[F:.*]] = sinter.constant dense<{{\[\[\[\[}}1, -2]]]]> : tensor<1x1x1x2xi8>
// CHECK-DAG: %[[Z:.*]] = sinter.constant dense<7> : tensor<ui8>
// CHECK: %[[P:.*]] = sinter.pad %arg0, %[[Z]]
// CHECK: sinter.convolution %[[P]], %[[F]] {{.*}}element_type = i32{{.*}}low = array<i64: 0, 0>
func.func @convolution_of_bytes(%x: tensor<1x1x4x4xui8>) -> tensor<1x1x4x5xf32> {
  %seven = sinter.constant dense<7> : tensor<i32>
  %middle = sinter.constant dense<128> : tensor<i32>
  %half = sinter.constant dense<0.5> : tensor<f32>
  %w = sinter.constant dense<[[[[129, 126]]]]> : tensor<1x1x1x2xui8>
  %0 = sinter.convert %x {element_type = i32} : (tensor<1x1x4x4xui8>) -> tensor<1x1x4x4xi32>
  %1 = sinter.broadcast %seven axes = [] {type = tensor<1x1x4x4xi32>} : (tensor<i32>) -> tensor<1x1x4x4xi32>
  %2 = sinter.sub %0, %1 : (tensor<1x1x4x4xi32>, tensor<1x1x4x4xi32>) -> tensor<1x1x4x4xi32>
  %3 = sinter.convert %2 {element_type = f32} : (tensor<1x1x4x4xi32>) -> tensor<1x1x4x4xf32>
  %4 = sinter.broadcast %half axes = [] {type = tensor<1x1x4x4xf32>} : (tensor<f32>) -> tensor<1x1x4x4xf32>
  %5 = sinter.mul %3, %4 : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %6 = sinter.convert %w {element_type = i32} : (tensor<1x1x1x2xui8>) -> tensor<1x1x1x2xi32>
  %7 = sinter.broadcast %middle axes = [] {type = tensor<1x1x1x2xi32>} : (tensor<i32>) -> tensor<1x1x1x2xi32>
  %8 = sinter.sub %6, %7 : (tensor<1x1x1x2xi32>, tensor<1x1x1x2xi32>) -> tensor<1x1x1x2xi32>
  %9 = sinter.convert %8 {element_type = f32} : (tensor<1x1x1x2xi32>) -> tensor<1x1x1x2xf32>
  %10 = sinter.broadcast %half axes = [] {type = tensor<1x1x1x2xf32>} : (tensor<f32>) -> tensor<1x1x1x2xf32>
  %11 = sinter.mul %9, %10 : (tensor<1x1x1x2xf32>, tensor<1x1x1x2xf32>) -> tensor<1x1x1x2xf32>
  %12 = sinter.convolution %5, %11 {strides = array<i64: 1, 1>, low = array<i64: 0, 1>, high = array<i64: 0, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x1x4x4xf32>, tensor<1x1x1x2xf32>) -> tensor<1x1x4x5xf32>
  return %12 : tensor<1x1x4x5xf32>
}

// Bytes that are moved as numbers and rounded again are moved as bytes.

// CHECK-LABEL: @moves_bytes
// CHECK-NEXT: %[[T:.*]] = sinter.transpose %arg0 {{.*}} (tensor<4x2xui8>) -> tensor<2x4xui8>
// CHECK-NEXT: return %[[T]]
func.func @moves_bytes(%x: tensor<4x2xui8>) -> tensor<2x4xui8> {
  %scale = sinter.constant dense<0.3> : tensor<f32>
  %low = sinter.constant dense<0.0> : tensor<f32>
  %high = sinter.constant dense<255.0> : tensor<f32>
  %0 = sinter.convert %x {element_type = f32} : (tensor<4x2xui8>) -> tensor<4x2xf32>
  %1 = sinter.broadcast %scale axes = [] {type = tensor<4x2xf32>} : (tensor<f32>) -> tensor<4x2xf32>
  %2 = sinter.mul %0, %1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = sinter.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<4x2xf32>) -> tensor<2x4xf32>
  %4 = sinter.broadcast %scale axes = [] {type = tensor<2x4xf32>} : (tensor<f32>) -> tensor<2x4xf32>
  %5 = sinter.div %3, %4 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = sinter.round %5 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %7 = sinter.broadcast %low axes = [] {type = tensor<2x4xf32>} : (tensor<f32>) -> tensor<2x4xf32>
  %8 = sinter.max %6, %7 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %9 = sinter.broadcast %high axes = [] {type = tensor<2x4xf32>} : (tensor<f32>) -> tensor<2x4xf32>
  %10 = sinter.min %8, %9 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %11 = sinter.convert %10 {element_type = ui8} : (tensor<2x4xf32>) -> tensor<2x4xui8>
  return %11 : tensor<2x4xui8>
}

// What is rounded to signed bytes is rounded to unsigned ones whose zero point is greater by 128, which readers of
// numbers take off with the zero point that they know; who reads the bytes themselves gets signed ones.

// CHECK-LABEL: @stores_unsigned_bytes
// CHECK-DAG: %[[H:.*]] = sinter.constant dense<1.280000e+02> : tensor<f32>
// CHECK-DAG: %[[T:.*]] = sinter.constant dense<128> : tensor<ui8>
// CHECK-DAG: %[[N:.*]] = sinter.constant dense<128> : tensor<i32>
// CHECK-DAG: %[[Z:.*]] = sinter.constant dense<123> : tensor<i32>
// CHECK: %[[R:.*]] = sinter.round
// CHECK: %[[HS:.*]] = sinter.broadcast %[[H]]
// CHECK: %[[A:.*]] = sinter.add %[[R]], %[[HS]]
// CHECK: %[[U:.*]] = sinter.convert %[[A]] {{.*}} -> tensor<4xui8>
// CHECK-DAG: %[[I:.*]] = sinter.convert %[[U]] {{.*}} -> tensor<4xi32>
// CHECK-DAG: %[[TS:.*]] = sinter.broadcast %[[T]]
// CHECK-DAG: %[[NS:.*]] = sinter.broadcast %[[N]]
// CHECK-DAG: %[[ZS:.*]] = sinter.broadcast %[[Z]]
// CHECK-DAG: %[[B:.*]] = sinter.add %[[U]], %[[TS]]
// CHECK-DAG: %[[S:.*]] = sinter.convert %[[B]] {{.*}} -> tensor<4xi8>
// CHECK-DAG: %[[X:.*]] = sinter.sub %[[I]], %[[NS]]
// CHECK-DAG: %[[Y:.*]] = sinter.sub %[[I]], %[[ZS]]
// CHECK: return %[[X]], %[[Y]], %[[S]]
func.func @stores_unsigned_bytes(%x: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi8>) {
  %scale = sinter.constant dense<0.3> : tensor<4xf32>
  %low = sinter.constant dense<-128.0> : tensor<4xf32>
  %high = sinter.constant dense<127.0> : tensor<4xf32>
  %zero = sinter.constant dense<-5> : tensor<4xi32>
  %0 = sinter.div %x, %scale : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.round %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = sinter.max %1, %low : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = sinter.min %2, %high : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = sinter.convert %3 {element_type = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %5 = sinter.convert %4 {element_type = i32} : (tensor<4xi8>) -> tensor<4xi32>
  %6 = sinter.sub %5, %zero : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %5, %6, %4 : tensor<4xi32>, tensor<4xi32>, tensor<4xi8>
}

// A table of signed bytes that its rows alone read is unsigned too: rows that are rounded as they were are the bytes.

// CHECK-LABEL: @takes_rows_of_unsigned_bytes
// CHECK: %[[W:.*]] = sinter.constant dense<{{\[\[}}126, 131], [132, 128], [0, 255]]> : tensor<3x2xui8>
// CHECK: %[[G:.*]] = sinter.gather %[[W]], %arg0 {{.*}} -> tensor<4x2xui8>
// CHECK-NOT: sinter.round
// CHECK: sinter.convert %[[G]]
func.func @takes_rows_of_unsigned_bytes(%rows: tensor<4xi64>) -> tensor<4x2xi32> {
  %w = sinter.constant dense<[[-2, 3], [4, 0], [-128, 127]]> : tensor<3x2xi8>
  %s = sinter.constant dense<0.5> : tensor<3x2xf32>
  %scale = sinter.constant dense<0.5> : tensor<4x2xf32>
  %low = sinter.constant dense<-128.0> : tensor<4x2xf32>
  %high = sinter.constant dense<127.0> : tensor<4x2xf32>
  %0 = sinter.convert %w {element_type = i32} : (tensor<3x2xi8>) -> tensor<3x2xi32>
  %1 = sinter.convert %0 {element_type = f32} : (tensor<3x2xi32>) -> tensor<3x2xf32>
  %2 = sinter.mul %1, %s : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %3 = sinter.gather %2, %rows {axis = 0 : i64} : (tensor<3x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  %4 = sinter.div %3, %scale : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %5 = sinter.round %4 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %6 = sinter.max %5, %low : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %7 = sinter.min %6, %high : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %8 = sinter.convert %7 {element_type = i8} : (tensor<4x2xf32>) -> tensor<4x2xi8>
  %9 = sinter.convert %8 {element_type = i32} : (tensor<4x2xi8>) -> tensor<4x2xi32>
  return %9 : tensor<4x2xi32>
}

// Weights alone are bytes: x (b s) = (x b) s, where the kernel of the product makes floats of b.

// CHECK-LABEL: @keeps_weights_as_bytes
// CHECK-DAG: %[[W:.*]] = sinter.constant {{.*}} : tensor<4x2xi8>
// CHECK-DAG: %[[S:.*]] = sinter.constant dense<[2.500000e-01, 1.250000e-01]>
// CHECK: %[[F:.*]] = sinter.convert %[[W]] {{.*}} -> tensor<4x2xf32>
// CHECK: %[[P:.*]] = sinter.dot_general %arg0, %[[F]]
// CHECK: %[[B:.*]] = sinter.broadcast %[[S]] axes = [1]
// CHECK: sinter.mul %[[P]], %[[B]]
func.func @keeps_weights_as_bytes(%x: tensor<8x4xf32>) -> tensor<8x2xf32> {
  %w = sinter.constant dense<[[1, 2], [3, 4], [5, 6], [7, -128]]> : tensor<4x2xi8>
  %scales = sinter.constant dense<[0.25, 0.125]> : tensor<2xf32>
  %0 = sinter.convert %w {element_type = f32} : (tensor<4x2xi8>) -> tensor<4x2xf32>
  %1 = sinter.broadcast %scales axes = [1] {type = tensor<4x2xf32>} : (tensor<2xf32>) -> tensor<4x2xf32>
  %2 = sinter.mul %0, %1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = sinter.dot_general %x, %2 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %3 : tensor<8x2xf32>
}

// The bounds of bytes are those of the conversion.

// CHECK-LABEL: @drops_bounds
// CHECK-NOT: sinter.max
// CHECK-NOT: sinter.min
// CHECK: %[[R:.*]] = sinter.round
// CHECK-NEXT: sinter.convert %[[R]]
func.func @drops_bounds(%x: tensor<4xf32>) -> tensor<4xui8> {
  %scale = sinter.constant dense<0.3> : tensor<4xf32>
  %low = sinter.constant dense<0.0> : tensor<4xf32>
  %high = sinter.constant dense<255.0> : tensor<4xf32>
  %0 = sinter.div %x, %scale : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = sinter.round %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = sinter.max %1, %low : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = sinter.min %2, %high : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = sinter.convert %3 {element_type = ui8} : (tensor<4xf32>) -> tensor<4xui8>
  return %4 : tensor<4xui8>
}

// CHECK-LABEL: @gathers_bytes
// CHECK: %[[T:.*]] = sinter.constant {{.*}} : tensor<3x2xui8>
// CHECK: sinter.gather %[[T]], %arg0 {{.*}} -> tensor<4x2xui8>
func.func @gathers_bytes(%ids: tensor<4xi64>) -> tensor<4x2xf32> {
  %table = sinter.constant dense<[[1, 2], [3, 4], [5, 255]]> : tensor<3x2xui8>
  %half = sinter.constant dense<0.5> : tensor<3x2xf32>
  %0 = sinter.convert %table {element_type = f32} : (tensor<3x2xui8>) -> tensor<3x2xf32>
  %1 = sinter.mul %0, %half : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = sinter.gather %1, %ids {axis = 0 : i64} : (tensor<3x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// Factors take over the one that rounding to bytes brings: a product and a sum are left, with the bias scaled before.
// FOLDED-LABEL: @scales_factors
// FOLDED-DAG: %[[B:.*]] = sinter.constant dense<{{\[\[}}2.000000e+00, 4.000000e+00], {{.*}} : tensor<8x2xf32>
// FOLDED-DAG: %[[S:.*]] = sinter.constant dense<2.500000e-01>
// FOLDED: %[[P:.*]] = sinter.dot_general
// FOLDED: %[[F:.*]] = sinter.convert %[[P]]
// FOLDED-NEXT: %[[M:.*]] = sinter.mul %[[F]], %[[S]]
// FOLDED-NEXT: %[[A:.*]] = sinter.add %[[M]], %[[B]]
// FOLDED-NEXT: %[[R:.*]] = sinter.round %[[A]]
// FOLDED-NEXT: sinter.convert %[[R]]
func.func @scales_factors(%x: tensor<8x4xui8>) -> tensor<8x2xui8> {
  %w = sinter.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi8>
  %0 = sinter.convert %x {element_type = i32} : (tensor<8x4xui8>) -> tensor<8x4xi32>
  %1 = sinter.convert %0 {element_type = f32} : (tensor<8x4xi32>) -> tensor<8x4xf32>
  %xs = sinter.constant dense<0.5> : tensor<8x4xf32>
  %2 = sinter.mul %1, %xs : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = sinter.convert %w {element_type = i32} : (tensor<4x2xi8>) -> tensor<4x2xi32>
  %4 = sinter.convert %3 {element_type = f32} : (tensor<4x2xi32>) -> tensor<4x2xf32>
  %ws = sinter.constant dense<0.25> : tensor<4x2xf32>
  %5 = sinter.mul %4, %ws : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %6 = sinter.dot_general %2, %5 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %bias = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = sinter.broadcast %bias axes = [1] {type = tensor<8x2xf32>} : (tensor<2xf32>) -> tensor<8x2xf32>
  %7 = sinter.add %6, %b : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %scale = sinter.constant dense<0.5> : tensor<8x2xf32>
  %low = sinter.constant dense<0.0> : tensor<8x2xf32>
  %high = sinter.constant dense<255.0> : tensor<8x2xf32>
  %8 = sinter.div %7, %scale : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %9 = sinter.round %8 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %10 = sinter.max %9, %low : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %11 = sinter.min %10, %high : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %12 = sinter.convert %11 {element_type = ui8} : (tensor<8x2xf32>) -> tensor<8x2xui8>
  return %12 : tensor<8x2xui8>
}

// The greatest of scaled codes is the greatest code, scaled: rounded to bytes of the same scale, it is that code.

// CHECK-LABEL: @pools_bytes
// CHECK-NEXT: %[[P:.*]] = sinter.reduce_window  max %arg0 {{.*}} -> tensor<1x2x2x4xui8>
// CHECK-NEXT: return %[[P]]
func.func @pools_bytes(%x: tensor<1x4x4x4xui8>) -> tensor<1x2x2x4xui8> {
  %s = sinter.constant dense<0.3> : tensor<1x4x4x4xf32>
  %t = sinter.constant dense<0.3> : tensor<1x2x2x4xf32>
  %low = sinter.constant dense<0.0> : tensor<1x2x2x4xf32>
  %high = sinter.constant dense<255.0> : tensor<1x2x2x4xf32>
  %0 = sinter.convert %x {element_type = f32} : (tensor<1x4x4x4xui8>) -> tensor<1x4x4x4xf32>
  %1 = sinter.mul %0, %s : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %2 = sinter.reduce_window max %1 {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 2, 2, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<1x4x4x4xf32>) -> tensor<1x2x2x4xf32>
  %3 = sinter.div %2, %t : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  %4 = sinter.round %3 : (tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  %5 = sinter.max %4, %low : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  %6 = sinter.min %5, %high : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  %7 = sinter.convert %6 {element_type = ui8} : (tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xui8>
  return %7 : tensor<1x2x2x4xui8>
}

// A negative scale makes the greatest number of the least code, and a window of padding alone has no code.

// CHECK-LABEL: @keeps_other_pools
// CHECK: sinter.reduce_window {{.*}}tensor<4x4xf32>
// CHECK: sinter.reduce_window {{.*}}tensor<4x4xf32>
func.func @keeps_other_pools(%x: tensor<4x4xui8>) -> (tensor<4x4xui8>, tensor<7x4xui8>) {
  %negative = sinter.constant dense<-0.5> : tensor<4x4xf32>
  %half = sinter.constant dense<0.5> : tensor<4x4xf32>
  %halves = sinter.constant dense<0.5> : tensor<7x4xf32>
  %low = sinter.constant dense<0.0> : tensor<4x4xf32>
  %high = sinter.constant dense<255.0> : tensor<4x4xf32>
  %lows = sinter.constant dense<0.0> : tensor<7x4xf32>
  %highs = sinter.constant dense<255.0> : tensor<7x4xf32>
  %0 = sinter.convert %x {element_type = f32} : (tensor<4x4xui8>) -> tensor<4x4xf32>
  %1 = sinter.mul %0, %negative : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = sinter.reduce_window max %1 {window = array<i64: 1, 1>, strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = sinter.div %2, %negative : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = sinter.round %3 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = sinter.max %4, %low : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %6 = sinter.min %5, %high : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %7 = sinter.convert %6 {element_type = ui8} : (tensor<4x4xf32>) -> tensor<4x4xui8>
  %8 = sinter.mul %0, %half : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %9 = sinter.reduce_window max %8 {window = array<i64: 2, 1>, strides = array<i64: 1, 1>, low = array<i64: 2, 0>, high = array<i64: 2, 0>, dilations = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<7x4xf32>
  %10 = sinter.div %9, %halves : (tensor<7x4xf32>, tensor<7x4xf32>) -> tensor<7x4xf32>
  %11 = sinter.round %10 : (tensor<7x4xf32>) -> tensor<7x4xf32>
  %12 = sinter.max %11, %lows : (tensor<7x4xf32>, tensor<7x4xf32>) -> tensor<7x4xf32>
  %13 = sinter.min %12, %highs : (tensor<7x4xf32>, tensor<7x4xf32>) -> tensor<7x4xf32>
  %14 = sinter.convert %13 {element_type = ui8} : (tensor<7x4xf32>) -> tensor<7x4xui8>
  return %7, %14 : tensor<4x4xui8>, tensor<7x4xui8>
}

// Parts are rounded before they are joined; the one that has the scale of the result stays as it is.

// CHECK-LABEL: @rounds_parts
// CHECK: %[[R:.*]] = sinter.convert {{.*}} {element_type = ui8} : (tensor<4x3xf32>) -> tensor<4x3xui8>
// CHECK: sinter.concatenate %arg0, %[[R]] {{.*}} -> tensor<4x5xui8>
func.func @rounds_parts(%x: tensor<4x2xui8>, %y: tensor<4x3xf32>) -> tensor<4x5xui8> {
  %s = sinter.constant dense<0.3> : tensor<4x2xf32>
  %t = sinter.constant dense<0.3> : tensor<4x5xf32>
  %low = sinter.constant dense<0.0> : tensor<4x5xf32>
  %high = sinter.constant dense<255.0> : tensor<4x5xf32>
  %0 = sinter.convert %x {element_type = f32} : (tensor<4x2xui8>) -> tensor<4x2xf32>
  %1 = sinter.mul %0, %s : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %2 = sinter.concatenate %1, %y {axis = 1 : i64} : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
  %3 = sinter.div %2, %t : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %4 = sinter.round %3 : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %5 = sinter.max %4, %low : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %6 = sinter.min %5, %high : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %7 = sinter.convert %6 {element_type = ui8} : (tensor<4x5xf32>) -> tensor<4x5xui8>
  return %7 : tensor<4x5xui8>
}

// The filter of a transposed convolution: [C, O, kh, kw], turned around, with a scale for each result.

// CHECK-LABEL: @turns_filters_of_bytes
// CHECK: sinter.convolution %arg0, {{.*}} : (tensor<1x2x4x4xui8>, tensor<3x2x2x2xi8>) -> tensor<1x3x8x8xi32>
func.func @turns_filters_of_bytes(%x: tensor<1x2x4x4xui8>) -> tensor<1x3x8x8xf32> {
  %s = sinter.constant dense<0.3> : tensor<1x2x4x4xf32>
  %w = sinter.constant dense<[[[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]], [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]]]> : tensor<2x3x2x2xi8>
  %ws = sinter.constant dense<[0.25, 0.125, 0.5]> : tensor<3xf32>
  %0 = sinter.convert %x {element_type = f32} : (tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xf32>
  %1 = sinter.mul %0, %s : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %2 = sinter.convert %w {element_type = f32} : (tensor<2x3x2x2xi8>) -> tensor<2x3x2x2xf32>
  %3 = sinter.broadcast %ws axes = [1] {type = tensor<2x3x2x2xf32>} : (tensor<3xf32>) -> tensor<2x3x2x2xf32>
  %4 = sinter.mul %2, %3 : (tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xf32>
  %5 = sinter.reshape %4 {type = tensor<1x2x3x2x2xf32>} : (tensor<2x3x2x2xf32>) -> tensor<1x2x3x2x2xf32>
  %6 = sinter.transpose %5 {permutation = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x2x3x2x2xf32>) -> tensor<1x3x2x2x2xf32>
  %7 = sinter.reshape %6 {type = tensor<3x2x2x2xf32>} : (tensor<1x3x2x2x2xf32>) -> tensor<3x2x2x2xf32>
  %8 = sinter.reverse %7 {axes = array<i64: 2, 3>} : (tensor<3x2x2x2xf32>) -> tensor<3x2x2x2xf32>
  %9 = sinter.convolution %1, %8 {dilation = array<i64: 1, 1>, element_type = f32, high = array<i64: 1, 1>, input_dilation = array<i64: 2, 2>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>, tensor<3x2x2x2xf32>) -> tensor<1x3x8x8xf32>
  return %9 : tensor<1x3x8x8xf32>
}

// Conversions to unsigned integers wrap negative codes: they are not looked through.

// CHECK-LABEL: @keeps_conversions_that_wrap
// CHECK: sinter.convert %arg0 {element_type = ui16}
// CHECK: sinter.dot_general {{.*}}element_type = f32
func.func @keeps_conversions_that_wrap(%x: tensor<8x4xi8>) -> tensor<8x2xf32> {
  %w = sinter.constant dense<[[1, 2], [3, 4], [5, 6], [7, -128]]> : tensor<4x2xi8>
  %half = sinter.constant dense<0.5> : tensor<8x4xf32>
  %scales = sinter.constant dense<0.25> : tensor<4x2xf32>
  %0 = sinter.convert %x {element_type = ui16} : (tensor<8x4xi8>) -> tensor<8x4xui16>
  %1 = sinter.convert %0 {element_type = f32} : (tensor<8x4xui16>) -> tensor<8x4xf32>
  %2 = sinter.mul %1, %half : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = sinter.convert %w {element_type = f32} : (tensor<4x2xi8>) -> tensor<4x2xf32>
  %4 = sinter.mul %3, %scales : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %5 = sinter.dot_general %2, %4 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %5 : tensor<8x2xf32>
}

// Differences in unsigned integers wrap, too.

// CHECK-LABEL: @keeps_differences_that_wrap
// CHECK: sinter.sub {{.*}} -> tensor<8x4xui32>
// CHECK: sinter.dot_general {{.*}}element_type = f32
func.func @keeps_differences_that_wrap(%x: tensor<8x4xui8>) -> tensor<8x2xf32> {
  %w = sinter.constant dense<[[1, 2], [3, 4], [5, 6], [7, -128]]> : tensor<4x2xi8>
  %five = sinter.constant dense<5> : tensor<8x4xui32>
  %half = sinter.constant dense<0.5> : tensor<8x4xf32>
  %scales = sinter.constant dense<0.25> : tensor<4x2xf32>
  %0 = sinter.convert %x {element_type = ui32} : (tensor<8x4xui8>) -> tensor<8x4xui32>
  %1 = sinter.sub %0, %five : (tensor<8x4xui32>, tensor<8x4xui32>) -> tensor<8x4xui32>
  %2 = sinter.convert %1 {element_type = f32} : (tensor<8x4xui32>) -> tensor<8x4xf32>
  %3 = sinter.mul %2, %half : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = sinter.convert %w {element_type = f32} : (tensor<4x2xi8>) -> tensor<4x2xf32>
  %5 = sinter.mul %4, %scales : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %6 = sinter.dot_general %3, %5 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %6 : tensor<8x2xf32>
}

// A negative factor does not go through the greatest of two numbers.

// CHECK-LABEL: @keeps_negative_scales
// CHECK: sinter.max
// CHECK: sinter.div
func.func @keeps_negative_scales(%x: tensor<8x4xui8>) -> tensor<8x2xui8> {
  %w = sinter.constant dense<[[1, 2], [3, 4], [5, 6], [7, -128]]> : tensor<4x2xi8>
  %half = sinter.constant dense<0.5> : tensor<8x4xf32>
  %scales = sinter.constant dense<0.25> : tensor<4x2xf32>
  %least = sinter.constant dense<1.5> : tensor<8x2xf32>
  %scale = sinter.constant dense<-1.3> : tensor<8x2xf32>
  %low = sinter.constant dense<0.0> : tensor<8x2xf32>
  %high = sinter.constant dense<255.0> : tensor<8x2xf32>
  %0 = sinter.convert %x {element_type = f32} : (tensor<8x4xui8>) -> tensor<8x4xf32>
  %1 = sinter.mul %0, %half : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = sinter.convert %w {element_type = f32} : (tensor<4x2xi8>) -> tensor<4x2xf32>
  %3 = sinter.mul %2, %scales : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %4 = sinter.dot_general %1, %3 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %5 = sinter.max %4, %least : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %6 = sinter.div %5, %scale : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %7 = sinter.round %6 : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %8 = sinter.max %7, %low : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %9 = sinter.min %8, %high : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %10 = sinter.convert %9 {element_type = ui8} : (tensor<8x2xf32>) -> tensor<8x2xui8>
  return %10 : tensor<8x2xui8>
}
