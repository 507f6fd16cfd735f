// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --mlir-disable-threading --sinter-print-fusion-plan -o /dev/null | FileCheck %s

// Where there are devices a product reads bytes of weights, also if each number that is summed has a scale.
// CHECK-LABEL: @weights_of_bytes_join_their_product
// CHECK-NEXT: contraction: decode_float8 broadcast convert mul [dot_general] -> 1
module attributes {sinter.devices = {cuda = "sm_80"}} {
  func.func @weights_of_bytes_join_their_product(%x: tensor<2x8xf16>, %y: tensor<8x3xui8>, %s: tensor<8xf16>) -> tensor<2x3xf16> {
    %0 = sinter.decode_float8 %y {element_type = f32, format = f8E4M3FN} : (tensor<8x3xui8>) -> tensor<8x3xf32>
    %1 = sinter.broadcast %s axes = [0] {type = tensor<8x3xf16>} : (tensor<8xf16>) -> tensor<8x3xf16>
    %2 = sinter.convert %0 {element_type = f16} : (tensor<8x3xf32>) -> tensor<8x3xf16>
    %3 = sinter.mul %2, %1 : (tensor<8x3xf16>, tensor<8x3xf16>) -> tensor<8x3xf16>
    %4 = sinter.dot_general %x, %3 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f16} : (tensor<2x8xf16>, tensor<8x3xf16>) -> tensor<2x3xf16>
    return %4 : tensor<2x3xf16>
  }
}
