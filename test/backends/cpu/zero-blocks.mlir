// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter compile %s --emit=fused -o - | FileCheck %s
// RUN: sinter check %s
// RUN: sinter check %s --target=x86-64-v3
//
// Products with probabilities behind a mask, forward and backward: whole blocks of zeros at the beginning, at the end,
// and in all of a row's tile. The scores of the last part are larger than what its mask adds.

// CHECK-COUNT-20: schedule = #sinter.schedule<contraction, {{.*}}zeros = [
func.func @attention(%causal_q: tensor<2x64x32xf32>, %causal_k: tensor<2x64x32xf32>, %causal_v: tensor<2x64x32xf32>, %causal_dy: tensor<2x64x32xf32>, %causal_double_q: tensor<1x64x32xf64>, %causal_double_k: tensor<1x64x32xf64>, %causal_double_v: tensor<1x64x32xf64>, %causal_double_dy: tensor<1x64x32xf64>, %lengths_q: tensor<2x96x32xf32>, %lengths_k: tensor<2x128x32xf32>, %lengths_v: tensor<2x128x32xf32>, %lengths_dy: tensor<2x96x32xf32>, %scores_beyond_the_mask_q: tensor<1x64x32xf32>, %scores_beyond_the_mask_k: tensor<1x64x32xf32>, %scores_beyond_the_mask_v: tensor<1x64x32xf32>, %scores_beyond_the_mask_dy: tensor<1x64x32xf32>) -> (tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<1x64x32xf64>, tensor<1x64x32xf64>, tensor<1x64x32xf64>, tensor<1x64x32xf64>, tensor<2x96x32xf32>, tensor<2x96x32xf32>, tensor<2x128x32xf32>, tensor<2x128x32xf32>, tensor<1x64x32xf32>, tensor<1x64x32xf32>, tensor<1x64x32xf32>, tensor<1x64x32xf32>) {
  // causal
  %causal_scale = sinter.constant dense<0.125> : tensor<2x64x64xf32>
  %causal_row = sinter.iota {axis = 1 : i64, type = tensor<2x64x64xi32>} : () -> tensor<2x64x64xi32>
  %causal_column = sinter.iota {axis = 2 : i64, type = tensor<2x64x64xi32>} : () -> tensor<2x64x64xi32>
  %causal_shown = sinter.compare le %causal_column, %causal_row : (tensor<2x64x64xi32>, tensor<2x64x64xi32>) -> tensor<2x64x64xi1>
  %causal_none = sinter.constant dense<0.0> : tensor<2x64x64xf32>
  %causal_hidden = sinter.constant dense<-1.0e9> : tensor<2x64x64xf32>
  %causal_mask = sinter.select %causal_shown, %causal_none, %causal_hidden : (tensor<2x64x64xi1>, tensor<2x64x64xf32>, tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %causal_products = sinter.dot_general %causal_q, %causal_k {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>, element_type = f32} : (tensor<2x64x32xf32>, tensor<2x64x32xf32>) -> tensor<2x64x64xf32>
  %causal_scaled = sinter.mul %causal_products, %causal_scale : (tensor<2x64x64xf32>, tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %causal_scores = sinter.add %causal_scaled, %causal_mask : (tensor<2x64x64xf32>, tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %causal_p = sinter.softmax %causal_scores {axis = 2, logarithm = false} : (tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %causal_y = sinter.dot_general %causal_p, %causal_v {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<2x64x64xf32>, tensor<2x64x32xf32>) -> tensor<2x64x32xf32>
  %causal_dp = sinter.dot_general %causal_dy, %causal_v {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>, element_type = f32} : (tensor<2x64x32xf32>, tensor<2x64x32xf32>) -> tensor<2x64x64xf32>
  %causal_pdp = sinter.mul %causal_p, %causal_dp : (tensor<2x64x64xf32>, tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %causal_sum = sinter.reduce add %causal_pdp axes = [2] : (tensor<2x64x64xf32>) -> tensor<2x64xf32>
  %causal_sums = sinter.broadcast %causal_sum axes = [0, 1] {type = tensor<2x64x64xf32>} : (tensor<2x64xf32>) -> tensor<2x64x64xf32>
  %causal_psum = sinter.mul %causal_p, %causal_sums : (tensor<2x64x64xf32>, tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %causal_dscores = sinter.sub %causal_pdp, %causal_psum : (tensor<2x64x64xf32>, tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %causal_ds = sinter.mul %causal_dscores, %causal_scale : (tensor<2x64x64xf32>, tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %causal_dq = sinter.dot_general %causal_ds, %causal_k {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<2x64x64xf32>, tensor<2x64x32xf32>) -> tensor<2x64x32xf32>
  %causal_dk = sinter.dot_general %causal_ds, %causal_q {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<2x64x64xf32>, tensor<2x64x32xf32>) -> tensor<2x64x32xf32>
  %causal_dv = sinter.dot_general %causal_p, %causal_dy {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<2x64x64xf32>, tensor<2x64x32xf32>) -> tensor<2x64x32xf32>

  // causal_double
  %causal_double_scale = sinter.constant dense<0.125> : tensor<1x64x64xf64>
  %causal_double_row = sinter.iota {axis = 1 : i64, type = tensor<1x64x64xi32>} : () -> tensor<1x64x64xi32>
  %causal_double_column = sinter.iota {axis = 2 : i64, type = tensor<1x64x64xi32>} : () -> tensor<1x64x64xi32>
  %causal_double_shown = sinter.compare le %causal_double_column, %causal_double_row : (tensor<1x64x64xi32>, tensor<1x64x64xi32>) -> tensor<1x64x64xi1>
  %causal_double_none = sinter.constant dense<0.0> : tensor<1x64x64xf64>
  %causal_double_hidden = sinter.constant dense<-1.0e9> : tensor<1x64x64xf64>
  %causal_double_mask = sinter.select %causal_double_shown, %causal_double_none, %causal_double_hidden : (tensor<1x64x64xi1>, tensor<1x64x64xf64>, tensor<1x64x64xf64>) -> tensor<1x64x64xf64>
  %causal_double_products = sinter.dot_general %causal_double_q, %causal_double_k {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>, element_type = f64} : (tensor<1x64x32xf64>, tensor<1x64x32xf64>) -> tensor<1x64x64xf64>
  %causal_double_scaled = sinter.mul %causal_double_products, %causal_double_scale : (tensor<1x64x64xf64>, tensor<1x64x64xf64>) -> tensor<1x64x64xf64>
  %causal_double_scores = sinter.add %causal_double_scaled, %causal_double_mask : (tensor<1x64x64xf64>, tensor<1x64x64xf64>) -> tensor<1x64x64xf64>
  %causal_double_p = sinter.softmax %causal_double_scores {axis = 2, logarithm = false} : (tensor<1x64x64xf64>) -> tensor<1x64x64xf64>
  %causal_double_y = sinter.dot_general %causal_double_p, %causal_double_v {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>, element_type = f64} : (tensor<1x64x64xf64>, tensor<1x64x32xf64>) -> tensor<1x64x32xf64>
  %causal_double_dp = sinter.dot_general %causal_double_dy, %causal_double_v {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>, element_type = f64} : (tensor<1x64x32xf64>, tensor<1x64x32xf64>) -> tensor<1x64x64xf64>
  %causal_double_pdp = sinter.mul %causal_double_p, %causal_double_dp : (tensor<1x64x64xf64>, tensor<1x64x64xf64>) -> tensor<1x64x64xf64>
  %causal_double_sum = sinter.reduce add %causal_double_pdp axes = [2] : (tensor<1x64x64xf64>) -> tensor<1x64xf64>
  %causal_double_sums = sinter.broadcast %causal_double_sum axes = [0, 1] {type = tensor<1x64x64xf64>} : (tensor<1x64xf64>) -> tensor<1x64x64xf64>
  %causal_double_psum = sinter.mul %causal_double_p, %causal_double_sums : (tensor<1x64x64xf64>, tensor<1x64x64xf64>) -> tensor<1x64x64xf64>
  %causal_double_dscores = sinter.sub %causal_double_pdp, %causal_double_psum : (tensor<1x64x64xf64>, tensor<1x64x64xf64>) -> tensor<1x64x64xf64>
  %causal_double_ds = sinter.mul %causal_double_dscores, %causal_double_scale : (tensor<1x64x64xf64>, tensor<1x64x64xf64>) -> tensor<1x64x64xf64>
  %causal_double_dq = sinter.dot_general %causal_double_ds, %causal_double_k {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>, element_type = f64} : (tensor<1x64x64xf64>, tensor<1x64x32xf64>) -> tensor<1x64x32xf64>
  %causal_double_dk = sinter.dot_general %causal_double_ds, %causal_double_q {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f64} : (tensor<1x64x64xf64>, tensor<1x64x32xf64>) -> tensor<1x64x32xf64>
  %causal_double_dv = sinter.dot_general %causal_double_p, %causal_double_dy {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f64} : (tensor<1x64x64xf64>, tensor<1x64x32xf64>) -> tensor<1x64x32xf64>

  // lengths
  %lengths_scale = sinter.constant dense<0.125> : tensor<2x96x128xf32>
  %lengths_c = sinter.constant dense<[-3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4, -3.0e4]> : tensor<128xf32>
  %lengths_mask = sinter.broadcast %lengths_c axes = [2] {type = tensor<2x96x128xf32>} : (tensor<128xf32>) -> tensor<2x96x128xf32>
  %lengths_products = sinter.dot_general %lengths_q, %lengths_k {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>, element_type = f32} : (tensor<2x96x32xf32>, tensor<2x128x32xf32>) -> tensor<2x96x128xf32>
  %lengths_scaled = sinter.mul %lengths_products, %lengths_scale : (tensor<2x96x128xf32>, tensor<2x96x128xf32>) -> tensor<2x96x128xf32>
  %lengths_scores = sinter.add %lengths_scaled, %lengths_mask : (tensor<2x96x128xf32>, tensor<2x96x128xf32>) -> tensor<2x96x128xf32>
  %lengths_p = sinter.softmax %lengths_scores {axis = 2, logarithm = false} : (tensor<2x96x128xf32>) -> tensor<2x96x128xf32>
  %lengths_y = sinter.dot_general %lengths_p, %lengths_v {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<2x96x128xf32>, tensor<2x128x32xf32>) -> tensor<2x96x32xf32>
  %lengths_dp = sinter.dot_general %lengths_dy, %lengths_v {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>, element_type = f32} : (tensor<2x96x32xf32>, tensor<2x128x32xf32>) -> tensor<2x96x128xf32>
  %lengths_pdp = sinter.mul %lengths_p, %lengths_dp : (tensor<2x96x128xf32>, tensor<2x96x128xf32>) -> tensor<2x96x128xf32>
  %lengths_sum = sinter.reduce add %lengths_pdp axes = [2] : (tensor<2x96x128xf32>) -> tensor<2x96xf32>
  %lengths_sums = sinter.broadcast %lengths_sum axes = [0, 1] {type = tensor<2x96x128xf32>} : (tensor<2x96xf32>) -> tensor<2x96x128xf32>
  %lengths_psum = sinter.mul %lengths_p, %lengths_sums : (tensor<2x96x128xf32>, tensor<2x96x128xf32>) -> tensor<2x96x128xf32>
  %lengths_dscores = sinter.sub %lengths_pdp, %lengths_psum : (tensor<2x96x128xf32>, tensor<2x96x128xf32>) -> tensor<2x96x128xf32>
  %lengths_ds = sinter.mul %lengths_dscores, %lengths_scale : (tensor<2x96x128xf32>, tensor<2x96x128xf32>) -> tensor<2x96x128xf32>
  %lengths_dq = sinter.dot_general %lengths_ds, %lengths_k {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<2x96x128xf32>, tensor<2x128x32xf32>) -> tensor<2x96x32xf32>
  %lengths_dk = sinter.dot_general %lengths_ds, %lengths_q {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<2x96x128xf32>, tensor<2x96x32xf32>) -> tensor<2x128x32xf32>
  %lengths_dv = sinter.dot_general %lengths_p, %lengths_dy {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<2x96x128xf32>, tensor<2x96x32xf32>) -> tensor<2x128x32xf32>

  // scores_beyond_the_mask
  %scores_beyond_the_mask_scale = sinter.constant dense<1000.0> : tensor<1x64x64xf32>
  %scores_beyond_the_mask_row = sinter.iota {axis = 1 : i64, type = tensor<1x64x64xi32>} : () -> tensor<1x64x64xi32>
  %scores_beyond_the_mask_column = sinter.iota {axis = 2 : i64, type = tensor<1x64x64xi32>} : () -> tensor<1x64x64xi32>
  %scores_beyond_the_mask_shown = sinter.compare le %scores_beyond_the_mask_column, %scores_beyond_the_mask_row : (tensor<1x64x64xi32>, tensor<1x64x64xi32>) -> tensor<1x64x64xi1>
  %scores_beyond_the_mask_none = sinter.constant dense<0.0> : tensor<1x64x64xf32>
  %scores_beyond_the_mask_hidden = sinter.constant dense<-1.0e3> : tensor<1x64x64xf32>
  %scores_beyond_the_mask_mask = sinter.select %scores_beyond_the_mask_shown, %scores_beyond_the_mask_none, %scores_beyond_the_mask_hidden : (tensor<1x64x64xi1>, tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %scores_beyond_the_mask_products = sinter.dot_general %scores_beyond_the_mask_q, %scores_beyond_the_mask_k {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>, element_type = f32} : (tensor<1x64x32xf32>, tensor<1x64x32xf32>) -> tensor<1x64x64xf32>
  %scores_beyond_the_mask_scaled = sinter.mul %scores_beyond_the_mask_products, %scores_beyond_the_mask_scale : (tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %scores_beyond_the_mask_scores = sinter.add %scores_beyond_the_mask_scaled, %scores_beyond_the_mask_mask : (tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %scores_beyond_the_mask_p = sinter.softmax %scores_beyond_the_mask_scores {axis = 2, logarithm = false} : (tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %scores_beyond_the_mask_y = sinter.dot_general %scores_beyond_the_mask_p, %scores_beyond_the_mask_v {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<1x64x64xf32>, tensor<1x64x32xf32>) -> tensor<1x64x32xf32>
  %scores_beyond_the_mask_dp = sinter.dot_general %scores_beyond_the_mask_dy, %scores_beyond_the_mask_v {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 2>, element_type = f32} : (tensor<1x64x32xf32>, tensor<1x64x32xf32>) -> tensor<1x64x64xf32>
  %scores_beyond_the_mask_pdp = sinter.mul %scores_beyond_the_mask_p, %scores_beyond_the_mask_dp : (tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %scores_beyond_the_mask_sum = sinter.reduce add %scores_beyond_the_mask_pdp axes = [2] : (tensor<1x64x64xf32>) -> tensor<1x64xf32>
  %scores_beyond_the_mask_sums = sinter.broadcast %scores_beyond_the_mask_sum axes = [0, 1] {type = tensor<1x64x64xf32>} : (tensor<1x64xf32>) -> tensor<1x64x64xf32>
  %scores_beyond_the_mask_psum = sinter.mul %scores_beyond_the_mask_p, %scores_beyond_the_mask_sums : (tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %scores_beyond_the_mask_dscores = sinter.sub %scores_beyond_the_mask_pdp, %scores_beyond_the_mask_psum : (tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %scores_beyond_the_mask_ds = sinter.mul %scores_beyond_the_mask_dscores, %scores_beyond_the_mask_scale : (tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %scores_beyond_the_mask_dq = sinter.dot_general %scores_beyond_the_mask_ds, %scores_beyond_the_mask_k {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<1x64x64xf32>, tensor<1x64x32xf32>) -> tensor<1x64x32xf32>
  %scores_beyond_the_mask_dk = sinter.dot_general %scores_beyond_the_mask_ds, %scores_beyond_the_mask_q {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<1x64x64xf32>, tensor<1x64x32xf32>) -> tensor<1x64x32xf32>
  %scores_beyond_the_mask_dv = sinter.dot_general %scores_beyond_the_mask_p, %scores_beyond_the_mask_dy {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<1x64x64xf32>, tensor<1x64x32xf32>) -> tensor<1x64x32xf32>
  return %causal_y, %causal_dq, %causal_dk, %causal_dv, %causal_double_y, %causal_double_dq, %causal_double_dk, %causal_double_dv, %lengths_y, %lengths_dq, %lengths_dk, %lengths_dv, %scores_beyond_the_mask_y, %scores_beyond_the_mask_dq, %scores_beyond_the_mask_dk, %scores_beyond_the_mask_dv : tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<1x64x32xf64>, tensor<1x64x32xf64>, tensor<1x64x32xf64>, tensor<1x64x32xf64>, tensor<2x96x32xf32>, tensor<2x96x32xf32>, tensor<2x128x32xf32>, tensor<2x128x32xf32>, tensor<1x64x32xf32>, tensor<1x64x32xf32>, tensor<1x64x32xf32>, tensor<1x64x32xf32>
}
