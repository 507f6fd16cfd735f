// x = cos(w x) by Newton's method, for each w.
func.func @main(%w: tensor<4xf32> {sinter.name = "w"}) -> (tensor<f32> {sinter.name = "loss"}) {
  %one = sinter.constant dense<1.0> : tensor<f32>
  %x0 = sinter.broadcast %one like(%w) axes = [] {type = tensor<4xf32>} : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %0:3 = sinter.while (%x0, %x0) captures(%w) {max_trip = 50 : i64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<4xf32>) cond {
  ^bb0(%x: tensor<4xf32>, %d: tensor<4xf32>, %a: tensor<4xf32>):
    %eps = sinter.constant dense<1.0e-6> : tensor<f32>
    %s = sinter.abs %d : (tensor<4xf32>) -> tensor<4xf32>
    %m = sinter.reduce max %s axes = [0] : (tensor<4xf32>) -> tensor<f32>
    %go = sinter.compare gt %m, %eps : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%x: tensor<4xf32>, %d: tensor<4xf32>, %a: tensor<4xf32>):
    %p = sinter.mul %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %c = sinter.cos %p : (tensor<4xf32>) -> tensor<4xf32>
    %s = sinter.sin %p : (tensor<4xf32>) -> tensor<4xf32>
    %as = sinter.mul %a, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %u = sinter.constant dense<1.0> : tensor<f32>
    %ones = sinter.broadcast %u like(%a) axes = [] {type = tensor<4xf32>} : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
    %den = sinter.add %ones, %as : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %num = sinter.sub %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %step = sinter.div %num, %den : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %next = sinter.sub %x, %step : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield (%next, %step) : tensor<4xf32>, tensor<4xf32>
  }
  %loss = sinter.reduce add %0#1 axes = [0] : (tensor<4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
