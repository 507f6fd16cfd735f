// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --sinter-narrow-activations=min-bytes=64 --split-input-file | FileCheck %s
// RUN: sinter-opt %s --sinter-narrow-activations --split-input-file | FileCheck %s --check-prefix=SMALL
// SMALL-NOT: sinter.kept

module attributes {sinter.precision = {activation = bf16}} {

// All that read an activation see it rounded: it is never stored in f32.
// CHECK-LABEL: @rounds_for_all_readers
// CHECK: %[[H:.*]] = sinter.erf
// CHECK-NEXT: %[[N:.*]] = sinter.convert %[[H]] {element_type = bf16, sinter.kept}
// CHECK: %[[EARLY:.*]] = sinter.convert %[[N]] {element_type = f32}
// CHECK: sinter.exp %[[EARLY]]
// CHECK: sinter.tan
// CHECK: %[[LATE:.*]] = sinter.convert %[[N]] {element_type = f32}
// CHECK: sinter.mul %{{.*}}, %[[LATE]]
func.func @rounds_for_all_readers(%x: tensor<32xf32>) -> (tensor<32xf32> {sinter.state = "s"}) {
  %h = sinter.erf %x : (tensor<32xf32>) -> tensor<32xf32>
  %0 = sinter.exp %h : (tensor<32xf32>) -> tensor<32xf32>
  %1 = sinter.sin %0 : (tensor<32xf32>) -> tensor<32xf32>
  %2 = sinter.cos %1 : (tensor<32xf32>) -> tensor<32xf32>
  %3 = sinter.sin %2 : (tensor<32xf32>) -> tensor<32xf32>
  %4 = sinter.cos %3 : (tensor<32xf32>) -> tensor<32xf32>
  %5 = sinter.sin %4 : (tensor<32xf32>) -> tensor<32xf32>
  %6 = sinter.cos %5 : (tensor<32xf32>) -> tensor<32xf32>
  %7 = sinter.sin %6 : (tensor<32xf32>) -> tensor<32xf32>
  %8 = sinter.cos %7 : (tensor<32xf32>) -> tensor<32xf32>
  %9 = sinter.sin %8 : (tensor<32xf32>) -> tensor<32xf32>
  %10 = sinter.cos %9 : (tensor<32xf32>) -> tensor<32xf32>
  %11 = sinter.sin %10 : (tensor<32xf32>) -> tensor<32xf32>
  %12 = sinter.cos %11 : (tensor<32xf32>) -> tensor<32xf32>
  %13 = sinter.sin %12 : (tensor<32xf32>) -> tensor<32xf32>
  %14 = sinter.cos %13 : (tensor<32xf32>) -> tensor<32xf32>
  %15 = sinter.tan %14 : (tensor<32xf32>) -> tensor<32xf32>
  %16 = sinter.mul %15, %h : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  return %16 : tensor<32xf32>
}

// A sum that goes on to the next layer stays exact there; only who reads it late sees it rounded.
// CHECK-LABEL: @sums_of_two_stay_exact_for_early_readers
// CHECK: %[[H:.*]] = sinter.add
// CHECK-NEXT: %[[N:.*]] = sinter.convert %[[H]] {element_type = bf16, sinter.kept}
// CHECK-NEXT: sinter.exp %[[H]]
// CHECK: %[[LATE:.*]] = sinter.convert %[[N]] {element_type = f32}
// CHECK: sinter.mul %{{.*}}, %[[LATE]]
func.func @sums_of_two_stay_exact_for_early_readers(%x: tensor<32xf32>, %y: tensor<32xf32>) -> (tensor<32xf32> {sinter.state = "s"}) {
  %h = sinter.add %x, %y : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %0 = sinter.exp %h : (tensor<32xf32>) -> tensor<32xf32>
  %1 = sinter.sin %0 : (tensor<32xf32>) -> tensor<32xf32>
  %2 = sinter.cos %1 : (tensor<32xf32>) -> tensor<32xf32>
  %3 = sinter.sin %2 : (tensor<32xf32>) -> tensor<32xf32>
  %4 = sinter.cos %3 : (tensor<32xf32>) -> tensor<32xf32>
  %5 = sinter.sin %4 : (tensor<32xf32>) -> tensor<32xf32>
  %6 = sinter.cos %5 : (tensor<32xf32>) -> tensor<32xf32>
  %7 = sinter.sin %6 : (tensor<32xf32>) -> tensor<32xf32>
  %8 = sinter.cos %7 : (tensor<32xf32>) -> tensor<32xf32>
  %9 = sinter.sin %8 : (tensor<32xf32>) -> tensor<32xf32>
  %10 = sinter.cos %9 : (tensor<32xf32>) -> tensor<32xf32>
  %11 = sinter.sin %10 : (tensor<32xf32>) -> tensor<32xf32>
  %12 = sinter.cos %11 : (tensor<32xf32>) -> tensor<32xf32>
  %13 = sinter.sin %12 : (tensor<32xf32>) -> tensor<32xf32>
  %14 = sinter.cos %13 : (tensor<32xf32>) -> tensor<32xf32>
  %15 = sinter.sin %14 : (tensor<32xf32>) -> tensor<32xf32>
  %16 = sinter.mul %15, %h : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  return %16 : tensor<32xf32>
}

// Values that are read soon stay as they are, and so do all of a function that replaces no state.
// CHECK-LABEL: @read_soon
// CHECK-NOT: sinter.convert
func.func @read_soon(%x: tensor<32xf32>) -> (tensor<32xf32> {sinter.state = "s"}) {
  %h = sinter.erf %x : (tensor<32xf32>) -> tensor<32xf32>
  %0 = sinter.exp %h : (tensor<32xf32>) -> tensor<32xf32>
  %1 = sinter.mul %0, %h : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  return %1 : tensor<32xf32>
}

}

