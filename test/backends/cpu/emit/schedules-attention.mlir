// Attention with schedules that nobody would choose.
// RUN: sinter check %s
// REQUIRES: x86_64
func.func @attention(%q: tensor<2x13x9xf32>, %k: tensor<2x70x9xf32>, %v: tensor<2x70x21xf32>, %m: tensor<1x13x70xf32>) -> (tensor<2x13x21xf32>, tensor<2x13x21xf32>, tensor<2x13x21xf32>, tensor<2x13x21xf32>, tensor<2x13x21xf32>, tensor<2x13x21xf32>, tensor<2x13x21xf32>) {
  %k0 = sinter.kernel attention(%q, %k, %v, %m) {schedule = #sinter.schedule<attention, lanes = 4, tile = [1, 1, 64], chunk = 1>} : (tensor<2x13x9xf32>, tensor<2x70x9xf32>, tensor<2x70x21xf32>, tensor<1x13x70xf32>) -> tensor<2x13x21xf32> {
  ^bb0(%a: tensor<2x13x9xf32>, %b: tensor<2x70x9xf32>, %c: tensor<2x70x21xf32>, %d: tensor<1x13x70xf32>):
    %y = sinter.attention %a, %b, %c, %d {scale = 0.5 : f64} : (tensor<2x13x9xf32>, tensor<2x70x9xf32>, tensor<2x70x21xf32>, tensor<1x13x70xf32>) -> tensor<2x13x21xf32>
    sinter.yield (%y) : tensor<2x13x21xf32>
  }
  %k1 = sinter.kernel attention(%q, %k, %v, %m) {schedule = #sinter.schedule<attention, lanes = 4, tile = [6, 2, 128], chunk = 5>} : (tensor<2x13x9xf32>, tensor<2x70x9xf32>, tensor<2x70x21xf32>, tensor<1x13x70xf32>) -> tensor<2x13x21xf32> {
  ^bb0(%a: tensor<2x13x9xf32>, %b: tensor<2x70x9xf32>, %c: tensor<2x70x21xf32>, %d: tensor<1x13x70xf32>):
    %y = sinter.attention %a, %b, %c, %d {scale = 0.5 : f64} : (tensor<2x13x9xf32>, tensor<2x70x9xf32>, tensor<2x70x21xf32>, tensor<1x13x70xf32>) -> tensor<2x13x21xf32>
    sinter.yield (%y) : tensor<2x13x21xf32>
  }
  %k2 = sinter.kernel attention(%q, %k, %v, %m) {schedule = #sinter.schedule<attention, lanes = 4, tile = [3, 1, 64], chunk = 100>} : (tensor<2x13x9xf32>, tensor<2x70x9xf32>, tensor<2x70x21xf32>, tensor<1x13x70xf32>) -> tensor<2x13x21xf32> {
  ^bb0(%a: tensor<2x13x9xf32>, %b: tensor<2x70x9xf32>, %c: tensor<2x70x21xf32>, %d: tensor<1x13x70xf32>):
    %y = sinter.attention %a, %b, %c, %d {scale = 0.5 : f64} : (tensor<2x13x9xf32>, tensor<2x70x9xf32>, tensor<2x70x21xf32>, tensor<1x13x70xf32>) -> tensor<2x13x21xf32>
    sinter.yield (%y) : tensor<2x13x21xf32>
  }
  %k3 = sinter.kernel attention(%q, %k, %v, %m) {schedule = #sinter.schedule<attention, lanes = 4, tile = [2, 1, 256], chunk = 13>} : (tensor<2x13x9xf32>, tensor<2x70x9xf32>, tensor<2x70x21xf32>, tensor<1x13x70xf32>) -> tensor<2x13x21xf32> {
  ^bb0(%a: tensor<2x13x9xf32>, %b: tensor<2x70x9xf32>, %c: tensor<2x70x21xf32>, %d: tensor<1x13x70xf32>):
    %y = sinter.attention %a, %b, %c, %d {scale = 0.5 : f64} : (tensor<2x13x9xf32>, tensor<2x70x9xf32>, tensor<2x70x21xf32>, tensor<1x13x70xf32>) -> tensor<2x13x21xf32>
    sinter.yield (%y) : tensor<2x13x21xf32>
  }
  %k4 = sinter.kernel attention(%q, %k, %v, %m) {schedule = #sinter.schedule<attention, lanes = 4, tile = [3, 2, 64], chunk = 2>} : (tensor<2x13x9xf32>, tensor<2x70x9xf32>, tensor<2x70x21xf32>, tensor<1x13x70xf32>) -> tensor<2x13x21xf32> {
  ^bb0(%a: tensor<2x13x9xf32>, %b: tensor<2x70x9xf32>, %c: tensor<2x70x21xf32>, %d: tensor<1x13x70xf32>):
    %y = sinter.attention %a, %b, %c, %d {scale = 0.5 : f64} : (tensor<2x13x9xf32>, tensor<2x70x9xf32>, tensor<2x70x21xf32>, tensor<1x13x70xf32>) -> tensor<2x13x21xf32>
    sinter.yield (%y) : tensor<2x13x21xf32>
  }
  %k5 = sinter.kernel attention(%q, %k, %v, %m) {schedule = #sinter.schedule<attention, lanes = 4, tile = [5, 1, 192], chunk = 7>} : (tensor<2x13x9xf32>, tensor<2x70x9xf32>, tensor<2x70x21xf32>, tensor<1x13x70xf32>) -> tensor<2x13x21xf32> {
  ^bb0(%a: tensor<2x13x9xf32>, %b: tensor<2x70x9xf32>, %c: tensor<2x70x21xf32>, %d: tensor<1x13x70xf32>):
    %y = sinter.attention %a, %b, %c, %d {scale = 0.5 : f64} : (tensor<2x13x9xf32>, tensor<2x70x9xf32>, tensor<2x70x21xf32>, tensor<1x13x70xf32>) -> tensor<2x13x21xf32>
    sinter.yield (%y) : tensor<2x13x21xf32>
  }
  %k6 = sinter.kernel attention(%q, %k, %v, %m) {schedule = #sinter.schedule<attention, lanes = 4, tile = [6, 1, 64], chunk = 100>} : (tensor<2x13x9xf32>, tensor<2x70x9xf32>, tensor<2x70x21xf32>, tensor<1x13x70xf32>) -> tensor<2x13x21xf32> {
  ^bb0(%a: tensor<2x13x9xf32>, %b: tensor<2x70x9xf32>, %c: tensor<2x70x21xf32>, %d: tensor<1x13x70xf32>):
    %y = sinter.attention %a, %b, %c, %d {scale = 0.5 : f64} : (tensor<2x13x9xf32>, tensor<2x70x9xf32>, tensor<2x70x21xf32>, tensor<1x13x70xf32>) -> tensor<2x13x21xf32>
    sinter.yield (%y) : tensor<2x13x21xf32>
  }
  return %k0, %k1, %k2, %k3, %k4, %k5, %k6 : tensor<2x13x21xf32>, tensor<2x13x21xf32>, tensor<2x13x21xf32>, tensor<2x13x21xf32>, tensor<2x13x21xf32>, tensor<2x13x21xf32>, tensor<2x13x21xf32>
}
