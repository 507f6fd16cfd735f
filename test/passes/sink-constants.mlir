// RUN: sinter-opt %s --sinter-sink-constants --canonicalize | FileCheck %s

// CHECK-LABEL: @a_branch_has_its_own_copy
// CHECK: sinter.cond %arg0(%arg1
// CHECK: sinter.constant
// CHECK: sinter.add
func.func @a_branch_has_its_own_copy(%p: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %c = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = sinter.cond %p(%x, %c) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> then {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    %1 = sinter.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    sinter.yield(%1) : tensor<2xf32>
  } else {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    sinter.yield(%a) : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
