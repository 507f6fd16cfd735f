// RUN: sinter-opt %s --sinter-build-gradient="function=f wrt=0,2 mode=grad" --canonicalize | FileCheck %s --check-prefix=GRAD
// RUN: sinter-opt %s --sinter-build-gradient="function=f wrt=2 mode=jvp" --canonicalize | FileCheck %s --check-prefix=JVP
// RUN: sinter-opt %s --sinter-build-gradient="function=f wrt=0 mode=grad" --sinter-build-gradient="function=f_grad wrt=0 mode=vjp" --canonicalize | FileCheck %s --check-prefix=TWICE
// RUN: sinter-opt %s --sinter-build-gradient="function=f wrt=0 mode=hvp name=product" --canonicalize | FileCheck %s --check-prefix=HVP

// The product is computed again from the saved carry; the capture's cotangent is a sum.
// GRAD-LABEL: @f_grad
// GRAD-SAME: -> (tensor<4xf64> {sinter.name = "grad.arg0"}, tensor<4xf64> {sinter.name = "grad.w"})
// GRAD: %[[F:.*]]:2 = sinter.for {{.*}} -> (tensor<4xf64>, tensor<?x4xf64>) body
// GRAD: ^bb0(%{{.*}}: tensor<i64>, %[[C:.*]]: tensor<4xf64>, %{{.*}}: tensor<4xf64>)
// GRAD: sinter.yield(%{{.*}}, %[[C]])
// GRAD: %[[B:.*]]:2 = sinter.scan({{.*}}) over(%[[F]]#1) captures(%arg2) {{.*}}reverse = array<i1: true>
// GRAD: sinter.cos
// GRAD: return %[[B]]#0, %[[B]]#1

// A second reverse pass reads what the first one has saved.
// TWICE-LABEL: @f_grad_vjp
// TWICE: sinter.for {{.*}} -> (tensor<4xf64>, tensor<?x4xf64>) body

// JVP-LABEL: @f_jvp
// JVP-SAME: %arg3: tensor<4xf64> {sinter.name = "tangent.w"}) -> (tensor<f64>, tensor<f64> {sinter.name = "tangent.result0"})
// JVP: sinter.for {{.*}} captures(%arg2, %arg3)

// HVP-LABEL: @product
// HVP-SAME: {sinter.name = "vector.arg0"}) -> (tensor<4xf64> {sinter.name = "product.arg0"})
func.func @f(%x: tensor<4xf64>, %n: tensor<i64>, %w: tensor<4xf64> {sinter.name = "w"}) -> tensor<f64> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %1 = sinter.for %zero to %n step %one (%x) captures(%w) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>) body {
  ^bb0(%i: tensor<i64>, %c: tensor<4xf64>, %v: tensor<4xf64>):
    %m = sinter.mul %c, %v : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %next = sinter.sin %m : (tensor<4xf64>) -> tensor<4xf64>
    sinter.yield (%next) : tensor<4xf64>
  }
  %s = sinter.reduce add %1 axes = [0] : (tensor<4xf64>) -> tensor<f64>
  return %s : tensor<f64>
}