// -----

module attributes {sinter.precision = {activation = bf16}} {
// CHECK-LABEL: @replaces_no_state
// CHECK-NOT: sinter.convert
func.func @replaces_no_state(%x: tensor<32xf32>) -> tensor<32xf32> {
  %h = sinter.erf %x : (tensor<32xf32>) -> tensor<32xf32>
  %0 = sinter.exp %h : (tensor<32xf32>) -> tensor<32xf32>
  %1 = sinter.sin %0 : (tensor<32xf32>) -> tensor<32xf32>
  %2 = sinter.cos %1 : (tensor<32xf32>) -> tensor<32xf32>
  %3 = sinter.sin %2 : (tensor<32xf32>) -> tensor<32xf32>
  %4 = sinter.cos %3 : (tensor<32xf32>) -> tensor<32xf32>
  %5 = sinter.sin %4 : (tensor<32xf32>) -> tensor<32xf32>
  %6 = sinter.cos %5 : (tensor<32xf32>) -> tensor<32xf32>
  %7 = sinter.sin %6 : (tensor<32xf32>) -> tensor<32xf32>
  %8 = sinter.cos %7 : (tensor<32xf32>) -> tensor<32xf32>
  %9 = sinter.sin %8 : (tensor<32xf32>) -> tensor<32xf32>
  %10 = sinter.cos %9 : (tensor<32xf32>) -> tensor<32xf32>
  %11 = sinter.sin %10 : (tensor<32xf32>) -> tensor<32xf32>
  %12 = sinter.cos %11 : (tensor<32xf32>) -> tensor<32xf32>
  %13 = sinter.sin %12 : (tensor<32xf32>) -> tensor<32xf32>
  %14 = sinter.cos %13 : (tensor<32xf32>) -> tensor<32xf32>
  %15 = sinter.sin %14 : (tensor<32xf32>) -> tensor<32xf32>
  %16 = sinter.mul %15, %h : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  return %16 : tensor<32xf32>
}
}

// -----

