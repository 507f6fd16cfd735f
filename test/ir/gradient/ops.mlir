// RUN: sinter-opt --verify-roundtrip %s
// RUN: sinter-opt %s --sinter-decompose | FileCheck %s

// CHECK-LABEL: @stop
// CHECK-NEXT: return %arg0
func.func @stop(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = sinter.stop_gradient %x : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: @is_its_region
// CHECK-NEXT: sinter.exp %arg0
// CHECK-NEXT: return
func.func @is_its_region(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sinter.checkpoint (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = sinter.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%e) : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @is_its_forward
// CHECK-NEXT: sinter.exp %arg0
// CHECK-NEXT: return
func.func @is_its_forward(%x: tensor<4xf32>, %n: tensor<i64>) -> tensor<4xf32> {
  %0 = sinter.custom_vjp (%x, %n) : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32> forward {
  ^bb0(%a: tensor<4xf32>, %i: tensor<i64>):
    %e = sinter.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%e, %e) : tensor<4xf32>, tensor<4xf32>
  } backward {
  ^bb0(%e: tensor<4xf32>, %d: tensor<4xf32>):
    %g = sinter.mul %e, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%g) : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
