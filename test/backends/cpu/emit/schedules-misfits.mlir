// What does not fit a kernel or the target is an error that says what would.
// RUN: sinter-opt --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(sinter-choose-schedules))' %s

#target = #sinter.target<"small", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64", capabilities = [fma], vector_bits = 256, registers = 16, l1 = 32768 x 8, l2 = 524288, l3 = 16777216, line = 64, panel = 128>
module attributes {sinter.target = #target} {
func.func @more_lanes_than_the_target_has(%x: tensor<20x70xf32>, %w: tensor<70x72xf32>) -> tensor<20x72xf32> {
  // expected-error @+1 {{has a schedule that does not fit on small: emitter 'contraction' requires a number from 4 to 8 for lanes, got 16}}
  %0 = sinter.kernel contraction(%x, %w) {schedule = #sinter.schedule<contraction, lanes = 16, tile = [1, 1], chunk = 1>} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%p) : tensor<20x72xf32>
  }
  return %0 : tensor<20x72xf32>
}
}

// -----

#target = #sinter.target<"small", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64", capabilities = [fma], vector_bits = 256, registers = 16, l1 = 32768 x 8, l2 = 524288, l3 = 16777216, line = 64, panel = 128>
module attributes {sinter.target = #target} {
func.func @more_rows_than_there_are(%x: tensor<20x70xf32>, %w: tensor<70x72xf32>) -> tensor<20x72xf32> {
  // expected-error @+1 {{has a schedule that does not fit on small: emitter 'contraction' requires a number from 1 to 20 for number 0 of tile, got 21}}
  %0 = sinter.kernel contraction(%x, %w) {schedule = #sinter.schedule<contraction, lanes = 8, tile = [21, 1], chunk = 1>} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%p) : tensor<20x72xf32>
  }
  return %0 : tensor<20x72xf32>
}
}

// -----

#target = #sinter.target<"small", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64", capabilities = [fma], vector_bits = 256, registers = 16, l1 = 32768 x 8, l2 = 524288, l3 = 16777216, line = 64, panel = 128>
module attributes {sinter.target = #target} {
func.func @vectors_that_do_not_divide(%x: tensor<20x70xf32>) -> tensor<20x72xf32> {
  %w = sinter.constant dense<0.5> : tensor<70x72xf32>
  // expected-error @+1 {{emitter 'contraction' requires a divisor of 8 from 1 to 8 for number 1 of tile, got 5}}
  %0 = sinter.kernel contraction(%x, %w) {schedule = #sinter.schedule<contraction, lanes = 8, tile = [4, 5], chunk = 1, packing = [1]>} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%p) : tensor<20x72xf32>
  }
  return %0 : tensor<20x72xf32>
}
}

// -----

#target = #sinter.target<"small", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64", capabilities = [fma], vector_bits = 256, registers = 16, l1 = 32768 x 8, l2 = 524288, l3 = 16777216, line = 64, panel = 128>
module attributes {sinter.target = #target} {
func.func @packing_of_what_is_no_constant(%x: tensor<20x70xf32>, %w: tensor<70x72xf32>) -> tensor<20x72xf32> {
  // expected-error @+1 {{emitter 'contraction' requires [] for packing, got [1]}}
  %0 = sinter.kernel contraction(%x, %w) {schedule = #sinter.schedule<contraction, lanes = 8, tile = [4, 2], chunk = 1, packing = [1]>} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%p) : tensor<20x72xf32>
  }
  return %0 : tensor<20x72xf32>
}
}

// -----

#target = #sinter.target<"small", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64", capabilities = [fma], vector_bits = 256, registers = 16, l1 = 32768 x 8, l2 = 524288, l3 = 16777216, line = 64, panel = 128>
module attributes {sinter.target = #target} {
func.func @a_chunk_that_splits_vectors(%x: tensor<100xf32>) -> tensor<100xf32> {
  // expected-error @+1 {{emitter 'map' requires a number that is a multiple of 8, from 8 to 1099511627776 for chunk, got 12}}
  %0 = sinter.kernel map(%x) {schedule = #sinter.schedule<map, lanes = 8, chunk = 12>} : (tensor<100xf32>) -> tensor<100xf32> {
  ^bb0(%a: tensor<100xf32>):
    %p = sinter.tanh %a : (tensor<100xf32>) -> tensor<100xf32>
    sinter.yield (%p) : tensor<100xf32>
  }
  return %0 : tensor<100xf32>
}
}

