// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient keeps what the inner loop read: no element, on an axis of five trips.
func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %which = sinter.constant dense<0> : tensor<i64>
  %r = sinter.switch %which(%x) : (tensor<i64>, tensor<3xf64>) -> tensor<3xf64> {
  ^bb0(%a: tensor<3xf64>):
    %start = sinter.constant dense<-1> : tensor<i64>
    %one = sinter.constant dense<1> : tensor<i64>
    %limit = sinter.constant dense<4> : tensor<i64>
    %s = sinter.for %start to %limit step %one(%a) captures(%a) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64> body {
    ^bb0(%i: tensor<i64>, %b: tensor<3xf64>, %c: tensor<3xf64>):
      %none = sinter.constant dense<1> : tensor<i64>
      %t = sinter.for %none to %none step %none(%b) captures(%c) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64> body {
      ^bb0(%j: tensor<i64>, %d: tensor<3xf64>, %e: tensor<3xf64>):
        %product = sinter.mul %e, %d : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
        sinter.yield(%product) : tensor<3xf64>
      }
      %u = sinter.sin %t : (tensor<3xf64>) -> tensor<3xf64>
      sinter.yield(%u) : tensor<3xf64>
    }
    sinter.yield(%s) : tensor<3xf64>
  }, {
  ^bb0(%a: tensor<3xf64>):
    sinter.yield(%a) : tensor<3xf64>
  }
  return %r : tensor<3xf64>
}
