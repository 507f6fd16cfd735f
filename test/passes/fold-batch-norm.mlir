// RUN: sinter-opt %s --sinter-fold-batch-norm --canonicalize | FileCheck %s
// RUN: sinter-opt %s --sinter-fold-batch-norm=fast-math=true --canonicalize | FileCheck %s --check-prefix=FAST

// scale / sqrt(variance + epsilon) = 2 and 0.5; bias - mean * that = 1 - 2 and 0 + 0.5
// CHECK-LABEL: @into_the_filter
// CHECK-DAG: %[[F:.*]] = sinter.constant dense<{{\[\[\[\[}}2.000000e+00{{.*}}{{\[\[\[}}1.500000e+00
// CHECK-DAG: %[[T:.*]] = sinter.constant dense<[-1.000000e+00, 5.000000e-01]>
// CHECK: %[[C:.*]] = sinter.convolution %arg0, %[[F]]
// CHECK: %[[B:.*]] = sinter.broadcast %[[T]] axes = [1]
// CHECK: %[[R:.*]] = sinter.add %[[C]], %[[B]]
// CHECK: return %[[R]]
func.func @into_the_filter(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = sinter.constant dense<[[[[1.0]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>
  %scale = sinter.constant dense<[4.0, 1.0]> : tensor<2xf32>
  %bias = sinter.constant dense<[1.0, 0.0]> : tensor<2xf32>
  %mean = sinter.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %variance = sinter.constant dense<[3.0, 3.0]> : tensor<2xf32>
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = sinter.batch_norm %0, %scale, %bias, %mean, %variance {axis = 1 : i64, epsilon = 1.0 : f64} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: @alone_it_is_a_product_and_a_sum
// CHECK: sinter.mul
// CHECK: sinter.add
// CHECK-NOT: sinter.batch_norm
func.func @alone_it_is_a_product_and_a_sum(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %one = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = sinter.batch_norm %x, %one, %one, %one, %one {axis = 1 : i64, epsilon = 1.0 : f64} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  return %1 : tensor<1x2x4xf32>
}

// Scaled by 1e-38 / 1e3 no weight would be normal; Then the filter stays.

// CHECK-LABEL: @keeps_weights_that_would_not_be_normal
// CHECK: sinter.constant dense<{{\[\[\[\[}}1.0{{.*}}3.0
// CHECK: sinter.convolution
// CHECK: sinter.mul
func.func @keeps_weights_that_would_not_be_normal(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = sinter.constant dense<[[[[1.0]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>
  %scale = sinter.constant dense<[1.0e-38, 1.0]> : tensor<2xf32>
  %zero = sinter.constant dense<0.0> : tensor<2xf32>
  %variance = sinter.constant dense<[1.0e6, 3.0]> : tensor<2xf32>
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = sinter.batch_norm %0, %scale, %zero, %zero, %variance {axis = 1 : i64, epsilon = 1.0 : f64} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// A channel whose factor is 0 has weights of 0.

// CHECK-LABEL: @a_factor_of_zero_folds
// CHECK-NOT: sinter.mul
// CHECK: sinter.convolution
// CHECK-NOT: sinter.mul
func.func @a_factor_of_zero_folds(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = sinter.constant dense<[[[[1.0]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>
  %scale = sinter.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %zero = sinter.constant dense<0.0> : tensor<2xf32>
  %variance = sinter.constant dense<3.0> : tensor<2xf32>
  %0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = sinter.batch_norm %0, %scale, %zero, %zero, %variance {axis = 1 : i64, epsilon = 1.0 : f64} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// Variance + epsilon is negative in a channel: its results are NaN, however they are computed.

// CHECK-LABEL: @keeps_a_deviation_that_is_none
// CHECK: sinter.batch_norm
func.func @keeps_a_deviation_that_is_none(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %one = sinter.constant dense<1.0> : tensor<2xf32>
  %variance = sinter.constant dense<[-2.0, 3.0]> : tensor<2xf32>
  %1 = sinter.batch_norm %x, %one, %one, %one, %variance {axis = 1 : i64, epsilon = 1.0 : f64} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  return %1 : tensor<1x2x4xf32>
}

// x - 1e6 is exact where x / 2 - 5e5 has lost digits.

// CHECK-LABEL: @keeps_a_mean_that_is_far_away
// CHECK: sinter.batch_norm
// FAST-LABEL: @keeps_a_mean_that_is_far_away
// FAST-NOT: sinter.batch_norm
func.func @keeps_a_mean_that_is_far_away(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %one = sinter.constant dense<1.0> : tensor<2xf32>
  %mean = sinter.constant dense<[1.0e6, 0.0]> : tensor<2xf32>
  %variance = sinter.constant dense<3.0> : tensor<2xf32>
  %1 = sinter.batch_norm %x, %one, %one, %mean, %variance {axis = 1 : i64, epsilon = 1.0 : f64} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  return %1 : tensor<1x2x4xf32>
}
