// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @main(%ids: tensor<5x3xi64> {sinter.name = "ids"}, %table: tensor<1000003x4xf64> {sinter.state = "table", sinter.initial = dense<0.5> : tensor<1000003x4xf64>}) -> (tensor<3x4xf64> {sinter.name = "y"}) {
  %h0 = sinter.constant dense<0.1> : tensor<3x4xf64>
  %h = sinter.scan (%h0) over (%ids) captures (%table) {walked = "period", axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64>, out_reverse = array<i1>} : (tensor<3x4xf64>, tensor<5x3xi64>, tensor<1000003x4xf64>) -> tensor<3x4xf64> body {
  ^bb0(%c: tensor<3x4xf64>, %i: tensor<3xi64>, %t: tensor<1000003x4xf64>):
    %r = sinter.gather %t, %i {axis = 0 : i64} : (tensor<1000003x4xf64>, tensor<3xi64>) -> tensor<3x4xf64>
    %s = sinter.add %c, %r : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
    %n = sinter.tanh %s : (tensor<3x4xf64>) -> tensor<3x4xf64>
    sinter.yield (%n) : tensor<3x4xf64>
  }
  return %h : tensor<3x4xf64>
}
