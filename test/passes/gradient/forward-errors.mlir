// RUN: sinter-opt %s --split-input-file --verify-diagnostics --sinter-build-gradient="function=f wrt=0 mode=jvp"

// Forward mode transposes the backward part, which must have a gradient for that.
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = sinter.custom_vjp (%x) : (tensor<f32>) -> tensor<f32> forward {
  ^bb0(%a: tensor<f32>):
    sinter.yield (%a) : tensor<f32>
  } backward {
  ^bb0(%d: tensor<f32>):
    // expected-error@+1 {{'sinter.kernel' op has no gradient rule}}
    %1 = sinter.kernel map(%d) : (tensor<f32>) -> tensor<f32> {
    ^bb0(%b: tensor<f32>):
      sinter.yield (%b) : tensor<f32>
    }
    sinter.yield (%1) : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

func.func @f(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'sinter.kernel' op has no gradient rule}}
  %0 = sinter.kernel map(%x) : (tensor<f32>) -> tensor<f32> {
  ^bb0(%a: tensor<f32>):
    sinter.yield (%a) : tensor<f32>
  }
  return %0 : tensor<f32>
}
