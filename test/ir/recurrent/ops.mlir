// RUN: sinter-opt --verify-roundtrip %s

func.func @cells(%x: tensor<?x2x3xf32>, %w4: tensor<16x3xf32>, %r4: tensor<16x4xf32>, %b4: tensor<16xf32>, %p: tensor<12xf32>,
                 %w3: tensor<12x3xf32>, %r3: tensor<12x4xf32>, %b3: tensor<12xf32>, %w1: tensor<4x3xf32>, %r1: tensor<4x4xf32>,
                 %h: tensor<2x4xf32>, %n: tensor<2xi32>, %g: tensor<5x2x16xf32>) {
  %0:3 = sinter.lstm %x input_weights(%w4), %r4, %h, %h bias(%b4) peephole(%p) lengths(%n) {direction = #sinter<direction reverse>, clip = 3.0 : f64}
       : (tensor<?x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<12xf32>, tensor<2xi32>)
       -> (tensor<?x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  %1:2 = sinter.gru %x input_weights(%w3), %r3, %h input_bias(%b3) hidden_bias(%b3) {linear_before_reset = true}
       : (tensor<?x2x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>, tensor<12xf32>, tensor<12xf32>, tensor<2x4xf32>) -> (tensor<?x2x4xf32>, tensor<2x4xf32>)
  %2:2 = sinter.rnn %x input_weights(%w1), %r1, %h {activation = #sinter<activation relu>}
       : (tensor<?x2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<2x4xf32>) -> (tensor<?x2x4xf32>, tensor<2x4xf32>)
  %3:3 = sinter.lstm %g, %r4, %h, %h : (tensor<5x2x16xf32>, tensor<16x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
       -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return
}
