// Products of vectors and matrices with blocks and chunks that nobody would choose.
// RUN: sinter check %s
// REQUIRES: x86_64
func.func @vectors(%v: tensor<70xf32>, %w: tensor<70x72xf32>, %m: tensor<72x70xf32>) -> (tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>) {
  %k0 = sinter.kernel contraction(%v, %w) {schedule = #sinter.schedule<vector_matrix, lanes = 4, tile = [1], chunk = 1>} : (tensor<70xf32>, tensor<70x72xf32>) -> tensor<72xf32> {
  ^bb0(%a: tensor<70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<70xf32>, tensor<70x72xf32>) -> tensor<72xf32>
    %s = sinter.tanh %p : (tensor<72xf32>) -> tensor<72xf32>
    sinter.yield (%s) : tensor<72xf32>
  }
  %k1 = sinter.kernel contraction(%v, %w) {schedule = #sinter.schedule<vector_matrix, lanes = 4, tile = [8], chunk = 100>} : (tensor<70xf32>, tensor<70x72xf32>) -> tensor<72xf32> {
  ^bb0(%a: tensor<70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<70xf32>, tensor<70x72xf32>) -> tensor<72xf32>
    %s = sinter.tanh %p : (tensor<72xf32>) -> tensor<72xf32>
    sinter.yield (%s) : tensor<72xf32>
  }
  %k2 = sinter.kernel contraction(%v, %w) {schedule = #sinter.schedule<vector_matrix, lanes = 4, tile = [3], chunk = 65536>} : (tensor<70xf32>, tensor<70x72xf32>) -> tensor<72xf32> {
  ^bb0(%a: tensor<70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<70xf32>, tensor<70x72xf32>) -> tensor<72xf32>
    %s = sinter.tanh %p : (tensor<72xf32>) -> tensor<72xf32>
    sinter.yield (%s) : tensor<72xf32>
  }
  %k3 = sinter.kernel contraction(%v, %w) {schedule = #sinter.schedule<vector_matrix, lanes = 4, tile = [5], chunk = 2000>} : (tensor<70xf32>, tensor<70x72xf32>) -> tensor<72xf32> {
  ^bb0(%a: tensor<70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<70xf32>, tensor<70x72xf32>) -> tensor<72xf32>
    %s = sinter.tanh %p : (tensor<72xf32>) -> tensor<72xf32>
    sinter.yield (%s) : tensor<72xf32>
  }
  %k4 = sinter.kernel contraction(%v, %w) {schedule = #sinter.schedule<vector_matrix, lanes = 4, tile = [7], chunk = 1>} : (tensor<70xf32>, tensor<70x72xf32>) -> tensor<72xf32> {
  ^bb0(%a: tensor<70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<70xf32>, tensor<70x72xf32>) -> tensor<72xf32>
    %s = sinter.tanh %p : (tensor<72xf32>) -> tensor<72xf32>
    sinter.yield (%s) : tensor<72xf32>
  }
  %k5 = sinter.kernel contraction(%v, %w) {schedule = #sinter.schedule<vector_matrix, lanes = 4, tile = [2], chunk = 700>} : (tensor<70xf32>, tensor<70x72xf32>) -> tensor<72xf32> {
  ^bb0(%a: tensor<70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<70xf32>, tensor<70x72xf32>) -> tensor<72xf32>
    %s = sinter.tanh %p : (tensor<72xf32>) -> tensor<72xf32>
    sinter.yield (%s) : tensor<72xf32>
  }
  %k6 = sinter.kernel contraction(%m, %v) {schedule = #sinter.schedule<matrix_vector, lanes = 4, chunk = 1>} : (tensor<72x70xf32>, tensor<70xf32>) -> tensor<72xf32> {
  ^bb0(%a: tensor<72x70xf32>, %b: tensor<70xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<72x70xf32>, tensor<70xf32>) -> tensor<72xf32>
    %s = sinter.tanh %p : (tensor<72xf32>) -> tensor<72xf32>
    sinter.yield (%s) : tensor<72xf32>
  }
  %k7 = sinter.kernel contraction(%m, %v) {schedule = #sinter.schedule<matrix_vector, lanes = 4, chunk = 65536>} : (tensor<72x70xf32>, tensor<70xf32>) -> tensor<72xf32> {
  ^bb0(%a: tensor<72x70xf32>, %b: tensor<70xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<72x70xf32>, tensor<70xf32>) -> tensor<72xf32>
    %s = sinter.tanh %p : (tensor<72xf32>) -> tensor<72xf32>
    sinter.yield (%s) : tensor<72xf32>
  }
  %k8 = sinter.kernel contraction(%m, %v) {schedule = #sinter.schedule<matrix_vector, lanes = 4, chunk = 280>} : (tensor<72x70xf32>, tensor<70xf32>) -> tensor<72xf32> {
  ^bb0(%a: tensor<72x70xf32>, %b: tensor<70xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<72x70xf32>, tensor<70xf32>) -> tensor<72xf32>
    %s = sinter.tanh %p : (tensor<72xf32>) -> tensor<72xf32>
    sinter.yield (%s) : tensor<72xf32>
  }
  %k9 = sinter.kernel contraction(%m, %v) {schedule = #sinter.schedule<matrix_vector, lanes = 4, chunk = 281>} : (tensor<72x70xf32>, tensor<70xf32>) -> tensor<72xf32> {
  ^bb0(%a: tensor<72x70xf32>, %b: tensor<70xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<72x70xf32>, tensor<70xf32>) -> tensor<72xf32>
    %s = sinter.tanh %p : (tensor<72xf32>) -> tensor<72xf32>
    sinter.yield (%s) : tensor<72xf32>
  }
  %k10 = sinter.kernel contraction(%m, %v) {schedule = #sinter.schedule<matrix_vector, lanes = 4, chunk = 1000>} : (tensor<72x70xf32>, tensor<70xf32>) -> tensor<72xf32> {
  ^bb0(%a: tensor<72x70xf32>, %b: tensor<70xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<72x70xf32>, tensor<70xf32>) -> tensor<72xf32>
    %s = sinter.tanh %p : (tensor<72xf32>) -> tensor<72xf32>
    sinter.yield (%s) : tensor<72xf32>
  }
  %k11 = sinter.kernel contraction(%m, %v) {schedule = #sinter.schedule<matrix_vector, lanes = 4, chunk = 10000>} : (tensor<72x70xf32>, tensor<70xf32>) -> tensor<72xf32> {
  ^bb0(%a: tensor<72x70xf32>, %b: tensor<70xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<72x70xf32>, tensor<70xf32>) -> tensor<72xf32>
    %s = sinter.tanh %p : (tensor<72xf32>) -> tensor<72xf32>
    sinter.yield (%s) : tensor<72xf32>
  }
  return %k0, %k1, %k2, %k3, %k4, %k5, %k6, %k7, %k8, %k9, %k10, %k11 : tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>, tensor<72xf32>
}
