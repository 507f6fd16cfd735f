// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{requires memory for each output, found none for output 1}}
schedule.function @function_c1_output_is_not_asked_for inputs 0 outputs 2 {
  %y = schedule.output 0[]
  schedule.return
}

// -----

schedule.function @function_c2_input_is_not_there inputs 1 outputs 0 {
  // expected-error @+1 {{requires an input below 1, got 1}}
  %x = schedule.input 1
  schedule.return
}

// -----

schedule.function @function_c2_size_of_no_input inputs 1 outputs 0 {
  // expected-error @+1 {{requires an input below 1, got 3}}
  %n = schedule.input_size 3 axis 0
  schedule.return
}

// -----

schedule.function @function_c2_output_is_not_there inputs 0 outputs 1 {
  // expected-error @+1 {{requires an output below 1, got 2}}
  %y = schedule.output 2[]
  schedule.return
}

// -----

schedule.function @arena_c1_lives_are_missing inputs 0 outputs 0 {
  %n = arith.constant 64 : i64
  // expected-error @+1 {{requires a size and a life (two positions) for each of 2 buffers, got 2 sizes and 2 positions}}
  %a:2 = schedule.arena(%n, %n) lives [0, 1] : !schedule.buffer, !schedule.buffer
  schedule.return
}

// -----

schedule.function @arena_c2_life_ends_before_it_begins inputs 0 outputs 0 {
  %n = arith.constant 64 : i64
  // expected-error @+1 {{requires lives that begin before they end, got 3 to 2 for buffer 0}}
  %a = schedule.arena(%n) lives [3, 2] : !schedule.buffer
  schedule.return
}

// -----

schedule.function @launch_c1_writes_a_size inputs 1 outputs 0 {
  %x = schedule.input 0
  %n = arith.constant 64 : i64
  // expected-error @+1 {{requires ascending numbers of buffers in 'writes', got 1}}
  schedule.launch @kernel(%x, %n) writes [1] chunks %n : !schedule.buffer, i64
  schedule.return
}

// -----

schedule.function @launch_c1_writes_out_of_order inputs 2 outputs 0 {
  %x = schedule.input 0
  %y = schedule.input 1
  %n = arith.constant 64 : i64
  // expected-error @+1 {{requires ascending numbers of buffers in 'writes', got 0}}
  schedule.launch @kernel(%x, %y) writes [1, 0] chunks %n : !schedule.buffer, !schedule.buffer
  schedule.return
}

// -----

schedule.function @require_c1_success_is_no_failure inputs 0 outputs 0 {
  %n = arith.constant 64 : i64
  %no = arith.constant false
  // expected-error @+1 {{attribute 'code' failed to satisfy constraint: 32-bit signless integer attribute whose value is positive}}
  schedule.require %no else 0 "no"(%n, %n)
  schedule.return
}

// -----

schedule.function @poll_not_a_power_of_two inputs 0 outputs 0 {
  %n = arith.constant 64 : i64
  // expected-error @+1 {{requires a power of two of trips, got 3}}
  schedule.poll %n every 3
  schedule.return
}

// -----

schedule.function @function_does_not_return inputs 0 outputs 0 {
  // expected-error @+1 {{block with no terminator}}
  %n = arith.constant 64 : i64
}

// -----

// expected-error @+1 {{requires a region of one sinter.kernel whose inputs are the region's arguments}}
schedule.kernel @code_c1_inputs_in_another_order for "cpu" sizes ["4", "4"] {
^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
  %z = sinter.kernel map(%y, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s = sinter.sub %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%s) : tensor<4xf32>
  }
}

// -----

// expected-error @+1 {{requires sizes, and elements where there are any, for each of 1 inputs, got 0 and 0}}
schedule.kernel @code_c2_sizes_are_missing for "cpu" sizes [] {
^bb0(%x: tensor<4xf32>):
  %z = sinter.kernel map(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %s = sinter.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%s) : tensor<4xf32>
  }
}

// -----

// expected-error @+1 {{requires a number or a symbol (s0) for each axis of 'tensor<?x4xf32>', got 'n 4'}}
schedule.kernel @code_c2_a_size_is_neither_number_nor_symbol for "cpu" sizes ["n 4"] {
^bb0(%x: tensor<?x4xf32>):
  %z = sinter.kernel map(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x4xf32>):
    %s = sinter.neg %a : (tensor<?x4xf32>) -> tensor<?x4xf32>
    sinter.yield(%s) : tensor<?x4xf32>
  }
}

// -----

