// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @resize_c1_neither(%x: tensor<2x2xf32>) {
  // expected-error @+2 {{resize requires scales or sizes, got neither}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.resize %x {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<2x2xf32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @resize_c2_number_of_scales(%x: tensor<2x2xf32>, %scales: tensor<3xf32>) {
  // expected-error @+2 {{resize requires 2 scales, got 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.resize %x scales(%scales) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<2x2xf32>, tensor<3xf32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @resize_c3_roi_is_missing(%x: tensor<2xf32>, %sizes: tensor<1xi64>) {
  // expected-error @+2 {{resize requires roi for tf_crop_and_resize, got none}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.resize %x sizes(%sizes) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode tf_crop_and_resize>} : (tensor<2xf32>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @resize_c3_length_of_roi(%x: tensor<2xf32>, %sizes: tensor<1xi64>, %roi: tensor<3xf32>) {
  // expected-error @+2 {{resize requires 2 elements of roi, got 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.resize %x sizes(%sizes) roi(%roi) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode tf_crop_and_resize>} : (tensor<2xf32>, tensor<1xi64>, tensor<3xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @resize_c4_scale_is_negative(%x: tensor<2xf32>) {
  %scales = sinter.constant dense<-2.0> : tensor<1xf32>
  // expected-error @+2 {{resize requires scales above 0, got -2.000000e+00 for axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.resize %x scales(%scales) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<2xf32>, tensor<1xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @resize_c4_size_is_negative(%x: tensor<2xf32>) {
  %sizes = sinter.constant dense<-2> : tensor<1xi64>
  // expected-error @+2 {{resize requires sizes of at least 0, got -2 for axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.resize %x sizes(%sizes) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<2xf32>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @grid_sample_c1_ranks(%x: tensor<2x2xf32>, %grid: tensor<2x2xf32>) {
  // expected-error @+2 {{grid_sample requires an operand of rank 3 at least and a grid of its rank, got 2 and 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.grid_sample %x, %grid {mode = #sinter<resize_mode linear>, padding = #sinter<pad_mode edge>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @grid_sample_c2_last_size(%x: tensor<1x1x2x2xf32>, %grid: tensor<1x2x2x3xf32>) {
  // expected-error @+2 {{grid_sample requires a grid whose last size is 2, got 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.grid_sample %x, %grid {mode = #sinter<resize_mode linear>, padding = #sinter<pad_mode edge>} : (tensor<1x1x2x2xf32>, tensor<1x2x2x3xf32>) -> tensor<1x1x2x2xf32>
  return
}

// -----

func.func @grid_sample_c3_batches_differ(%x: tensor<1x1x2x2xf32>, %grid: tensor<2x2x2x2xf32>) {
  // expected-error @+2 {{grid_sample requires dim(operand, 0) = dim(grid, 0), got 1 and 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.grid_sample %x, %grid {mode = #sinter<resize_mode linear>, padding = #sinter<pad_mode edge>} : (tensor<1x1x2x2xf32>, tensor<2x2x2x2xf32>) -> tensor<1x1x2x2xf32>
  return
}

// -----

func.func @grid_sample_c4_element_types_differ(%x: tensor<1x1x2x2xf32>, %grid: tensor<1x2x2x2xf64>) {
  // expected-error @+2 {{grid_sample requires operands of one element type, got 'f32' and 'f64'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.grid_sample %x, %grid {mode = #sinter<resize_mode linear>, padding = #sinter<pad_mode edge>} : (tensor<1x1x2x2xf32>, tensor<1x2x2x2xf64>) -> tensor<1x1x2x2xf32>
  return
}

// -----

func.func @grid_sample_c5_no_wrap(%x: tensor<1x1x2x2xf32>, %grid: tensor<1x2x2x2xf32>) {
  // expected-error @+2 {{grid_sample requires padding constant, edge or reflect, got wrap}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.grid_sample %x, %grid {mode = #sinter<resize_mode linear>, padding = #sinter<pad_mode wrap>} : (tensor<1x1x2x2xf32>, tensor<1x2x2x2xf32>) -> tensor<1x1x2x2xf32>
  return
}

// -----

func.func @resize_c5_of_nothing(%x: tensor<2x0xf32>) {
  %s = sinter.constant dense<[2, 3]> : tensor<2xi64>
  // expected-error @+2 {{resize requires a size of at least 1 to take elements from on axis 1, got 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.resize %x sizes(%s) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<2x0xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @grid_sample_c6_of_nothing(%x: tensor<1x1x0x2xf32>, %grid: tensor<1x2x2x2xf32>) {
  // expected-error @+2 {{grid_sample requires an operand with elements where the result has some, got 'tensor<1x1x0x2xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.grid_sample %x, %grid {mode = #sinter<resize_mode linear>, padding = #sinter<pad_mode edge>} : (tensor<1x1x0x2xf32>, tensor<1x2x2x2xf32>) -> tensor<1x1x2x2xf32>
  return
}
