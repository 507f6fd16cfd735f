// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What squaring again and again does to a number above one.
func.func @main(%y: tensor<8xf64> {sinter.name = "y"}) -> (tensor<8xf64> {sinter.name = "power"}) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %n = sinter.constant dense<20> : tensor<i64>
  %2 = sinter.for %zero to %n step %one (%y) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<8xf64>) -> tensor<8xf64> body {
  ^bb0(%k: tensor<i64>, %c: tensor<8xf64>):
    %three = sinter.constant dense<3.0> : tensor<8xf64>
    %square = sinter.mul %c, %c : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
    %d = sinter.mul %three, %square : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
    %e = sinter.sub %d, %c : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
    sinter.yield(%e) : tensor<8xf64>
  }
  return %2 : tensor<8xf64>
}
