// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --split-input-file --pass-pipeline='builtin.module(func.func(sinter-choose-schedules))' %s | FileCheck %s
// RUN: sinter-opt --split-input-file --pass-pipeline='builtin.module(func.func(sinter-choose-schedules),sinter-build-schedule)' %s | FileCheck %s --check-prefix=PLAN
//
// What is joined is computed where the join has it (backends/schedule/PlaceParts.h).

module attributes {sinter.target = #sinter.target<"wide", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v4", capabilities = [fma, masked_memory], vector_bits = 512, registers = 32, l1 = 49152 x 12, l2 = 2097152, l3 = 16777216, line = 64, panel = 128>} {
// Two parts, of which one is read beside the join as well: all of its readers step over the other part.
// CHECK-LABEL: @parts
// CHECK: %[[A:.*]] = sinter.kernel map({{.*}}) {schedule = #sinter.schedule<map, {{.*}}strides = [array<i64>, array<i64: -1, -1, 40, -1>]}
// CHECK: %[[B:.*]] = sinter.kernel window({{.*}}) {schedule = #sinter.schedule<window, {{.*}}strides = [array<i64>, array<i64: -1, -1, 40, -1>]}
// CHECK: sinter.kernel window(%[[A]]) {schedule = #sinter.schedule<window, {{.*}}strides = [array<i64: -1, -1, 40, -1>, array<i64>]}
// CHECK: sinter.kernel map(%[[A]], %[[B]]) {in_place, strides = [array<i64: -1, -1, 40, -1>, array<i64: -1, -1, 40, -1>, array<i64>]}
// CHECK: sinter.concatenate
// PLAN-LABEL: schedule.function @sinter_run_parts
// PLAN: %[[Y:.*]] = schedule.output 0
// PLAN: schedule.launch {{.*}}(%{{.*}}, %[[Y]]) writes [1]
// PLAN: %[[B:.*]] = schedule.view %[[Y]] at %c96
// PLAN: schedule.launch {{.*}}(%{{.*}}, %[[B]]) writes [1]
// PLAN: schedule.launch {{.*}}(%[[Y]], %{{.*}}) writes [1]
// PLAN-NOT: schedule.launch
// PLAN: schedule.return
func.func @parts(%x: tensor<2x20x20x24xf32>, %z: tensor<2x20x20x16xf32>) -> (tensor<2x20x20x40xf32>, tensor<2x20x20x24xf32>) {
  %a = sinter.kernel map(%x) : (tensor<2x20x20x24xf32>) -> tensor<2x20x20x24xf32> {
  ^bb0(%a0: tensor<2x20x20x24xf32>):
    %m = sinter.max %a0, %a0 : (tensor<2x20x20x24xf32>, tensor<2x20x20x24xf32>) -> tensor<2x20x20x24xf32>
    %y = sinter.neg %m : (tensor<2x20x20x24xf32>) -> tensor<2x20x20x24xf32>
    sinter.yield (%y) : tensor<2x20x20x24xf32>
  }
  %b = sinter.kernel window(%z) : (tensor<2x20x20x16xf32>) -> tensor<2x20x20x16xf32> {
  ^bb0(%a0: tensor<2x20x20x16xf32>):
    %y = sinter.reduce_window max %a0 {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 1, 1, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x20x20x16xf32>) -> tensor<2x20x20x16xf32>
    sinter.yield (%y) : tensor<2x20x20x16xf32>
  }
  %p = sinter.kernel window(%a) : (tensor<2x20x20x24xf32>) -> tensor<2x20x20x24xf32> {
  ^bb0(%a0: tensor<2x20x20x24xf32>):
    %y = sinter.reduce_window max %a0 {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 1, 1, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x20x20x24xf32>) -> tensor<2x20x20x24xf32>
    sinter.yield (%y) : tensor<2x20x20x24xf32>
  }
  %all = sinter.kernel map(%a, %b) : (tensor<2x20x20x24xf32>, tensor<2x20x20x16xf32>) -> tensor<2x20x20x40xf32> {
  ^bb0(%a0: tensor<2x20x20x24xf32>, %a1: tensor<2x20x20x16xf32>):
    %j = sinter.concatenate %a0, %a1 {axis = 3 : i64} : (tensor<2x20x20x24xf32>, tensor<2x20x20x16xf32>) -> tensor<2x20x20x40xf32>
    sinter.yield (%j) : tensor<2x20x20x40xf32>
  }
  return %all, %p : tensor<2x20x20x40xf32>, tensor<2x20x20x24xf32>
}
}

