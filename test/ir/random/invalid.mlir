// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @key_has_four_words(%key: tensor<2xui32>) {
  // expected-error @+2 {{random_bits requires a key of 4 words, got 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.random_bits %key {type = tensor<8xui32>} : (tensor<2xui32>) -> tensor<8xui32>
  return
}

// -----

func.func @dynamic_type_needs_a_shape(%key: tensor<4xui32>) {
  // expected-error @+2 {{random_bits requires a static type or a shape operand, got 'tensor<?xui32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.random_bits %key {type = tensor<?xui32>} : (tensor<4xui32>) -> tensor<?xui32>
  return
}

// -----

func.func @shape_has_one_size_per_axis(%key: tensor<4xui32>, %shape: tensor<3xi64>) {
  // expected-error @+2 {{random_bits requires one size per axis of its type, got 3 and rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.random_bits %key, %shape {type = tensor<2x?xui32>} : (tensor<4xui32>, tensor<3xi64>) -> tensor<2x?xui32>
  return
}

// -----

func.func @sizes_agree_with_the_type(%key: tensor<4xui32>) {
  %shape = sinter.constant dense<[2, 3]> : tensor<2xi64>
  // expected-error @+2 {{random_bits requires sizes that agree with 'tensor<2x4xui32>', got 2x3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.random_bits %key, %shape {type = tensor<2x4xui32>} : (tensor<4xui32>, tensor<2xi64>) -> tensor<2x4xui32>
  return
}
