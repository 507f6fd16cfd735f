// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @kernel_c1_argument_differs(%x: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.kernel' op requires argument 0 of the type of input 0, got 'tensor<5xf32>' and 'tensor<4xf32>'}}
  %0 = sinter.kernel map (%x) : (tensor<4xf32>) -> tensor<5xf32> {
  ^bb0(%a: tensor<5xf32>):
    sinter.yield (%a) : tensor<5xf32>
  }
  return
}

// -----

func.func @kernel_c2_yield_differs(%x: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.kernel' op requires as many yields as results, got 0 and 1}}
  %0 = sinter.kernel map (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    sinter.yield
  }
  return
}

// -----

func.func @kernel_c3_two_roots(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{'sinter.kernel' op requires at most one op that shapes the loop nest, got sinter.reduce and sinter.reduce}}
  %0 = sinter.kernel reduce (%x) : (tensor<4x5xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<4x5xf32>):
    %r = sinter.reduce add %a axes = [0] : (tensor<4x5xf32>) -> tensor<5xf32>
    // expected-note @+1 {{the second one is here}}
    %s = sinter.reduce add %r axes = [0] : (tensor<5xf32>) -> tensor<f32>
    sinter.yield (%s) : tensor<f32>
  }
  return
}

// -----

func.func @kernel_c4_map_with_root(%x: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.kernel' op of template map requires pointwise and elemental ops only, got sinter.reduce}}
  %0 = sinter.kernel map (%x) : (tensor<4xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<4xf32>):
    %r = sinter.reduce add %a axes = [0] : (tensor<4xf32>) -> tensor<f32>
    sinter.yield (%r) : tensor<f32>
  }
  return
}

// -----

func.func @kernel_c5_zeros_beyond_the_inputs(%x: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.kernel' op requires zeros to name inputs 0 to 0, got 1}}
  %0 = sinter.kernel map (%x) {zeros = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    sinter.yield (%a) : tensor<4xf32>
  }
  return
}

// -----

func.func @kernel_c5_packing_beyond_the_inputs(%x: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.kernel' op requires the schedule's packing to name inputs 0 to 0, got 3}}
  %0 = sinter.kernel map (%x) {schedule = #sinter.schedule<map, packing = [3]>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    sinter.yield (%a) : tensor<4xf32>
  }
  return
}

// -----

func.func @kernel_c6_too_few_lists(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{'sinter.kernel' op requires a list of strides for each of 2 inputs and results, got 1}}
  %0 = sinter.kernel map (%x) {strides = [array<i64: 6, 1>]} : (tensor<4x5xf32>) -> tensor<4x5xf32> {
  ^bb0(%a: tensor<4x5xf32>):
    sinter.yield (%a) : tensor<4x5xf32>
  }
  return
}

// -----

func.func @kernel_c6_elements_apart(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{'sinter.kernel' op requires strides of -1 or more for 2 axes, -1 or 1 for the last, got [20, 2]}}
  %0 = sinter.kernel map (%x) {strides = [array<i64>, array<i64: 20, 2>]} : (tensor<4x5xf32>) -> tensor<4x5xf32> {
  ^bb0(%a: tensor<4x5xf32>):
    sinter.yield (%a) : tensor<4x5xf32>
  }
  return
}

// -----

func.func @kernel_c7_computes_in_place(%x: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.kernel' op requires a concatenation of what kernels beside it compute, or a slice of steps of 1, and no schedule, to be in place}}
  %0 = sinter.kernel map (%x) {in_place} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %n = sinter.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%n) : tensor<4xf32>
  }
  return
}

// -----

func.func @kernel_c7_joins_what_is_given(%x: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.kernel' op requires a concatenation of what kernels beside it compute, or a slice of steps of 1, and no schedule, to be in place}}
  %0 = sinter.kernel map (%x, %x) {in_place} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %n = sinter.concatenate %a, %b {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    sinter.yield (%n) : tensor<8xf32>
  }
  return
}
