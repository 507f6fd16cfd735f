// Softmax and layer norm with lanes and chunks that nobody would choose.
// RUN: sinter check %s
// REQUIRES: x86_64
func.func @row(%x: tensor<6x45xf32>, %g: tensor<45xf32>, %h: tensor<45xf32>) -> (tensor<6x45xf32>, tensor<6x45xf32>, tensor<6x45xf32>, tensor<6x45xf32>, tensor<6x45xf32>, tensor<6x45xf32>) {
  %k0 = sinter.kernel row(%x) {schedule = #sinter.schedule<row, lanes = 1, chunk = 1>} : (tensor<6x45xf32>) -> tensor<6x45xf32> {
  ^bb0(%a: tensor<6x45xf32>):
    %p = sinter.softmax %a {axis = 1 : i64, logarithm = false} : (tensor<6x45xf32>) -> tensor<6x45xf32>
    %s = sinter.neg %p : (tensor<6x45xf32>) -> tensor<6x45xf32>
    sinter.yield (%s) : tensor<6x45xf32>
  }
  %k1 = sinter.kernel row(%x) {schedule = #sinter.schedule<row, lanes = 2, chunk = 46>} : (tensor<6x45xf32>) -> tensor<6x45xf32> {
  ^bb0(%a: tensor<6x45xf32>):
    %p = sinter.softmax %a {axis = 1 : i64, logarithm = false} : (tensor<6x45xf32>) -> tensor<6x45xf32>
    %s = sinter.neg %p : (tensor<6x45xf32>) -> tensor<6x45xf32>
    sinter.yield (%s) : tensor<6x45xf32>
  }
  %k2 = sinter.kernel row(%x) {schedule = #sinter.schedule<row, lanes = 4, chunk = 90>} : (tensor<6x45xf32>) -> tensor<6x45xf32> {
  ^bb0(%a: tensor<6x45xf32>):
    %p = sinter.softmax %a {axis = 1 : i64, logarithm = false} : (tensor<6x45xf32>) -> tensor<6x45xf32>
    %s = sinter.neg %p : (tensor<6x45xf32>) -> tensor<6x45xf32>
    sinter.yield (%s) : tensor<6x45xf32>
  }
  %k3 = sinter.kernel row(%x) {schedule = #sinter.schedule<row, lanes = 4, chunk = 8192>} : (tensor<6x45xf32>) -> tensor<6x45xf32> {
  ^bb0(%a: tensor<6x45xf32>):
    %p = sinter.softmax %a {axis = 1 : i64, logarithm = false} : (tensor<6x45xf32>) -> tensor<6x45xf32>
    %s = sinter.neg %p : (tensor<6x45xf32>) -> tensor<6x45xf32>
    sinter.yield (%s) : tensor<6x45xf32>
  }
  %k4 = sinter.kernel row(%x) {schedule = #sinter.schedule<row, lanes = 4, chunk = 1>} : (tensor<6x45xf32>) -> tensor<6x45xf32> {
  ^bb0(%a: tensor<6x45xf32>):
    %p = sinter.softmax %a {axis = 1 : i64, logarithm = false} : (tensor<6x45xf32>) -> tensor<6x45xf32>
    %s = sinter.neg %p : (tensor<6x45xf32>) -> tensor<6x45xf32>
    sinter.yield (%s) : tensor<6x45xf32>
  }
  %k5 = sinter.kernel row(%x) {schedule = #sinter.schedule<row, lanes = 1, chunk = 100>} : (tensor<6x45xf32>) -> tensor<6x45xf32> {
  ^bb0(%a: tensor<6x45xf32>):
    %p = sinter.softmax %a {axis = 1 : i64, logarithm = false} : (tensor<6x45xf32>) -> tensor<6x45xf32>
    %s = sinter.neg %p : (tensor<6x45xf32>) -> tensor<6x45xf32>
    sinter.yield (%s) : tensor<6x45xf32>
  }
  return %k0, %k1, %k2, %k3, %k4, %k5 : tensor<6x45xf32>, tensor<6x45xf32>, tensor<6x45xf32>, tensor<6x45xf32>, tensor<6x45xf32>, tensor<6x45xf32>
}
