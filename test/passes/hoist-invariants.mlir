// RUN: sinter-opt %s --sinter-hoist-invariants | FileCheck %s

// CHECK-LABEL: @leaves_the_loop
// CHECK: %[[T:.*]] = sinter.tanh %arg2
// CHECK: sinter.for {{.*}} captures(%arg2, %[[T]])
// CHECK: ^bb0(%{{.*}}: tensor<i64>, %[[X:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %[[C:.*]]: tensor<4xf32>)
// CHECK-NEXT: sinter.add %[[X]], %[[C]]
func.func @leaves_the_loop(%n: tensor<i64>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %0 = sinter.for %zero to %n step %one(%a) captures(%b) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> body {
  ^bb0(%i: tensor<i64>, %x: tensor<4xf32>, %c: tensor<4xf32>):
    %1 = sinter.tanh %c : (tensor<4xf32>) -> tensor<4xf32>
    %2 = sinter.add %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%2) : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @a_broadcast_stays
// CHECK: sinter.for
// CHECK: sinter.broadcast
func.func @a_broadcast_stays(%n: tensor<i64>, %a: tensor<4xf32>, %b: tensor<f32>) -> tensor<4xf32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %0 = sinter.for %zero to %n step %one(%a) captures(%b) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32> body {
  ^bb0(%i: tensor<i64>, %x: tensor<4xf32>, %c: tensor<f32>):
    %1 = sinter.broadcast %c axes = [] {type = tensor<4xf32>} : (tensor<f32>) -> tensor<4xf32>
    %2 = sinter.add %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%2) : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