// -----

module attributes {sinter.target = #sinter.target<"wide", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v4", capabilities = [fma, masked_memory], vector_bits = 512, registers = 32, l1 = 49152 x 12, l2 = 2097152, l3 = 16777216, line = 64, panel = 128>} {
// Joins of the same first parts are joins of each other, and all of their parts lie in one buffer.
// CHECK-LABEL: @dense
// CHECK: %[[A:.*]] = sinter.kernel map({{.*}}) {{{.*}}strides = [array<i64>, array<i64: -1, -1, 48, -1>]}
// CHECK: %[[B:.*]] = sinter.kernel map({{.*}}) {{{.*}}strides = [array<i64>, array<i64: -1, -1, 48, -1>]}
// CHECK: %[[AB:.*]] = sinter.kernel map(%[[A]], %[[B]]) {in_place, strides = [array<i64: -1, -1, 48, -1>, array<i64: -1, -1, 48, -1>, array<i64: -1, -1, 48, -1>]}
// CHECK: sinter.kernel window(%[[AB]]) {{{.*}}strides = [array<i64: -1, -1, 48, -1>, array<i64>]}
// CHECK: %[[C:.*]] = sinter.kernel map
// CHECK: %[[ABC:.*]] = sinter.kernel map(%[[AB]], %[[C]]) {in_place
// CHECK: sinter.kernel window(%[[ABC]]) {schedule
// PLAN-LABEL: schedule.function @sinter_run_dense
// PLAN-COUNT-5: schedule.launch
// PLAN-NOT: schedule.launch
// PLAN: schedule.return
func.func @dense(%x: tensor<2x20x20x24xf32>, %z: tensor<2x20x20x16xf32>, %w: tensor<2x20x20x8xf32>) -> (tensor<2x20x20x40xf32>, tensor<2x20x20x48xf32>) {
  %a = sinter.kernel map(%x) : (tensor<2x20x20x24xf32>) -> tensor<2x20x20x24xf32> {
  ^bb0(%a0: tensor<2x20x20x24xf32>):
    %m = sinter.neg %a0 : (tensor<2x20x20x24xf32>) -> tensor<2x20x20x24xf32>
    sinter.yield (%m) : tensor<2x20x20x24xf32>
  }
  %b = sinter.kernel map(%z) : (tensor<2x20x20x16xf32>) -> tensor<2x20x20x16xf32> {
  ^bb0(%a0: tensor<2x20x20x16xf32>):
    %m = sinter.neg %a0 : (tensor<2x20x20x16xf32>) -> tensor<2x20x20x16xf32>
    sinter.yield (%m) : tensor<2x20x20x16xf32>
  }
  %ab = sinter.kernel map(%a, %b) : (tensor<2x20x20x24xf32>, tensor<2x20x20x16xf32>) -> tensor<2x20x20x40xf32> {
  ^bb0(%a0: tensor<2x20x20x24xf32>, %a1: tensor<2x20x20x16xf32>):
    %m = sinter.concatenate %a0, %a1 {axis = 3 : i64} : (tensor<2x20x20x24xf32>, tensor<2x20x20x16xf32>) -> tensor<2x20x20x40xf32>
    sinter.yield (%m) : tensor<2x20x20x40xf32>
  }
  %y = sinter.kernel window(%ab) : (tensor<2x20x20x40xf32>) -> tensor<2x20x20x40xf32> {
  ^bb0(%a0: tensor<2x20x20x40xf32>):
    %m = sinter.reduce_window max %a0 {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 1, 1, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x20x20x40xf32>) -> tensor<2x20x20x40xf32>
    sinter.yield (%m) : tensor<2x20x20x40xf32>
  }
  %c = sinter.kernel map(%w) : (tensor<2x20x20x8xf32>) -> tensor<2x20x20x8xf32> {
  ^bb0(%a0: tensor<2x20x20x8xf32>):
    %m = sinter.neg %a0 : (tensor<2x20x20x8xf32>) -> tensor<2x20x20x8xf32>
    sinter.yield (%m) : tensor<2x20x20x8xf32>
  }
  %abc = sinter.kernel map(%a, %b, %c) : (tensor<2x20x20x24xf32>, tensor<2x20x20x16xf32>, tensor<2x20x20x8xf32>) -> tensor<2x20x20x48xf32> {
  ^bb0(%a0: tensor<2x20x20x24xf32>, %a1: tensor<2x20x20x16xf32>, %a2: tensor<2x20x20x8xf32>):
    %m = sinter.concatenate %a0, %a1, %a2 {axis = 3 : i64} : (tensor<2x20x20x24xf32>, tensor<2x20x20x16xf32>, tensor<2x20x20x8xf32>) -> tensor<2x20x20x48xf32>
    sinter.yield (%m) : tensor<2x20x20x48xf32>
  }
  %v = sinter.kernel window(%abc) : (tensor<2x20x20x48xf32>) -> tensor<2x20x20x48xf32> {
  ^bb0(%a0: tensor<2x20x20x48xf32>):
    %m = sinter.reduce_window max %a0 {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 1, 1, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x20x20x48xf32>) -> tensor<2x20x20x48xf32>
    sinter.yield (%m) : tensor<2x20x20x48xf32>
  }
  return %y, %v : tensor<2x20x20x40xf32>, tensor<2x20x20x48xf32>
}
}

