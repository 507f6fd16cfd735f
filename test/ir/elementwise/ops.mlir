// RUN: sinter-opt --verify-roundtrip %s

func.func @unary(%x: tensor<4x?xf32>, %h: tensor<3xf16>, %i: tensor<2xi8>, %b: tensor<i1>) {
  %0 = sinter.abs %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %1 = sinter.neg %i : (tensor<2xi8>) -> tensor<2xi8>
  %2 = sinter.sign %h : (tensor<3xf16>) -> tensor<3xf16>
  %3 = sinter.ceil %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %4 = sinter.floor %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %5 = sinter.round %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %6 = sinter.sqrt %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %7 = sinter.rsqrt %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %8 = sinter.exp %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %9 = sinter.expm1 %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %10 = sinter.log %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %11 = sinter.log1p %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %12 = sinter.sin %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %13 = sinter.cos %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %14 = sinter.tan %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %15 = sinter.asin %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %16 = sinter.acos %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %17 = sinter.atan %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %18 = sinter.sinh %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %19 = sinter.cosh %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %20 = sinter.tanh %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %21 = sinter.asinh %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %22 = sinter.acosh %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %23 = sinter.atanh %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %24 = sinter.erf %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %log2 = sinter.log2 %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %exp2 = sinter.exp2 %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %erfinv = sinter.erfinv %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %25 = sinter.logistic %x : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %26 = sinter.not %b : (tensor<i1>) -> tensor<i1>
  %27 = sinter.is_nan %x : (tensor<4x?xf32>) -> tensor<4x?xi1>
  %28 = sinter.is_inf %x : (tensor<4x?xf32>) -> tensor<4x?xi1>
  return
}

func.func @binary(%x: tensor<?x3xf64>, %y: tensor<2x?xf64>, %u: tensor<4xui32>, %b: tensor<5xi1>) {
  %0 = sinter.add %x, %y : (tensor<?x3xf64>, tensor<2x?xf64>) -> tensor<2x3xf64>
  %1 = sinter.sub %x, %y : (tensor<?x3xf64>, tensor<2x?xf64>) -> tensor<2x3xf64>
  %2 = sinter.mul %x, %y : (tensor<?x3xf64>, tensor<2x?xf64>) -> tensor<2x3xf64>
  %3 = sinter.div %x, %y : (tensor<?x3xf64>, tensor<2x?xf64>) -> tensor<2x3xf64>
  %4 = sinter.rem %x, %y : (tensor<?x3xf64>, tensor<2x?xf64>) -> tensor<2x3xf64>
  %5 = sinter.pow %x, %y : (tensor<?x3xf64>, tensor<2x?xf64>) -> tensor<2x3xf64>
  %6 = sinter.max %b, %b : (tensor<5xi1>, tensor<5xi1>) -> tensor<5xi1>
  %7 = sinter.min %x, %y : (tensor<?x3xf64>, tensor<2x?xf64>) -> tensor<2x3xf64>
  %8 = sinter.atan2 %x, %y : (tensor<?x3xf64>, tensor<2x?xf64>) -> tensor<2x3xf64>
  %9 = sinter.and %u, %u : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  %10 = sinter.or %b, %b : (tensor<5xi1>, tensor<5xi1>) -> tensor<5xi1>
  %11 = sinter.xor %b, %b : (tensor<5xi1>, tensor<5xi1>) -> tensor<5xi1>
  %12 = sinter.shift_left %u, %u : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  %13 = sinter.shift_right %u, %u : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  return
}

func.func @others(%x: tensor<?x3xbf16>, %p: tensor<2x?xi1>, %i: tensor<7xi32>) {
  %0 = sinter.compare lt %x, %x : (tensor<?x3xbf16>, tensor<?x3xbf16>) -> tensor<?x3xi1>
  %1 = sinter.select %p, %x, %x : (tensor<2x?xi1>, tensor<?x3xbf16>, tensor<?x3xbf16>) -> tensor<2x3xbf16>
  %2 = sinter.clamp %x, %x, %x : (tensor<?x3xbf16>, tensor<?x3xbf16>, tensor<?x3xbf16>) -> tensor<?x3xbf16>
  %3 = sinter.convert %i {element_type = f16} : (tensor<7xi32>) -> tensor<7xf16>
  %4 = sinter.bitcast %i {element_type = f32} : (tensor<7xi32>) -> tensor<7xf32>
  return
}
