// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @softmax_axis(%x: tensor<4xf32>) {
  // expected-error @+2 {{softmax requires axes in [0, 1), got -1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.softmax %x {axis = -1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @layer_norm_scale(%x: tensor<2x4xf32>, %s: tensor<3xf32>) {
  // expected-error @+2 {{layer_norm requires scale of type 'tensor<4xf32>', got 'tensor<3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = sinter.layer_norm %x scale(%s) {axis = 1 : i64, epsilon = 0.0 : f64} : (tensor<2x4xf32>, tensor<3xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @batch_norm_mean(%x: tensor<2x4xf32>, %s: tensor<4xf32>, %m: tensor<4xf64>) {
  // expected-error @+2 {{batch_norm requires mean of type 'tensor<4xf32>', got 'tensor<4xf64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.batch_norm %x, %s, %s, %m, %s {axis = 1 : i64, epsilon = 0.0 : f64}
       : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @group_norm_groups(%x: tensor<2x4xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{group_norm requires a multiple of groups as channels, got 4 for 3 groups}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.group_norm %x, %s, %s {groups = 3 : i64, epsilon = 0.0 : f64} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @attention_depth(%q: tensor<3x4xf32>, %k: tensor<6x5xf32>, %v: tensor<6x5xf32>) {
  // expected-error @+2 {{attention requires query and key of one depth, got 4 and 5}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.attention %q, %k, %v {scale = 1.0 : f64} : (tensor<3x4xf32>, tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @attention_bias(%q: tensor<3x5xf32>, %k: tensor<6x5xf32>, %v: tensor<6x5xf32>, %b: tensor<3x5xf32>) {
  // expected-error @+2 {{attention requires a bias that broadcasts to 'tensor<3x6xf32>', got 'tensor<3x5xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.attention %q, %k, %v, %b {scale = 1.0 : f64} : (tensor<3x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @attention_bias_type(%q: tensor<3x5xf64>, %k: tensor<6x5xf64>, %b: tensor<3x6xf32>) {
  // expected-error @+2 {{attention requires a bias that broadcasts to 'tensor<3x6xf64>', got 'tensor<3x6xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.attention %q, %k, %k, %b {scale = 1.0 : f64} : (tensor<3x5xf64>, tensor<6x5xf64>, tensor<6x5xf64>, tensor<3x6xf32>) -> tensor<3x5xf64>
  return
}

// -----

func.func @attention_heads(%q: tensor<3x4x5xf32>, %k: tensor<2x6x5xf32>) {
  // expected-error @+2 {{attention requires equal leading axes, of which the last of query may be a multiple, got 3x4x5, 2x6x5 and 2x6x5}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<3x4x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @attention_gradient_cotangent(%q: tensor<4x5xf32>, %k: tensor<6x5xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{attention_gradient requires a cotangent of type 'tensor<4x5xf32>', got 'tensor<6x5xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = sinter.attention_gradient %q, %k, %k, %k, %s, %s {scale = 1.0 : f64} : (tensor<4x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func @attention_gradient_sums(%q: tensor<4x5xf32>, %k: tensor<6x5xf32>, %s: tensor<5xf32>) {
  // expected-error @+2 {{attention_gradient requires log_sums and row_sums of type 'tensor<4xf32>', got 'tensor<5xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = sinter.attention_gradient %q, %k, %k, %q, %s, %s {scale = 1.0 : f64} : (tensor<4x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<4x5xf32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<4x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>)
  return
}
