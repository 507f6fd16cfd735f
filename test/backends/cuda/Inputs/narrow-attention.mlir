func.func @f(%aq: tensor<64x1024x96xbf16>, %ak: tensor<64x1024x96xbf16>, %bq: tensor<2x1024x64xbf16>, %bk: tensor<2x1024x64xbf16>) -> (tensor<64x1024x96xbf16>, tensor<2x1024x64xbf16>) {
  %a = sinter.attention %aq, %ak, %ak {scale = 0.125 : f64} : (tensor<64x1024x96xbf16>, tensor<64x1024x96xbf16>, tensor<64x1024x96xbf16>) -> tensor<64x1024x96xbf16>
  %b = sinter.attention %bq, %bk, %bk {scale = 0.125 : f64} : (tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>) -> tensor<2x1024x64xbf16>
  return %a, %b : tensor<64x1024x96xbf16>, tensor<2x1024x64xbf16>
}