// -----

module attributes {sinter.target = #sinter.target<"wide", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v4", capabilities = [fma, masked_memory], vector_bits = 512, registers = 32, l1 = 49152 x 12, l2 = 2097152, l3 = 16777216, line = 64, panel = 128>} {
// A part that is given, or computed by code that writes rows one after the other, is copied to its place; the others are
// not.
// CHECK-LABEL: @copies
// CHECK: sinter.kernel map(%arg0) {{{.*}}strides = [array<i64>, array<i64: -1, -1, 48, -1>]}
// CHECK: sinter.kernel row({{.*}}) {schedule = #sinter.schedule<row{{[^{]*}}>} :
// CHECK: sinter.kernel map(%{{.*}}) {{{.*}}strides = [array<i64>, array<i64: -1, -1, 48, -1>]}
// CHECK: sinter.yield
// CHECK: sinter.kernel map(%arg2) {{{.*}}strides = [array<i64>, array<i64: -1, -1, 48, -1>]}
// CHECK: in_place
// PLAN-LABEL: schedule.function @sinter_run_copies
func.func @copies(%x: tensor<2x20x20x24xf32>, %z: tensor<2x20x20x16xf32>, %w: tensor<2x20x20x8xf32>) -> tensor<2x20x20x48xf32> {
  %a = sinter.kernel map(%x) : (tensor<2x20x20x24xf32>) -> tensor<2x20x20x24xf32> {
  ^bb0(%a0: tensor<2x20x20x24xf32>):
    %m = sinter.max %a0, %a0 : (tensor<2x20x20x24xf32>, tensor<2x20x20x24xf32>) -> tensor<2x20x20x24xf32>
    %y = sinter.neg %m : (tensor<2x20x20x24xf32>) -> tensor<2x20x20x24xf32>
    sinter.yield (%y) : tensor<2x20x20x24xf32>
  }
  %b = sinter.kernel row(%z) : (tensor<2x20x20x16xf32>) -> tensor<2x20x20x16xf32> {
  ^bb0(%a0: tensor<2x20x20x16xf32>):
    %y = sinter.softmax %a0 {axis = 3 : i64} : (tensor<2x20x20x16xf32>) -> tensor<2x20x20x16xf32>
    sinter.yield (%y) : tensor<2x20x20x16xf32>
  }
  %all = sinter.kernel map(%a, %b, %w) : (tensor<2x20x20x24xf32>, tensor<2x20x20x16xf32>, tensor<2x20x20x8xf32>) -> tensor<2x20x20x48xf32> {
  ^bb0(%a0: tensor<2x20x20x24xf32>, %a1: tensor<2x20x20x16xf32>, %a2: tensor<2x20x20x8xf32>):
    %j = sinter.concatenate %a0, %a1, %a2 {axis = 3 : i64} : (tensor<2x20x20x24xf32>, tensor<2x20x20x16xf32>, tensor<2x20x20x8xf32>) -> tensor<2x20x20x48xf32>
    sinter.yield (%j) : tensor<2x20x20x48xf32>
  }
  return %all : tensor<2x20x20x48xf32>
}
}

