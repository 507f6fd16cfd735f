// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --verify-roundtrip %s

func.func @require(%p: tensor<4xi64>, %ok: tensor<i1>, %a: tensor<i64>, %b: tensor<i64>) -> tensor<4xi64> {
  %0 = sinter.require %ok, %p, %a, %b {message = "got {} for {}"} : (tensor<i1>, tensor<4xi64>, tensor<i64>, tensor<i64>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

func.func @check_positions(%p: tensor<4xi32>, %size: tensor<i64>) -> tensor<4xi32> {
  %0 = sinter.check_positions %p, %size {axes = array<i64: 1>, what = "gather"} : (tensor<4xi32>, tensor<i64>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

func.func @check_positions_tuples(%p: tensor<?x2xi64>, %m: tensor<i64>, %n: tensor<i64>) -> tensor<?x2xi64> {
  %0 = sinter.check_positions %p, %m, %n {axes = array<i64: 0, 1>, tuples = true, what = "gather_nd"} : (tensor<?x2xi64>, tensor<i64>, tensor<i64>) -> tensor<?x2xi64>
  return %0 : tensor<?x2xi64>
}
