// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A transformer over characters: 2 layers, 4 heads, width 64, 64 characters at a time, 96 different ones.
func.func @main(%ids: tensor<?x64xi32> {sinter.name = "ids", sinter.dims = ["batch", 64]},
                %embedding: tensor<96x64xf32> {sinter.state = "embedding"},
                %position: tensor<64x64xf32> {sinter.state = "position"},
                %n0a_scale: tensor<64xf32> {sinter.state = "n0a_scale", sinter.initial = dense<1.0> : tensor<64xf32>},
                %n0a_bias: tensor<64xf32> {sinter.state = "n0a_bias"},
                %q0: tensor<64x4x16xf32> {sinter.state = "q0"},
                %k0: tensor<64x4x16xf32> {sinter.state = "k0"},
                %v0: tensor<64x4x16xf32> {sinter.state = "v0"},
                %o0: tensor<4x16x64xf32> {sinter.state = "o0"},
                %n0b_scale: tensor<64xf32> {sinter.state = "n0b_scale", sinter.initial = dense<1.0> : tensor<64xf32>},
                %n0b_bias: tensor<64xf32> {sinter.state = "n0b_bias"},
                %up0: tensor<64x256xf32> {sinter.state = "up0"},
                %up_bias0: tensor<256xf32> {sinter.state = "up_bias0"},
                %down0: tensor<256x64xf32> {sinter.state = "down0"},
                %down_bias0: tensor<64xf32> {sinter.state = "down_bias0"},
                %n1a_scale: tensor<64xf32> {sinter.state = "n1a_scale", sinter.initial = dense<1.0> : tensor<64xf32>},
                %n1a_bias: tensor<64xf32> {sinter.state = "n1a_bias"},
                %q1: tensor<64x4x16xf32> {sinter.state = "q1"},
                %k1: tensor<64x4x16xf32> {sinter.state = "k1"},
                %v1: tensor<64x4x16xf32> {sinter.state = "v1"},
                %o1: tensor<4x16x64xf32> {sinter.state = "o1"},
                %n1b_scale: tensor<64xf32> {sinter.state = "n1b_scale", sinter.initial = dense<1.0> : tensor<64xf32>},
                %n1b_bias: tensor<64xf32> {sinter.state = "n1b_bias"},
                %up1: tensor<64x256xf32> {sinter.state = "up1"},
                %up_bias1: tensor<256xf32> {sinter.state = "up_bias1"},
                %down1: tensor<256x64xf32> {sinter.state = "down1"},
                %down_bias1: tensor<64xf32> {sinter.state = "down_bias1"},
                %last_scale: tensor<64xf32> {sinter.state = "last_scale", sinter.initial = dense<1.0> : tensor<64xf32>},
                %last_bias: tensor<64xf32> {sinter.state = "last_bias"},
                %head: tensor<64x96xf32> {sinter.state = "head"})
    -> (tensor<?x64x96xf32> {sinter.name = "scores"}) {
  %zero = sinter.constant dense<0.0> : tensor<f32>
  %token = sinter.gather %embedding, %ids {axis = 0 : i64} : (tensor<96x64xf32>, tensor<?x64xi32>) -> tensor<?x64x64xf32>
  %place = sinter.broadcast %position like(%token) axes = [1, 2] {type = tensor<?x64x64xf32>} : (tensor<64x64xf32>, tensor<?x64x64xf32>) -> tensor<?x64x64xf32>
  %x0 = sinter.add %token, %place : (tensor<?x64x64xf32>, tensor<?x64x64xf32>) -> tensor<?x64x64xf32>
  // a character sees those before it
  %row = sinter.iota {axis = 0 : i64, type = tensor<64x64xi64>} : () -> tensor<64x64xi64>
  %column = sinter.iota {axis = 1 : i64, type = tensor<64x64xi64>} : () -> tensor<64x64xi64>
  %later = sinter.compare gt %column, %row : (tensor<64x64xi64>, tensor<64x64xi64>) -> tensor<64x64xi1>
  %never = sinter.constant dense<-1.0e9> : tensor<64x64xf32>
  %open = sinter.constant dense<0.0> : tensor<64x64xf32>
  %mask2 = sinter.select %later, %never, %open : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %mask = sinter.reshape %mask2 {type = tensor<1x1x64x64xf32>} : (tensor<64x64xf32>) -> tensor<1x1x64x64xf32>
  %n0a:3 = sinter.layer_norm %x0 scale(%n0a_scale) bias(%n0a_bias) {axis = 2 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<?x64x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x64x64xf32>, tensor<?x64x1xf32>, tensor<?x64x1xf32>)
  %q0_t = sinter.dot_general %n0a#0, %q0 {element_type = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>}
      : (tensor<?x64x64xf32>, tensor<64x4x16xf32>) -> tensor<?x64x4x16xf32>
  %q0_h = sinter.transpose %q0_t {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x64x4x16xf32>) -> tensor<?x4x64x16xf32>
  %k0_t = sinter.dot_general %n0a#0, %k0 {element_type = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>}
      : (tensor<?x64x64xf32>, tensor<64x4x16xf32>) -> tensor<?x64x4x16xf32>
  %k0_h = sinter.transpose %k0_t {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x64x4x16xf32>) -> tensor<?x4x64x16xf32>
  %v0_t = sinter.dot_general %n0a#0, %v0 {element_type = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>}
      : (tensor<?x64x64xf32>, tensor<64x4x16xf32>) -> tensor<?x64x4x16xf32>
  %v0_h = sinter.transpose %v0_t {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x64x4x16xf32>) -> tensor<?x4x64x16xf32>
  %seen0 = sinter.attention %q0_h, %k0_h, %v0_h, %mask {scale = 0.25 : f64} : (tensor<?x4x64x16xf32>, tensor<?x4x64x16xf32>, tensor<?x4x64x16xf32>, tensor<1x1x64x64xf32>) -> tensor<?x4x64x16xf32>
  %out0 = sinter.dot_general %seen0, %o0 {element_type = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1, 3>, rhs_contract = array<i64: 0, 1>}
      : (tensor<?x4x64x16xf32>, tensor<4x16x64xf32>) -> tensor<?x64x64xf32>
  %x0a = sinter.add %x0, %out0 : (tensor<?x64x64xf32>, tensor<?x64x64xf32>) -> tensor<?x64x64xf32>
  %n0b:3 = sinter.layer_norm %x0a scale(%n0b_scale) bias(%n0b_bias) {axis = 2 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<?x64x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x64x64xf32>, tensor<?x64x1xf32>, tensor<?x64x1xf32>)
  %up_p0 = sinter.dot_general %n0b#0, %up0 {element_type = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>}
      : (tensor<?x64x64xf32>, tensor<64x256xf32>) -> tensor<?x64x256xf32>
  %u0_b = sinter.broadcast %up_bias0 like(%up_p0) axes = [2] {type = tensor<?x64x256xf32>} : (tensor<256xf32>, tensor<?x64x256xf32>) -> tensor<?x64x256xf32>
  %u0 = sinter.add %up_p0, %u0_b : (tensor<?x64x256xf32>, tensor<?x64x256xf32>) -> tensor<?x64x256xf32>
  %z0 = sinter.broadcast %zero like(%u0) axes = [] {type = tensor<?x64x256xf32>} : (tensor<f32>, tensor<?x64x256xf32>) -> tensor<?x64x256xf32>
  %g0 = sinter.max %u0, %z0 : (tensor<?x64x256xf32>, tensor<?x64x256xf32>) -> tensor<?x64x256xf32>
  %down_p0 = sinter.dot_general %g0, %down0 {element_type = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>}
      : (tensor<?x64x256xf32>, tensor<256x64xf32>) -> tensor<?x64x64xf32>
  %d0_b = sinter.broadcast %down_bias0 like(%down_p0) axes = [2] {type = tensor<?x64x64xf32>} : (tensor<64xf32>, tensor<?x64x64xf32>) -> tensor<?x64x64xf32>
  %d0 = sinter.add %down_p0, %d0_b : (tensor<?x64x64xf32>, tensor<?x64x64xf32>) -> tensor<?x64x64xf32>
  %x1 = sinter.add %x0a, %d0 : (tensor<?x64x64xf32>, tensor<?x64x64xf32>) -> tensor<?x64x64xf32>
  %n1a:3 = sinter.layer_norm %x1 scale(%n1a_scale) bias(%n1a_bias) {axis = 2 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<?x64x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x64x64xf32>, tensor<?x64x1xf32>, tensor<?x64x1xf32>)
  %q1_t = sinter.dot_general %n1a#0, %q1 {element_type = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>}
      : (tensor<?x64x64xf32>, tensor<64x4x16xf32>) -> tensor<?x64x4x16xf32>
  %q1_h = sinter.transpose %q1_t {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x64x4x16xf32>) -> tensor<?x4x64x16xf32>
  %k1_t = sinter.dot_general %n1a#0, %k1 {element_type = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>}
      : (tensor<?x64x64xf32>, tensor<64x4x16xf32>) -> tensor<?x64x4x16xf32>
  %k1_h = sinter.transpose %k1_t {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x64x4x16xf32>) -> tensor<?x4x64x16xf32>
  %v1_t = sinter.dot_general %n1a#0, %v1 {element_type = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>}
      : (tensor<?x64x64xf32>, tensor<64x4x16xf32>) -> tensor<?x64x4x16xf32>
  %v1_h = sinter.transpose %v1_t {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x64x4x16xf32>) -> tensor<?x4x64x16xf32>
  %seen1 = sinter.attention %q1_h, %k1_h, %v1_h, %mask {scale = 0.25 : f64} : (tensor<?x4x64x16xf32>, tensor<?x4x64x16xf32>, tensor<?x4x64x16xf32>, tensor<1x1x64x64xf32>) -> tensor<?x4x64x16xf32>
  %out1 = sinter.dot_general %seen1, %o1 {element_type = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1, 3>, rhs_contract = array<i64: 0, 1>}
      : (tensor<?x4x64x16xf32>, tensor<4x16x64xf32>) -> tensor<?x64x64xf32>
  %x1a = sinter.add %x1, %out1 : (tensor<?x64x64xf32>, tensor<?x64x64xf32>) -> tensor<?x64x64xf32>
  %n1b:3 = sinter.layer_norm %x1a scale(%n1b_scale) bias(%n1b_bias) {axis = 2 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<?x64x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x64x64xf32>, tensor<?x64x1xf32>, tensor<?x64x1xf32>)
  %up_p1 = sinter.dot_general %n1b#0, %up1 {element_type = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>}
      : (tensor<?x64x64xf32>, tensor<64x256xf32>) -> tensor<?x64x256xf32>
  %u1_b = sinter.broadcast %up_bias1 like(%up_p1) axes = [2] {type = tensor<?x64x256xf32>} : (tensor<256xf32>, tensor<?x64x256xf32>) -> tensor<?x64x256xf32>
  %u1 = sinter.add %up_p1, %u1_b : (tensor<?x64x256xf32>, tensor<?x64x256xf32>) -> tensor<?x64x256xf32>
  %z1 = sinter.broadcast %zero like(%u1) axes = [] {type = tensor<?x64x256xf32>} : (tensor<f32>, tensor<?x64x256xf32>) -> tensor<?x64x256xf32>
  %g1 = sinter.max %u1, %z1 : (tensor<?x64x256xf32>, tensor<?x64x256xf32>) -> tensor<?x64x256xf32>
  %down_p1 = sinter.dot_general %g1, %down1 {element_type = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>}
      : (tensor<?x64x256xf32>, tensor<256x64xf32>) -> tensor<?x64x64xf32>
  %d1_b = sinter.broadcast %down_bias1 like(%down_p1) axes = [2] {type = tensor<?x64x64xf32>} : (tensor<64xf32>, tensor<?x64x64xf32>) -> tensor<?x64x64xf32>
  %d1 = sinter.add %down_p1, %d1_b : (tensor<?x64x64xf32>, tensor<?x64x64xf32>) -> tensor<?x64x64xf32>
  %x2 = sinter.add %x1a, %d1 : (tensor<?x64x64xf32>, tensor<?x64x64xf32>) -> tensor<?x64x64xf32>
  %last:3 = sinter.layer_norm %x2 scale(%last_scale) bias(%last_bias) {axis = 2 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<?x64x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<?x64x64xf32>, tensor<?x64x1xf32>, tensor<?x64x1xf32>)
  %scores = sinter.dot_general %last#0, %head {element_type = f32, lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 0>}
      : (tensor<?x64x64xf32>, tensor<64x96xf32>) -> tensor<?x64x96xf32>
  return %scores : tensor<?x64x96xf32>
}
