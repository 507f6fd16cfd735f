// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter check %s
// RUN: sinter check %s --target=x86-64-v3
//
// Matrix times vector in lanes: rows that fill no tile, a sum that fills no lanes, ops after it.

func.func @product(%a: tensor<45x37xf32>, %x: tensor<37xf32>, %c: tensor<45xf32>, %d: tensor<3x70xf64>, %y: tensor<70x1xf64>) -> (tensor<45xf32>, tensor<3x1xf64>) {
  %p = sinter.dot_general %a, %x {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<45x37xf32>, tensor<37xf32>) -> tensor<45xf32>
  %s = sinter.add %p, %c : (tensor<45xf32>, tensor<45xf32>) -> tensor<45xf32>
  %t = sinter.tanh %s : (tensor<45xf32>) -> tensor<45xf32>
  %q = sinter.dot_general %d, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f64} : (tensor<3x70xf64>, tensor<70x1xf64>) -> tensor<3x1xf64>
  return %t, %q : tensor<45xf32>, tensor<3x1xf64>
}
