// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --sinter-chunk-row-updates=chunk-bytes=64 | FileCheck %s

// Ten rows of 16 bytes move by four: a table and its moment are what the loop carries, positions are padded to twelve.
// CHECK-LABEL: @moves_rows_by_chunks
// CHECK-SAME: (%[[IDS:.*]]: tensor<10xi64>, %[[G:.*]]: tensor<3x4xf32>, %[[FROM:.*]]: tensor<10xi64>, %[[X:.*]]: tensor<100x4xf32>, %[[M:.*]]: tensor<100x4xf32>)
// CHECK: %[[ROWS:.*]], %[[SPLITS:.*]], %{{.*}} = sinter.group_rows %[[IDS]]
// CHECK: %[[R:.*]] = sinter.pad %[[ROWS]], {{.*}} -> tensor<12xi64>
// CHECK: %[[S:.*]] = sinter.pad %[[SPLITS]], {{.*}}mode = #sinter<pad_mode edge>{{.*}} -> tensor<13xi64>
// CHECK: %[[IS:.*]] = sinter.compare lt %[[ROWS]]
// CHECK: %[[N:.*]] = sinter.reduce add %{{.*}} axes = [0]
// CHECK: %[[L:.*]]:2 = sinter.for %{{.*}} to %[[N]] step %{{.*}}(%[[M]], %[[X]]) captures(%[[R]], %[[S]], %[[G]], %[[FROM]])
// CHECK: ^bb0(%[[I:.*]]: tensor<i64>, %[[MC:.*]]: tensor<100x4xf32>, %[[XC:.*]]: tensor<100x4xf32>, %[[RC:.*]]: tensor<12xi64>, %[[SC:.*]]: tensor<13xi64>,
// CHECK: %[[R4:.*]] = sinter.dynamic_slice %[[RC]], {{.*}} -> tensor<4xi64>
// CHECK: %[[S5:.*]] = sinter.dynamic_slice %[[SC]], {{.*}} -> tensor<5xi64>
// CHECK: sinter.bag_sum %{{.*}}, %{{.*}}, %[[S5]] {{.*}} -> tensor<4x4xf32>
// CHECK: sinter.constant dense<2.000000e+00> : tensor<4x4xf32>
// CHECK: sinter.gather %[[MC]], %[[R4]] {{.*}} -> tensor<4x4xf32>
// CHECK: sinter.gather %[[XC]], %[[R4]] {{.*}} -> tensor<4x4xf32>
// CHECK: %[[M2:.*]] = sinter.scatter_nd %[[MC]], {{.*}} -> tensor<100x4xf32>
// CHECK: %[[X2:.*]] = sinter.scatter_nd %[[XC]], {{.*}} -> tensor<100x4xf32>
// CHECK: sinter.yield(%[[M2]], %[[X2]])
// CHECK: return %[[L]]#0, %[[L]]#1
func.func @moves_rows_by_chunks(%ids: tensor<10xi64>, %g: tensor<3x4xf32>, %from: tensor<10xi64>, %x: tensor<100x4xf32>, %m: tensor<100x4xf32>) -> (tensor<100x4xf32>, tensor<100x4xf32>) {
  %rows, %splits, %order = sinter.group_rows %ids {size = 100 : i64} : (tensor<10xi64>) -> (tensor<10xi64>, tensor<11xi64>, tensor<10xi64>)
  %sum = sinter.bag_sum %g, %from, %splits : (tensor<3x4xf32>, tensor<10xi64>, tensor<11xi64>) -> tensor<10x4xf32>
  %two = sinter.constant dense<2.0> : tensor<10x4xf32>
  %column = sinter.reshape %rows {type = tensor<10x1xi64>} : (tensor<10xi64>) -> tensor<10x1xi64>
  %mr = sinter.gather %m, %rows {axis = 0 : i64} : (tensor<100x4xf32>, tensor<10xi64>) -> tensor<10x4xf32>
  %m1 = sinter.mul %mr, %two : (tensor<10x4xf32>, tensor<10x4xf32>) -> tensor<10x4xf32>
  %m2 = sinter.add %m1, %sum : (tensor<10x4xf32>, tensor<10x4xf32>) -> tensor<10x4xf32>
  %next_m = sinter.scatter_nd %m, %column, %m2 : (tensor<100x4xf32>, tensor<10x1xi64>, tensor<10x4xf32>) -> tensor<100x4xf32>
  %xr = sinter.gather %x, %rows {axis = 0 : i64} : (tensor<100x4xf32>, tensor<10xi64>) -> tensor<10x4xf32>
  %x1 = sinter.sub %xr, %m2 : (tensor<10x4xf32>, tensor<10x4xf32>) -> tensor<10x4xf32>
  %next_x = sinter.scatter_nd %x, %column, %x1 : (tensor<100x4xf32>, tensor<10x1xi64>, tensor<10x4xf32>) -> tensor<100x4xf32>
  return %next_m, %next_x : tensor<100x4xf32>, tensor<100x4xf32>
}

