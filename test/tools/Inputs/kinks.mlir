// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @main(%x: tensor<4000xf64> {sinter.name = "x"}) -> (tensor<f64> {sinter.name = "y"}) {
  %zeros = sinter.constant dense<0.0> : tensor<4000xf64>
  %r = sinter.max %x, %zeros : (tensor<4000xf64>, tensor<4000xf64>) -> tensor<4000xf64>
  %y = sinter.reduce add %r axes = [0] : (tensor<4000xf64>) -> tensor<f64>
  return %y : tensor<f64>
}