// -----

module attributes {sinter.target = #sinter.target<"wide", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v4", capabilities = [fma, masked_memory], vector_bits = 512, registers = 32, l1 = 49152 x 12, l2 = 2097152, l3 = 16777216, line = 64, panel = 128>} {
// Along an axis that has nothing around it parts follow each other: no code changes.
// CHECK-LABEL: @outermost
// CHECK-NOT: strides
// CHECK: in_place
// CHECK-NOT: strides
// PLAN-LABEL: schedule.function @sinter_run_outermost
// PLAN: schedule.view %{{.*}} at %{{.*}}
func.func @outermost(%x: tensor<1x20x20x16xf32>, %z: tensor<1x?x20x16xf32>) -> tensor<1x?x20x16xf32> {
  %a = sinter.kernel map(%x) : (tensor<1x20x20x16xf32>) -> tensor<1x20x20x16xf32> {
  ^bb0(%a0: tensor<1x20x20x16xf32>):
    %m = sinter.max %a0, %a0 : (tensor<1x20x20x16xf32>, tensor<1x20x20x16xf32>) -> tensor<1x20x20x16xf32>
    %y = sinter.neg %m : (tensor<1x20x20x16xf32>) -> tensor<1x20x20x16xf32>
    sinter.yield (%y) : tensor<1x20x20x16xf32>
  }
  %b = sinter.kernel map(%z) : (tensor<1x?x20x16xf32>) -> tensor<1x?x20x16xf32> {
  ^bb0(%a0: tensor<1x?x20x16xf32>):
    %m = sinter.max %a0, %a0 : (tensor<1x?x20x16xf32>, tensor<1x?x20x16xf32>) -> tensor<1x?x20x16xf32>
    %y = sinter.neg %m : (tensor<1x?x20x16xf32>) -> tensor<1x?x20x16xf32>
    sinter.yield (%y) : tensor<1x?x20x16xf32>
  }
  %all = sinter.kernel map(%b, %a) : (tensor<1x?x20x16xf32>, tensor<1x20x20x16xf32>) -> tensor<1x?x20x16xf32> {
  ^bb0(%a0: tensor<1x?x20x16xf32>, %a1: tensor<1x20x20x16xf32>):
    %j = sinter.concatenate %a0, %a1 {axis = 1 : i64} : (tensor<1x?x20x16xf32>, tensor<1x20x20x16xf32>) -> tensor<1x?x20x16xf32>
    sinter.yield (%j) : tensor<1x?x20x16xf32>
  }
  return %all : tensor<1x?x20x16xf32>
}
}

// -----

