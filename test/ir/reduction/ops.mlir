// RUN: sinter-opt --verify-roundtrip %s

func.func @reduce(%x: tensor<2x?x4xf32>, %b: tensor<3xi1>, %u: tensor<3xui8>) {
  %0 = sinter.reduce add %x axes = [1] : (tensor<2x?x4xf32>) -> tensor<2x4xf32>
  %1 = sinter.reduce max %x axes = [0, 2] : (tensor<2x?x4xf32>) -> tensor<?xf32>
  %2 = sinter.reduce mul %x axes = [] : (tensor<2x?x4xf32>) -> tensor<2x?x4xf32>
  %3 = sinter.reduce and %b axes = [0] : (tensor<3xi1>) -> tensor<i1>
  %4 = sinter.reduce or %u axes = [0] : (tensor<3xui8>) -> tensor<ui8>
  return
}

func.func @orders(%x: tensor<2x?x4xf32>, %k: tensor<i64>) {
  %0 = sinter.arg_reduce max %x {axis = 1 : i64, last = true} : (tensor<2x?x4xf32>) -> tensor<2x4xi64>
  %1 = sinter.cumulative add %x {axis = 2 : i64, exclusive = true, reverse = true} : (tensor<2x?x4xf32>) -> tensor<2x?x4xf32>
  %2:2 = sinter.sort %x {axis = 0 : i64, descending = true} : (tensor<2x?x4xf32>) -> (tensor<2x?x4xf32>, tensor<2x?x4xi64>)
  %3:2 = sinter.top_k %x, %k {axis = 2 : i64} : (tensor<2x?x4xf32>, tensor<i64>) -> (tensor<2x?x?xf32>, tensor<2x?x?xi64>)
  %c = sinter.constant dense<3> : tensor<i64>
  %4:2 = sinter.top_k %x, %c {axis = 2 : i64} : (tensor<2x?x4xf32>, tensor<i64>) -> (tensor<2x?x3xf32>, tensor<2x?x3xi64>)
  return
}

func.func @windows(%x: tensor<1x3x8x?xf32>) {
  %0 = sinter.reduce_window max %x {window = array<i64: 1, 1, 3, 2>, strides = array<i64: 1, 1, 2, 2>, low = array<i64: 0, 0, 1, 0>,
       high = array<i64: 0, 0, 1, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<1x3x8x?xf32>) -> tensor<1x3x4x?xf32>
  %1 = sinter.arg_reduce_window %x {window = array<i64: 1, 1, 9, 1>, strides = array<i64: 1, 1, 1, 1>, low = array<i64: 0, 0, 0, 0>,
       high = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<1x3x8x?xf32>) -> tensor<1x3x0x?xi64>
  return
}
