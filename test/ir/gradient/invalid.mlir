// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @checkpoint_c1_arguments(%x: tensor<4xf32>) {
  // expected-error@+1 {{'sinter.checkpoint' op requires argument 0 of the type of operand 0, got 'tensor<3xf32>' and 'tensor<4xf32>'}}
  %0 = sinter.checkpoint (%x) : (tensor<4xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    sinter.yield (%a) : tensor<3xf32>
  }
  return
}

// -----

func.func @checkpoint_c2_results(%x: tensor<4xf32>) {
  // expected-error@+1 {{'sinter.checkpoint' op requires as many yields as results, got 2 and 1}}
  %0 = sinter.checkpoint (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    sinter.yield (%a, %a) : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

func.func @custom_vjp_c1_arguments(%x: tensor<4xf32>) {
  // expected-error@+1 {{'sinter.custom_vjp' op requires as many forward arguments as operands, got 0 and 1}}
  %0 = sinter.custom_vjp (%x) : (tensor<4xf32>) -> tensor<4xf32> forward {
    %c = sinter.constant dense<0.0> : tensor<4xf32>
    sinter.yield (%c) : tensor<4xf32>
  } backward {
  ^bb0(%d: tensor<4xf32>):
    sinter.yield (%d) : tensor<4xf32>
  }
  return
}

// -----

func.func @custom_vjp_c2_results(%x: tensor<4xf32>) {
  // expected-error@+1 {{'sinter.custom_vjp' op requires a forward yield per result, got 0 and 1}}
  %0 = sinter.custom_vjp (%x) : (tensor<4xf32>) -> tensor<4xf32> forward {
  ^bb0(%a: tensor<4xf32>):
    sinter.yield
  } backward {
  ^bb0(%d: tensor<4xf32>):
    sinter.yield (%d) : tensor<4xf32>
  }
  return
}

// -----

func.func @custom_vjp_c3_backward_arguments(%x: tensor<4xf32>) {
  // expected-error@+1 {{'sinter.custom_vjp' op requires as many backward arguments as further forward yield and float results, got 2 and 1}}
  %0 = sinter.custom_vjp (%x) : (tensor<4xf32>) -> tensor<4xf32> forward {
  ^bb0(%a: tensor<4xf32>):
    sinter.yield (%a) : tensor<4xf32>
  } backward {
  ^bb0(%r: tensor<4xf32>, %d: tensor<4xf32>):
    sinter.yield (%d) : tensor<4xf32>
  }
  return
}

// -----

func.func @custom_vjp_c4_backward_yields(%x: tensor<4xf32>) {
  // expected-error@+1 {{'sinter.custom_vjp' op requires as many backward yields as float operands, got 0 and 1}}
  %0 = sinter.custom_vjp (%x) : (tensor<4xf32>) -> tensor<4xf32> forward {
  ^bb0(%a: tensor<4xf32>):
    sinter.yield (%a) : tensor<4xf32>
  } backward {
  ^bb0(%d: tensor<4xf32>):
    sinter.yield
  }
  return
}
