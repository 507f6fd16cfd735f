// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --verify-roundtrip %s

func.func @gather(%a: tensor<5x?x3xf32>, %p: tensor<2x4xi64>) -> tensor<5x2x4x3xf32> {
  %0 = sinter.gather %a, %p {axis = 1} : (tensor<5x?x3xf32>, tensor<2x4xi64>) -> tensor<5x2x4x3xf32>
  return %0 : tensor<5x2x4x3xf32>
}

func.func @gather_elements(%a: tensor<5x3xf32>, %p: tensor<2x3xi32>) -> tensor<2x3xf32> {
  %0 = sinter.gather_elements %a, %p {axis = 0} : (tensor<5x3xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

func.func @gather_nd(%a: tensor<2x5x3xf32>, %p: tensor<2x4x1xi64>) -> tensor<2x4x3xf32> {
  %0 = sinter.gather_nd %a, %p {batch_axes = 1} : (tensor<2x5x3xf32>, tensor<2x4x1xi64>) -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}

func.func @scatter_elements(%a: tensor<5x3xf32>, %p: tensor<2x3xi64>, %u: tensor<2x3xf32>) -> tensor<5x3xf32> {
  %0 = sinter.scatter_elements %a, %p, %u {axis = 0, combiner = #sinter<combiner add>} : (tensor<5x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

func.func @scatter_nd(%a: tensor<5x3xf32>, %p: tensor<4x1xi64>, %u: tensor<4x3xf32>) -> tensor<5x3xf32> {
  %0 = sinter.scatter_nd %a, %p, %u : (tensor<5x3xf32>, tensor<4x1xi64>, tensor<4x3xf32>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

func.func @nonzero(%a: tensor<5x?xi1>) -> tensor<2x?xi64> {
  %0 = sinter.nonzero %a : (tensor<5x?xi1>) -> tensor<2x?xi64>
  return %0 : tensor<2x?xi64>
}

func.func @compress(%a: tensor<5x4xf32>, %m: tensor<3xi1>) -> tensor<?x4xf32> {
  %0 = sinter.compress %a, %m {axis = 0} : (tensor<5x4xf32>, tensor<3xi1>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

func.func @unique(%a: tensor<5x4xf32>) -> tensor<?x4xf32> {
  %0:4 = sinter.unique %a {axis = 0} : (tensor<5x4xf32>) -> (tensor<?x4xf32>, tensor<?xi64>, tensor<5xi64>, tensor<?xi64>)
  return %0#0 : tensor<?x4xf32>
}

func.func @non_max_suppression(%b: tensor<1x6x4xf32>, %s: tensor<1x2x6xf32>, %max: tensor<i64>, %t: tensor<f32>) -> tensor<?x3xi64> {
  %0 = sinter.non_max_suppression %b, %s, %max, %t, %t : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<?x3xi64>
  return %0 : tensor<?x3xi64>
}
