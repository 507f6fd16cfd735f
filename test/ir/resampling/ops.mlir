// RUN: sinter-opt --verify-roundtrip %s

func.func @sizes_at_run_time(%x: tensor<1x3x?x?xf32>, %sizes: tensor<4xi64>) -> tensor<1x3x?x?xf32> {
  %0 = sinter.resize %x sizes(%sizes) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>}
    : (tensor<1x3x?x?xf32>, tensor<4xi64>) -> tensor<1x3x?x?xf32>
  return %0 : tensor<1x3x?x?xf32>
}

func.func @scales_give_sizes(%x: tensor<1x3x4x9xf32>) -> tensor<1x3x8x6xf32> {
  %scales = sinter.constant dense<[1.0, 1.0, 2.0, 0.6666667]> : tensor<4xf32>
  %0 = sinter.resize %x scales(%scales) {mode = #sinter<resize_mode nearest>, coordinates = #sinter<coordinate_mode asymmetric>, nearest = #sinter<nearest_mode floor>}
    : (tensor<1x3x4x9xf32>, tensor<4xf32>) -> tensor<1x3x8x6xf32>
  return %0 : tensor<1x3x8x6xf32>
}

func.func @crop(%x: tensor<5xi8>, %sizes: tensor<1xi64>, %roi: tensor<2xf32>) -> tensor<?xi8> {
  %0 = sinter.resize %x sizes(%sizes) roi(%roi) {mode = #sinter<resize_mode cubic>, coordinates = #sinter<coordinate_mode tf_crop_and_resize>, extrapolation = 1.0 : f64}
    : (tensor<5xi8>, tensor<1xi64>, tensor<2xf32>) -> tensor<?xi8>
  return %0 : tensor<?xi8>
}

func.func @grid_sample(%x: tensor<2x3x4x5xf32>, %grid: tensor<?x6x?x2xf32>) -> tensor<2x3x6x?xf32> {
  %0 = sinter.grid_sample %x, %grid {mode = #sinter<resize_mode linear>, padding = #sinter<pad_mode edge>}
    : (tensor<2x3x4x5xf32>, tensor<?x6x?x2xf32>) -> tensor<2x3x6x?xf32>
  return %0 : tensor<2x3x6x?xf32>
}

func.func @grid_sample_channels_last(%x: tensor<2x4x5x3xf32>, %grid: tensor<?x6x?x2xf32>) -> tensor<2x6x?x3xf32> {
  %0 = sinter.grid_sample %x, %grid {mode = #sinter<resize_mode linear>, padding = #sinter<pad_mode edge>, layout = #sinter<conv_layout channels_last>}
    : (tensor<2x4x5x3xf32>, tensor<?x6x?x2xf32>) -> tensor<2x6x?x3xf32>
  return %0 : tensor<2x6x?x3xf32>
}

func.func @grid_sample_volume(%x: tensor<1x1x3x4x5xf64>, %grid: tensor<1x2x2x2x3xf64>) -> tensor<1x1x2x2x2xf64> {
  %0 = sinter.grid_sample %x, %grid {mode = #sinter<resize_mode nearest>, padding = #sinter<pad_mode constant>, align_corners = true}
    : (tensor<1x1x3x4x5xf64>, tensor<1x2x2x2x3xf64>) -> tensor<1x1x2x2x2xf64>
  return %0 : tensor<1x1x2x2x2xf64>
}
