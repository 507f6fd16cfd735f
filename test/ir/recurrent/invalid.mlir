// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @lstm_state(%x: tensor<5x2x3xf32>, %w: tensor<16x3xf32>, %r: tensor<16x4xf32>, %h: tensor<3x4xf32>) {
  // expected-error @+2 {{lstm requires h0 of shape [batch, units] and element type 'f32', got 'tensor<3x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = sinter.lstm %x input_weights(%w), %r, %h, %h : (tensor<5x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>)
       -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @gru_weights(%x: tensor<5x2x3xf32>, %w: tensor<11x3xf32>, %r: tensor<12x4xf32>, %h: tensor<2x4xf32>) {
  // expected-error @+2 {{gru requires w of shape [gates * units, inputs] and element type 'f32', got 'tensor<11x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = sinter.gru %x input_weights(%w), %r, %h : (tensor<5x2x3xf32>, tensor<11x3xf32>, tensor<12x4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @rnn_bias(%x: tensor<5x2x3xf32>, %w: tensor<4x3xf32>, %r: tensor<4x4xf32>, %h: tensor<2x4xf32>, %b: tensor<5xf32>) {
  // expected-error @+2 {{rnn requires bias of shape [1 * units] and element type 'f32', got 'tensor<5xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = sinter.rnn %x input_weights(%w), %r, %h bias(%b) : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<5xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @lstm_projected(%x: tensor<5x2x3xf32>, %r: tensor<16x4xf32>, %h: tensor<2x4xf32>) {
  // expected-error @+2 {{lstm requires x without w of shape [steps, batch, gates * units] and element type 'f32', got 'tensor<5x2x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = sinter.lstm %x, %r, %h, %h : (tensor<5x2x3xf32>, tensor<16x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
       -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return
}
