func.func @row(%x: tensor<1x256xf32>) -> tensor<1x64xf32> {
  %q = sinter.constant dense<165> : tensor<64x4x32xui8>
  %s = sinter.constant dense<0.5> : tensor<64x4xf32>
  %p = sinter.block_dot %x, %q, %s : (tensor<1x256xf32>, tensor<64x4x32xui8>, tensor<64x4xf32>) -> tensor<1x64xf32>
  return %p : tensor<1x64xf32>
}
