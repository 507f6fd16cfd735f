// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter compile %s -o %t.o
//
// Conjugate gradient for A x = b, A symmetric and positive definite, until the residual is small or 128 steps are done.

func.func @cg(%a: tensor<128x128xf32> {sinter.name = "a"}, %b: tensor<128xf32> {sinter.name = "b"}) -> (tensor<128xf32> {sinter.name = "x"}, tensor<f32> {sinter.name = "residual"}, tensor<i64> {sinter.name = "steps"}) {
  %start = sinter.constant dense<0.0> : tensor<128xf32>
  %bb = sinter.mul %b, %b : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
  %rho0 = sinter.reduce add %bb axes = [0] : (tensor<128xf32>) -> tensor<f32>
  %n, %x, %r, %p, %rho = sinter.while(%start, %b, %b, %rho0) captures(%a) {max_trip = 128 : i64}
      : (tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<f32>, tensor<128x128xf32>) -> (tensor<i64>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<f32>) cond {
  ^bb0(%x: tensor<128xf32>, %r: tensor<128xf32>, %p: tensor<128xf32>, %rho: tensor<f32>, %m: tensor<128x128xf32>):
    %tolerance = sinter.constant dense<1.0e-10> : tensor<f32>
    %go = sinter.compare gt %rho, %tolerance : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%x: tensor<128xf32>, %r: tensor<128xf32>, %p: tensor<128xf32>, %rho: tensor<f32>, %m: tensor<128x128xf32>):
    %q = sinter.dot_general %m, %p {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<128x128xf32>, tensor<128xf32>) -> tensor<128xf32>
    %pq = sinter.mul %p, %q : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    %curvature = sinter.reduce add %pq axes = [0] : (tensor<128xf32>) -> tensor<f32>
    %alpha = sinter.div %rho, %curvature : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %alphas = sinter.broadcast %alpha axes = [] {type = tensor<128xf32>} : (tensor<f32>) -> tensor<128xf32>
    %ap = sinter.mul %alphas, %p : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    %x1 = sinter.add %x, %ap : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    %aq = sinter.mul %alphas, %q : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    %r1 = sinter.sub %r, %aq : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    %rr = sinter.mul %r1, %r1 : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    %rho1 = sinter.reduce add %rr axes = [0] : (tensor<128xf32>) -> tensor<f32>
    %beta = sinter.div %rho1, %rho : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %betas = sinter.broadcast %beta axes = [] {type = tensor<128xf32>} : (tensor<f32>) -> tensor<128xf32>
    %bp = sinter.mul %betas, %p : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    %p1 = sinter.add %r1, %bp : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
    sinter.yield(%x1, %r1, %p1, %rho1) : tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<f32>
  }
  return %x, %rho, %n : tensor<128xf32>, tensor<f32>, tensor<i64>
}
