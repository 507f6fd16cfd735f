// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @branch_argument(%p: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.cond' op requires then argument 0 of the type of capture 0, got 'tensor<5xf32>' and 'tensor<4xf32>'}}
  %0 = sinter.cond %p (%x) : (tensor<i1>, tensor<4xf32>) -> tensor<5xf32> then {
  ^bb0(%a: tensor<5xf32>):
    sinter.yield (%a) : tensor<5xf32>
  } else {
  ^bb0(%a: tensor<5xf32>):
    sinter.yield (%a) : tensor<5xf32>
  }
  return
}

// -----

func.func @branch_yield(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @+1 {{'sinter.cond' op requires else yield 0 of the type of result 0, got 'tensor<4xf64>' and 'tensor<4xf32>'}}
  %0 = sinter.cond %p (%x, %y) : (tensor<i1>, tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf64>):
    sinter.yield (%a) : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf64>):
    sinter.yield (%b) : tensor<4xf64>
  }
  return
}

// -----

func.func @branch_yield_count(%i: tensor<i64>) {
  // expected-error @+1 {{'sinter.switch' op requires as many branch 0 yields as results, got 0 and 1}}
  %0 = sinter.switch %i () : (tensor<i64>) -> tensor<4xf32> {
    sinter.yield
  }
  return
}

// -----

func.func @while_condition(%n: tensor<i64>) {
  // expected-error @+1 {{'sinter.while' op requires cond to yield one 'tensor<i1>', got 'tensor<i64>'}}
  %0:2 = sinter.while (%n) captures() : (tensor<i64>) -> (tensor<i64>, tensor<i64>) cond {
  ^bb0(%i: tensor<i64>):
    sinter.yield (%i) : tensor<i64>
  } body {
  ^bb0(%i: tensor<i64>):
    sinter.yield (%i) : tensor<i64>
  }
  return
}

// -----

func.func @loop_carry(%n: tensor<i64>, %x: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.for' op requires body yield 0 of the type of init 0, got 'tensor<i64>' and 'tensor<4xf32>'}}
  %0 = sinter.for %n to %n step %n (%x) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4xf32>) -> tensor<4xf32> body {
  ^bb0(%i: tensor<i64>, %c: tensor<4xf32>):
    sinter.yield (%i) : tensor<i64>
  }
  return
}

// -----

func.func @loop_stack(%n: tensor<i64>, %x: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.for' op requires stack 0 of type 'tensor<?x4xf32>', got 'tensor<4xf32>'}}
  %0 = sinter.for %n to %n step %n () captures(%x) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4xf32>) -> tensor<4xf32> body {
  ^bb0(%i: tensor<i64>, %c: tensor<4xf32>):
    sinter.yield (%c) : tensor<4xf32>
  }
  return
}

// -----

func.func @scan_sizes(%a: tensor<3x4xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{'sinter.scan' op requires walked axes of one size, got 3 and 5 of sequence 1}}
  sinter.scan () over(%a, %b) captures() {axes = array<i64: 0, 0>, reverse = array<i1: false, false>, out_axes = array<i64>, out_reverse = array<i1>}
       : (tensor<3x4xf32>, tensor<5xf32>) -> () body {
  ^bb0(%x: tensor<4xf32>, %y: tensor<f32>):
    sinter.yield
  }
  return
}

// -----

func.func @scan_no_sequence(%a: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.scan' op requires at least one sequence, got none}}
  %0 = sinter.scan (%a) over() captures() {axes = array<i64>, reverse = array<i1>, out_axes = array<i64>, out_reverse = array<i1>}
       : (tensor<4xf32>) -> tensor<4xf32> body {
  ^bb0(%x: tensor<4xf32>):
    sinter.yield (%x) : tensor<4xf32>
  }
  return
}

// -----

func.func @message_of_a_limit(%x: tensor<f32>, %p: tensor<i1>) -> tensor<f32> {
  // expected-error@below {{requires a first carry 'tensor<i64>' for the {} of sinter.limit_message}}
  %0:2 = sinter.while (%x) captures(%p) {max_trip = 0 : i64, on_limit = #sinter<limit_policy trap>, sinter.limit_message = "got {}"} : (tensor<f32>, tensor<i1>) -> (tensor<i64>, tensor<f32>) cond {
  ^bb0(%c: tensor<f32>, %q: tensor<i1>):
    sinter.yield(%q) : tensor<i1>
  } body {
  ^bb0(%c: tensor<f32>, %q: tensor<i1>):
    sinter.yield(%c) : tensor<f32>
  }
  return %0#1 : tensor<f32>
}

// -----

// Fewer results than inits are told before anything looks at the results.

func.func @scan_without_a_result(%x: tensor<f32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'sinter.scan' op requires a result per init, got 0 and 1}}
  sinter.scan (%x) over(%s) captures() {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64>, out_reverse = array<i1>}
       : (tensor<f32>, tensor<4xf32>) -> () body {
  ^bb0(%c: tensor<f32>, %e: tensor<f32>):
    sinter.yield (%c) : tensor<f32>
  }
  return
}

// -----

func.func @for_without_a_result(%n: tensor<i64>, %x: tensor<f32>) {
  // expected-error @+1 {{'sinter.for' op requires a result per init, got 0 and 1}}
  sinter.for %n to %n step %n (%x) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>) -> () body {
  ^bb0(%i: tensor<i64>, %c: tensor<f32>):
    sinter.yield (%c) : tensor<f32>
  }
  return
}

// -----

func.func @while_without_a_result(%x: tensor<i1>) {
  // expected-error @+1 {{'sinter.while' op expected 1 or more results}}
  sinter.while (%x) captures() : (tensor<i1>) -> () cond {
  ^bb0(%c: tensor<i1>):
    sinter.yield (%c) : tensor<i1>
  } body {
  ^bb0(%c: tensor<i1>):
    sinter.yield (%c) : tensor<i1>
  }
  return
}
