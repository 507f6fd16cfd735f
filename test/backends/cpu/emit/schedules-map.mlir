// Maps, transposes and updates with lanes and chunks that nobody would choose.
// RUN: sinter check %s
// REQUIRES: x86_64
func.func @map(%x: tensor<7x33xf32>, %y: tensor<7x33xf32>, %t: tensor<13x37xf32>, %big: tensor<40x9xf32>, %part: tensor<3x5xf32>) -> (tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<37x13xf32>, tensor<37x13xf32>, tensor<37x13xf32>, tensor<37x13xf32>, tensor<37x13xf32>, tensor<37x13xf32>, tensor<40x9xf32>, tensor<40x9xf32>, tensor<40x9xf32>, tensor<40x9xf32>, tensor<40x9xf32>, tensor<40x9xf32>) {
  %at = sinter.constant dense<[2, 1]> : tensor<2xi64>
  %k0:2 = sinter.kernel map(%x, %y) {schedule = #sinter.schedule<map, lanes = 1, chunk = 1>} : (tensor<7x33xf32>, tensor<7x33xf32>) -> (tensor<7x33xf32>, tensor<7x33xf32>) {
  ^bb0(%a: tensor<7x33xf32>, %b: tensor<7x33xf32>):
    %e = sinter.tanh %a : (tensor<7x33xf32>) -> tensor<7x33xf32>
    %s = sinter.mul %e, %b : (tensor<7x33xf32>, tensor<7x33xf32>) -> tensor<7x33xf32>
    sinter.yield (%s, %e) : tensor<7x33xf32>, tensor<7x33xf32>
  }
  %k1:2 = sinter.kernel map(%x, %y) {schedule = #sinter.schedule<map, lanes = 1, chunk = 1000>} : (tensor<7x33xf32>, tensor<7x33xf32>) -> (tensor<7x33xf32>, tensor<7x33xf32>) {
  ^bb0(%a: tensor<7x33xf32>, %b: tensor<7x33xf32>):
    %e = sinter.tanh %a : (tensor<7x33xf32>) -> tensor<7x33xf32>
    %s = sinter.mul %e, %b : (tensor<7x33xf32>, tensor<7x33xf32>) -> tensor<7x33xf32>
    sinter.yield (%s, %e) : tensor<7x33xf32>, tensor<7x33xf32>
  }
  %k2:2 = sinter.kernel map(%x, %y) {schedule = #sinter.schedule<map, lanes = 2, chunk = 6>} : (tensor<7x33xf32>, tensor<7x33xf32>) -> (tensor<7x33xf32>, tensor<7x33xf32>) {
  ^bb0(%a: tensor<7x33xf32>, %b: tensor<7x33xf32>):
    %e = sinter.tanh %a : (tensor<7x33xf32>) -> tensor<7x33xf32>
    %s = sinter.mul %e, %b : (tensor<7x33xf32>, tensor<7x33xf32>) -> tensor<7x33xf32>
    sinter.yield (%s, %e) : tensor<7x33xf32>, tensor<7x33xf32>
  }
  %k3:2 = sinter.kernel map(%x, %y) {schedule = #sinter.schedule<map, lanes = 4, chunk = 4>} : (tensor<7x33xf32>, tensor<7x33xf32>) -> (tensor<7x33xf32>, tensor<7x33xf32>) {
  ^bb0(%a: tensor<7x33xf32>, %b: tensor<7x33xf32>):
    %e = sinter.tanh %a : (tensor<7x33xf32>) -> tensor<7x33xf32>
    %s = sinter.mul %e, %b : (tensor<7x33xf32>, tensor<7x33xf32>) -> tensor<7x33xf32>
    sinter.yield (%s, %e) : tensor<7x33xf32>, tensor<7x33xf32>
  }
  %k4:2 = sinter.kernel map(%x, %y) {schedule = #sinter.schedule<map, lanes = 4, chunk = 100>} : (tensor<7x33xf32>, tensor<7x33xf32>) -> (tensor<7x33xf32>, tensor<7x33xf32>) {
  ^bb0(%a: tensor<7x33xf32>, %b: tensor<7x33xf32>):
    %e = sinter.tanh %a : (tensor<7x33xf32>) -> tensor<7x33xf32>
    %s = sinter.mul %e, %b : (tensor<7x33xf32>, tensor<7x33xf32>) -> tensor<7x33xf32>
    sinter.yield (%s, %e) : tensor<7x33xf32>, tensor<7x33xf32>
  }
  %k5:2 = sinter.kernel map(%x, %y) {schedule = #sinter.schedule<map, lanes = 4, chunk = 1048576>} : (tensor<7x33xf32>, tensor<7x33xf32>) -> (tensor<7x33xf32>, tensor<7x33xf32>) {
  ^bb0(%a: tensor<7x33xf32>, %b: tensor<7x33xf32>):
    %e = sinter.tanh %a : (tensor<7x33xf32>) -> tensor<7x33xf32>
    %s = sinter.mul %e, %b : (tensor<7x33xf32>, tensor<7x33xf32>) -> tensor<7x33xf32>
    sinter.yield (%s, %e) : tensor<7x33xf32>, tensor<7x33xf32>
  }
  %k6 = sinter.kernel map(%t) {schedule = #sinter.schedule<transpose, lanes = 4, chunk = 1>} : (tensor<13x37xf32>) -> tensor<37x13xf32> {
  ^bb0(%a: tensor<13x37xf32>):
    %s = sinter.transpose %a {permutation = array<i64: 1, 0>} : (tensor<13x37xf32>) -> tensor<37x13xf32>
    sinter.yield (%s) : tensor<37x13xf32>
  }
  %k7 = sinter.kernel map(%t) {schedule = #sinter.schedule<transpose, lanes = 4, chunk = 16384>} : (tensor<13x37xf32>) -> tensor<37x13xf32> {
  ^bb0(%a: tensor<13x37xf32>):
    %s = sinter.transpose %a {permutation = array<i64: 1, 0>} : (tensor<13x37xf32>) -> tensor<37x13xf32>
    sinter.yield (%s) : tensor<37x13xf32>
  }
  %k8 = sinter.kernel map(%t) {schedule = #sinter.schedule<transpose, lanes = 4, chunk = 200>} : (tensor<13x37xf32>) -> tensor<37x13xf32> {
  ^bb0(%a: tensor<13x37xf32>):
    %s = sinter.transpose %a {permutation = array<i64: 1, 0>} : (tensor<13x37xf32>) -> tensor<37x13xf32>
    sinter.yield (%s) : tensor<37x13xf32>
  }
  %k9 = sinter.kernel map(%t) {schedule = #sinter.schedule<map, lanes = 1, chunk = 64>} : (tensor<13x37xf32>) -> tensor<37x13xf32> {
  ^bb0(%a: tensor<13x37xf32>):
    %s = sinter.transpose %a {permutation = array<i64: 1, 0>} : (tensor<13x37xf32>) -> tensor<37x13xf32>
    sinter.yield (%s) : tensor<37x13xf32>
  }
  %k10 = sinter.kernel map(%t) {schedule = #sinter.schedule<map, lanes = 4, chunk = 64>} : (tensor<13x37xf32>) -> tensor<37x13xf32> {
  ^bb0(%a: tensor<13x37xf32>):
    %s = sinter.transpose %a {permutation = array<i64: 1, 0>} : (tensor<13x37xf32>) -> tensor<37x13xf32>
    sinter.yield (%s) : tensor<37x13xf32>
  }
  %k11 = sinter.kernel map(%t) {schedule = #sinter.schedule<general, chunk = 50>} : (tensor<13x37xf32>) -> tensor<37x13xf32> {
  ^bb0(%a: tensor<13x37xf32>):
    %s = sinter.transpose %a {permutation = array<i64: 1, 0>} : (tensor<13x37xf32>) -> tensor<37x13xf32>
    sinter.yield (%s) : tensor<37x13xf32>
  }
  %k12 = sinter.kernel map(%big, %part, %at) {schedule = #sinter.schedule<update, lanes = 1>} : (tensor<40x9xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<40x9xf32> {
  ^bb0(%a: tensor<40x9xf32>, %b: tensor<3x5xf32>, %c: tensor<2xi64>):
    %s = sinter.dynamic_update_slice %a, %b, %c : (tensor<40x9xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<40x9xf32>
    sinter.yield (%s) : tensor<40x9xf32>
  }
  %k13 = sinter.kernel map(%big, %part, %at) {schedule = #sinter.schedule<update, lanes = 2>} : (tensor<40x9xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<40x9xf32> {
  ^bb0(%a: tensor<40x9xf32>, %b: tensor<3x5xf32>, %c: tensor<2xi64>):
    %s = sinter.dynamic_update_slice %a, %b, %c : (tensor<40x9xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<40x9xf32>
    sinter.yield (%s) : tensor<40x9xf32>
  }
  %k14 = sinter.kernel map(%big, %part, %at) {schedule = #sinter.schedule<general, chunk = 3>} : (tensor<40x9xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<40x9xf32> {
  ^bb0(%a: tensor<40x9xf32>, %b: tensor<3x5xf32>, %c: tensor<2xi64>):
    %s = sinter.dynamic_update_slice %a, %b, %c : (tensor<40x9xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<40x9xf32>
    sinter.yield (%s) : tensor<40x9xf32>
  }
  %k15 = sinter.kernel map(%big, %part, %at) {schedule = #sinter.schedule<map, lanes = 2, chunk = 36>} : (tensor<40x9xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<40x9xf32> {
  ^bb0(%a: tensor<40x9xf32>, %b: tensor<3x5xf32>, %c: tensor<2xi64>):
    %s = sinter.dynamic_update_slice %a, %b, %c : (tensor<40x9xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<40x9xf32>
    sinter.yield (%s) : tensor<40x9xf32>
  }
  %k16 = sinter.kernel map(%big, %part, %at) {schedule = #sinter.schedule<map, lanes = 1, chunk = 7>} : (tensor<40x9xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<40x9xf32> {
  ^bb0(%a: tensor<40x9xf32>, %b: tensor<3x5xf32>, %c: tensor<2xi64>):
    %s = sinter.dynamic_update_slice %a, %b, %c : (tensor<40x9xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<40x9xf32>
    sinter.yield (%s) : tensor<40x9xf32>
  }
  %k17 = sinter.kernel map(%big, %part, %at) {schedule = #sinter.schedule<general, chunk = 11>} : (tensor<40x9xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<40x9xf32> {
  ^bb0(%a: tensor<40x9xf32>, %b: tensor<3x5xf32>, %c: tensor<2xi64>):
    %s = sinter.dynamic_update_slice %a, %b, %c : (tensor<40x9xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<40x9xf32>
    sinter.yield (%s) : tensor<40x9xf32>
  }
  return %k0#0, %k0#1, %k1#0, %k1#1, %k2#0, %k2#1, %k3#0, %k3#1, %k4#0, %k4#1, %k5#0, %k5#1, %k6, %k7, %k8, %k9, %k10, %k11, %k12, %k13, %k14, %k15, %k16, %k17 : tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<7x33xf32>, tensor<37x13xf32>, tensor<37x13xf32>, tensor<37x13xf32>, tensor<37x13xf32>, tensor<37x13xf32>, tensor<37x13xf32>, tensor<40x9xf32>, tensor<40x9xf32>, tensor<40x9xf32>, tensor<40x9xf32>, tensor<40x9xf32>, tensor<40x9xf32>
}
