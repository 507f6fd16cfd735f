// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function with a gradient of its own keeps it in a graph file, and that it has none by what it captured (`c`).
// REQUIRES: tool-sinter
// RUN: %sinter convert %s %t.sinter
// RUN: %sinter grad %t.sinter --wrt x -o - | FileCheck %s
// RUN: not %sinter grad %t.sinter --wrt c -o - 2>&1 | FileCheck %s --check-prefix=CAPTURE
// CHECK: sinter.name = "grad.x"
// CHECK: %[[G:.*]] = sinter.mul %arg1, %{{.*}}
// CHECK: return %{{.*}}, %[[G]]
// CAPTURE: 'sinter.custom_vjp' op has a gradient by its arguments only, got one by a tensor that it captures; make that an argument, or stop its gradient

func.func @f(%x: tensor<f32> {sinter.name = "x"}, %c: tensor<f32> {sinter.name = "c"}) -> (tensor<f32> {sinter.name = "y"}) {
  %y = sinter.custom_vjp(%x, %c) {sinter.captures = 1 : i64} : (tensor<f32>, tensor<f32>) -> tensor<f32> forward {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = sinter.mul %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield (%r, %a, %b) : tensor<f32>, tensor<f32>, tensor<f32>
  } backward {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %d: tensor<f32>):
    %r = sinter.mul %b, %d : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield (%r, %d) : tensor<f32>, tensor<f32>
  }
  return %y : tensor<f32>
}
