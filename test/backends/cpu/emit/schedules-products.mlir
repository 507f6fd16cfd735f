// Products and a convolution of bytes, bf16 and f16 with tiles, lanes and chunks that nobody would choose, from constants and from columns that come at run time.
// RUN: sinter check %s
// REQUIRES: x86_64
func.func @products(%xui8i8: tensor<20x70xui8>, %wui8i8: tensor<70x72xi8>, %tui8i8: tensor<72x70xi8>, %xi8i8: tensor<20x70xi8>, %wi8i8: tensor<70x72xi8>, %ti8i8: tensor<72x70xi8>, %xbf16bf16: tensor<20x70xbf16>, %wbf16bf16: tensor<70x72xbf16>, %tbf16bf16: tensor<72x70xbf16>, %xf16f16: tensor<20x70xf16>, %wf16f16: tensor<70x72xf16>, %tf16f16: tensor<72x70xf16>) -> (tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>) {
  %k0 = sinter.kernel contraction(%xui8i8, %wui8i8) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [1, 1], chunk = 1>} : (tensor<20x70xui8>, tensor<70x72xi8>) -> tensor<20x72xi32> {
  ^bb0(%a: tensor<20x70xui8>, %b: tensor<70x72xi8>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<20x70xui8>, tensor<70x72xi8>) -> tensor<20x72xi32>
    %s = sinter.add %p, %p : (tensor<20x72xi32>, tensor<20x72xi32>) -> tensor<20x72xi32>
    sinter.yield (%s) : tensor<20x72xi32>
  }
  %k1 = sinter.kernel contraction(%xui8i8, %tui8i8) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [20, 2], chunk = 100>} : (tensor<20x70xui8>, tensor<72x70xi8>) -> tensor<20x72xi32> {
  ^bb0(%a: tensor<20x70xui8>, %b: tensor<72x70xi8>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = i32} : (tensor<20x70xui8>, tensor<72x70xi8>) -> tensor<20x72xi32>
    %s = sinter.add %p, %p : (tensor<20x72xi32>, tensor<20x72xi32>) -> tensor<20x72xi32>
    sinter.yield (%s) : tensor<20x72xi32>
  }
  %k2 = sinter.kernel contraction(%xui8i8, %wui8i8) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [7, 4], chunk = 2097152>} : (tensor<20x70xui8>, tensor<70x72xi8>) -> tensor<20x72xi32> {
  ^bb0(%a: tensor<20x70xui8>, %b: tensor<70x72xi8>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<20x70xui8>, tensor<70x72xi8>) -> tensor<20x72xi32>
    %s = sinter.add %p, %p : (tensor<20x72xi32>, tensor<20x72xi32>) -> tensor<20x72xi32>
    sinter.yield (%s) : tensor<20x72xi32>
  }
  %k3 = sinter.kernel contraction(%xui8i8, %tui8i8) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [13, 8], chunk = 20000>} : (tensor<20x70xui8>, tensor<72x70xi8>) -> tensor<20x72xi32> {
  ^bb0(%a: tensor<20x70xui8>, %b: tensor<72x70xi8>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = i32} : (tensor<20x70xui8>, tensor<72x70xi8>) -> tensor<20x72xi32>
    %s = sinter.add %p, %p : (tensor<20x72xi32>, tensor<20x72xi32>) -> tensor<20x72xi32>
    sinter.yield (%s) : tensor<20x72xi32>
  }
  %k4 = sinter.kernel contraction(%xui8i8, %wui8i8) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [2, 1], chunk = 1099511627776>} : (tensor<20x70xui8>, tensor<70x72xi8>) -> tensor<20x72xi32> {
  ^bb0(%a: tensor<20x70xui8>, %b: tensor<70x72xi8>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<20x70xui8>, tensor<70x72xi8>) -> tensor<20x72xi32>
    %s = sinter.add %p, %p : (tensor<20x72xi32>, tensor<20x72xi32>) -> tensor<20x72xi32>
    sinter.yield (%s) : tensor<20x72xi32>
  }
  %k5 = sinter.kernel contraction(%xui8i8, %tui8i8) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [19, 2], chunk = 5000>} : (tensor<20x70xui8>, tensor<72x70xi8>) -> tensor<20x72xi32> {
  ^bb0(%a: tensor<20x70xui8>, %b: tensor<72x70xi8>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = i32} : (tensor<20x70xui8>, tensor<72x70xi8>) -> tensor<20x72xi32>
    %s = sinter.add %p, %p : (tensor<20x72xi32>, tensor<20x72xi32>) -> tensor<20x72xi32>
    sinter.yield (%s) : tensor<20x72xi32>
  }
  %k6 = sinter.kernel contraction(%xi8i8, %wi8i8) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [1, 1], chunk = 1>} : (tensor<20x70xi8>, tensor<70x72xi8>) -> tensor<20x72xi32> {
  ^bb0(%a: tensor<20x70xi8>, %b: tensor<70x72xi8>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<20x70xi8>, tensor<70x72xi8>) -> tensor<20x72xi32>
    %s = sinter.add %p, %p : (tensor<20x72xi32>, tensor<20x72xi32>) -> tensor<20x72xi32>
    sinter.yield (%s) : tensor<20x72xi32>
  }
  %k7 = sinter.kernel contraction(%xi8i8, %ti8i8) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [20, 2], chunk = 100>} : (tensor<20x70xi8>, tensor<72x70xi8>) -> tensor<20x72xi32> {
  ^bb0(%a: tensor<20x70xi8>, %b: tensor<72x70xi8>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = i32} : (tensor<20x70xi8>, tensor<72x70xi8>) -> tensor<20x72xi32>
    %s = sinter.add %p, %p : (tensor<20x72xi32>, tensor<20x72xi32>) -> tensor<20x72xi32>
    sinter.yield (%s) : tensor<20x72xi32>
  }
  %k8 = sinter.kernel contraction(%xi8i8, %wi8i8) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [7, 4], chunk = 2097152>} : (tensor<20x70xi8>, tensor<70x72xi8>) -> tensor<20x72xi32> {
  ^bb0(%a: tensor<20x70xi8>, %b: tensor<70x72xi8>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<20x70xi8>, tensor<70x72xi8>) -> tensor<20x72xi32>
    %s = sinter.add %p, %p : (tensor<20x72xi32>, tensor<20x72xi32>) -> tensor<20x72xi32>
    sinter.yield (%s) : tensor<20x72xi32>
  }
  %k9 = sinter.kernel contraction(%xi8i8, %ti8i8) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [13, 8], chunk = 20000>} : (tensor<20x70xi8>, tensor<72x70xi8>) -> tensor<20x72xi32> {
  ^bb0(%a: tensor<20x70xi8>, %b: tensor<72x70xi8>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = i32} : (tensor<20x70xi8>, tensor<72x70xi8>) -> tensor<20x72xi32>
    %s = sinter.add %p, %p : (tensor<20x72xi32>, tensor<20x72xi32>) -> tensor<20x72xi32>
    sinter.yield (%s) : tensor<20x72xi32>
  }
  %k10 = sinter.kernel contraction(%xi8i8, %wi8i8) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [2, 1], chunk = 1099511627776>} : (tensor<20x70xi8>, tensor<70x72xi8>) -> tensor<20x72xi32> {
  ^bb0(%a: tensor<20x70xi8>, %b: tensor<70x72xi8>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<20x70xi8>, tensor<70x72xi8>) -> tensor<20x72xi32>
    %s = sinter.add %p, %p : (tensor<20x72xi32>, tensor<20x72xi32>) -> tensor<20x72xi32>
    sinter.yield (%s) : tensor<20x72xi32>
  }
  %k11 = sinter.kernel contraction(%xi8i8, %ti8i8) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [19, 2], chunk = 5000>} : (tensor<20x70xi8>, tensor<72x70xi8>) -> tensor<20x72xi32> {
  ^bb0(%a: tensor<20x70xi8>, %b: tensor<72x70xi8>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = i32} : (tensor<20x70xi8>, tensor<72x70xi8>) -> tensor<20x72xi32>
    %s = sinter.add %p, %p : (tensor<20x72xi32>, tensor<20x72xi32>) -> tensor<20x72xi32>
    sinter.yield (%s) : tensor<20x72xi32>
  }
  %k12 = sinter.kernel contraction(%xbf16bf16, %wbf16bf16) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [1, 1], chunk = 1>} : (tensor<20x70xbf16>, tensor<70x72xbf16>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xbf16>, %b: tensor<70x72xbf16>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xbf16>, tensor<70x72xbf16>) -> tensor<20x72xf32>
    %s = sinter.add %p, %p : (tensor<20x72xf32>, tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k13 = sinter.kernel contraction(%xbf16bf16, %tbf16bf16) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [20, 2], chunk = 100>} : (tensor<20x70xbf16>, tensor<72x70xbf16>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xbf16>, %b: tensor<72x70xbf16>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<20x70xbf16>, tensor<72x70xbf16>) -> tensor<20x72xf32>
    %s = sinter.add %p, %p : (tensor<20x72xf32>, tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k14 = sinter.kernel contraction(%xbf16bf16, %wbf16bf16) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [7, 4], chunk = 2097152>} : (tensor<20x70xbf16>, tensor<70x72xbf16>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xbf16>, %b: tensor<70x72xbf16>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xbf16>, tensor<70x72xbf16>) -> tensor<20x72xf32>
    %s = sinter.add %p, %p : (tensor<20x72xf32>, tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k15 = sinter.kernel contraction(%xbf16bf16, %tbf16bf16) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [13, 8], chunk = 20000>} : (tensor<20x70xbf16>, tensor<72x70xbf16>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xbf16>, %b: tensor<72x70xbf16>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<20x70xbf16>, tensor<72x70xbf16>) -> tensor<20x72xf32>
    %s = sinter.add %p, %p : (tensor<20x72xf32>, tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k16 = sinter.kernel contraction(%xbf16bf16, %wbf16bf16) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [2, 1], chunk = 1099511627776>} : (tensor<20x70xbf16>, tensor<70x72xbf16>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xbf16>, %b: tensor<70x72xbf16>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xbf16>, tensor<70x72xbf16>) -> tensor<20x72xf32>
    %s = sinter.add %p, %p : (tensor<20x72xf32>, tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k17 = sinter.kernel contraction(%xbf16bf16, %tbf16bf16) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [19, 2], chunk = 5000>} : (tensor<20x70xbf16>, tensor<72x70xbf16>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xbf16>, %b: tensor<72x70xbf16>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<20x70xbf16>, tensor<72x70xbf16>) -> tensor<20x72xf32>
    %s = sinter.add %p, %p : (tensor<20x72xf32>, tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k18 = sinter.kernel contraction(%xf16f16, %wf16f16) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [1, 1], chunk = 1>} : (tensor<20x70xf16>, tensor<70x72xf16>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf16>, %b: tensor<70x72xf16>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xf16>, tensor<70x72xf16>) -> tensor<20x72xf32>
    %s = sinter.add %p, %p : (tensor<20x72xf32>, tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k19 = sinter.kernel contraction(%xf16f16, %tf16f16) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [20, 2], chunk = 100>} : (tensor<20x70xf16>, tensor<72x70xf16>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf16>, %b: tensor<72x70xf16>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<20x70xf16>, tensor<72x70xf16>) -> tensor<20x72xf32>
    %s = sinter.add %p, %p : (tensor<20x72xf32>, tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k20 = sinter.kernel contraction(%xf16f16, %wf16f16) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [7, 4], chunk = 2097152>} : (tensor<20x70xf16>, tensor<70x72xf16>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf16>, %b: tensor<70x72xf16>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xf16>, tensor<70x72xf16>) -> tensor<20x72xf32>
    %s = sinter.add %p, %p : (tensor<20x72xf32>, tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k21 = sinter.kernel contraction(%xf16f16, %tf16f16) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [13, 8], chunk = 20000>} : (tensor<20x70xf16>, tensor<72x70xf16>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf16>, %b: tensor<72x70xf16>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<20x70xf16>, tensor<72x70xf16>) -> tensor<20x72xf32>
    %s = sinter.add %p, %p : (tensor<20x72xf32>, tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k22 = sinter.kernel contraction(%xf16f16, %wf16f16) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [2, 1], chunk = 1099511627776>} : (tensor<20x70xf16>, tensor<70x72xf16>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf16>, %b: tensor<70x72xf16>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<20x70xf16>, tensor<70x72xf16>) -> tensor<20x72xf32>
    %s = sinter.add %p, %p : (tensor<20x72xf32>, tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  %k23 = sinter.kernel contraction(%xf16f16, %tf16f16) {schedule = #sinter.schedule<contraction, lanes = 4, tile = [19, 2], chunk = 5000>} : (tensor<20x70xf16>, tensor<72x70xf16>) -> tensor<20x72xf32> {
  ^bb0(%a: tensor<20x70xf16>, %b: tensor<72x70xf16>):
    %p = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<20x70xf16>, tensor<72x70xf16>) -> tensor<20x72xf32>
    %s = sinter.add %p, %p : (tensor<20x72xf32>, tensor<20x72xf32>) -> tensor<20x72xf32>
    sinter.yield (%s) : tensor<20x72xf32>
  }
  return %k0, %k1, %k2, %k3, %k4, %k5, %k6, %k7, %k8, %k9, %k10, %k11, %k12, %k13, %k14, %k15, %k16, %k17, %k18, %k19, %k20, %k21, %k22, %k23 : tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xi32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>, tensor<20x72xf32>
}
