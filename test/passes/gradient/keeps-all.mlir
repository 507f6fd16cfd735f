// RUN: sinter-opt %s --verify-diagnostics --sinter-build-gradient="function=f wrt=0 mode=grad memory=online(4)" --sinter-build-gradient="function=f_grad wrt=0 mode=vjp" --sinter-expand-checkpoints

// A second reverse pass reads what the first one does.
func.func @f(%x: tensor<f64>) -> tensor<f64> {
  // expected-warning@+1 {{keeps all values for its gradient: its per-trip values are read other than by one backward pass}}
  %0:2 = sinter.while (%x) captures() : (tensor<f64>) -> (tensor<i64>, tensor<f64>) cond {
  ^bb0(%c: tensor<f64>):
    %half = sinter.constant dense<0.5> : tensor<f64>
    %go = sinter.compare gt %c, %half : (tensor<f64>, tensor<f64>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%c: tensor<f64>):
    %s = sinter.sin %c : (tensor<f64>) -> tensor<f64>
    sinter.yield (%s) : tensor<f64>
  }
  return %0#1 : tensor<f64>
}
