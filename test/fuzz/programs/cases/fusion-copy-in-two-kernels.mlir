// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The conversion is copied into the maximum's kernel; the gather must not be stored by a kernel that runs after that one.
func.func @main(%table: tensor<7x6xi1>) -> tensor<3x6xf32> {
  %positions = sinter.constant dense<[[5], [0], [3]]> : tensor<3x1xi64>
  %rows = sinter.gather_nd %table, %positions : (tensor<7x6xi1>, tensor<3x1xi64>) -> tensor<3x6xi1>
  %numbers = sinter.convert %rows {element_type = f32} : (tensor<3x6xi1>) -> tensor<3x6xf32>
  %most = sinter.reduce max %numbers axes = [0] : (tensor<3x6xf32>) -> tensor<6xf32>
  %spread = sinter.broadcast %most axes = [1] {type = tensor<3x6xf32>} : (tensor<6xf32>) -> tensor<3x6xf32>
  %less = sinter.sub %numbers, %spread : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
  return %less : tensor<3x6xf32>
}
