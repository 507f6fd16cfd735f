// RUN: sinter-opt %s --sinter-recognize-composites | FileCheck %s

// CHECK-LABEL: @softmax
// CHECK: %[[R:.*]] = sinter.softmax %arg0 {axis = 1 : i64}
// CHECK: return %[[R]]
func.func @softmax(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %0 = sinter.reduce max %x axes = [1] : (tensor<2x8xf32>) -> tensor<2xf32>
  %1 = sinter.broadcast %0 axes = [0] {type = tensor<2x8xf32>} : (tensor<2xf32>) -> tensor<2x8xf32>
  %2 = sinter.sub %x, %1 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = sinter.exp %2 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %4 = sinter.reduce add %3 axes = [1] : (tensor<2x8xf32>) -> tensor<2xf32>
  %5 = sinter.reshape %4 {type = tensor<2x1xf32>} : (tensor<2xf32>) -> tensor<2x1xf32>
  %6 = sinter.broadcast %5 axes = [0, 1] {type = tensor<2x8xf32>} : (tensor<2x1xf32>) -> tensor<2x8xf32>
  %7 = sinter.div %3, %6 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %7 : tensor<2x8xf32>
}

// CHECK-LABEL: @maximum_of_another_axis_is_no_softmax
// CHECK-NOT: sinter.softmax
// CHECK: sinter.div
func.func @maximum_of_another_axis_is_no_softmax(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sinter.reduce max %x axes = [0] : (tensor<8x8xf32>) -> tensor<8xf32>
  %1 = sinter.broadcast %0 axes = [1] {type = tensor<8x8xf32>} : (tensor<8xf32>) -> tensor<8x8xf32>
  %2 = sinter.sub %x, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = sinter.exp %2 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = sinter.reduce add %3 axes = [1] : (tensor<8x8xf32>) -> tensor<8xf32>
  %5 = sinter.broadcast %4 axes = [0] {type = tensor<8x8xf32>} : (tensor<8xf32>) -> tensor<8x8xf32>
  %6 = sinter.div %3, %5 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %6 : tensor<8x8xf32>
}

// CHECK-LABEL: @layer_norm
// CHECK: sinter.layer_norm %arg0 scale(%arg1) bias(%arg2) {axis = 1 : i64, epsilon = {{(9.99|1.00).*}}
// CHECK-NEXT: return
func.func @layer_norm(%x: tensor<2x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<2x8xf32> {
  %n = sinter.constant dense<8.0> : tensor<2x1xf32>
  %epsilon = sinter.constant dense<1.0e-05> : tensor<2x1xf32>
  %0 = sinter.reduce add %x axes = [1] : (tensor<2x8xf32>) -> tensor<2xf32>
  %1 = sinter.reshape %0 {type = tensor<2x1xf32>} : (tensor<2xf32>) -> tensor<2x1xf32>
  %2 = sinter.div %1, %n : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %3 = sinter.broadcast %2 axes = [0, 1] {type = tensor<2x8xf32>} : (tensor<2x1xf32>) -> tensor<2x8xf32>
  %4 = sinter.sub %x, %3 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %5 = sinter.mul %4, %4 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %6 = sinter.reduce add %5 axes = [1] : (tensor<2x8xf32>) -> tensor<2xf32>
  %7 = sinter.reshape %6 {type = tensor<2x1xf32>} : (tensor<2xf32>) -> tensor<2x1xf32>
  %8 = sinter.div %7, %n : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %9 = sinter.add %8, %epsilon : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %10 = sinter.sqrt %9 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %11 = sinter.broadcast %10 axes = [0, 1] {type = tensor<2x8xf32>} : (tensor<2x1xf32>) -> tensor<2x8xf32>
  %12 = sinter.div %4, %11 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %13 = sinter.broadcast %scale axes = [1] {type = tensor<2x8xf32>} : (tensor<8xf32>) -> tensor<2x8xf32>
  %14 = sinter.mul %12, %13 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %15 = sinter.broadcast %bias axes = [1] {type = tensor<2x8xf32>} : (tensor<8xf32>) -> tensor<2x8xf32>
  %16 = sinter.add %14, %15 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return %16 : tensor<2x8xf32>
}

// Of two million elements one less is no mean.

// CHECK-LABEL: @another_divisor_is_no_mean
// CHECK-NOT: sinter.layer_norm
func.func @another_divisor_is_no_mean(%x: tensor<2x2000000xf32>) -> tensor<2x2000000xf32> {
  %n = sinter.constant dense<1999999.0> : tensor<2xf32>
  %epsilon = sinter.constant dense<1.0e-05> : tensor<2xf32>
  %0 = sinter.mul %x, %x : (tensor<2x2000000xf32>, tensor<2x2000000xf32>) -> tensor<2x2000000xf32>
  %1 = sinter.reduce add %0 axes = [1] : (tensor<2x2000000xf32>) -> tensor<2xf32>
  %2 = sinter.div %1, %n : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = sinter.add %2, %epsilon : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4 = sinter.sqrt %3 : (tensor<2xf32>) -> tensor<2xf32>
  %5 = sinter.broadcast %4 axes = [0] {type = tensor<2x2000000xf32>} : (tensor<2xf32>) -> tensor<2x2000000xf32>
  %6 = sinter.div %x, %5 : (tensor<2x2000000xf32>, tensor<2x2000000xf32>) -> tensor<2x2000000xf32>
  return %6 : tensor<2x2000000xf32>
}
