// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --sinter-decompose --sinter-hoist-invariants %s | FileCheck %s

// CHECK-LABEL: @a_reduction_and_a_branch
// CHECK:         %[[MOST:.*]] = sinter.reduce max %{{.*}} : (tensor<4xui64>) -> tensor<ui64>
// CHECK:         %[[OK:.*]] = sinter.compare lt %[[MOST]]
// CHECK:         %[[OUT:.*]] = sinter.sub
// CHECK:         sinter.require %[[OK]], %{{.*}}, %[[OUT]], %{{.*}} {message = "a (b) requires positions inside of axis 2, got {} for a size of {}"}
func.func @a_reduction_and_a_branch(%p: tensor<4xi64>, %n: tensor<i64>) -> tensor<4xi64> {
  %q = sinter.check_positions %p, %n {axes = array<i64: 2>, what = "a {b}"} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  return %q : tensor<4xi64>
}

// What is compared leaves the loop, the error does not: there may be no trip.
// CHECK-LABEL: @stays_in_a_loop
// CHECK:         sinter.reduce max
// CHECK:         sinter.for
// CHECK:           sinter.require
func.func @stays_in_a_loop(%x: tensor<5xf32>, %p: tensor<4xi64>, %n: tensor<i64>, %a: tensor<4xf32>) -> tensor<4xf32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %r = sinter.for %zero to %n step %one (%a) captures(%x, %p, %n) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4xf32>, tensor<5xf32>, tensor<4xi64>, tensor<i64>) -> tensor<4xf32> body {
  ^bb0(%i: tensor<i64>, %s: tensor<4xf32>, %xx: tensor<5xf32>, %pp: tensor<4xi64>, %nn: tensor<i64>):
    %q = sinter.check_positions %pp, %nn {axes = array<i64: 0>, what = "gather"} : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
    %g = sinter.gather %xx, %q {axis = 0} : (tensor<5xf32>, tensor<4xi64>) -> tensor<4xf32>
    %t = sinter.add %s, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%t) : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// CHECK-LABEL: @no_positions_are_inside_of_nothing
// CHECK:         %[[NONE:.*]] = sinter.compare eq
// CHECK:         %[[OK:.*]] = sinter.or %{{.*}}, %[[NONE]]
// CHECK:         sinter.require %[[OK]]
func.func @no_positions_are_inside_of_nothing(%p: tensor<?xi64>, %n: tensor<i64>) -> tensor<?xi64> {
  %q = sinter.check_positions %p, %n {axes = array<i64: 0>, what = "gather"} : (tensor<?xi64>, tensor<i64>) -> tensor<?xi64>
  return %q : tensor<?xi64>
}

// Of 32 bits are sums whose limit is known and has room above it.
// CHECK-LABEL: @as_wide_as_positions
// CHECK:         sinter.reduce max %{{.*}} : (tensor<?xui32>) -> tensor<ui32>
// CHECK:         sinter.reduce max %{{.*}} : (tensor<?xui64>) -> tensor<ui64>
// CHECK:         sinter.reduce max %{{.*}} : (tensor<?xui64>) -> tensor<ui64>
func.func @as_wide_as_positions(%p: tensor<?xi32>, %n: tensor<i64>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) {
  %room = sinter.constant dense<1073741823> : tensor<i64>
  %none = sinter.constant dense<1073741824> : tensor<i64>
  %a = sinter.check_positions %p, %room {axes = array<i64: 0>, what = "gather"} : (tensor<?xi32>, tensor<i64>) -> tensor<?xi32>
  %b = sinter.check_positions %p, %none {axes = array<i64: 0>, what = "gather"} : (tensor<?xi32>, tensor<i64>) -> tensor<?xi32>
  %c = sinter.check_positions %p, %n {axes = array<i64: 0>, what = "gather"} : (tensor<?xi32>, tensor<i64>) -> tensor<?xi32>
  return %a, %b, %c : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
}
