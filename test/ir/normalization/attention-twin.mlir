// The gradient of an attention without log-sums is one op, too: the attention that gives them takes the other's place.
// RUN: sinter grad %s --mode=vjp -o - | sinter-opt --canonicalize | FileCheck %s
// RUN: sinter grad %s --mode=vjp -o %t.mlir
// RUN: sinter check %t.mlir

// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]], %[[SUMS:.*]] = sinter.attention %arg0, %arg1, %arg2 {after = 0 : i64, log_sums = true, scale = 5.000000e-01 : f64}
// CHECK-NOT: sinter.attention %
// CHECK-NOT: sinter.softmax
// CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = sinter.attention_gradient %arg0, %arg1, %arg2, %arg3, %[[SUMS]], %{{.*}} {after = 0 : i64, scale = 5.000000e-01 : f64}
// CHECK: return %[[Y]], %[[DQ]], %[[DK]], %[[DV]]
func.func @main(%q: tensor<2x9x4xf32> {sinter.name = "q"}, %k: tensor<2x9x4xf32> {sinter.name = "k"}, %v: tensor<2x9x5xf32> {sinter.name = "v"}) -> (tensor<2x9x5xf32> {sinter.name = "y"}) {
  %y = sinter.attention %q, %k, %v {scale = 0.5 : f64, after = 0 : i64} : (tensor<2x9x4xf32>, tensor<2x9x4xf32>, tensor<2x9x5xf32>) -> tensor<2x9x5xf32>
  return %y : tensor<2x9x5xf32>
}
