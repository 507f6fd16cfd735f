// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop's length is known only after it, also where what it stacks has no elements.
func.func @main(%x: tensor<3xf64>, %go: tensor<i1>) -> (tensor<3xf64>, tensor<3xf64>) {
  %zero = sinter.constant dense<0> : tensor<i64>
  %trips, %r:4 = sinter.while(%x, %zero) captures(%go) : (tensor<3xf64>, tensor<i64>, tensor<i1>) -> (tensor<i64>, tensor<3xf64>, tensor<i64>, tensor<?x3xf64>, tensor<?x0xi64>) cond {
  ^bb0(%a: tensor<3xf64>, %i: tensor<i64>, %c: tensor<i1>):
    %two = sinter.constant dense<2> : tensor<i64>
    %lt = sinter.compare lt %i, %two : (tensor<i64>, tensor<i64>) -> tensor<i1>
    sinter.yield(%lt) : tensor<i1>
  } body {
  ^bb0(%a: tensor<3xf64>, %i: tensor<i64>, %c: tensor<i1>):
    %one = sinter.constant dense<1> : tensor<i64>
    %n = sinter.neg %a : (tensor<3xf64>) -> tensor<3xf64>
    %k:2 = sinter.cond %c(%n) : (tensor<i1>, tensor<3xf64>) -> (tensor<3xf64>, tensor<0xi64>) then {
    ^bb0(%b: tensor<3xf64>):
      %e = sinter.constant dense<> : tensor<0xi64>
      sinter.yield(%b, %e) : tensor<3xf64>, tensor<0xi64>
    } else {
    ^bb0(%b: tensor<3xf64>):
      %e = sinter.constant dense<> : tensor<0xi64>
      sinter.yield(%b, %e) : tensor<3xf64>, tensor<0xi64>
    }
    %i1 = sinter.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    sinter.yield(%k#0, %i1, %a, %k#1) : tensor<3xf64>, tensor<i64>, tensor<3xf64>, tensor<0xi64>
  }
  %s = sinter.scan(%x) over(%r#2, %r#3) captures() {axes = array<i64: 0, 0>, out_axes = array<i64>, out_reverse = array<i1>, reverse = array<i1: true, true>} : (tensor<3xf64>, tensor<?x3xf64>, tensor<?x0xi64>) -> tensor<3xf64> body {
  ^bb0(%a: tensor<3xf64>, %b: tensor<3xf64>, %e: tensor<0xi64>):
    %y = sinter.add %a, %b : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %f:2 = sinter.scan(%y, %y) over(%e) captures() {axes = array<i64: 0>, out_axes = array<i64>, out_reverse = array<i1>, reverse = array<i1: true>} : (tensor<3xf64>, tensor<3xf64>, tensor<0xi64>) -> (tensor<3xf64>, tensor<3xf64>) body {
    ^bb0(%d: tensor<3xf64>, %g: tensor<3xf64>, %j: tensor<i64>):
      %m = sinter.neg %d : (tensor<3xf64>) -> tensor<3xf64>
      sinter.yield(%m, %g) : tensor<3xf64>, tensor<3xf64>
    }
    sinter.yield(%f#1) : tensor<3xf64>
  }
  return %r#0, %s : tensor<3xf64>, tensor<3xf64>
}
