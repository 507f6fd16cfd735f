func.func @f(%aq: tensor<64x1024x96xbf16>, %ak: tensor<64x1024x96xbf16>, %bq: tensor<2x1024x64xbf16>, %bk: tensor<2x1024x64xbf16>, %cq: tensor<8x1x64xbf16>, %ck: tensor<8x?x64xbf16>, %d: tensor<?x?x?x?x?x?x70x64xbf16>) -> (tensor<64x1024x96xbf16>, tensor<2x1024x64xbf16>, tensor<8x1x64xbf16>, tensor<?x?x?x?x?x?x70x64xbf16>) {
  %a = sinter.attention %aq, %ak, %ak {scale = 0.125 : f64} : (tensor<64x1024x96xbf16>, tensor<64x1024x96xbf16>, tensor<64x1024x96xbf16>) -> tensor<64x1024x96xbf16>
  %b = sinter.attention %bq, %bk, %bk {scale = 0.125 : f64} : (tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>) -> tensor<2x1024x64xbf16>
  %c = sinter.attention %cq, %ck, %ck {scale = 0.125 : f64} : (tensor<8x1x64xbf16>, tensor<8x?x64xbf16>, tensor<8x?x64xbf16>) -> tensor<8x1x64xbf16>
  %e = sinter.attention %d, %d, %d {scale = 0.125 : f64} : (tensor<?x?x?x?x?x?x70x64xbf16>, tensor<?x?x?x?x?x?x70x64xbf16>, tensor<?x?x?x?x?x?x70x64xbf16>) -> tensor<?x?x?x?x?x?x70x64xbf16>
  return %a, %b, %c, %e : tensor<64x1024x96xbf16>, tensor<2x1024x64xbf16>, tensor<8x1x64xbf16>, tensor<?x?x?x?x?x?x70x64xbf16>
}
