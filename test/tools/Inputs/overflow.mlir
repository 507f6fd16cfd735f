// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of either sign beyond the largest f32.
func.func @main(%x: tensor<256xf32> {sinter.name = "x"}) -> (tensor<f32> {sinter.name = "sum"}) {
  %large = sinter.constant dense<3.0e38> : tensor<256xf32>
  %0 = sinter.mul %x, %large : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %1 = sinter.reduce add %0 axes = [0] : (tensor<256xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
