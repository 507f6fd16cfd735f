// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A product, a softmax and a chain of math functions in f32, a product in f64, sums in f16 and bf16.
func.func @main(%x: tensor<6x20xf32> {sinter.name = "x"}, %w: tensor<20x24xf32> {sinter.name = "w"}, %h: tensor<40xf16> {sinter.name = "h"})
    -> (tensor<6x24xf32> {sinter.name = "soft"}, tensor<6x24xf32> {sinter.name = "chain"}, tensor<6x6xf64> {sinter.name = "gram"}, tensor<40xf16> {sinter.name = "halves"}) {
  %y = sinter.dot_general %x, %w {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>}
      : (tensor<6x20xf32>, tensor<20x24xf32>) -> tensor<6x24xf32>
  %soft = sinter.softmax %y {axis = 1 : i64} : (tensor<6x24xf32>) -> tensor<6x24xf32>
  %e = sinter.exp %y : (tensor<6x24xf32>) -> tensor<6x24xf32>
  %l = sinter.log %e : (tensor<6x24xf32>) -> tensor<6x24xf32>
  %t = sinter.tanh %l : (tensor<6x24xf32>) -> tensor<6x24xf32>
  %s = sinter.sin %e : (tensor<6x24xf32>) -> tensor<6x24xf32>
  %chain = sinter.add %t, %s : (tensor<6x24xf32>, tensor<6x24xf32>) -> tensor<6x24xf32>
  %d = sinter.convert %x {element_type = f64} : (tensor<6x20xf32>) -> tensor<6x20xf64>
  %gram = sinter.dot_general %d, %d {element_type = f64, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 1>}
      : (tensor<6x20xf64>, tensor<6x20xf64>) -> tensor<6x6xf64>
  %b = sinter.convert %h {element_type = bf16} : (tensor<40xf16>) -> tensor<40xbf16>
  %bb = sinter.mul %b, %b : (tensor<40xbf16>, tensor<40xbf16>) -> tensor<40xbf16>
  %bh = sinter.convert %bb {element_type = f16} : (tensor<40xbf16>) -> tensor<40xf16>
  %halves = sinter.add %bh, %h : (tensor<40xf16>, tensor<40xf16>) -> tensor<40xf16>
  return %soft, %chain, %gram, %halves : tensor<6x24xf32>, tensor<6x24xf32>, tensor<6x6xf64>, tensor<40xf16>
}