module attributes {sinter.target = #sinter.target<"wide", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v4", capabilities = [fma, masked_memory], vector_bits = 512, registers = 32, l1 = 49152 x 12, l2 = 2097152, l3 = 16777216, line = 64, panel = 128>} {
// What the caller gets by itself has its own memory, and what nobody knows the step of is joined as before.
// CHECK-LABEL: @kept
// CHECK-NOT: in_place
// CHECK: return
func.func @kept(%x: tensor<2x20x20x24xf32>, %z: tensor<2x20x20x16xf32>, %u: tensor<2x20x?x16xf32>) -> (tensor<2x20x20x24xf32>, tensor<2x20x20x16xf32>, tensor<2x20x20x40xf32>, tensor<2x20x?x16xf32>) {
  %a = sinter.kernel map(%x) : (tensor<2x20x20x24xf32>) -> tensor<2x20x20x24xf32> {
  ^bb0(%a0: tensor<2x20x20x24xf32>):
    %m = sinter.max %a0, %a0 : (tensor<2x20x20x24xf32>, tensor<2x20x20x24xf32>) -> tensor<2x20x20x24xf32>
    %y = sinter.neg %m : (tensor<2x20x20x24xf32>) -> tensor<2x20x20x24xf32>
    sinter.yield (%y) : tensor<2x20x20x24xf32>
  }
  %b = sinter.kernel map(%z) : (tensor<2x20x20x16xf32>) -> tensor<2x20x20x16xf32> {
  ^bb0(%a0: tensor<2x20x20x16xf32>):
    %m = sinter.max %a0, %a0 : (tensor<2x20x20x16xf32>, tensor<2x20x20x16xf32>) -> tensor<2x20x20x16xf32>
    %y = sinter.neg %m : (tensor<2x20x20x16xf32>) -> tensor<2x20x20x16xf32>
    sinter.yield (%y) : tensor<2x20x20x16xf32>
  }
  %all = sinter.kernel map(%a, %b) : (tensor<2x20x20x24xf32>, tensor<2x20x20x16xf32>) -> tensor<2x20x20x40xf32> {
  ^bb0(%a0: tensor<2x20x20x24xf32>, %a1: tensor<2x20x20x16xf32>):
    %j = sinter.concatenate %a0, %a1 {axis = 3 : i64} : (tensor<2x20x20x24xf32>, tensor<2x20x20x16xf32>) -> tensor<2x20x20x40xf32>
    sinter.yield (%j) : tensor<2x20x20x40xf32>
  }
  %c = sinter.kernel map(%u) : (tensor<2x20x?x16xf32>) -> tensor<2x20x?x16xf32> {
  ^bb0(%a0: tensor<2x20x?x16xf32>):
    %m = sinter.max %a0, %a0 : (tensor<2x20x?x16xf32>, tensor<2x20x?x16xf32>) -> tensor<2x20x?x16xf32>
    %y = sinter.neg %m : (tensor<2x20x?x16xf32>) -> tensor<2x20x?x16xf32>
    sinter.yield (%y) : tensor<2x20x?x16xf32>
  }
  %v = sinter.kernel map(%c, %c) : (tensor<2x20x?x16xf32>, tensor<2x20x?x16xf32>) -> tensor<2x20x?x16xf32> {
  ^bb0(%a0: tensor<2x20x?x16xf32>, %a1: tensor<2x20x?x16xf32>):
    %j = sinter.concatenate %a0, %a1 {axis = 2 : i64} : (tensor<2x20x?x16xf32>, tensor<2x20x?x16xf32>) -> tensor<2x20x?x16xf32>
    sinter.yield (%j) : tensor<2x20x?x16xf32>
  }
  return %a, %b, %all, %v : tensor<2x20x20x24xf32>, tensor<2x20x20x16xf32>, tensor<2x20x20x40xf32>, tensor<2x20x?x16xf32>
}
}

// -----

module attributes {sinter.target = #sinter.target<"wide", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v4", capabilities = [fma, masked_memory], vector_bits = 512, registers = 32, l1 = 49152 x 12, l2 = 2097152, l3 = 16777216, line = 64, panel = 128>} {
// A slice is read where it lies. Slices that are joined in their order are what they are slices of.
// CHECK-LABEL: @slices
// CHECK: %[[X:.*]] = sinter.kernel window(%arg0) {{{.*}}strides = [array<i64>, array<i64: -1, -1, 48, -1>]}
// CHECK: %[[HALF:.*]] = sinter.kernel map(%[[X]]) {in_place, strides = [array<i64: -1, -1, 48, -1>, array<i64: -1, -1, 48, -1>]}
// CHECK: %[[P:.*]] = sinter.kernel window(%[[HALF]]) {{{.*}}strides = [array<i64: -1, -1, 48, -1>, array<i64: -1, -1, 48, -1>]}
// CHECK: sinter.kernel map(%[[X]], %[[P]]) {in_place
// PLAN-LABEL: schedule.function @sinter_run_slices
// PLAN: %[[Y:.*]] = schedule.output 0
// PLAN: schedule.launch {{.*}}(%{{.*}}, %[[Y]])
// PLAN-DAG: %[[P:.*]] = schedule.view %[[Y]] at %c128
// PLAN-DAG: %[[HALF:.*]] = schedule.view %[[Y]] at %c64
// PLAN: schedule.launch {{.*}}(%[[HALF]], %[[P]])
// PLAN-NOT: schedule.launch
// PLAN: schedule.return
func.func @slices(%x: tensor<2x20x20x32xf32>) -> tensor<2x20x20x48xf32> {
  %a = sinter.kernel window(%x) : (tensor<2x20x20x32xf32>) -> tensor<2x20x20x32xf32> {
  ^bb0(%a0: tensor<2x20x20x32xf32>):
    %y = sinter.reduce_window max %a0 {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 1, 1, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x20x20x32xf32>) -> tensor<2x20x20x32xf32>
    sinter.yield (%y) : tensor<2x20x20x32xf32>
  }
  %h = sinter.kernel map(%a) : (tensor<2x20x20x32xf32>) -> tensor<2x20x20x16xf32> {
  ^bb0(%a0: tensor<2x20x20x32xf32>):
    %y = sinter.slice %a0 {starts = array<i64: 0, 0, 0, 16>, limits = array<i64: 2, 20, 20, 32>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x20x20x32xf32>) -> tensor<2x20x20x16xf32>
    sinter.yield (%y) : tensor<2x20x20x16xf32>
  }
  %p = sinter.kernel window(%h) : (tensor<2x20x20x16xf32>) -> tensor<2x20x20x16xf32> {
  ^bb0(%a0: tensor<2x20x20x16xf32>):
    %y = sinter.reduce_window max %a0 {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 1, 1, 1>, low = array<i64: 0, 1, 1, 0>, high = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x20x20x16xf32>) -> tensor<2x20x20x16xf32>
    sinter.yield (%y) : tensor<2x20x20x16xf32>
  }
  %all = sinter.kernel map(%a, %h, %p) : (tensor<2x20x20x32xf32>, tensor<2x20x20x16xf32>, tensor<2x20x20x16xf32>) -> tensor<2x20x20x48xf32> {
  ^bb0(%a0: tensor<2x20x20x32xf32>, %a1: tensor<2x20x20x16xf32>, %a2: tensor<2x20x20x16xf32>):
    %s = sinter.slice %a0 {starts = array<i64: 0, 0, 0, 0>, limits = array<i64: 2, 20, 20, 16>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x20x20x32xf32>) -> tensor<2x20x20x16xf32>
    %j = sinter.concatenate %s, %a1, %a2 {axis = 3 : i64} : (tensor<2x20x20x16xf32>, tensor<2x20x20x16xf32>, tensor<2x20x20x16xf32>) -> tensor<2x20x20x48xf32>
    sinter.yield (%j) : tensor<2x20x20x48xf32>
  }
  return %all : tensor<2x20x20x48xf32>
}
}

