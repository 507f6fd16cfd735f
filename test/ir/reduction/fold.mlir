// RUN: sinter-opt --canonicalize %s | FileCheck %s

// CHECK-LABEL: @reduce_over_no_axes
// CHECK-SAME: (%[[X:.*]]: tensor
func.func @reduce_over_no_axes(%x: tensor<2x?xf32>) -> tensor<2x?xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = sinter.reduce add %x axes = [] : (tensor<2x?xf32>) -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// CHECK-LABEL: @reduce_over_unit_axes
func.func @reduce_over_unit_axes(%x: tensor<2x1x?x1xf32>) -> tensor<2x?xf32> {
  // CHECK-NEXT: sinter.reshape
  // CHECK-NOT: sinter.reduce
  %0 = sinter.reduce max %x axes = [1, 3] : (tensor<2x1x?x1xf32>) -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// CHECK-LABEL: @keeps_reduce_over_unknown_axis
func.func @keeps_reduce_over_unknown_axis(%x: tensor<2x?xf32>) -> tensor<2xf32> {
  // CHECK: sinter.reduce
  %0 = sinter.reduce max %x axes = [1] : (tensor<2x?xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
