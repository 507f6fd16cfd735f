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

// -----

// What grows and is no float is kept per trip by none.
func.func @f(%x: tensor<8xf32>, %k: tensor<?xi64>, %n: tensor<i64>) -> tensor<f32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  // expected-error@+1 {{'sinter.for' op has no gradient: it requires values of one size in all trips, got carry 1 of type 'tensor<?xi64>', whose size changes}}
  %0:2 = sinter.for %zero to %n step %one (%x, %k) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<8xf32>, tensor<?xi64>) -> (tensor<8xf32>, tensor<?xi64>) body {
  ^bb0(%i: tensor<i64>, %c: tensor<8xf32>, %p: tensor<?xi64>):
    %g = sinter.gather %c, %p {axis = 0 : i64} : (tensor<8xf32>, tensor<?xi64>) -> tensor<?xf32>
    %m = sinter.reduce add %g axes = [0] : (tensor<?xf32>) -> tensor<f32>
    %b = sinter.broadcast %m axes = [] {type = tensor<8xf32>} : (tensor<f32>) -> tensor<8xf32>
    %s = sinter.sin %b : (tensor<8xf32>) -> tensor<8xf32>
    %q = sinter.concatenate %p, %p {axis = 0 : i64} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
    sinter.yield (%s, %q) : tensor<8xf32>, tensor<?xi64>
  }
  %s = sinter.reduce add %0#0 axes = [0] : (tensor<8xf32>) -> tensor<f32>
  return %s : tensor<f32>
}