// The norm of all rows is needed before any of them moves.
// CHECK-LABEL: @keeps_sums_that_others_read
// CHECK-NOT: sinter.for
func.func @keeps_sums_that_others_read(%ids: tensor<10xi64>, %g: tensor<3x4xf32>, %from: tensor<10xi64>, %x: tensor<100x4xf32>) -> (tensor<f32>, tensor<100x4xf32>) {
  %rows, %splits, %order = sinter.group_rows %ids {size = 100 : i64} : (tensor<10xi64>) -> (tensor<10xi64>, tensor<11xi64>, tensor<10xi64>)
  %sum = sinter.bag_sum %g, %from, %splits : (tensor<3x4xf32>, tensor<10xi64>, tensor<11xi64>) -> tensor<10x4xf32>
  %norm = sinter.reduce add %sum axes = [0, 1] : (tensor<10x4xf32>) -> tensor<f32>
  %spread = sinter.broadcast %norm axes = [] {type = tensor<10x4xf32>} : (tensor<f32>) -> tensor<10x4xf32>
  %column = sinter.reshape %rows {type = tensor<10x1xi64>} : (tensor<10xi64>) -> tensor<10x1xi64>
  %xr = sinter.gather %x, %rows {axis = 0 : i64} : (tensor<100x4xf32>, tensor<10xi64>) -> tensor<10x4xf32>
  %scaled = sinter.div %sum, %spread : (tensor<10x4xf32>, tensor<10x4xf32>) -> tensor<10x4xf32>
  %x1 = sinter.sub %xr, %scaled : (tensor<10x4xf32>, tensor<10x4xf32>) -> tensor<10x4xf32>
  %next = sinter.scatter_nd %x, %column, %x1 : (tensor<100x4xf32>, tensor<10x1xi64>, tensor<10x4xf32>) -> tensor<100x4xf32>
  return %norm, %next : tensor<f32>, tensor<100x4xf32>
}

// Rows of another order are not the same rows: elements of the sums would change places.
// CHECK-LABEL: @keeps_what_is_not_row_by_row
// CHECK-NOT: sinter.for
func.func @keeps_what_is_not_row_by_row(%ids: tensor<10xi64>, %x: tensor<100x4xf32>) -> tensor<100x4xf32> {
  %rows, %splits, %order = sinter.group_rows %ids {size = 100 : i64} : (tensor<10xi64>) -> (tensor<10xi64>, tensor<11xi64>, tensor<10xi64>)
  %column = sinter.reshape %rows {type = tensor<10x1xi64>} : (tensor<10xi64>) -> tensor<10x1xi64>
  %xr = sinter.gather %x, %rows {axis = 0 : i64} : (tensor<100x4xf32>, tensor<10xi64>) -> tensor<10x4xf32>
  %sums = sinter.cumulative add %xr {axis = 0 : i64} : (tensor<10x4xf32>) -> tensor<10x4xf32>
  %next = sinter.scatter_nd %x, %column, %sums : (tensor<100x4xf32>, tensor<10x1xi64>, tensor<10x4xf32>) -> tensor<100x4xf32>
  return %next : tensor<100x4xf32>
}

// Four rows are one chunk.
// CHECK-LABEL: @keeps_few_rows
// CHECK-NOT: sinter.for
func.func @keeps_few_rows(%ids: tensor<4xi64>, %x: tensor<100x4xf32>) -> tensor<100x4xf32> {
  %rows, %splits, %order = sinter.group_rows %ids {size = 100 : i64} : (tensor<4xi64>) -> (tensor<4xi64>, tensor<5xi64>, tensor<4xi64>)
  %column = sinter.reshape %rows {type = tensor<4x1xi64>} : (tensor<4xi64>) -> tensor<4x1xi64>
  %xr = sinter.gather %x, %rows {axis = 0 : i64} : (tensor<100x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  %x1 = sinter.neg %xr : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %next = sinter.scatter_nd %x, %column, %x1 : (tensor<100x4xf32>, tensor<4x1xi64>, tensor<4x4xf32>) -> tensor<100x4xf32>
  return %next : tensor<100x4xf32>
}
