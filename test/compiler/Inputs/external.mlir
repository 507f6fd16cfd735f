// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @main(%x: tensor<?xf32> {sinter.name = "x", sinter.dims = ["n"]}, %count: tensor<f32> {sinter.name = "count", sinter.state = "count"})
    -> (tensor<?xf32> {sinter.name = "y"}, tensor<f32> {sinter.name = "more", sinter.state = "count"}) {
  %n = sinter.dim %x {axis = 0} : (tensor<?xf32>) -> tensor<i64>
  %root = sinter.call_external "user_root" (%x) sizes (%n : tensor<i64>) {dims = array<i64: -1>} : (tensor<?xf32>) -> tensor<?xf32>
  %one = sinter.constant dense<1.0> : tensor<f32>
  %more = sinter.add %count, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
  sinter.debug_print "call {}: {}" (%more, %root) : tensor<f32>, tensor<?xf32>
  %y = sinter.check_finite %root {what = "root"} : (tensor<?xf32>) -> tensor<?xf32>
  return %y, %more : tensor<?xf32>, tensor<f32>
}
