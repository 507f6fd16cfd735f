// RUN: sinter-opt --verify-roundtrip %s

func.func @static_type(%key: tensor<4xui32>) -> tensor<2x3xui32> {
  %0 = sinter.random_bits %key {type = tensor<2x3xui32>} : (tensor<4xui32>) -> tensor<2x3xui32>
  return %0 : tensor<2x3xui32>
}

func.func @sizes_at_run_time(%key: tensor<?xui32>, %shape: tensor<2xi64>) -> tensor<?x3xui32> {
  %0 = sinter.random_bits %key, %shape {type = tensor<?x3xui32>} : (tensor<?xui32>, tensor<2xi64>) -> tensor<?x3xui32>
  return %0 : tensor<?x3xui32>
}
