// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --verify-roundtrip %s | FileCheck %s

// CHECK-LABEL: @bytes_of_each_type
func.func @bytes_of_each_type(%a: tensor<3x5xf8E4M3FN>, %b: tensor<3x5xf8E5M2>, %c: tensor<3x5xi4>, %d: tensor<3x5xui4>) {
  // CHECK: (tensor<3x5xf8E4M3FN>) -> tensor<3x5xui8>
  %0 = sinter.storage %a {type = tensor<3x5xui8>} : (tensor<3x5xf8E4M3FN>) -> tensor<3x5xui8>
  %1 = sinter.storage %b {type = tensor<3x5xui8>} : (tensor<3x5xf8E5M2>) -> tensor<3x5xui8>
  // CHECK: (tensor<3x5xi4>) -> tensor<8xui8>
  %2 = sinter.storage %c {type = tensor<8xui8>} : (tensor<3x5xi4>) -> tensor<8xui8>
  %3 = sinter.storage %d {type = tensor<8xui8>} : (tensor<3x5xui4>) -> tensor<8xui8>
  %4 = sinter.storage %2 {type = tensor<3x5xi4>} : (tensor<8xui8>) -> tensor<3x5xi4>
  return
}

// CHECK-LABEL: @sizes_of_a_result
func.func @sizes_of_a_result(%a: tensor<?x?xui4>, %b: tensor<?xui8>, %s: tensor<2xi64>) -> tensor<?x?xui4> {
  // CHECK: (tensor<?x?xui4>) -> tensor<?xui8>
  %0 = sinter.storage %a {type = tensor<?xui8>} : (tensor<?x?xui4>) -> tensor<?xui8>
  // CHECK: (tensor<?xui8>, tensor<2xi64>) -> tensor<?x?xui4>
  %1 = sinter.storage %b, %s {type = tensor<?x?xui4>} : (tensor<?xui8>, tensor<2xi64>) -> tensor<?x?xui4>
  return %1 : tensor<?x?xui4>
}

// CHECK-LABEL: @moves_and_conversions_take_all
func.func @moves_and_conversions_take_all(%a: tensor<2x3xi4>, %p: tensor<3x2xi1>) -> tensor<3x2xf8E5M2> {
  %0 = sinter.transpose %a {permutation = array<i64: 1, 0>} : (tensor<2x3xi4>) -> tensor<3x2xi4>
  // CHECK: sinter.constant dense<[{{\[}}1, -8], [7, -1], [0, 3]]> : tensor<3x2xi4>
  %1 = sinter.constant dense<[[1, -8], [7, -1], [0, 3]]> : tensor<3x2xi4>
  %2 = sinter.select %p, %0, %1 : (tensor<3x2xi1>, tensor<3x2xi4>, tensor<3x2xi4>) -> tensor<3x2xi4>
  %3 = sinter.convert %2 {element_type = f8E5M2} : (tensor<3x2xi4>) -> tensor<3x2xf8E5M2>
  return %3 : tensor<3x2xf8E5M2>
}

// CHECK-LABEL: @numbers_of_bytes
func.func @numbers_of_bytes(%x: tensor<?x3xui8>) -> tensor<?x3xbf16> {
  // CHECK: sinter.decode_float8 %arg0 {element_type = bf16, format = f8E5M2} : (tensor<?x3xui8>) -> tensor<?x3xbf16>
  %0 = sinter.decode_float8 %x {element_type = bf16, format = f8E5M2} : (tensor<?x3xui8>) -> tensor<?x3xbf16>
  return %0 : tensor<?x3xbf16>
}
