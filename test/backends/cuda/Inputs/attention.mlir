func.func @f(%q: tensor<2x8x64xf32>, %k: tensor<2x40x64xf32>, %h: tensor<2x8x20xbf16>, %l: tensor<2x40x20xbf16>, %g: tensor<2x40x64xf32>, %n: tensor<2x40x64xbf16>, %m: tensor<1x40x40xf32>) -> (tensor<2x8x64xf32>, tensor<2x8x20xbf16>, tensor<2x40x64xf32>, tensor<2x40x64xbf16>) {
  %a = sinter.attention %q, %k, %k {scale = 0.125 : f64} : (tensor<2x8x64xf32>, tensor<2x40x64xf32>, tensor<2x40x64xf32>) -> tensor<2x8x64xf32>
  %b = sinter.attention %h, %l, %l {scale = 0.25 : f64} : (tensor<2x8x20xbf16>, tensor<2x40x20xbf16>, tensor<2x40x20xbf16>) -> tensor<2x8x20xbf16>
  %c = sinter.attention %g, %k, %k {scale = 0.125 : f64} : (tensor<2x40x64xf32>, tensor<2x40x64xf32>, tensor<2x40x64xf32>) -> tensor<2x40x64xf32>
  %d = sinter.attention %n, %n, %n, %m {scale = 0.125 : f64} : (tensor<2x40x64xbf16>, tensor<2x40x64xbf16>, tensor<2x40x64xbf16>, tensor<1x40x40xf32>) -> tensor<2x40x64xbf16>
  return %a, %b, %c, %d : tensor<2x8x64xf32>, tensor<2x8x20xbf16>, tensor<2x40x64xf32>, tensor<2x40x64xbf16>
}