// -----

module attributes {sinter.target = #sinter.target<"wide", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v4", capabilities = [fma, masked_memory], vector_bits = 512, registers = 32, l1 = 49152 x 12, l2 = 2097152, l3 = 16777216, line = 64, panel = 128>} {
// A part may be another shape of what a kernel computes, where that has the same rows.
// CHECK-LABEL: @shapes
// CHECK: sinter.kernel map({{.*}}) {{{.*}}strides = [array<i64>, array<i64: -1, -1, -1, 32, -1>]}
// CHECK: sinter.reshape
// CHECK: in_place
func.func @shapes(%x: tensor<2x20x10x2x16xf32>, %z: tensor<2x20x20x16xf32>) -> tensor<2x20x20x32xf32> {
  %a = sinter.kernel map(%x) : (tensor<2x20x10x2x16xf32>) -> tensor<2x20x10x2x16xf32> {
  ^bb0(%a0: tensor<2x20x10x2x16xf32>):
    %m = sinter.neg %a0 : (tensor<2x20x10x2x16xf32>) -> tensor<2x20x10x2x16xf32>
    sinter.yield (%m) : tensor<2x20x10x2x16xf32>
  }
  %r = sinter.reshape %a {type = tensor<2x20x20x16xf32>} : (tensor<2x20x10x2x16xf32>) -> tensor<2x20x20x16xf32>
  %b = sinter.kernel map(%z) : (tensor<2x20x20x16xf32>) -> tensor<2x20x20x16xf32> {
  ^bb0(%a0: tensor<2x20x20x16xf32>):
    %m = sinter.neg %a0 : (tensor<2x20x20x16xf32>) -> tensor<2x20x20x16xf32>
    sinter.yield (%m) : tensor<2x20x20x16xf32>
  }
  %all = sinter.kernel map(%r, %b) : (tensor<2x20x20x16xf32>, tensor<2x20x20x16xf32>) -> tensor<2x20x20x32xf32> {
  ^bb0(%a0: tensor<2x20x20x16xf32>, %a1: tensor<2x20x20x16xf32>):
    %m = sinter.concatenate %a0, %a1 {axis = 3 : i64} : (tensor<2x20x20x16xf32>, tensor<2x20x20x16xf32>) -> tensor<2x20x20x32xf32>
    sinter.yield (%m) : tensor<2x20x20x32xf32>
  }
  return %all : tensor<2x20x20x32xf32>
}
}