// expected-error @+1 {{requires a number, a symbol (s0) or ? for each element of 'tensor<2xi64>', got '1'}}
schedule.kernel @code_c2_an_element_is_missing for "cpu" sizes ["2"] elements ["1"] {
^bb0(%x: tensor<2xi64>):
  %z = sinter.kernel map(%x) : (tensor<2xi64>) -> tensor<2xi64> {
  ^bb0(%a: tensor<2xi64>):
    %s = sinter.neg %a : (tensor<2xi64>) -> tensor<2xi64>
    sinter.yield(%s) : tensor<2xi64>
  }
}

// -----

// expected-error @+1 {{requires inputs in 'constants', got 1 of 1}}
schedule.kernel @code_c3_a_constant_is_no_input for "cpu" sizes ["4"] constants [1] {
^bb0(%x: tensor<4xf32>):
  %z = sinter.kernel map(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %s = sinter.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%s) : tensor<4xf32>
  }
}

// -----

schedule.function @launch_c2_buffer_of_the_host inputs 1 outputs 0 {
  %x = schedule.input 0
  %n = arith.constant 64 : i64
  // expected-error @+1 {{requires buffers in the memory of its back end (gpu), got '!schedule.buffer'}}
  schedule.launch @kernel on "gpu"(%x) writes [] chunks %n : !schedule.buffer
  schedule.return
}

// -----

schedule.function @launch_c2_buffer_of_a_device_on_the_host inputs 0 outputs 0 {
  %n = arith.constant 64 : i64
  %a = schedule.acquire %n in "gpu"
  // expected-error @+1 {{requires buffers in the memory of its back end (the host), got '!schedule.buffer<"gpu">'}}
  schedule.launch @kernel(%a) writes [] chunks %n : !schedule.buffer<"gpu">
  schedule.return
}

// -----

schedule.function @launch_c3_inline_on_a_device inputs 0 outputs 0 {
  %n = arith.constant 64 : i64
  %a = schedule.acquire %n in "gpu"
  // expected-error @+1 {{requires the host for 'inline', got 'gpu'}}
  schedule.launch inline @kernel on "gpu"(%a) writes [] chunks %n : !schedule.buffer<"gpu">
  schedule.return
}

// -----

schedule.function @launch_c3_steps_on_a_device inputs 0 outputs 0 {
  %n = arith.constant 64 : i64
  %a = schedule.acquire %n in "gpu"
  // expected-error @+1 {{requires the host for 'steps', got 'gpu'}}
  schedule.launch @kernel on "gpu"(%a) writes [] chunks %n steps %n : !schedule.buffer<"gpu">
  schedule.return
}

// -----

schedule.function @launch_c3_forks_on_a_device inputs 0 outputs 0 {
  %n = arith.constant 64 : i64
  %a = schedule.acquire %n in "gpu"
  // expected-error @+1 {{requires the host for 'forks', got 'gpu'}}
  schedule.launch @kernel on "gpu"(%a) writes [] chunks %n forks %n : !schedule.buffer<"gpu">
  schedule.return
}

// -----

schedule.function @copy_c1_between_two_devices inputs 0 outputs 0 {
  %n = arith.constant 64 : i64
  %a = schedule.acquire %n in "gpu"
  %b = schedule.acquire %n in "npu"
  // expected-error @+1 {{requires one buffer of the host, or both in the same memory, got '!schedule.buffer<"gpu">' and '!schedule.buffer<"npu">'}}
  schedule.copy %a in "gpu" to %b in "npu" bytes %n
  schedule.return
}

// -----

schedule.function @copy_pieces_c1_between_two_devices inputs 0 outputs 0 {
  %n = arith.constant 64 : i64
  %a = schedule.acquire %n in "gpu"
  %b = schedule.acquire %n in "npu"
  // expected-error @+1 {{requires one buffer of the host, or both in the same memory, got '!schedule.buffer<"gpu">' and '!schedule.buffer<"npu">'}}
  schedule.copy_pieces %a in "gpu" step %n to %b in "npu" step %n bytes %n count %n
  schedule.return
}

// -----

schedule.function @wait_c1_for_the_host inputs 1 outputs 0 {
  %x = schedule.input 0
  // expected-error @+1 {{requires a buffer in the memory of a back end, got one of the host}}
  schedule.wait %x
  schedule.return
}

// -----

schedule.function @load_from_a_device inputs 0 outputs 0 {
  %n = arith.constant 64 : i64
  // expected-note @+1 {{prior use here}}
  %a = schedule.acquire %n in "gpu"
  // expected-error @+1 {{use of value '%a' expects different type than prior uses: '!schedule.buffer' vs '!schedule.buffer<"gpu">'}}
  %element = schedule.load %a : f32
  schedule.return
}

// -----

schedule.function @repeat_c1_counts_on_the_host inputs 0 outputs 0 {
  %x = schedule.local 8
  // expected-error @+1 {{requires 'trips' in the memory of a back end, got a buffer of the host}}
  schedule.repeat counting %x while {
    schedule.test %x
  } do {
    schedule.end
  }
  schedule.return
}

