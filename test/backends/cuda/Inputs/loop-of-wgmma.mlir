func.func @f(%a: tensor<128x128xf16>) -> tensor<128x128xf16> {
  %n, %r = sinter.while(%a) captures() {max_trip = 8 : i64, sinter.one_kernel = true} : (tensor<128x128xf16>) -> (tensor<i64>, tensor<128x128xf16>) cond {
  ^bb0(%v: tensor<128x128xf16>):
    %go = sinter.constant dense<true> : tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%v: tensor<128x128xf16>):
    %s = sinter.kernel contraction(%v) {schedule = #sinter.schedule<wgmma_product, lanes = 256, tile = [64, 64, 64, 64, 64, 3, 1]>} : (tensor<128x128xf16>) -> tensor<128x128xf16> {
    ^bb0(%x: tensor<128x128xf16>):
      %p = sinter.dot_general %x, %x {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f16} : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
      sinter.yield(%p) : tensor<128x128xf16>
    }
    sinter.yield(%s) : tensor<128x128xf16>
  }
  return %r : tensor<128x128xf16>
}