// -----

#target = #sinter.target<"small", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64", capabilities = [fma], vector_bits = 256, registers = 16, l1 = 32768 x 8, l2 = 524288, l3 = 16777216, line = 64, panel = 128>
module attributes {sinter.target = #target} {
func.func @lanes_that_are_no_power_of_two(%x: tensor<100xf32>) -> tensor<100xf32> {
  // expected-error @+1 {{emitter 'map' requires a power of two for lanes, got 6}}
  %0 = sinter.kernel map(%x) {schedule = #sinter.schedule<map, lanes = 6, chunk = 12>} : (tensor<100xf32>) -> tensor<100xf32> {
  ^bb0(%a: tensor<100xf32>):
    %p = sinter.tanh %a : (tensor<100xf32>) -> tensor<100xf32>
    sinter.yield (%p) : tensor<100xf32>
  }
  return %0 : tensor<100xf32>
}
}

// -----

#target = #sinter.target<"small", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64", capabilities = [fma], vector_bits = 256, registers = 16, l1 = 32768 x 8, l2 = 524288, l3 = 16777216, line = 64, panel = 128>
module attributes {sinter.target = #target} {
func.func @a_tile_for_what_has_none(%x: tensor<100xf32>) -> tensor<100xf32> {
  // expected-error @+1 {{emitter 'map' requires 0 numbers for tile, got [2]}}
  %0 = sinter.kernel map(%x) {schedule = #sinter.schedule<map, lanes = 8, tile = [2], chunk = 16>} : (tensor<100xf32>) -> tensor<100xf32> {
  ^bb0(%a: tensor<100xf32>):
    %p = sinter.tanh %a : (tensor<100xf32>) -> tensor<100xf32>
    sinter.yield (%p) : tensor<100xf32>
  }
  return %0 : tensor<100xf32>
}
}

// -----

#target = #sinter.target<"small", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64", capabilities = [fma], vector_bits = 256, registers = 16, l1 = 32768 x 8, l2 = 524288, l3 = 16777216, line = 64, panel = 128>
module attributes {sinter.target = #target} {
func.func @an_emitter_of_another_form(%x: tensor<100xf32>) -> tensor<100xf32> {
  // expected-error @+1 {{has a schedule that does not fit on small: emitter 'row' does not take the kernel, as it is no softmax or layer norm}}
  %0 = sinter.kernel map(%x) {schedule = #sinter.schedule<row, lanes = 8, chunk = 16>} : (tensor<100xf32>) -> tensor<100xf32> {
  ^bb0(%a: tensor<100xf32>):
    %p = sinter.tanh %a : (tensor<100xf32>) -> tensor<100xf32>
    sinter.yield (%p) : tensor<100xf32>
  }
  return %0 : tensor<100xf32>
}
}

// -----

#target = #sinter.target<"small", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64", capabilities = [fma], vector_bits = 256, registers = 16, l1 = 32768 x 8, l2 = 524288, l3 = 16777216, line = 64, panel = 128>
module attributes {sinter.target = #target} {
func.func @an_emitter_that_nobody_knows(%x: tensor<100xf32>) -> tensor<100xf32> {
  // expected-error @+1 {{has a schedule that does not fit: the CPU back end has the emitters update, transpose, pairs, map, reduce, arg_reduce, row, vector_matrix, contraction, matrix_vector, block_dot, depthwise, winograd, convolution, window, recurrent, attention, attention_gradient, bags, scatter, order, selection, running, triangular, general, got 'warp'}}
  %0 = sinter.kernel map(%x) {schedule = #sinter.schedule<warp>} : (tensor<100xf32>) -> tensor<100xf32> {
  ^bb0(%a: tensor<100xf32>):
    %p = sinter.tanh %a : (tensor<100xf32>) -> tensor<100xf32>
    sinter.yield (%p) : tensor<100xf32>
  }
  return %0 : tensor<100xf32>
}
}