// -----

schedule.function @repeat_c2_waits_for_the_host inputs 0 outputs 0 {
  %n = arith.constant 8 : i64
  %a = schedule.acquire %n in "gpu"
  schedule.repeat counting %a in "gpu" while {
    schedule.test %a in "gpu"
  } do {
    // expected-error @+1 {{requires the host, schedule.repeat runs on "gpu" alone}}
    schedule.wait %a in "gpu"
    schedule.end
  }
  schedule.return
}

// -----

schedule.function @repeat_c2_acquires_of_the_host inputs 0 outputs 0 {
  %n = arith.constant 8 : i64
  %a = schedule.acquire %n in "gpu"
  schedule.repeat counting %a in "gpu" while {
    schedule.test %a in "gpu"
  } do {
    // expected-error @+1 {{requires the host, schedule.repeat runs on "gpu" alone}}
    %b = schedule.acquire %n
    schedule.end
  }
  schedule.return
}

// -----

schedule.function @repeat_requires_a_test inputs 0 outputs 0 {
  %n = arith.constant 8 : i64
  %a = schedule.acquire %n in "gpu"
  // expected-error @+1 {{requires a first region that ends with schedule.test, and one that ends with schedule.end}}
  schedule.repeat counting %a in "gpu" while {
    schedule.end
  } do {
    schedule.end
  }
  schedule.return
}

// -----

schedule.function @chain_c1_a_window_is_missing inputs 1 outputs 0 {
  %x = schedule.input 0
  %m = schedule.local 64
  // expected-error @+1 {{requires two kernels or more, a count of arguments for each, and a size and two places for each window, got 2 kernels, 2 counts of 4 arguments, 0 windows and 0 places}}
  schedule.chain [@a, @b](%x, %m, %m, %x) counts [2, 2] places [] in %m windows [] parts [0, 1] begins [0, 1, 0, 1] steps [0, 1, 0, 1] : !schedule.buffer, !schedule.buffer, !schedule.buffer, !schedule.buffer
  schedule.return
}

// -----

schedule.function @chain_c2_a_step_is_too_short inputs 1 outputs 0 {
  %x = schedule.input 0
  %m = schedule.local 64
  // expected-error @+1 {{requires parts that end with the last of the steps, of 7 numbers each, got 4 numbers}}
  schedule.chain [@a, @b](%x, %m, %m, %x) counts [2, 2] places [1, 2] in %m windows [64] parts [0, 1] begins [0, 0, 0, 0, 1, 0, 1] steps [0, 1, 0, 1] : !schedule.buffer, !schedule.buffer, !schedule.buffer, !schedule.buffer
  schedule.return
}

// -----

schedule.function @chain_c2_a_part_does_not_begin inputs 1 outputs 0 {
  %x = schedule.input 0
  %m = schedule.local 64
  // expected-error @+1 {{requires a step of 7 numbers to begin each of 1 parts, got 0 numbers}}
  schedule.chain [@a, @b](%x, %m, %m, %x) counts [2, 2] places [1, 2] in %m windows [64] parts [0, 1] begins [] steps [0, 0, 0, 0, 1, 0, 1] : !schedule.buffer, !schedule.buffer, !schedule.buffer, !schedule.buffer
  schedule.return
}

// -----

schedule.function @chain_c3_nobody_writes_the_window inputs 1 outputs 0 {
  %x = schedule.input 0
  %m = schedule.local 64
  // expected-error @+1 {{requires places of one value among the arguments of kernels 0 and 1, got 1 and 2}}
  schedule.chain [@a, @b](%x, %x, %m, %x) counts [2, 2] places [1, 2] in %m windows [64] parts [0, 1] begins [0, 0, 0, 0, 1, 0, 1] steps [0, 0, 0, 0, 1, 0, 1] : !schedule.buffer, !schedule.buffer, !schedule.buffer, !schedule.buffer
  schedule.return
}

// -----

schedule.function @choose_c1_looks_at_the_host inputs 0 outputs 0 {
  %x = schedule.local 8
  // expected-error @+1 {{requires 'flag' in the memory of a back end, got a buffer of the host}}
  schedule.choose %x then {
    schedule.end
  } else {
    schedule.end
  }
  schedule.return
}

// -----

schedule.function @choose_c2_copies_to_the_host inputs 0 outputs 0 {
  %n = arith.constant 8 : i64
  %x = schedule.local 8
  %a = schedule.acquire %n in "gpu"
  schedule.choose %a in "gpu" then {
    // expected-error @+1 {{requires the host, schedule.choose runs on "gpu" alone}}
    schedule.copy %a in "gpu" to %x bytes %n
    schedule.end
  } else {
    schedule.end
  }
  schedule.return
}
