// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @block_dot_c1_blocks_of_24(%x: tensor<2x24xf32>, %q: tensor<5x1x12xui8>, %s: tensor<5x1xf32>) {
  // expected-error @+2 {{block_dot requires codes [n, blocks, block / 2], block a power of two from 16 on, got 5x1x12}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.block_dot %x, %q, %s : (tensor<2x24xf32>, tensor<5x1x12xui8>, tensor<5x1xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @block_dot_c1_a_scale_missing(%x: tensor<2x32xf32>, %q: tensor<5x2x8xui8>, %s: tensor<5x1xf32>) {
  // expected-error @+2 {{block_dot requires a scale and a zero for each block, 5x2, got 5x1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.block_dot %x, %q, %s : (tensor<2x32xf32>, tensor<5x2x8xui8>, tensor<5x1xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @block_dot_c2_sum_ends_before_the_last_block(%x: tensor<2x16xf32>, %q: tensor<5x2x8xui8>, %s: tensor<5x2xf32>) {
  // expected-error @+2 {{block_dot requires x [..., k] with a k that ends in block 2 of 16, got 2x16}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.block_dot %x, %q, %s : (tensor<2x16xf32>, tensor<5x2x8xui8>, tensor<5x2xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @block_dot_c3_element_types(%x: tensor<2x32xf32>, %q: tensor<5x2x8xui8>, %s: tensor<5x2xf64>) {
  // expected-error @+2 {{block_dot requires x and scales of one element type, got 'f32' and 'f64'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.block_dot %x, %q, %s : (tensor<2x32xf32>, tensor<5x2x8xui8>, tensor<5x2xf64>) -> tensor<2x5xf32>
  return
}
