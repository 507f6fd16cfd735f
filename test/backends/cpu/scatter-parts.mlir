// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter compile %s --emit=schedule --target=x86-64-v3 -o - | FileCheck %s
//
// Scatters of many updates are split: by rows, where positions are on another axis, or by parts of wide slices.

// CHECK-LABEL: schedule.function @scatter_parts_run_rows
// CHECK: schedule.launch {{.*}} chunks %c16_i64
func.func @rows(%x: tensor<4096x512xf32>, %i: tensor<4096x64xi64>, %u: tensor<4096x64xf32>) -> tensor<4096x512xf32> {
  %y = "sinter.scatter_elements"(%x, %i, %u) <{axis = 1 : i64, combiner = #sinter<combiner add>}> : (tensor<4096x512xf32>, tensor<4096x64xi64>, tensor<4096x64xf32>) -> tensor<4096x512xf32>
  return %y : tensor<4096x512xf32>
}

// CHECK-LABEL: schedule.function @scatter_parts_run_slices
// CHECK: schedule.launch {{.*}} chunks %c6_i64
func.func @slices(%x: tensor<5000x768xf32>, %i: tensor<400x1xi64>, %u: tensor<400x768xf32>) -> tensor<5000x768xf32> {
  %y = "sinter.scatter_nd"(%x, %i, %u) <{combiner = #sinter<combiner add>}> : (tensor<5000x768xf32>, tensor<400x1xi64>, tensor<400x768xf32>) -> tensor<5000x768xf32>
  return %y : tensor<5000x768xf32>
}

// Positions would be read again for little.
// CHECK-LABEL: schedule.function @scatter_parts_run_narrow
// CHECK: schedule.launch {{.*}} chunks %c1_i64
func.func @narrow(%x: tensor<5000x64xf32>, %i: tensor<4000x1xi64>, %u: tensor<4000x64xf32>) -> tensor<5000x64xf32> {
  %y = "sinter.scatter_nd"(%x, %i, %u) <{combiner = #sinter<combiner add>}> : (tensor<5000x64xf32>, tensor<4000x1xi64>, tensor<4000x64xf32>) -> tensor<5000x64xf32>
  return %y : tensor<5000x64xf32>
}
