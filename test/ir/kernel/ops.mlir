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
