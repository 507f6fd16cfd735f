// RUN: sinter-opt --verify-roundtrip %s

func.func @rows(%x: tensor<2x?x8xf32>, %s: tensor<8xf32>, %c: tensor<2xf32>) {
  %0 = sinter.softmax %x {axis = 2 : i64} : (tensor<2x?x8xf32>) -> tensor<2x?x8xf32>
  %1 = sinter.softmax %x {axis = 1 : i64, logarithm = true} : (tensor<2x?x8xf32>) -> tensor<2x?x8xf32>
  %2:3 = sinter.layer_norm %x scale(%s) bias(%s) {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x?x8xf32>, tensor<8xf32>, tensor<8xf32>)
       -> (tensor<2x?x8xf32>, tensor<2x?x1xf32>, tensor<2x?x1xf32>)
  %3:3 = sinter.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-5 : f64, center = false} : (tensor<2x?x8xf32>)
       -> (tensor<2x?x8xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
  %4 = sinter.batch_norm %x, %c, %c, %c, %c {axis = 0 : i64, epsilon = 1.0e-5 : f64}
       : (tensor<2x?x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x?x8xf32>
  return
}

func.func @group_norm(%x: tensor<?x6x4xf32>, %c: tensor<6xf32>) {
  %0 = sinter.group_norm %x, %c, %c {groups = 3 : i64, epsilon = 1.0e-5 : f64} : (tensor<?x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6x4xf32>
  return
}

func.func @attention(%q: tensor<2x3x4xf16>, %k: tensor<2x?x4xf16>, %v: tensor<2x?x5xf16>, %b: tensor<1x3x1xf16>) {
  %0 = sinter.attention %q, %k, %v, %b {scale = 0.5 : f64} : (tensor<2x3x4xf16>, tensor<2x?x4xf16>, tensor<2x?x5xf16>, tensor<1x3x1xf16>) -> tensor<2x3x5xf16>
  return
}

// Sums of short floats are f32.
func.func @attention_sums(%q: tensor<2x3x4xbf16>, %k: tensor<2x7x4xbf16>, %g: tensor<2x3x4xbf16>) {
  %0:2 = sinter.attention %q, %k, %k {scale = 0.5 : f64, log_sums = true} : (tensor<2x3x4xbf16>, tensor<2x7x4xbf16>, tensor<2x7x4xbf16>) -> (tensor<2x3x4xbf16>, tensor<2x3xf32>)
  %1:3 = sinter.attention_gradient %q, %k, %k, %g, %0#1, %0#1 {scale = 0.5 : f64} : (tensor<2x3x4xbf16>, tensor<2x7x4xbf16>, tensor<2x7x4xbf16>, tensor<2x3x4xbf16>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3x4xbf16>, tensor<2x7x4xbf16>, tensor<2x7x4xbf16>)
  return
}

func.func @attention_grouped(%q: tensor<6x3x4xf32>, %k: tensor<2x7x4xf32>, %v: tensor<2x7x5xf32>, %g: tensor<6x3x5xf32>) {
  %0:2 = sinter.attention %q, %k, %v {scale = 0.5 : f64, before = 2 : i64, after = 4 : i64, log_sums = true} : (tensor<6x3x4xf32>, tensor<2x7x4xf32>, tensor<2x7x5xf32>) -> (tensor<6x3x5xf32>, tensor<6x3xf32>)
  %1:3 = sinter.attention_gradient %q, %k, %v, %g, %0#1, %0#1 {scale = 0.5 : f64, before = 2 : i64, after = 4 : i64} : (tensor<6x3x4xf32>, tensor<2x7x4xf32>, tensor<2x7x5xf32>, tensor<6x3x5xf32>, tensor<6x3xf32>, tensor<6x3xf32>) -> (tensor<6x3x4xf32>, tensor<2x7x4xf32>, tensor<2x7x5xf32>)
  return
}
