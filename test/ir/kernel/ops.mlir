// RUN: sinter-opt --verify-roundtrip %s

func.func @kernels(%x: tensor<4x?xf32>) -> tensor<4xf32> {
  %0 = sinter.kernel map (%x) : (tensor<4x?xf32>) -> tensor<4x?xf32> {
  ^bb0(%a: tensor<4x?xf32>):
    %e = sinter.exp %a : (tensor<4x?xf32>) -> tensor<4x?xf32>
    sinter.yield (%e) : tensor<4x?xf32>
  }
  %1 = sinter.kernel reduce (%0) {schedule = #sinter.schedule<reduce, lanes = 4, tile = [2], chunk = 32768, packing = [0], zeros = [0]>, zeros = array<i64: 0>} : (tensor<4x?xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4x?xf32>):
    %n = sinter.neg %a : (tensor<4x?xf32>) -> tensor<4x?xf32>
    %s = sinter.reduce add %n axes = [1] : (tensor<4x?xf32>) -> tensor<4xf32>
    %e = sinter.exp %s : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%e) : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}

func.func @parts(%x: tensor<4x5xf32>, %y: tensor<4x3xf32>) -> (tensor<4x8xf32>, tensor<4x2xf32>) {
  %0 = sinter.kernel map (%x) {strides = [array<i64>, array<i64: 8, -1>]} : (tensor<4x5xf32>) -> tensor<4x5xf32> {
  ^bb0(%a: tensor<4x5xf32>):
    %e = sinter.exp %a : (tensor<4x5xf32>) -> tensor<4x5xf32>
    sinter.yield (%e) : tensor<4x5xf32>
  }
  %1 = sinter.kernel map (%y) {strides = [array<i64>, array<i64: 8, -1>]} : (tensor<4x3xf32>) -> tensor<4x3xf32> {
  ^bb0(%a: tensor<4x3xf32>):
    %e = sinter.exp %a : (tensor<4x3xf32>) -> tensor<4x3xf32>
    sinter.yield (%e) : tensor<4x3xf32>
  }
  %2 = sinter.kernel map (%0, %1) {in_place, strides = [array<i64: 8, -1>, array<i64: 8, -1>, array<i64>]} : (tensor<4x5xf32>, tensor<4x3xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x5xf32>, %b: tensor<4x3xf32>):
    %j = sinter.concatenate %a, %b {axis = 1 : i64} : (tensor<4x5xf32>, tensor<4x3xf32>) -> tensor<4x8xf32>
    sinter.yield (%j) : tensor<4x8xf32>
  }
  %3 = sinter.kernel map (%2) {in_place, strides = [array<i64>, array<i64: 8, -1>]} : (tensor<4x8xf32>) -> tensor<4x2xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %s = sinter.slice %a {starts = array<i64: 0, 3>, limits = array<i64: 4, 5>, steps = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x2xf32>
    sinter.yield (%s) : tensor<4x2xf32>
  }
  return %2, %3 : tensor<4x8xf32>, tensor<4x2xf32>
}
