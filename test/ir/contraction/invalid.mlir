// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @dot_general_c1_counts_differ(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+2 {{dot_general requires as many axes of lhs as of rhs, got 0 and 0 batch axes, 1 and 0 contracted axes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64>,
       element_type = f32} : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @dot_general_c1_axis_twice(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>) {
  // expected-error @+2 {{dot_general requires distinct axes, got 1 twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.dot_general %a, %b {lhs_batch = array<i64: 1>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>,
       element_type = f32} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @dot_general_c2_sizes_differ(%a: tensor<4x8xf32>, %b: tensor<7x2xf32>) {
  // expected-error @+2 {{dot_general requires dim(lhs, 1) = dim(rhs, 0), got 8 and 7}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>,
       element_type = f32} : (tensor<4x8xf32>, tensor<7x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @dot_general_kinds_differ(%a: tensor<4x8xf32>, %b: tensor<8x2xi32>) {
  // expected-error @+2 {{dot_general requires operands and result of one kind (floats or integers), got 'f32', 'i32' and 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>,
       element_type = f32} : (tensor<4x8xf32>, tensor<8x2xi32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @convolution_c1_channels_differ(%x: tensor<1x4x9xf32>, %w: tensor<6x3x3xf32>) {
  // expected-error @+2 {{convolution requires input channels = groups * filter channels, got 4, 1 and 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, input_dilation = array<i64: 1>,
       dilation = array<i64: 1>, element_type = f32} : (tensor<1x4x9xf32>, tensor<6x3x3xf32>) -> tensor<1x6x7xf32>
  return
}

// -----

func.func @convolution_c2_features_not_in_groups(%x: tensor<1x4x9xf32>, %w: tensor<5x2x3xf32>) {
  // expected-error @+2 {{convolution requires a multiple of groups as output channels, got 5 for 2 groups}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, input_dilation = array<i64: 1>,
       dilation = array<i64: 1>, groups = 2 : i64, element_type = f32} : (tensor<1x4x9xf32>, tensor<5x2x3xf32>) -> tensor<1x5x7xf32>
  return
}

// -----

func.func @convolution_ranks(%x: tensor<1x4xf32>, %w: tensor<5x4xf32>) {
  // expected-error @+2 {{convolution requires input and filter of one rank from 3 to 5, got 2 and 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.convolution %x, %w {strides = array<i64>, low = array<i64>, high = array<i64>, input_dilation = array<i64>,
       dilation = array<i64>, element_type = f32} : (tensor<1x4xf32>, tensor<5x4xf32>) -> tensor<1x5xf32>
  return
}

// -----

func.func @det_not_square(%x: tensor<3x4xf32>) {
  // expected-error @+2 {{det requires square matrices in the last two axes, got 3x4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.det %x : (tensor<3x4xf32>) -> tensor<f32>
  return
}

// -----

func.func @cholesky_c1_not_square(%x: tensor<2x3x4xf32>) {
  // expected-error @+2 {{cholesky requires square matrices in the last two axes, got 2x3x4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.cholesky %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @cholesky_element_type(%x: tensor<3x3xf16>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of 64-bit float or 32-bit float values}}
  %0 = sinter.cholesky %x : (tensor<3x3xf16>) -> tensor<3x3xf16>
  return
}

// -----

func.func @triangular_solve_c1_not_square(%a: tensor<3x4xf32>, %b: tensor<3x1xf32>) {
  // expected-error @+2 {{triangular_solve requires square matrices in the last two axes, got 3x4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.triangular_solve %a, %b : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  return
}

// -----

func.func @triangular_solve_c2_element_types(%a: tensor<3x3xf32>, %b: tensor<3x1xf64>) {
  // expected-error @+2 {{triangular_solve requires one element type, got 'f32' and 'f64'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.triangular_solve %a, %b : (tensor<3x3xf32>, tensor<3x1xf64>) -> tensor<3x1xf64>
  return
}

// -----

func.func @triangular_solve_c3_rows_differ(%a: tensor<2x3x3xf32>, %b: tensor<2x4x1xf32>) {
  // expected-error @+2 {{triangular_solve requires a right-hand side [..., n, k] for matrices 2x3x3, got 2x4x1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.triangular_solve %a, %b : (tensor<2x3x3xf32>, tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
  return
}

// -----

func.func @triangular_solve_c3_ranks_differ(%a: tensor<3x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+2 {{triangular_solve requires a right-hand side [..., n, k] for matrices 3x3, got 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.triangular_solve %a, %b : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}
