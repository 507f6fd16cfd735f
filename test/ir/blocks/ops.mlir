// RUN: sinter-opt --verify-roundtrip %s

func.func @block_dot(%x: tensor<?x40xf32>, %q: tensor<5x3x8xui8>, %s: tensor<5x3xf32>, %z: tensor<5x3xui8>, %v: tensor<64xf64>, %r: tensor<7x1x32xui8>, %t: tensor<7x1xf64>) {
  %0 = sinter.block_dot %x, %q, %s, %z : (tensor<?x40xf32>, tensor<5x3x8xui8>, tensor<5x3xf32>, tensor<5x3xui8>) -> tensor<?x5xf32>
  %1 = sinter.block_dot %v, %r, %t : (tensor<64xf64>, tensor<7x1x32xui8>, tensor<7x1xf64>) -> tensor<7xf64>
  return
}
