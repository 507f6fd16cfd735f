// RUN: sinter-opt %s --split-input-file --verify-diagnostics --sinter-build-gradient="function=f wrt=0 mode=grad"

// expected-error@+1 {{a gradient requires a float result of rank 0, got 'tensor<4xf32>' for result 0}}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{a gradient requires arguments of floats, got 'tensor<i32>' for argument 0}}
func.func @f(%x: tensor<i32>) -> tensor<i32> {
  return %x : tensor<i32>
}

// -----

// expected-error@+1 {{a gradient requires arguments below 0, got 0}}
func.func @f() -> tensor<f32> {
  %0 = sinter.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error@+1 {{a gradient requires a function with a body}}
func.func private @f(%x: tensor<f32>) -> tensor<f32>

// -----

// expected-error@+1 {{a gradient requires a function, found none named 'f'}}
module {
  func.func @g(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

module {
  // expected-error@+1 {{a gradient requires a new name, got 'f_grad'}}
  func.func @f(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
  func.func @f_grad() {
    return
  }
}

// -----

func.func @f(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'sinter.bitcast' op has no gradient: the bits of a number are no smooth function of it}}
  %0 = sinter.bitcast %x {element_type = f32} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
