// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The upper rows of what transpose = true solves are written after the lower ones and read with them as one vector, where SROA
// merges them too early. Each trip then read what was in a register before.
func.func @main(%a0: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %n = sinter.constant dense<40> : tensor<i64>
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %e0 = sinter.constant dense<[[20.0, 0.0], [0.0, 20.0]]> : tensor<2x2xf32>
  %s0 = sinter.dot_general %a0, %a0 {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 1>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %p0 = sinter.add %s0, %e0 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %a = sinter.cholesky %p0 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %0 = sinter.for %zero to %n step %one(%a) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<2x2xf32>) -> tensor<2x2xf32> body {
  ^bb0(%k: tensor<i64>, %x: tensor<2x2xf32>):
    %e = sinter.constant dense<[[20.0, 0.0], [0.0, 20.0]]> : tensor<2x2xf32>
    %lo = sinter.constant dense<-4.0> : tensor<2x2xf32>
    %hi = sinter.constant dense<4.0> : tensor<2x2xf32>
    %s = sinter.dot_general %x, %x {element_type = f32, lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 1>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %p = sinter.add %s, %e : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %l = sinter.cholesky %p : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %q = sinter.triangular_solve %l, %x {transpose = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %y = sinter.clamp %lo, %q, %hi : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    sinter.yield(%y) : tensor<2x2xf32>
  }
  return %0 : tensor<2x2xf32>
}
