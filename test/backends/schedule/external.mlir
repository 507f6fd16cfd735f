// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --sinter-build-schedule --split-input-file %s | FileCheck %s

// CHECK-LABEL: schedule.function @sinter_run_calls_between_kernels
// CHECK:         schedule.external prints "before {}"(%[[X:.*]], %[[N:.*]]) layout [1, 0, 2, 1]
// CHECK:         schedule.external "soft"(%[[X]], %[[N]], %[[Y:.*]], %[[N]]) layout [1, 1, 2, 1, 2, 1]
// CHECK:         schedule.external prints "after {}"(%[[Y]], %[[N]]) layout [1, 0, 2, 1]
func.func @calls_between_kernels(%x: tensor<8xf32>) -> tensor<8xf32> {
  sinter.debug_print "before {}" (%x) : tensor<8xf32>
  %y = sinter.call_external "soft" (%x) {dims = array<i64: 8>} : (tensor<8xf32>) -> tensor<8xf32>
  sinter.debug_print "after {}" (%y) : tensor<8xf32>
  return %y : tensor<8xf32>
}