// -----

module attributes {sinter.target = #sinter.target<"wide", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v4", capabilities = [fma, masked_memory], vector_bits = 512, registers = 32, l1 = 49152 x 12, l2 = 2097152, l3 = 16777216, line = 64, panel = 128>} {
// Rows whose elements are two apart are nothing that a kernel writes.
// CHECK-LABEL: @pairs
// CHECK-NOT: array<i64: -1, 2>
// CHECK: return
func.func @pairs(%x: tensor<3x64xf32>, %z: tensor<3x64xf32>) -> tensor<3x64x2xf32> {
  %a = sinter.kernel map(%x) : (tensor<3x64xf32>) -> tensor<3x64xf32> {
  ^bb0(%a0: tensor<3x64xf32>):
    %m = sinter.neg %a0 : (tensor<3x64xf32>) -> tensor<3x64xf32>
    sinter.yield (%m) : tensor<3x64xf32>
  }
  %b = sinter.kernel map(%z) : (tensor<3x64xf32>) -> tensor<3x64xf32> {
  ^bb0(%a0: tensor<3x64xf32>):
    %m = sinter.neg %a0 : (tensor<3x64xf32>) -> tensor<3x64xf32>
    sinter.yield (%m) : tensor<3x64xf32>
  }
  %r = sinter.reshape %a {type = tensor<3x64x1xf32>} : (tensor<3x64xf32>) -> tensor<3x64x1xf32>
  %s = sinter.reshape %b {type = tensor<3x64x1xf32>} : (tensor<3x64xf32>) -> tensor<3x64x1xf32>
  %all = sinter.kernel map(%r, %s) : (tensor<3x64x1xf32>, tensor<3x64x1xf32>) -> tensor<3x64x2xf32> {
  ^bb0(%a0: tensor<3x64x1xf32>, %a1: tensor<3x64x1xf32>):
    %m = sinter.concatenate %a0, %a1 {axis = 2 : i64} : (tensor<3x64x1xf32>, tensor<3x64x1xf32>) -> tensor<3x64x2xf32>
    sinter.yield (%m) : tensor<3x64x2xf32>
  }
  return %all : tensor<3x64x2xf32>
}
}

// -----

module attributes {sinter.target = #sinter.target<"wide", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v4", capabilities = [fma, masked_memory], vector_bits = 512, registers = 32, l1 = 49152 x 12, l2 = 2097152, l3 = 16777216, line = 64, panel = 128>} {
// A join that the second-level cache does not hold is copied together.
// CHECK-LABEL: @large
// CHECK-NOT: in_place
// CHECK: return
func.func @large(%x: tensor<1x200x200x32xf32>, %z: tensor<1x200x200x32xf32>) -> tensor<1x200x200x64xf32> {
  %a = sinter.kernel map(%x) : (tensor<1x200x200x32xf32>) -> tensor<1x200x200x32xf32> {
  ^bb0(%a0: tensor<1x200x200x32xf32>):
    %m = sinter.neg %a0 : (tensor<1x200x200x32xf32>) -> tensor<1x200x200x32xf32>
    sinter.yield (%m) : tensor<1x200x200x32xf32>
  }
  %b = sinter.kernel map(%z) : (tensor<1x200x200x32xf32>) -> tensor<1x200x200x32xf32> {
  ^bb0(%a0: tensor<1x200x200x32xf32>):
    %m = sinter.neg %a0 : (tensor<1x200x200x32xf32>) -> tensor<1x200x200x32xf32>
    sinter.yield (%m) : tensor<1x200x200x32xf32>
  }
  %all = sinter.kernel map(%a, %b) : (tensor<1x200x200x32xf32>, tensor<1x200x200x32xf32>) -> tensor<1x200x200x64xf32> {
  ^bb0(%a0: tensor<1x200x200x32xf32>, %a1: tensor<1x200x200x32xf32>):
    %m = sinter.concatenate %a0, %a1 {axis = 3 : i64} : (tensor<1x200x200x32xf32>, tensor<1x200x200x32xf32>) -> tensor<1x200x200x64xf32>
    sinter.yield (%m) : tensor<1x200x200x64xf32>
  }
  return %all : tensor<1x200x200x64xf32>
}
}
