// RUN: not sinter-opt %s --sinter-build-gradient="function=f wrt=0 mode=some" 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not sinter-opt %s --sinter-build-gradient="function=f wrt=0,0" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not sinter-opt %s --sinter-build-gradient="function=f wrt=0 mode=grad result=3" 2>&1 | FileCheck %s --check-prefix=RESULT
// RUN: not sinter-opt %s --sinter-build-gradient="function=f wrt=0 memory=implicit" 2>&1 | FileCheck %s --check-prefix=IMPLICIT

// MODE: a gradient requires a mode of grad, value_and_grad, vjp, jvp and hvp, got 'some'
// TWICE: a gradient requires distinct arguments, got 0 twice
// RESULT: a gradient requires a result below 2, got 3
// IMPLICIT: 'sinter.while' op has no gradient under the policy implicit: its per-trip outputs are used
func.func @f(%x: tensor<f64>) -> (tensor<f64>, tensor<?xf64>) {
  %0:3 = sinter.while (%x) captures() : (tensor<f64>) -> (tensor<i64>, tensor<f64>, tensor<?xf64>) cond {
  ^bb0(%c: tensor<f64>):
    %half = sinter.constant dense<0.5> : tensor<f64>
    %go = sinter.compare gt %c, %half : (tensor<f64>, tensor<f64>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%c: tensor<f64>):
    %s = sinter.sin %c : (tensor<f64>) -> tensor<f64>
    sinter.yield (%s, %c) : tensor<f64>, tensor<f64>
  }
  return %0#1, %0#2 : tensor<f64>, tensor<?xf64>
}
