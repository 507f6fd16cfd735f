func.func @small(%a: tensor<5xf32>) -> tensor<5xf32> {
  %n, %r = sinter.while(%a) captures() : (tensor<5xf32>) -> (tensor<i64>, tensor<5xf32>) cond {
  ^bb0(%v: tensor<5xf32>):
    %most = sinter.reduce max %v axes = [0] : (tensor<5xf32>) -> tensor<f32>
    %ten = sinter.constant dense<10.0> : tensor<f32>
    %go = sinter.compare lt %most, %ten : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%v: tensor<5xf32>):
    %s = sinter.add %v, %v : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    sinter.yield(%s) : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}
func.func @forbidden(%a: tensor<5xf32>) -> tensor<5xf32> {
  %n, %r = sinter.while(%a) captures() {sinter.one_kernel = false} : (tensor<5xf32>) -> (tensor<i64>, tensor<5xf32>) cond {
  ^bb0(%v: tensor<5xf32>):
    %most = sinter.reduce max %v axes = [0] : (tensor<5xf32>) -> tensor<f32>
    %ten = sinter.constant dense<10.0> : tensor<f32>
    %go = sinter.compare lt %most, %ten : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%v: tensor<5xf32>):
    %s = sinter.add %v, %v : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    sinter.yield(%s) : tensor<5xf32>
  }
  return %r : tensor<5xf32>
}
func.func @open(%a: tensor<?xf32>) -> tensor<?xf32> {
  %n, %r = sinter.while(%a) captures() : (tensor<?xf32>) -> (tensor<i64>, tensor<?xf32>) cond {
  ^bb0(%v: tensor<?xf32>):
    %most = sinter.reduce max %v axes = [0] : (tensor<?xf32>) -> tensor<f32>
    %ten = sinter.constant dense<10.0> : tensor<f32>
    %go = sinter.compare lt %most, %ten : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%v: tensor<?xf32>):
    %s = sinter.add %v, %v : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    sinter.yield(%s) : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}
func.func @large(%a: tensor<500000xf32>) -> tensor<500000xf32> {
  %n, %r = sinter.while(%a) captures() {max_trip = 8 : i64} : (tensor<500000xf32>) -> (tensor<i64>, tensor<500000xf32>) cond {
  ^bb0(%v: tensor<500000xf32>):
    %go = sinter.constant dense<true> : tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%v: tensor<500000xf32>):
    %s = sinter.exp %v : (tensor<500000xf32>) -> tensor<500000xf32>
    sinter.yield(%s) : tensor<500000xf32>
  }
  return %r : tensor<500000xf32>
}
