// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each move reads the one before it at two places; unrolled, one kernel for all of them took minutes to compile.
func.func @main(%x: tensor<6xf64>, %steps: tensor<4x6xi32>) -> (tensor<6xf64>, tensor<6x2xf64>) {
  %r:2 = sinter.scan(%x) over(%steps) captures() {axes = array<i64: 1>, out_axes = array<i64: 0>, out_reverse = array<i1: false>, reverse = array<i1: false>} : (tensor<6xf64>, tensor<4x6xi32>) -> (tensor<6xf64>, tensor<6x2xf64>) body {
  ^bb0(%a: tensor<6xf64>, %step: tensor<4xi32>):
    %zero = sinter.constant dense<0> : tensor<1xi64>
    %one = sinter.constant dense<1> : tensor<1xi64>
    %p = sinter.dynamic_slice %a, %zero {sizes = array<i64: 5>} : (tensor<6xf64>, tensor<1xi64>) -> tensor<5xf64>
    %b = sinter.dynamic_update_slice %a, %p, %one : (tensor<6xf64>, tensor<5xf64>, tensor<1xi64>) -> tensor<6xf64>
    %q = sinter.dynamic_slice %b, %one {sizes = array<i64: 5>} : (tensor<6xf64>, tensor<1xi64>) -> tensor<5xf64>
    %c = sinter.dynamic_update_slice %b, %q, %zero : (tensor<6xf64>, tensor<5xf64>, tensor<1xi64>) -> tensor<6xf64>
    %picks = sinter.constant dense<[3, 1]> : tensor<2xi64>
    %s = sinter.gather %b, %picks {axis = 0 : i64} : (tensor<6xf64>, tensor<2xi64>) -> tensor<2xf64>
    sinter.yield(%c, %s) : tensor<6xf64>, tensor<2xf64>
  }
  return %r#0, %r#1 : tensor<6xf64>, tensor<6x2xf64>
}
