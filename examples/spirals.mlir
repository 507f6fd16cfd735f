// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Three layers over points of a plane: which of two spirals a point belongs to.
func.func @main(%x: tensor<?x2xf32> {sinter.name = "x", sinter.dims = ["n", 2]},
                %w0: tensor<2x32xf32> {sinter.state = "w0"}, %b0: tensor<32xf32> {sinter.state = "b0"},
                %w1: tensor<32x32xf32> {sinter.state = "w1"}, %b1: tensor<32xf32> {sinter.state = "b1"},
                %w2: tensor<32x2xf32> {sinter.state = "w2"}, %b2: tensor<2xf32> {sinter.state = "b2"})
    -> (tensor<?x2xf32> {sinter.name = "scores"}) {
  %p0 = sinter.dot_general %x, %w0 {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>}
      : (tensor<?x2xf32>, tensor<2x32xf32>) -> tensor<?x32xf32>
  %s0 = sinter.broadcast %b0 like(%p0) axes = [1] {type = tensor<?x32xf32>} : (tensor<32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>
  %a0 = sinter.add %p0, %s0 : (tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>
  %h0 = sinter.tanh %a0 : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %p1 = sinter.dot_general %h0, %w1 {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>}
      : (tensor<?x32xf32>, tensor<32x32xf32>) -> tensor<?x32xf32>
  %s1 = sinter.broadcast %b1 like(%p1) axes = [1] {type = tensor<?x32xf32>} : (tensor<32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>
  %a1 = sinter.add %p1, %s1 : (tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>
  %h1 = sinter.tanh %a1 : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %p2 = sinter.dot_general %h1, %w2 {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>}
      : (tensor<?x32xf32>, tensor<32x2xf32>) -> tensor<?x2xf32>
  %s2 = sinter.broadcast %b2 like(%p2) axes = [1] {type = tensor<?x2xf32>} : (tensor<2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  %a2 = sinter.add %p2, %s2 : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  return %a2 : tensor<?x2xf32>
}
