// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @sizes_differ(%x: tensor<4x8xf32>, %y: tensor<4x7xf32>) {
  // expected-error @+2 {{add requires operands of one shape, got 4x8 and 4x7}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.add %x, %y : (tensor<4x8xf32>, tensor<4x7xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @ranks_differ(%x: tensor<4x8xf32>, %y: tensor<f32>) {
  // expected-error @+2 {{mul requires operands of one shape, got 4x8 and rank 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.mul %x, %y : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @element_types_differ(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @+2 {{add requires operands of one element type, got 'f32' and 'f64'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.add %x, %y : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @declared_type_differs(%x: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{'sinter.abs' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  %0 = sinter.abs %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @compare_gives_booleans(%x: tensor<4xf32>) {
  // expected-error @+1 {{must be ranked tensor of boolean values}}
  %0 = sinter.compare eq %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_sides_differ(%p: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @+2 {{select requires operands of one element type, got 'f32' and 'i32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.select %p, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_pred_shape_differs(%p: tensor<3xi1>, %x: tensor<4xf32>) {
  // expected-error @+2 {{select requires operands of one shape, got 3 and 4 and 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.select %p, %x, %x : (tensor<3xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @bitcast_widths_differ(%x: tensor<4xf32>) {
  // expected-error @+2 {{bitcast requires an element type of the operand's width, got 'f32' and 'i64'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.bitcast %x {element_type = i64} : (tensor<4xf32>) -> tensor<4xi64>
  return
}
