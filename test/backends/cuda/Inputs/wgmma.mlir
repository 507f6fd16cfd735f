func.func @f(%x: tensor<128x328xbf16>, %y: tensor<328x64xbf16>) -> tensor<128x64xbf16> {
  %0 = sinter.kernel contraction(%x, %y) {schedule = #sinter.schedule<wgmma_product, lanes = 256, tile = [64, 64, 64, 64, 64, 3, 1]>} : (tensor<128x328xbf16>, tensor<328x64xbf16>) -> tensor<128x64xbf16> {
  ^bb0(%p: tensor<128x328xbf16>, %q: tensor<328x64xbf16>):
    %d = sinter.dot_general %p, %q {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = bf16} : (tensor<128x328xbf16>, tensor<328x64xbf16>) -> tensor<128x64xbf16>
    sinter.yield(%d) : tensor<128x64xbf16>
  }
  return %0 : tensor<128x64xbf16>
}
