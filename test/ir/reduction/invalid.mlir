// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @reduce_axis_outside(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{reduce requires axes in [0, 2), got 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.reduce add %x axes = [2] : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_axis_twice(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{reduce requires distinct axes, got 1 twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.reduce add %x axes = [1, 1] : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_combiner(%x: tensor<4xf32>) {
  // expected-error @+2 {{reduce requires add, mul, max or min of numbers, or and, or of integers and booleans, got or of 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.reduce or %x axes = [0] : (tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @arg_reduce_combiner(%x: tensor<4xf32>) {
  // expected-error @+2 {{arg_reduce requires max or min, got add}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.arg_reduce add %x {axis = 0 : i64} : (tensor<4xf32>) -> tensor<i64>
  return
}

// -----

func.func @arg_reduce_empty_axis(%x: tensor<0xf32>) {
  // expected-error @+2 {{arg_reduce requires a non-empty axis, got size 0 of axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.arg_reduce max %x {axis = 0 : i64} : (tensor<0xf32>) -> tensor<i64>
  return
}

// -----

func.func @cumulative_combiner(%x: tensor<4xf32>) {
  // expected-error @+2 {{cumulative requires add, mul, max or min, got set}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.cumulative set %x {axis = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_window_entries(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{reduce_window requires one entry per axis in strides, got 1 for rank 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.reduce_window add %x {window = array<i64: 1, 2>, strides = array<i64: 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>,
       dilations = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x7xf32>
  return
}

// -----

func.func @reduce_window_stride_zero(%x: tensor<8xf32>) {
  // expected-error @+2 {{reduce_window requires positive strides, got 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.reduce_window add %x {window = array<i64: 2>, strides = array<i64: 0>, low = array<i64: 0>, high = array<i64: 0>,
       dilations = array<i64: 1>} : (tensor<8xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @top_k_negative(%x: tensor<8xf32>) {
  %k = sinter.constant dense<-1> : tensor<i64>
  // expected-error @+2 {{top_k requires k >= 0, got -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = sinter.top_k %x, %k {axis = 0 : i64} : (tensor<8xf32>, tensor<i64>) -> (tensor<?xf32>, tensor<?xi64>)
  return
}
