// The pass writes what the first emitter chooses that takes the kernel, leaves what is there, and says who declined.
// RUN: sinter-opt --pass-pipeline='builtin.module(func.func(sinter-choose-schedules))' %s | FileCheck %s
// RUN: sinter-opt --pass-pipeline='builtin.module(func.func(sinter-choose-schedules{explain=true}))' %s 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: sinter-opt --pass-pipeline='builtin.module(func.func(sinter-choose-schedules{opt-level=0}))' %s | FileCheck %s --check-prefix=PLAIN

module attributes {sinter.target = #sinter.target<"wide", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v4", capabilities = [fma, masked_memory], vector_bits = 512, registers = 32, l1 = 49152 x 12, l2 = 2097152, l3 = 16777216, line = 64, panel = 128>} {
// CHECK-LABEL: @positions
// CHECK: {schedule = #sinter.schedule<arg_reduce, lanes = 16, chunk = 32768>}
// CHECK: {schedule = #sinter.schedule<arg_reduce, lanes = 16, chunk = 32768>}
// Rows of seven elements fill no vector.
// CHECK: {schedule = #sinter.schedule<general, chunk = 256>}
// CHECK: {schedule = #sinter.schedule<running, lanes = 16, chunk = 4096>}
// CHECK: {schedule = #sinter.schedule<running, chunk = 4096>}
func.func @positions(%x: tensor<7x100xf32>, %y: tensor<100x7xf32>) -> (tensor<7xi64>, tensor<100xi64>, tensor<100xi64>, tensor<7x100xf32>, tensor<7x100xf32>) {
  %0 = sinter.kernel reduce(%x) : (tensor<7x100xf32>) -> tensor<7xi64> {
  ^bb0(%a: tensor<7x100xf32>):
    %p = sinter.arg_reduce max %a {axis = 1 : i64} : (tensor<7x100xf32>) -> tensor<7xi64>
    sinter.yield (%p) : tensor<7xi64>
  }
  %1 = sinter.kernel reduce(%x) : (tensor<7x100xf32>) -> tensor<100xi64> {
  ^bb0(%a: tensor<7x100xf32>):
    %p = sinter.arg_reduce max %a {axis = 0 : i64} : (tensor<7x100xf32>) -> tensor<100xi64>
    sinter.yield (%p) : tensor<100xi64>
  }
  %2 = sinter.kernel reduce(%y) : (tensor<100x7xf32>) -> tensor<100xi64> {
  ^bb0(%a: tensor<100x7xf32>):
    %p = sinter.arg_reduce max %a {axis = 1 : i64} : (tensor<100x7xf32>) -> tensor<100xi64>
    sinter.yield (%p) : tensor<100xi64>
  }
  %3 = sinter.kernel single(%x) : (tensor<7x100xf32>) -> tensor<7x100xf32> {
  ^bb0(%a: tensor<7x100xf32>):
    %c = sinter.cumulative add %a {axis = 0 : i64} : (tensor<7x100xf32>) -> tensor<7x100xf32>
    sinter.yield (%c) : tensor<7x100xf32>
  }
  %4 = sinter.kernel single(%x) : (tensor<7x100xf32>) -> tensor<7x100xf32> {
  ^bb0(%a: tensor<7x100xf32>):
    %c = sinter.cumulative add %a {axis = 1 : i64} : (tensor<7x100xf32>) -> tensor<7x100xf32>
    sinter.yield (%c) : tensor<7x100xf32>
  }
  return %0, %1, %2, %3, %4 : tensor<7xi64>, tensor<100xi64>, tensor<100xi64>, tensor<7x100xf32>, tensor<7x100xf32>
}

// CHECK-LABEL: @product
// CHECK: sinter.kernel contraction({{.*}}) {schedule = #sinter.schedule<contraction, lanes = 16, tile = [10, 2], chunk = 2097152, packing = [1]>}
// CHECK: sinter.kernel contraction({{.*}}) {schedule = #sinter.schedule<contraction, lanes = 8, tile = [3, 4], chunk = 77>}
// WHY: remark: emitter 'vector_matrix' does not take it: it is no product of a vector and a matrix whose columns are contiguous and known
// PLAIN-LABEL: @product
// PLAIN: #sinter.schedule<general, chunk = 256>
func.func @product(%x: tensor<20x3xf32>) -> (tensor<20x32xf32>, tensor<20x32xf32>) {
  %w = sinter.constant dense_resource<w> : tensor<3x32xf32>
  %0 = sinter.kernel contraction(%x, %w) : (tensor<20x3xf32>, tensor<3x32xf32>) -> tensor<20x32xf32> {
  ^bb0(%a: tensor<20x3xf32>, %b: tensor<3x32xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x3xf32>, tensor<3x32xf32>) -> tensor<20x32xf32>
    sinter.yield (%p) : tensor<20x32xf32>
  }
  %1 = sinter.kernel contraction(%x, %w) {schedule = #sinter.schedule<contraction, lanes = 8, tile = [3, 4], chunk = 77>} : (tensor<20x3xf32>, tensor<3x32xf32>) -> tensor<20x32xf32> {
  ^bb0(%a: tensor<20x3xf32>, %b: tensor<3x32xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x3xf32>, tensor<3x32xf32>) -> tensor<20x32xf32>
    sinter.yield (%p) : tensor<20x32xf32>
  }
  return %0, %1 : tensor<20x32xf32>, tensor<20x32xf32>
}

// Half of the rows, and two of fifteen vectors of channels: sixteen chunks. Rows of a filter that shares none are chunks
// enough.
// CHECK-LABEL: @depthwise
// CHECK: #sinter.schedule<depthwise, lanes = 16, tile = [7, 2], chunk = 483840, packing = [1]>
// CHECK: #sinter.schedule<depthwise, lanes = 16, tile = [7, 15], chunk = 131072, packing = [1]>
func.func @depthwise(%x: tensor<1x12x80x240xf32>) -> (tensor<1x12x80x240xf32>, tensor<1x12x80x240xf32>) {
  %w0 = sinter.constant dense_resource<w> : tensor<240x5x5x1xf32>
  %w1 = sinter.constant dense_resource<w> : tensor<240x1x3x1xf32>
  %0 = sinter.kernel convolution(%x, %w0) : (tensor<1x12x80x240xf32>, tensor<240x5x5x1xf32>) -> tensor<1x12x80x240xf32> {
  ^bb0(%a: tensor<1x12x80x240xf32>, %b: tensor<240x5x5x1xf32>):
    %c = sinter.convolution %a, %b {dilation = array<i64: 1, 1>, element_type = f32, groups = 240 : i64, high = array<i64: 2, 2>, input_dilation = array<i64: 1, 1>, layout = #sinter<conv_layout channels_last>, low = array<i64: 2, 2>, strides = array<i64: 1, 1>} : (tensor<1x12x80x240xf32>, tensor<240x5x5x1xf32>) -> tensor<1x12x80x240xf32>
    sinter.yield (%c) : tensor<1x12x80x240xf32>
  }
  %1 = sinter.kernel convolution(%x, %w1) : (tensor<1x12x80x240xf32>, tensor<240x1x3x1xf32>) -> tensor<1x12x80x240xf32> {
  ^bb0(%a: tensor<1x12x80x240xf32>, %b: tensor<240x1x3x1xf32>):
    %c = sinter.convolution %a, %b {dilation = array<i64: 1, 1>, element_type = f32, groups = 240 : i64, high = array<i64: 0, 1>, input_dilation = array<i64: 1, 1>, layout = #sinter<conv_layout channels_last>, low = array<i64: 0, 1>, strides = array<i64: 1, 1>} : (tensor<1x12x80x240xf32>, tensor<240x1x3x1xf32>) -> tensor<1x12x80x240xf32>
    sinter.yield (%c) : tensor<1x12x80x240xf32>
  }
  return %0, %1 : tensor<1x12x80x240xf32>, tensor<1x12x80x240xf32>
}

// Fewer elements of dear ones: about the same time.
// CHECK-LABEL: @maps
// CHECK: sinter.kernel map({{.*}}) {schedule = #sinter.schedule<map, lanes = 16, chunk = 16384>}
// CHECK: sinter.kernel map({{.*}}) {schedule = #sinter.schedule<map, lanes = 16, chunk = {{[1-9][0-9][0-9][0-9]}}>}
// WHY: remark: emitter 'update' does not take it: it does not end in one dynamic_update_slice
// WHY: remark: emitter 'transpose' does not take it: it does more than move axes
func.func @maps(%x: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>) {
  %0 = sinter.kernel map(%x) : (tensor<1000xf32>) -> tensor<1000xf32> {
  ^bb0(%a: tensor<1000xf32>):
    %p = sinter.neg %a : (tensor<1000xf32>) -> tensor<1000xf32>
    sinter.yield (%p) : tensor<1000xf32>
  }
  %1 = sinter.kernel map(%x) : (tensor<1000xf32>) -> tensor<1000xf32> {
  ^bb0(%a: tensor<1000xf32>):
    %p = sinter.tanh %a : (tensor<1000xf32>) -> tensor<1000xf32>
    sinter.yield (%p) : tensor<1000xf32>
  }
  return %0, %1 : tensor<1000xf32>, tensor<1000xf32>
}
}

{-#
  dialect_resources: {
    builtin: {
      w: "0x04000000"
    }
  }
#-}
