// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transposes, windows that are replaced, greatest elements and bags with schedules that nobody would choose. Those of
// scatters and of selections have no numbers: an emitter without a choice has one schedule.
// RUN: sinter check %s
// REQUIRES: x86_64
func.func @single(%t: tensor<3x37x53xf32>, %base_f32: tensor<9x99xf32>, %window_f32: tensor<3x64xf32>, %base_i8: tensor<9x99xi8>, %window_i8: tensor<3x64xi8>, %base_i16: tensor<9x99xi16>, %window_i16: tensor<3x64xi16>, %rows: tensor<7x30xf32>, %table: tensor<11x24xf32>, %weights: tensor<12xf32>) -> (tensor<3x53x37xf32>, tensor<3x53x37xf32>, tensor<3x53x37xf32>, tensor<3x53x37xf32>, tensor<3x53x37xf32>, tensor<3x53x37xf32>, tensor<9x99xf32>, tensor<9x99xf32>, tensor<9x99xi8>, tensor<9x99xi16>, tensor<9x99xi8>, tensor<9x99xi16>, tensor<7x3xf32>, tensor<7x3xi64>, tensor<7x3xf32>, tensor<7x3xi64>, tensor<7x3xf32>, tensor<7x3xi64>, tensor<7x3xf32>, tensor<7x3xi64>, tensor<7x3xf32>, tensor<7x3xi64>, tensor<7x3xf32>, tensor<7x3xi64>, tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>) {
  %corner = sinter.constant dense<[4, 13]> : tensor<2xi64>
  %three = sinter.constant dense<3> : tensor<i64>
  %positions = sinter.constant dense<[0, 3, 10, 3, 3, 5, 7, 1, 0, 9, 2, 6]> : tensor<12xi64>
  %splits = sinter.constant dense<[0, 5, 5, 11, 12]> : tensor<5xi64>
  %k0 = sinter.kernel map(%t) {schedule = #sinter.schedule<transpose, lanes = 4, chunk = 1>} : (tensor<3x37x53xf32>) -> tensor<3x53x37xf32> {
  ^bb0(%a: tensor<3x37x53xf32>):
    %y = sinter.transpose %a {permutation = array<i64: 0, 2, 1>} : (tensor<3x37x53xf32>) -> tensor<3x53x37xf32>
    sinter.yield (%y) : tensor<3x53x37xf32>
  }
  %k1 = sinter.kernel map(%t) {schedule = #sinter.schedule<transpose, lanes = 4, chunk = 2>} : (tensor<3x37x53xf32>) -> tensor<3x53x37xf32> {
  ^bb0(%a: tensor<3x37x53xf32>):
    %y = sinter.transpose %a {permutation = array<i64: 0, 2, 1>} : (tensor<3x37x53xf32>) -> tensor<3x53x37xf32>
    sinter.yield (%y) : tensor<3x53x37xf32>
  }
  %k2 = sinter.kernel map(%t) {schedule = #sinter.schedule<transpose, lanes = 4, chunk = 5>} : (tensor<3x37x53xf32>) -> tensor<3x53x37xf32> {
  ^bb0(%a: tensor<3x37x53xf32>):
    %y = sinter.transpose %a {permutation = array<i64: 0, 2, 1>} : (tensor<3x37x53xf32>) -> tensor<3x53x37xf32>
    sinter.yield (%y) : tensor<3x53x37xf32>
  }
  %k3 = sinter.kernel map(%t) {schedule = #sinter.schedule<transpose, lanes = 4, chunk = 7>} : (tensor<3x37x53xf32>) -> tensor<3x53x37xf32> {
  ^bb0(%a: tensor<3x37x53xf32>):
    %y = sinter.transpose %a {permutation = array<i64: 0, 2, 1>} : (tensor<3x37x53xf32>) -> tensor<3x53x37xf32>
    sinter.yield (%y) : tensor<3x53x37xf32>
  }
  %k4 = sinter.kernel map(%t) {schedule = #sinter.schedule<transpose, lanes = 4, chunk = 100>} : (tensor<3x37x53xf32>) -> tensor<3x53x37xf32> {
  ^bb0(%a: tensor<3x37x53xf32>):
    %y = sinter.transpose %a {permutation = array<i64: 0, 2, 1>} : (tensor<3x37x53xf32>) -> tensor<3x53x37xf32>
    sinter.yield (%y) : tensor<3x53x37xf32>
  }
  %k5 = sinter.kernel map(%t) {schedule = #sinter.schedule<transpose, lanes = 4, chunk = 4096>} : (tensor<3x37x53xf32>) -> tensor<3x53x37xf32> {
  ^bb0(%a: tensor<3x37x53xf32>):
    %y = sinter.transpose %a {permutation = array<i64: 0, 2, 1>} : (tensor<3x37x53xf32>) -> tensor<3x53x37xf32>
    sinter.yield (%y) : tensor<3x53x37xf32>
  }
  %k6 = sinter.kernel map(%base_f32, %window_f32, %corner) {schedule = #sinter.schedule<update, lanes = 1>} : (tensor<9x99xf32>, tensor<3x64xf32>, tensor<2xi64>) -> tensor<9x99xf32> {
  ^bb0(%a: tensor<9x99xf32>, %b: tensor<3x64xf32>, %c: tensor<2xi64>):
    %y = sinter.dynamic_update_slice %a, %b, %c : (tensor<9x99xf32>, tensor<3x64xf32>, tensor<2xi64>) -> tensor<9x99xf32>
    sinter.yield (%y) : tensor<9x99xf32>
  }
  %k7 = sinter.kernel map(%base_f32, %window_f32, %corner) {schedule = #sinter.schedule<update, lanes = 2>} : (tensor<9x99xf32>, tensor<3x64xf32>, tensor<2xi64>) -> tensor<9x99xf32> {
  ^bb0(%a: tensor<9x99xf32>, %b: tensor<3x64xf32>, %c: tensor<2xi64>):
    %y = sinter.dynamic_update_slice %a, %b, %c : (tensor<9x99xf32>, tensor<3x64xf32>, tensor<2xi64>) -> tensor<9x99xf32>
    sinter.yield (%y) : tensor<9x99xf32>
  }
  %k8 = sinter.kernel map(%base_i8, %window_i8, %corner) {schedule = #sinter.schedule<update, lanes = 1>} : (tensor<9x99xi8>, tensor<3x64xi8>, tensor<2xi64>) -> tensor<9x99xi8> {
  ^bb0(%a: tensor<9x99xi8>, %b: tensor<3x64xi8>, %c: tensor<2xi64>):
    %y = sinter.dynamic_update_slice %a, %b, %c : (tensor<9x99xi8>, tensor<3x64xi8>, tensor<2xi64>) -> tensor<9x99xi8>
    sinter.yield (%y) : tensor<9x99xi8>
  }
  %k9 = sinter.kernel map(%base_i16, %window_i16, %corner) {schedule = #sinter.schedule<update, lanes = 1>} : (tensor<9x99xi16>, tensor<3x64xi16>, tensor<2xi64>) -> tensor<9x99xi16> {
  ^bb0(%a: tensor<9x99xi16>, %b: tensor<3x64xi16>, %c: tensor<2xi64>):
    %y = sinter.dynamic_update_slice %a, %b, %c : (tensor<9x99xi16>, tensor<3x64xi16>, tensor<2xi64>) -> tensor<9x99xi16>
    sinter.yield (%y) : tensor<9x99xi16>
  }
  %k10 = sinter.kernel map(%base_i8, %window_i8, %corner) {schedule = #sinter.schedule<update, lanes = 2>} : (tensor<9x99xi8>, tensor<3x64xi8>, tensor<2xi64>) -> tensor<9x99xi8> {
  ^bb0(%a: tensor<9x99xi8>, %b: tensor<3x64xi8>, %c: tensor<2xi64>):
    %y = sinter.dynamic_update_slice %a, %b, %c : (tensor<9x99xi8>, tensor<3x64xi8>, tensor<2xi64>) -> tensor<9x99xi8>
    sinter.yield (%y) : tensor<9x99xi8>
  }
  %k11 = sinter.kernel map(%base_i16, %window_i16, %corner) {schedule = #sinter.schedule<update, lanes = 2>} : (tensor<9x99xi16>, tensor<3x64xi16>, tensor<2xi64>) -> tensor<9x99xi16> {
  ^bb0(%a: tensor<9x99xi16>, %b: tensor<3x64xi16>, %c: tensor<2xi64>):
    %y = sinter.dynamic_update_slice %a, %b, %c : (tensor<9x99xi16>, tensor<3x64xi16>, tensor<2xi64>) -> tensor<9x99xi16>
    sinter.yield (%y) : tensor<9x99xi16>
  }
  %k12:2 = sinter.kernel single(%rows, %three) {schedule = #sinter.schedule<order, lanes = 1, chunk = 1>} : (tensor<7x30xf32>, tensor<i64>) -> (tensor<7x3xf32>, tensor<7x3xi64>) {
  ^bb0(%a: tensor<7x30xf32>, %b: tensor<i64>):
    %y, %p = sinter.top_k %a, %b {axis = 1 : i64} : (tensor<7x30xf32>, tensor<i64>) -> (tensor<7x3xf32>, tensor<7x3xi64>)
    sinter.yield (%y, %p) : tensor<7x3xf32>, tensor<7x3xi64>
  }
  %k13:2 = sinter.kernel single(%rows, %three) {schedule = #sinter.schedule<order, lanes = 2, chunk = 2>} : (tensor<7x30xf32>, tensor<i64>) -> (tensor<7x3xf32>, tensor<7x3xi64>) {
  ^bb0(%a: tensor<7x30xf32>, %b: tensor<i64>):
    %y, %p = sinter.top_k %a, %b {axis = 1 : i64} : (tensor<7x30xf32>, tensor<i64>) -> (tensor<7x3xf32>, tensor<7x3xi64>)
    sinter.yield (%y, %p) : tensor<7x3xf32>, tensor<7x3xi64>
  }
  %k14:2 = sinter.kernel single(%rows, %three) {schedule = #sinter.schedule<order, lanes = 4, chunk = 3>} : (tensor<7x30xf32>, tensor<i64>) -> (tensor<7x3xf32>, tensor<7x3xi64>) {
  ^bb0(%a: tensor<7x30xf32>, %b: tensor<i64>):
    %y, %p = sinter.top_k %a, %b {axis = 1 : i64} : (tensor<7x30xf32>, tensor<i64>) -> (tensor<7x3xf32>, tensor<7x3xi64>)
    sinter.yield (%y, %p) : tensor<7x3xf32>, tensor<7x3xi64>
  }
  %k15:2 = sinter.kernel single(%rows, %three) {schedule = #sinter.schedule<order, lanes = 1, chunk = 5>} : (tensor<7x30xf32>, tensor<i64>) -> (tensor<7x3xf32>, tensor<7x3xi64>) {
  ^bb0(%a: tensor<7x30xf32>, %b: tensor<i64>):
    %y, %p = sinter.top_k %a, %b {axis = 1 : i64} : (tensor<7x30xf32>, tensor<i64>) -> (tensor<7x3xf32>, tensor<7x3xi64>)
    sinter.yield (%y, %p) : tensor<7x3xf32>, tensor<7x3xi64>
  }
  %k16:2 = sinter.kernel single(%rows, %three) {schedule = #sinter.schedule<order, lanes = 2, chunk = 7>} : (tensor<7x30xf32>, tensor<i64>) -> (tensor<7x3xf32>, tensor<7x3xi64>) {
  ^bb0(%a: tensor<7x30xf32>, %b: tensor<i64>):
    %y, %p = sinter.top_k %a, %b {axis = 1 : i64} : (tensor<7x30xf32>, tensor<i64>) -> (tensor<7x3xf32>, tensor<7x3xi64>)
    sinter.yield (%y, %p) : tensor<7x3xf32>, tensor<7x3xi64>
  }
  %k17:2 = sinter.kernel single(%rows, %three) {schedule = #sinter.schedule<order, lanes = 4, chunk = 100>} : (tensor<7x30xf32>, tensor<i64>) -> (tensor<7x3xf32>, tensor<7x3xi64>) {
  ^bb0(%a: tensor<7x30xf32>, %b: tensor<i64>):
    %y, %p = sinter.top_k %a, %b {axis = 1 : i64} : (tensor<7x30xf32>, tensor<i64>) -> (tensor<7x3xf32>, tensor<7x3xi64>)
    sinter.yield (%y, %p) : tensor<7x3xf32>, tensor<7x3xi64>
  }
  %k18 = sinter.kernel single(%table, %positions, %splits, %weights) {schedule = #sinter.schedule<bags, lanes = 1, chunk = 1>} : (tensor<11x24xf32>, tensor<12xi64>, tensor<5xi64>, tensor<12xf32>) -> tensor<4x24xf32> {
  ^bb0(%a: tensor<11x24xf32>, %b: tensor<12xi64>, %c: tensor<5xi64>, %d: tensor<12xf32>):
    %y = sinter.bag_sum %a, %b, %c, %d : (tensor<11x24xf32>, tensor<12xi64>, tensor<5xi64>, tensor<12xf32>) -> tensor<4x24xf32>
    sinter.yield (%y) : tensor<4x24xf32>
  }
  %k19 = sinter.kernel single(%table, %positions, %splits, %weights) {schedule = #sinter.schedule<bags, lanes = 1, chunk = 5>} : (tensor<11x24xf32>, tensor<12xi64>, tensor<5xi64>, tensor<12xf32>) -> tensor<4x24xf32> {
  ^bb0(%a: tensor<11x24xf32>, %b: tensor<12xi64>, %c: tensor<5xi64>, %d: tensor<12xf32>):
    %y = sinter.bag_sum %a, %b, %c, %d : (tensor<11x24xf32>, tensor<12xi64>, tensor<5xi64>, tensor<12xf32>) -> tensor<4x24xf32>
    sinter.yield (%y) : tensor<4x24xf32>
  }
  %k20 = sinter.kernel single(%table, %positions, %splits, %weights) {schedule = #sinter.schedule<bags, lanes = 2, chunk = 3>} : (tensor<11x24xf32>, tensor<12xi64>, tensor<5xi64>, tensor<12xf32>) -> tensor<4x24xf32> {
  ^bb0(%a: tensor<11x24xf32>, %b: tensor<12xi64>, %c: tensor<5xi64>, %d: tensor<12xf32>):
    %y = sinter.bag_sum %a, %b, %c, %d : (tensor<11x24xf32>, tensor<12xi64>, tensor<5xi64>, tensor<12xf32>) -> tensor<4x24xf32>
    sinter.yield (%y) : tensor<4x24xf32>
  }
  %k21 = sinter.kernel single(%table, %positions, %splits, %weights) {schedule = #sinter.schedule<bags, lanes = 4, chunk = 1>} : (tensor<11x24xf32>, tensor<12xi64>, tensor<5xi64>, tensor<12xf32>) -> tensor<4x24xf32> {
  ^bb0(%a: tensor<11x24xf32>, %b: tensor<12xi64>, %c: tensor<5xi64>, %d: tensor<12xf32>):
    %y = sinter.bag_sum %a, %b, %c, %d : (tensor<11x24xf32>, tensor<12xi64>, tensor<5xi64>, tensor<12xf32>) -> tensor<4x24xf32>
    sinter.yield (%y) : tensor<4x24xf32>
  }
  %k22 = sinter.kernel single(%table, %positions, %splits, %weights) {schedule = #sinter.schedule<bags, lanes = 4, chunk = 7>} : (tensor<11x24xf32>, tensor<12xi64>, tensor<5xi64>, tensor<12xf32>) -> tensor<4x24xf32> {
  ^bb0(%a: tensor<11x24xf32>, %b: tensor<12xi64>, %c: tensor<5xi64>, %d: tensor<12xf32>):
    %y = sinter.bag_sum %a, %b, %c, %d : (tensor<11x24xf32>, tensor<12xi64>, tensor<5xi64>, tensor<12xf32>) -> tensor<4x24xf32>
    sinter.yield (%y) : tensor<4x24xf32>
  }
  %k23 = sinter.kernel single(%table, %positions, %splits, %weights) {schedule = #sinter.schedule<bags, lanes = 4, chunk = 4096>} : (tensor<11x24xf32>, tensor<12xi64>, tensor<5xi64>, tensor<12xf32>) -> tensor<4x24xf32> {
  ^bb0(%a: tensor<11x24xf32>, %b: tensor<12xi64>, %c: tensor<5xi64>, %d: tensor<12xf32>):
    %y = sinter.bag_sum %a, %b, %c, %d : (tensor<11x24xf32>, tensor<12xi64>, tensor<5xi64>, tensor<12xf32>) -> tensor<4x24xf32>
    sinter.yield (%y) : tensor<4x24xf32>
  }
  return %k0, %k1, %k2, %k3, %k4, %k5, %k6, %k7, %k8, %k9, %k10, %k11, %k12#0, %k12#1, %k13#0, %k13#1, %k14#0, %k14#1, %k15#0, %k15#1, %k16#0, %k16#1, %k17#0, %k17#1, %k18, %k19, %k20, %k21, %k22, %k23 : tensor<3x53x37xf32>, tensor<3x53x37xf32>, tensor<3x53x37xf32>, tensor<3x53x37xf32>, tensor<3x53x37xf32>, tensor<3x53x37xf32>, tensor<9x99xf32>, tensor<9x99xf32>, tensor<9x99xi8>, tensor<9x99xi16>, tensor<9x99xi8>, tensor<9x99xi16>, tensor<7x3xf32>, tensor<7x3xi64>, tensor<7x3xf32>, tensor<7x3xi64>, tensor<7x3xf32>, tensor<7x3xi64>, tensor<7x3xf32>, tensor<7x3xi64>, tensor<7x3xf32>, tensor<7x3xi64>, tensor<7x3xf32>, tensor<7x3xi64>, tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>
}
