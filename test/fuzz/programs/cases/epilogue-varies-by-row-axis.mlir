// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is added has the second of the product's two row axes, but not the first.
func.func @main(%x: tensor<2x4x8xf32>, %position: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<2x4x16xf32> {
  %product = sinter.dot_general %x, %w {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
  %spread = sinter.broadcast %position axes = [1, 2] {type = tensor<2x4x16xf32>} : (tensor<4x16xf32>) -> tensor<2x4x16xf32>
  %sum = sinter.add %product, %spread : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  return %sum : tensor<2x4x16xf32>
}