// Where nothing is kept for later, sums of two tensors read what products read: one form of it is stored.
module attributes {sinter.precision = {activation = bf16}} {
// CHECK-LABEL: @sums_read_what_products_read
// CHECK: %[[H:.*]] = sinter.erf
// CHECK-NEXT: %[[N:.*]] = sinter.convert %[[H]] {element_type = bf16}
// CHECK-NEXT: %[[W:.*]] = sinter.convert %[[N]] {element_type = f32}
// CHECK: sinter.dot_general %[[N]]
// CHECK: sinter.add %{{.*}}, %[[W]]
func.func @sums_read_what_products_read(%x: tensor<8x8xf32>, %w: tensor<8x8xbf16>) -> tensor<8x8xf32> {
  %h = sinter.erf %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %n = sinter.convert %h {element_type = bf16} : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %p = sinter.dot_general %n, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xf32>
  %0 = sinter.add %p, %h : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// Others read the exact one, and then it is stored anyway.
// CHECK-LABEL: @others_read_the_exact_one
// CHECK: %[[H:.*]] = sinter.erf
// CHECK-NEXT: sinter.convert %[[H]] {element_type = bf16}
// CHECK-NOT: element_type = f32}
// CHECK: sinter.add %{{.*}}, %[[H]]
func.func @others_read_the_exact_one(%x: tensor<8x8xf32>) -> (tensor<8x8xbf16>, tensor<8x8xf32>) {
  %h = sinter.erf %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %n = sinter.convert %h {element_type = bf16} : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %e = sinter.exp %h : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = sinter.add %e, %h : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %n, %0 : tensor<8x8xbf16>, tensor<8x8xf32>
}

// Of two convolutions that are added the first is rounded, with its bias.
// CHECK-LABEL: @first_of_two_convolutions
// CHECK: sinter.convolution
// CHECK: sinter.convolution
// CHECK: %[[FIRST:.*]] = sinter.add
// CHECK-NEXT: %[[N:.*]] = sinter.convert %[[FIRST]] {element_type = bf16}
// CHECK-NEXT: %[[W:.*]] = sinter.convert %[[N]] {element_type = f32}
// CHECK: %[[SECOND:.*]] = sinter.add
// CHECK: sinter.add %[[SECOND]], %[[W]]
func.func @first_of_two_convolutions(%x: tensor<1x4x4x8xbf16>, %v: tensor<8x1x1x8xbf16>, %w: tensor<8x1x1x8xbf16>, %b: tensor<8xf32>) -> tensor<1x4x4x8xf32> {
  %0 = sinter.convolution %x, %v {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x4x4x8xbf16>, tensor<8x1x1x8xbf16>) -> tensor<1x4x4x8xf32>
  %1 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x4x4x8xbf16>, tensor<8x1x1x8xbf16>) -> tensor<1x4x4x8xf32>
  %2 = sinter.broadcast %b axes = [3] {type = tensor<1x4x4x8xf32>} : (tensor<8xf32>) -> tensor<1x4x4x8xf32>
  %3 = sinter.add %0, %2 : (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %4 = sinter.add %1, %2 : (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %5 = sinter.add %4, %3 : (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  return %5 : tensor<1x4x4x8xf32>
}

// Others read it, too.
// CHECK-LABEL: @read_by_others
// CHECK-NOT: element_type = bf16}
// CHECK: return
func.func @read_by_others(%x: tensor<1x4x4x8xbf16>, %v: tensor<8x1x1x8xbf16>, %w: tensor<8x1x1x8xbf16>) -> (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>) {
  %0 = sinter.convolution %x, %v {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x4x4x8xbf16>, tensor<8x1x1x8xbf16>) -> tensor<1x4x4x8xf32>
  %1 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x4x4x8xbf16>, tensor<8x1x1x8xbf16>) -> tensor<1x4x4x8xf32>
  %2 = sinter.add %1, %0 : (tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  return %2, %0 : tensor<1x4x4x8xf32>, tensor<1x4x4x8xf32>
}
}
