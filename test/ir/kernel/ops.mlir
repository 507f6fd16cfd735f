// RUN: sinter-opt --verify-roundtrip %s

func.func @kernels(%x: tensor<4x?xf32>) -> tensor<4xf32> {
  %0 = sinter.kernel map (%x) : (tensor<4x?xf32>) -> tensor<4x?xf32> {
  ^bb0(%a: tensor<4x?xf32>):
    %e = sinter.exp %a : (tensor<4x?xf32>) -> tensor<4x?xf32>
    sinter.yield (%e) : tensor<4x?xf32>
  }
  %1 = sinter.kernel reduce (%0) {schedule = {tile = 4 : i64}} : (tensor<4x?xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4x?xf32>):
    %n = sinter.neg %a : (tensor<4x?xf32>) -> tensor<4x?xf32>
    %s = sinter.reduce add %n axes = [1] : (tensor<4x?xf32>) -> tensor<4xf32>
    %e = sinter.exp %s : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%e) : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}
