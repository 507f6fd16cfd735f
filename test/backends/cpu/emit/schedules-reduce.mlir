// Reductions along the last axis and across rows, with lanes, vectors and chunks that nobody would choose.
// RUN: sinter check %s
// REQUIRES: x86_64
func.func @reduce(%x: tensor<6x45xf32>, %long: tensor<300x45xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<45xf32>, tensor<45xf32>, tensor<45xf32>, tensor<45xf32>, tensor<45xf32>, tensor<45xf32>) {
  %k0 = sinter.kernel reduce(%x) {schedule = #sinter.schedule<reduce, lanes = 1, chunk = 1>} : (tensor<6x45xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<6x45xf32>):
    %e = sinter.mul %a, %a : (tensor<6x45xf32>, tensor<6x45xf32>) -> tensor<6x45xf32>
    %p = sinter.reduce add %e axes = [1] : (tensor<6x45xf32>) -> tensor<6xf32>
    %s = sinter.neg %p : (tensor<6xf32>) -> tensor<6xf32>
    sinter.yield (%s) : tensor<6xf32>
  }
  %k1 = sinter.kernel reduce(%x) {schedule = #sinter.schedule<reduce, lanes = 2, chunk = 100>} : (tensor<6x45xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<6x45xf32>):
    %e = sinter.mul %a, %a : (tensor<6x45xf32>, tensor<6x45xf32>) -> tensor<6x45xf32>
    %p = sinter.reduce add %e axes = [1] : (tensor<6x45xf32>) -> tensor<6xf32>
    %s = sinter.neg %p : (tensor<6xf32>) -> tensor<6xf32>
    sinter.yield (%s) : tensor<6xf32>
  }
  %k2 = sinter.kernel reduce(%x) {schedule = #sinter.schedule<reduce, lanes = 4, chunk = 45>} : (tensor<6x45xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<6x45xf32>):
    %e = sinter.mul %a, %a : (tensor<6x45xf32>, tensor<6x45xf32>) -> tensor<6x45xf32>
    %p = sinter.reduce add %e axes = [1] : (tensor<6x45xf32>) -> tensor<6xf32>
    %s = sinter.neg %p : (tensor<6xf32>) -> tensor<6xf32>
    sinter.yield (%s) : tensor<6xf32>
  }
  %k3 = sinter.kernel reduce(%x) {schedule = #sinter.schedule<reduce, lanes = 4, chunk = 32768>} : (tensor<6x45xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<6x45xf32>):
    %e = sinter.mul %a, %a : (tensor<6x45xf32>, tensor<6x45xf32>) -> tensor<6x45xf32>
    %p = sinter.reduce add %e axes = [1] : (tensor<6x45xf32>) -> tensor<6xf32>
    %s = sinter.neg %p : (tensor<6xf32>) -> tensor<6xf32>
    sinter.yield (%s) : tensor<6xf32>
  }
  %k4 = sinter.kernel reduce(%x) {schedule = #sinter.schedule<reduce, lanes = 1, chunk = 90>} : (tensor<6x45xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<6x45xf32>):
    %e = sinter.mul %a, %a : (tensor<6x45xf32>, tensor<6x45xf32>) -> tensor<6x45xf32>
    %p = sinter.reduce add %e axes = [1] : (tensor<6x45xf32>) -> tensor<6xf32>
    %s = sinter.neg %p : (tensor<6xf32>) -> tensor<6xf32>
    sinter.yield (%s) : tensor<6xf32>
  }
  %k5 = sinter.kernel reduce(%x) {schedule = #sinter.schedule<general, chunk = 2>} : (tensor<6x45xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<6x45xf32>):
    %e = sinter.mul %a, %a : (tensor<6x45xf32>, tensor<6x45xf32>) -> tensor<6x45xf32>
    %p = sinter.reduce add %e axes = [1] : (tensor<6x45xf32>) -> tensor<6xf32>
    %s = sinter.neg %p : (tensor<6xf32>) -> tensor<6xf32>
    sinter.yield (%s) : tensor<6xf32>
  }
  %k6 = sinter.kernel reduce(%long) {schedule = #sinter.schedule<reduce, lanes = 1, tile = [1], chunk = 1>} : (tensor<300x45xf32>) -> tensor<45xf32> {
  ^bb0(%a: tensor<300x45xf32>):
    %e = sinter.mul %a, %a : (tensor<300x45xf32>, tensor<300x45xf32>) -> tensor<300x45xf32>
    %p = sinter.reduce add %e axes = [0] : (tensor<300x45xf32>) -> tensor<45xf32>
    %s = sinter.neg %p : (tensor<45xf32>) -> tensor<45xf32>
    sinter.yield (%s) : tensor<45xf32>
  }
  %k7 = sinter.kernel reduce(%long) {schedule = #sinter.schedule<reduce, lanes = 4, tile = [8], chunk = 1>} : (tensor<300x45xf32>) -> tensor<45xf32> {
  ^bb0(%a: tensor<300x45xf32>):
    %e = sinter.mul %a, %a : (tensor<300x45xf32>, tensor<300x45xf32>) -> tensor<300x45xf32>
    %p = sinter.reduce add %e axes = [0] : (tensor<300x45xf32>) -> tensor<45xf32>
    %s = sinter.neg %p : (tensor<45xf32>) -> tensor<45xf32>
    sinter.yield (%s) : tensor<45xf32>
  }
  %k8 = sinter.kernel reduce(%long) {schedule = #sinter.schedule<reduce, lanes = 4, tile = [4], chunk = 32768>} : (tensor<300x45xf32>) -> tensor<45xf32> {
  ^bb0(%a: tensor<300x45xf32>):
    %e = sinter.mul %a, %a : (tensor<300x45xf32>, tensor<300x45xf32>) -> tensor<300x45xf32>
    %p = sinter.reduce add %e axes = [0] : (tensor<300x45xf32>) -> tensor<45xf32>
    %s = sinter.neg %p : (tensor<45xf32>) -> tensor<45xf32>
    sinter.yield (%s) : tensor<45xf32>
  }
  %k9 = sinter.kernel reduce(%long) {schedule = #sinter.schedule<reduce, lanes = 2, tile = [2], chunk = 3000>} : (tensor<300x45xf32>) -> tensor<45xf32> {
  ^bb0(%a: tensor<300x45xf32>):
    %e = sinter.mul %a, %a : (tensor<300x45xf32>, tensor<300x45xf32>) -> tensor<300x45xf32>
    %p = sinter.reduce add %e axes = [0] : (tensor<300x45xf32>) -> tensor<45xf32>
    %s = sinter.neg %p : (tensor<45xf32>) -> tensor<45xf32>
    sinter.yield (%s) : tensor<45xf32>
  }
  %k10 = sinter.kernel reduce(%long) {schedule = #sinter.schedule<reduce, lanes = 4, tile = [1], chunk = 20>} : (tensor<300x45xf32>) -> tensor<45xf32> {
  ^bb0(%a: tensor<300x45xf32>):
    %e = sinter.mul %a, %a : (tensor<300x45xf32>, tensor<300x45xf32>) -> tensor<300x45xf32>
    %p = sinter.reduce add %e axes = [0] : (tensor<300x45xf32>) -> tensor<45xf32>
    %s = sinter.neg %p : (tensor<45xf32>) -> tensor<45xf32>
    sinter.yield (%s) : tensor<45xf32>
  }
  %k11 = sinter.kernel reduce(%long) {schedule = #sinter.schedule<reduce, lanes = 1, tile = [8], chunk = 20000>} : (tensor<300x45xf32>) -> tensor<45xf32> {
  ^bb0(%a: tensor<300x45xf32>):
    %e = sinter.mul %a, %a : (tensor<300x45xf32>, tensor<300x45xf32>) -> tensor<300x45xf32>
    %p = sinter.reduce add %e axes = [0] : (tensor<300x45xf32>) -> tensor<45xf32>
    %s = sinter.neg %p : (tensor<45xf32>) -> tensor<45xf32>
    sinter.yield (%s) : tensor<45xf32>
  }
  return %k0, %k1, %k2, %k3, %k4, %k5, %k6, %k7, %k8, %k9, %k10, %k11 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<45xf32>, tensor<45xf32>, tensor<45xf32>, tensor<45xf32>, tensor<45xf32>, tensor<45xf32>
}
