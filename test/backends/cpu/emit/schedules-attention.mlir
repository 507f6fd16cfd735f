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

// Of bf16: pairs where the target multiplies them, odd depths, chunks and keys.
func.func @short(%q: tensor<2x13x9xbf16>, %k: tensor<2x70x9xbf16>, %v: tensor<2x70x21xbf16>, %m: tensor<1x13x70xf32>, %g: tensor<2x13x21xbf16>, %r: tensor<2x13xf32>) -> (tensor<2x13x21xbf16>, tensor<2x13x21xbf16>, tensor<2x13x21xbf16>, tensor<2x13x21xbf16>, tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>) {
  %k0:2 = sinter.kernel attention(%q, %k, %v, %m) {schedule = #sinter.schedule<attention, lanes = 4, tile = [1, 1, 64], chunk = 1>} : (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<1x13x70xf32>) -> (tensor<2x13x21xbf16>, tensor<2x13xf32>) {
  ^bb0(%a: tensor<2x13x9xbf16>, %b: tensor<2x70x9xbf16>, %c: tensor<2x70x21xbf16>, %d: tensor<1x13x70xf32>):
    %y:2 = sinter.attention %a, %b, %c, %d {scale = 0.5 : f64, log_sums = true} : (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<1x13x70xf32>) -> (tensor<2x13x21xbf16>, tensor<2x13xf32>)
    sinter.yield (%y#0, %y#1) : tensor<2x13x21xbf16>, tensor<2x13xf32>
  }
  %k1:2 = sinter.kernel attention(%q, %k, %v, %m) {schedule = #sinter.schedule<attention, lanes = 4, tile = [6, 2, 128], chunk = 5>} : (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<1x13x70xf32>) -> (tensor<2x13x21xbf16>, tensor<2x13xf32>) {
  ^bb0(%a: tensor<2x13x9xbf16>, %b: tensor<2x70x9xbf16>, %c: tensor<2x70x21xbf16>, %d: tensor<1x13x70xf32>):
    %y:2 = sinter.attention %a, %b, %c, %d {scale = 0.5 : f64, log_sums = true} : (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<1x13x70xf32>) -> (tensor<2x13x21xbf16>, tensor<2x13xf32>)
    sinter.yield (%y#0, %y#1) : tensor<2x13x21xbf16>, tensor<2x13xf32>
  }
  %k2:2 = sinter.kernel attention(%q, %k, %v, %m) {schedule = #sinter.schedule<attention, lanes = 8, tile = [3, 1, 64], chunk = 100>} : (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<1x13x70xf32>) -> (tensor<2x13x21xbf16>, tensor<2x13xf32>) {
  ^bb0(%a: tensor<2x13x9xbf16>, %b: tensor<2x70x9xbf16>, %c: tensor<2x70x21xbf16>, %d: tensor<1x13x70xf32>):
    %y:2 = sinter.attention %a, %b, %c, %d {scale = 0.5 : f64, log_sums = true} : (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<1x13x70xf32>) -> (tensor<2x13x21xbf16>, tensor<2x13xf32>)
    sinter.yield (%y#0, %y#1) : tensor<2x13x21xbf16>, tensor<2x13xf32>
  }
  %k3:2 = sinter.kernel attention(%q, %k, %v, %m) {schedule = #sinter.schedule<attention, lanes = 8, tile = [5, 2, 192], chunk = 7>} : (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<1x13x70xf32>) -> (tensor<2x13x21xbf16>, tensor<2x13xf32>) {
  ^bb0(%a: tensor<2x13x9xbf16>, %b: tensor<2x70x9xbf16>, %c: tensor<2x70x21xbf16>, %d: tensor<1x13x70xf32>):
    %y:2 = sinter.attention %a, %b, %c, %d {scale = 0.5 : f64, log_sums = true} : (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<1x13x70xf32>) -> (tensor<2x13x21xbf16>, tensor<2x13xf32>)
    sinter.yield (%y#0, %y#1) : tensor<2x13x21xbf16>, tensor<2x13xf32>
  }
  %g0:3 = sinter.kernel attention(%q, %k, %v, %g, %k0#1, %r, %m) {schedule = #sinter.schedule<attention_gradient, lanes = 4, tile = [2, 1, 64], chunk = 1>} : (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<2x13x21xbf16>, tensor<2x13xf32>, tensor<2x13xf32>, tensor<1x13x70xf32>) -> (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>) {
  ^bb0(%a: tensor<2x13x9xbf16>, %b: tensor<2x70x9xbf16>, %c: tensor<2x70x21xbf16>, %d: tensor<2x13x21xbf16>, %e: tensor<2x13xf32>, %f: tensor<2x13xf32>, %h: tensor<1x13x70xf32>):
    %t:3 = sinter.attention_gradient %a, %b, %c, %d, %e, %f, %h {scale = 0.5 : f64} : (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<2x13x21xbf16>, tensor<2x13xf32>, tensor<2x13xf32>, tensor<1x13x70xf32>) -> (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>)
    sinter.yield (%t#0, %t#1, %t#2) : tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>
  }
  %g1:3 = sinter.kernel attention(%q, %k, %v, %g, %k0#1, %r, %m) {schedule = #sinter.schedule<attention_gradient, lanes = 8, tile = [6, 2, 192], chunk = 5>} : (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<2x13x21xbf16>, tensor<2x13xf32>, tensor<2x13xf32>, tensor<1x13x70xf32>) -> (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>) {
  ^bb0(%a: tensor<2x13x9xbf16>, %b: tensor<2x70x9xbf16>, %c: tensor<2x70x21xbf16>, %d: tensor<2x13x21xbf16>, %e: tensor<2x13xf32>, %f: tensor<2x13xf32>, %h: tensor<1x13x70xf32>):
    %t:3 = sinter.attention_gradient %a, %b, %c, %d, %e, %f, %h {scale = 0.5 : f64} : (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<2x13x21xbf16>, tensor<2x13xf32>, tensor<2x13xf32>, tensor<1x13x70xf32>) -> (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>)
    sinter.yield (%t#0, %t#1, %t#2) : tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>
  }
  %g2:3 = sinter.kernel attention(%q, %k, %v, %g, %k0#1, %r, %m) {schedule = #sinter.schedule<attention_gradient, lanes = 8, tile = [4, 1, 64], chunk = 7>} : (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<2x13x21xbf16>, tensor<2x13xf32>, tensor<2x13xf32>, tensor<1x13x70xf32>) -> (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>) {
  ^bb0(%a: tensor<2x13x9xbf16>, %b: tensor<2x70x9xbf16>, %c: tensor<2x70x21xbf16>, %d: tensor<2x13x21xbf16>, %e: tensor<2x13xf32>, %f: tensor<2x13xf32>, %h: tensor<1x13x70xf32>):
    %t:3 = sinter.attention_gradient %a, %b, %c, %d, %e, %f, %h {scale = 0.5 : f64} : (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<2x13x21xbf16>, tensor<2x13xf32>, tensor<2x13xf32>, tensor<1x13x70xf32>) -> (tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>)
    sinter.yield (%t#0, %t#1, %t#2) : tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>
  }
  return %k0#0, %k1#0, %k2#0, %k3#0, %g0#0, %g0#1, %g0#2, %g1#0, %g1#1, %g1#2, %g2#0, %g2#1, %g2#2 : tensor<2x13x21xbf16>, tensor<2x13x21xbf16>, tensor<2x13x21xbf16>, tensor<2x13x21xbf16>, tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>, tensor<2x13x9xbf16>, tensor<2x70x9xbf16>, tensor<2x70x21xbf16>
}
