// Products with tiles, lanes and chunks that nobody would choose: read in place, by strips, packed, not packed, f64.
// RUN: sinter check %s
// REQUIRES: x86_64
func.func @contraction(%x: tensor<20x70xf32>, %w: tensor<70x72xf32>, %wt: tensor<72x70xf32>, %xc: tensor<20x24xf32>, %xd: tensor<9x30xf64>, %wd: tensor<33x30xf64>) -> (tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x40xf32>, tensor<20x40xf32>, tensor<20x40xf32>, tensor<20x40xf32>, tensor<9x33xf64>, tensor<9x33xf64>, tensor<20x72xf32>, tensor<20x72xf32>) {
  %cw = sinter.constant dense<[[-1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75], [-0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125], [0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125], [-1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875], [-0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0], [0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0], [-1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0], [-0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875], [0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125], [-1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125], [0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75], [1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25], [-0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25], [0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625], [1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375], [-0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375], [0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5], [1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5], [-0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375], [0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375], [1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625], [-0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25], [0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25], [-1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75, -0.375, 1.375, 0.25, -0.875, 0.875, -0.25, -1.375, 0.375, -0.75, 1.0, -0.125, -1.25, 0.5, -0.625, 1.125, 0.0, -1.125, 0.625, -0.5, 1.25, 0.125, -1.0, 0.75]]> : tensor<24x40xf32>
  %k0 = sinter.kernel contraction(%x, %w) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [1, 1], chunk = 1>} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32>
    %s = sinter.tanh %p : (tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k1 = sinter.kernel contraction(%x, %w) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [20, 1], chunk = 100>} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32>
    %s = sinter.tanh %p : (tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k2 = sinter.kernel contraction(%x, %w) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [7, 8], chunk = 2097152>} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32>
    %s = sinter.tanh %p : (tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k3 = sinter.kernel contraction(%x, %w) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [13, 3], chunk = 20000>} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32>
    %s = sinter.tanh %p : (tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k4 = sinter.kernel contraction(%x, %w) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [2, 6], chunk = 1099511627776>} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32>
    %s = sinter.tanh %p : (tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k5 = sinter.kernel contraction(%x, %w) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [19, 2], chunk = 5000>} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf32>, %b: tensor<70x72xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xf32>, tensor<70x72xf32>) -> tensor<20x72xf32>
    %s = sinter.tanh %p : (tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k6 = sinter.kernel contraction(%x, %wt) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [3, 8], chunk = 1>} : (tensor<20x70xf32>, tensor<72x70xf32>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf32>, %b: tensor<72x70xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<20x70xf32>, tensor<72x70xf32>) -> tensor<20x72xf32>
    %s = sinter.tanh %p : (tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k7 = sinter.kernel contraction(%x, %wt) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [20, 4], chunk = 3000>} : (tensor<20x70xf32>, tensor<72x70xf32>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf32>, %b: tensor<72x70xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<20x70xf32>, tensor<72x70xf32>) -> tensor<20x72xf32>
    %s = sinter.tanh %p : (tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k8 = sinter.kernel contraction(%x, %wt) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [11, 2], chunk = 2097152>} : (tensor<20x70xf32>, tensor<72x70xf32>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf32>, %b: tensor<72x70xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<20x70xf32>, tensor<72x70xf32>) -> tensor<20x72xf32>
    %s = sinter.tanh %p : (tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k9 = sinter.kernel contraction(%xc, %cw) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [5, 4], chunk = 700>} : (tensor<20x24xf32>, tensor<24x40xf32>) -> tensor<20x40xf32> {
  ^bb0(%a: tensor<20x24xf32>, %b: tensor<24x40xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x24xf32>, tensor<24x40xf32>) -> tensor<20x40xf32>
    %s = sinter.tanh %p : (tensor<20x40xf32>) -> tensor<20x40xf32>
    sinter.yield (%s) : tensor<20x40xf32>
  }
  %k10 = sinter.kernel contraction(%xc, %cw) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [5, 4], chunk = 700, packing = [1]>} : (tensor<20x24xf32>, tensor<24x40xf32>) -> tensor<20x40xf32> {
  ^bb0(%a: tensor<20x24xf32>, %b: tensor<24x40xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x24xf32>, tensor<24x40xf32>) -> tensor<20x40xf32>
    %s = sinter.tanh %p : (tensor<20x40xf32>) -> tensor<20x40xf32>
    sinter.yield (%s) : tensor<20x40xf32>
  }
  %k11 = sinter.kernel contraction(%xc, %cw) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [20, 8], chunk = 1, packing = [1]>} : (tensor<20x24xf32>, tensor<24x40xf32>) -> tensor<20x40xf32> {
  ^bb0(%a: tensor<20x24xf32>, %b: tensor<24x40xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x24xf32>, tensor<24x40xf32>) -> tensor<20x40xf32>
    %s = sinter.tanh %p : (tensor<20x40xf32>) -> tensor<20x40xf32>
    sinter.yield (%s) : tensor<20x40xf32>
  }
  %k12 = sinter.kernel contraction(%xc, %cw) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [6, 1], chunk = 2097152, packing = [1]>} : (tensor<20x24xf32>, tensor<24x40xf32>) -> tensor<20x40xf32> {
  ^bb0(%a: tensor<20x24xf32>, %b: tensor<24x40xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x24xf32>, tensor<24x40xf32>) -> tensor<20x40xf32>
    %s = sinter.tanh %p : (tensor<20x40xf32>) -> tensor<20x40xf32>
    sinter.yield (%s) : tensor<20x40xf32>
  }
  %k13 = sinter.kernel contraction(%xd, %wd) {schedule = #sinter.schedule<contraction, lanes = 2, tile = [4, 8], chunk = 50>} : (tensor<9x30xf64>, tensor<33x30xf64>) -> tensor<9x33xf64> {
  ^bb0(%a: tensor<9x30xf64>, %b: tensor<33x30xf64>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f64} : (tensor<9x30xf64>, tensor<33x30xf64>) -> tensor<9x33xf64>
    %s = sinter.tanh %p : (tensor<9x33xf64>) -> tensor<9x33xf64>
    sinter.yield (%s) : tensor<9x33xf64>
  }
  %k14 = sinter.kernel contraction(%xd, %wd) {schedule = #sinter.schedule<contraction, lanes = 2, tile = [9, 1], chunk = 2097152>} : (tensor<9x30xf64>, tensor<33x30xf64>) -> tensor<9x33xf64> {
  ^bb0(%a: tensor<9x30xf64>, %b: tensor<33x30xf64>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f64} : (tensor<9x30xf64>, tensor<33x30xf64>) -> tensor<9x33xf64>
    %s = sinter.tanh %p : (tensor<9x33xf64>) -> tensor<9x33xf64>
    sinter.yield (%s) : tensor<9x33xf64>
  }
  %k15 = sinter.kernel contraction(%x, %wt) {schedule = #sinter.schedule<general, chunk = 1>} : (tensor<20x70xf32>, tensor<72x70xf32>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf32>, %b: tensor<72x70xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<20x70xf32>, tensor<72x70xf32>) -> tensor<20x72xf32>
    %s = sinter.tanh %p : (tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k16 = sinter.kernel contraction(%x, %wt) {schedule = #sinter.schedule<general, chunk = 77>} : (tensor<20x70xf32>, tensor<72x70xf32>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf32>, %b: tensor<72x70xf32>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<20x70xf32>, tensor<72x70xf32>) -> tensor<20x72xf32>
    %s = sinter.tanh %p : (tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  return %k0, %k1, %k2, %k3, %k4, %k5, %k6, %k7, %k8, %k9, %k10, %k11, %k12, %k13, %k14, %k15, %k16 : tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x40xf32>, tensor<20x40xf32>, tensor<20x40xf32>, tensor<20x40xf32>, tensor<9x33xf64>, tensor<9x33xf64>, tensor<20x72xf32>, tensor<20x72xf32>
}
