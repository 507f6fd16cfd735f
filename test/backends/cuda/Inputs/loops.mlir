func.func @f(%a: tensor<5xf32>, %x: tensor<5xf64>) -> (tensor<5xf32>, tensor<5xf64>, tensor<?x5xf32>) {
  %half = sinter.constant dense<0.5> : tensor<5xf32>
  %n, %r = sinter.while(%half) captures(%a) : (tensor<5xf32>, tensor<5xf32>) -> (tensor<i64>, tensor<5xf32>) cond {
  ^bb0(%v: tensor<5xf32>, %c: tensor<5xf32>):
    %most = sinter.reduce max %v axes = [0] : (tensor<5xf32>) -> tensor<f32>
    %ten = sinter.constant dense<10.0> : tensor<f32>
    %go = sinter.compare lt %most, %ten : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%v: tensor<5xf32>, %c: tensor<5xf32>):
    %s = sinter.add %v, %c : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    sinter.yield(%s) : tensor<5xf32>
  }
  %m, %t = sinter.while(%x) captures() : (tensor<5xf64>) -> (tensor<i64>, tensor<5xf64>) cond {
  ^bb0(%v: tensor<5xf64>):
    %most = sinter.reduce max %v axes = [0] : (tensor<5xf64>) -> tensor<f64>
    %small = sinter.constant dense<0.1> : tensor<f64>
    %go = sinter.compare gt %most, %small : (tensor<f64>, tensor<f64>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%v: tensor<5xf64>):
    %p = sinter.nonzero %v : (tensor<5xf64>) -> tensor<1x?xi64>
    %d = sinter.reduce max %p axes = [0, 1] : (tensor<1x?xi64>) -> tensor<i64>
    %e = sinter.convert %d {element_type = f64} : (tensor<i64>) -> tensor<f64>
    %b = sinter.broadcast %e axes = [] {type = tensor<5xf64>} : (tensor<f64>) -> tensor<5xf64>
    %s = sinter.div %v, %b : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
    sinter.yield(%s) : tensor<5xf64>
  }
  %k, %u, %all = sinter.while(%half) captures(%a) : (tensor<5xf32>, tensor<5xf32>) -> (tensor<i64>, tensor<5xf32>, tensor<?x5xf32>) cond {
  ^bb0(%v: tensor<5xf32>, %c: tensor<5xf32>):
    %most = sinter.reduce max %v axes = [0] : (tensor<5xf32>) -> tensor<f32>
    %ten = sinter.constant dense<10.0> : tensor<f32>
    %go = sinter.compare lt %most, %ten : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%v: tensor<5xf32>, %c: tensor<5xf32>):
    %s = sinter.add %v, %c : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    sinter.yield(%s, %v) : tensor<5xf32>, tensor<5xf32>
  }
  return %r, %t, %all : tensor<5xf32>, tensor<5xf64>, tensor<?x5xf32>
}
func.func @counted(%x: tensor<4xf32>, %s: tensor<20x4xf32>, %u: tensor<?x4xf32>, %v: tensor<?x4xf32>) -> (tensor<4xf32>, tensor<20x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c, %y = sinter.scan(%x) over(%s) captures() {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>}
      : (tensor<4xf32>, tensor<20x4xf32>) -> (tensor<4xf32>, tensor<20x4xf32>) body {
  ^bb0(%a: tensor<4xf32>, %e: tensor<4xf32>):
    %n = sinter.mul %a, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%n, %n) : tensor<4xf32>, tensor<4xf32>
  }
  %d = sinter.scan(%x) over(%u) captures() {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64>, out_reverse = array<i1>}
      : (tensor<4xf32>, tensor<?x4xf32>) -> tensor<4xf32> body {
  ^bb0(%a: tensor<4xf32>, %e: tensor<4xf32>):
    %n = sinter.mul %a, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%n) : tensor<4xf32>
  }
  %b = sinter.scan(%x) over(%u) captures() {axes = array<i64: 0>, reverse = array<i1: true>, out_axes = array<i64>, out_reverse = array<i1>}
      : (tensor<4xf32>, tensor<?x4xf32>) -> tensor<4xf32> body {
  ^bb0(%a: tensor<4xf32>, %e: tensor<4xf32>):
    %n = sinter.add %a, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%n) : tensor<4xf32>
  }
  %o, %p = sinter.scan(%x) over(%u, %v) captures() {axes = array<i64: 0, 0>, reverse = array<i1: false, false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>}
      : (tensor<4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>) body {
  ^bb0(%a: tensor<4xf32>, %e: tensor<4xf32>, %f: tensor<4xf32>):
    %g = sinter.mul %e, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %n = sinter.add %a, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%n, %g) : tensor<4xf32>, tensor<4xf32>
  }
  %q = sinter.add %o, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %c, %y, %d, %q : tensor<4xf32>, tensor<20x4xf32>, tensor<4xf32>, tensor<4xf32>
}
