// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter check %s
//
// 614 explicit Euler steps of x' = tanh(A x + b) - x.

func.func @ode(%a: tensor<60x60xf32> {sinter.name = "a"}, %b: tensor<60xf32> {sinter.name = "b"}, %x0: tensor<60xf32> {sinter.name = "x"}) -> (tensor<60xf32> {sinter.name = "end"}) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %steps = sinter.constant dense<614> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %end = sinter.for %zero to %steps step %one (%x0) captures(%a, %b) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<60xf32>, tensor<60x60xf32>, tensor<60xf32>) -> tensor<60xf32> body {
  ^bb0(%i: tensor<i64>, %x: tensor<60xf32>, %m: tensor<60x60xf32>, %c: tensor<60xf32>):
    %dt = sinter.constant dense<0.01> : tensor<60xf32>
    %p = sinter.dot_general %m, %x {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<60x60xf32>, tensor<60xf32>) -> tensor<60xf32>
    %q = sinter.add %p, %c : (tensor<60xf32>, tensor<60xf32>) -> tensor<60xf32>
    %t = sinter.tanh %q : (tensor<60xf32>) -> tensor<60xf32>
    %s = sinter.sub %t, %x : (tensor<60xf32>, tensor<60xf32>) -> tensor<60xf32>
    %d = sinter.mul %s, %dt : (tensor<60xf32>, tensor<60xf32>) -> tensor<60xf32>
    %n = sinter.add %x, %d : (tensor<60xf32>, tensor<60xf32>) -> tensor<60xf32>
    sinter.yield(%n) : tensor<60xf32>
  }
  return %end : tensor<60xf32>
}
