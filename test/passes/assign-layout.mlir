// RUN: sinter-opt %s --sinter-assign-layout | FileCheck %s
// RUN: sinter-opt %s --sinter-assign-layout="normalize-columns=false sample-last=false" | FileCheck %s --check-prefix=ROWS

// One transpose at each edge; those of the filters are of constants.
// CHECK-LABEL: @transposes_meet_between_convolutions
// CHECK: %[[X:.*]] = sinter.transpose %arg0 {permutation = array<i64: 0, 2, 3, 1>}
// CHECK: %[[C:.*]] = sinter.convolution %[[X]], %{{.*}}layout = #sinter<conv_layout channels_last>
// CHECK: %[[B:.*]] = sinter.broadcast %arg1 axes = [3]
// CHECK: %[[S:.*]] = sinter.add %[[C]], %[[B]]
// CHECK: %[[P:.*]] = sinter.reduce_window max %[[S]] {{.*}}window = array<i64: 1, 2, 2, 1>
// CHECK: %[[D:.*]] = sinter.convolution %[[P]]
// CHECK: sinter.transpose %[[D]] {permutation = array<i64: 0, 3, 1, 2>}
func.func @transposes_meet_between_convolutions(%x: tensor<1x3x8x8xf32>, %bias: tensor<4xf32>) -> tensor<1x4x4x4xf32> {
  %f = sinter.constant dense<1.0> : tensor<4x3x1x1xf32>
  %g = sinter.constant dense<1.0> : tensor<4x4x1x1xf32>
  %0 = sinter.convolution %x, %f {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = sinter.broadcast %bias axes = [1] {type = tensor<1x4x8x8xf32>} : (tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %2 = sinter.add %0, %1 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %3 = sinter.reduce_window max %2 {window = array<i64: 1, 1, 2, 2>, strides = array<i64: 1, 1, 2, 2>, low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  %4 = sinter.convolution %3, %g {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  return %4 : tensor<1x4x4x4xf32>
}

// A pool of images in a sequence leaves the axis of images alone, also with channels last: it is moved once.
// CHECK-LABEL: @pools_of_images_in_a_sequence
// CHECK: %[[X:.*]] = sinter.transpose %arg0 {permutation = array<i64: 0, 2, 3, 4, 1>}
// CHECK: %[[P:.*]] = sinter.reduce_window max %[[X]] {{.*}}window = array<i64: 1, 1, 2, 2, 1>
// CHECK: sinter.transpose %[[P]] {permutation = array<i64: 0, 4, 1, 2, 3>}
func.func @pools_of_images_in_a_sequence(%x: tensor<1x4x5x8x8xf32>) -> tensor<1x4x5x4x4xf32> {
  %0 = sinter.reduce_window max %x {window = array<i64: 1, 1, 1, 2, 2>, strides = array<i64: 1, 1, 1, 2, 2>, low = array<i64: 0, 0, 0, 0, 0>, high = array<i64: 0, 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1, 1>} : (tensor<1x4x5x8x8xf32>) -> tensor<1x4x5x4x4xf32>
  return %0 : tensor<1x4x5x4x4xf32>
}

// What a convolution reads is transposed anyway: its result is added to that. Of three axes, both orders are the same.
// CHECK-LABEL: @residuals_of_what_is_read
// CHECK: %[[X:.*]] = sinter.transpose %arg0 {permutation = array<i64: 0, 2, 1>}
// CHECK: %[[C:.*]] = sinter.convolution %[[X]]
// CHECK: %[[S:.*]] = sinter.add %[[X]], %[[C]]
// CHECK: %[[D:.*]] = sinter.convolution %[[S]]
// CHECK: %[[T:.*]] = sinter.add %[[S]], %[[D]]
// CHECK: sinter.transpose %[[T]] {permutation = array<i64: 0, 2, 1>}
func.func @residuals_of_what_is_read(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %f = sinter.constant dense<1.0> : tensor<4x4x1xf32>
  %g = sinter.constant dense<2.0> : tensor<4x4x1xf32>
  %0 = sinter.convolution %x, %f {strides = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, input_dilation = array<i64: 1>, dilation = array<i64: 1>, element_type = f32} : (tensor<1x4x8xf32>, tensor<4x4x1xf32>) -> tensor<1x4x8xf32>
  %1 = sinter.add %x, %0 : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %2 = sinter.convolution %1, %g {strides = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, input_dilation = array<i64: 1>, dilation = array<i64: 1>, element_type = f32} : (tensor<1x4x8xf32>, tensor<4x4x1xf32>) -> tensor<1x4x8xf32>
  %3 = sinter.add %1, %2 : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %3 : tensor<1x4x8xf32>
}

// Both orders of a sum's operands are read by convolutions, along channels and along places: one of them is taken, once.
// CHECK-LABEL: @places_are_mixed_too
// CHECK: %[[X:.*]] = sinter.transpose %arg0 {permutation = array<i64: 0, 2, 1>}
// CHECK: %[[C:.*]] = sinter.convolution %[[X]]
// CHECK: sinter.add %[[X]], %[[C]]
func.func @places_are_mixed_too(%x: tensor<1x8x8xf32>) -> (tensor<1x8x8xf32>, tensor<1x8x8xf32>) {
  %f = sinter.constant dense<1.0> : tensor<8x8x1xf32>
  %g = sinter.constant dense<2.0> : tensor<8x8x1xf32>
  %0 = sinter.convolution %x, %f {strides = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, input_dilation = array<i64: 1>, dilation = array<i64: 1>, element_type = f32} : (tensor<1x8x8xf32>, tensor<8x8x1xf32>) -> tensor<1x8x8xf32>
  %1 = sinter.add %x, %0 : (tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  %t = sinter.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  %2 = sinter.convolution %t, %g {strides = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, input_dilation = array<i64: 1>, dilation = array<i64: 1>, element_type = f32} : (tensor<1x8x8xf32>, tensor<8x8x1xf32>) -> tensor<1x8x8xf32>
  return %1, %2 : tensor<1x8x8xf32>, tensor<1x8x8xf32>
}

// CHECK-LABEL: @global_pool_reads_channels_last
// CHECK: %[[C:.*]] = sinter.convolution
// CHECK: %[[R:.*]] = sinter.reduce add %[[C]] axes = [1, 2]
// CHECK: return %[[R]]
func.func @global_pool_reads_channels_last(%x: tensor<1x3x8x8xf32>) -> tensor<1x4xf32> {
  %f = sinter.constant dense<1.0> : tensor<4x3x1x1xf32>
  %0 = sinter.convolution %x, %f {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = sinter.reduce add %0 axes = [2, 3] : (tensor<1x4x8x8xf32>) -> tensor<1x4xf32>
  return %1 : tensor<1x4xf32>
}

// A text line: the model's own transpose to [image, place, channel] meets ours.
// CHECK-LABEL: @flattened_places_stay_before_channels
// CHECK: %[[C:.*]] = sinter.convolution
// CHECK-NEXT: %[[R:.*]] = sinter.reshape %[[C]] {type = tensor<?x?x4xf32>}
// CHECK-NEXT: return %[[R]]
func.func @flattened_places_stay_before_channels(%x: tensor<?x3x?x?xf32>) -> tensor<?x?x4xf32> {
  %f = sinter.constant dense<1.0> : tensor<4x3x1x1xf32>
  %0 = sinter.convolution %x, %f {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<?x3x?x?xf32>, tensor<4x3x1x1xf32>) -> tensor<?x4x?x?xf32>
  %1 = sinter.reshape %0 {type = tensor<?x4x?xf32>} : (tensor<?x4x?x?xf32>) -> tensor<?x4x?xf32>
  %2 = sinter.transpose %1 {permutation = array<i64: 0, 2, 1>} : (tensor<?x4x?xf32>) -> tensor<?x?x4xf32>
  return %2 : tensor<?x?x4xf32>
}

// Scales and sizes may both be given: each follows the axes.
// CHECK-LABEL: @resize_with_scales_and_sizes
// CHECK-DAG: %[[SCALES:.*]] = sinter.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 1.000000e+00]> : tensor<4xf32>
// CHECK-DAG: %[[SIZES:.*]] = sinter.constant dense<[1, 6, 9, 4]> : tensor<4xi64>
// CHECK:     sinter.resize %{{.*}} scales(%[[SCALES]]) sizes(%[[SIZES]])
func.func @resize_with_scales_and_sizes(%x: tensor<1x4x3x3xf32>, %f: tensor<4x4x1x1xf32>) -> tensor<1x4x6x9xf32> {
  %scales = sinter.constant dense<[1.0, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %sizes = sinter.constant dense<[1, 4, 6, 9]> : tensor<4xi64>
  %0 = sinter.convolution %x, %f {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<1x4x3x3xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x3x3xf32>
  %1 = sinter.resize %0 scales(%scales) sizes(%sizes) {mode = #sinter<resize_mode linear>, coordinates = #sinter<coordinate_mode half_pixel>} : (tensor<1x4x3x3xf32>, tensor<4xf32>, tensor<4xi64>) -> tensor<1x4x6x9xf32>
  return %1 : tensor<1x4x6x9xf32>
}

// Tokens become an image, are convolved and become tokens again: nothing is transposed.
// CHECK-LABEL: @tokens_become_an_image
// CHECK-NOT: sinter.transpose %
// CHECK: %[[I:.*]] = sinter.reshape %arg0 {type = tensor<?x4x6x8xf32>}
// CHECK-NEXT: %[[C:.*]] = sinter.convolution %[[I]], %arg1
// CHECK-NEXT: %[[T:.*]] = sinter.reshape %[[C]] {type = tensor<?x24x8xf32>}
// CHECK-NEXT: return %[[T]]
func.func @tokens_become_an_image(%x: tensor<?x24x8xf32>, %f: tensor<8x1x1x1xf32>) -> tensor<?x24x8xf32> {
  %0 = sinter.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<?x24x8xf32>) -> tensor<?x8x24xf32>
  %1 = sinter.reshape %0 {type = tensor<?x8x4x6xf32>} : (tensor<?x8x24xf32>) -> tensor<?x8x4x6xf32>
  %2 = sinter.convolution %1, %f {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 8 : i64, element_type = f32} : (tensor<?x8x4x6xf32>, tensor<8x1x1x1xf32>) -> tensor<?x8x4x6xf32>
  %3 = sinter.reshape %2 {type = tensor<?x8x24xf32>} : (tensor<?x8x4x6xf32>) -> tensor<?x8x24xf32>
  %4 = sinter.transpose %3 {permutation = array<i64: 0, 2, 1>} : (tensor<?x8x24xf32>) -> tensor<?x24x8xf32>
  return %4 : tensor<?x24x8xf32>
}

// Channels that a reshape splits do not stay what they were.
// CHECK-LABEL: @heads_stay_transposed
// CHECK: %[[T:.*]] = sinter.transpose %arg0 {permutation = array<i64: 0, 2, 1>}
// CHECK-NEXT: %[[R:.*]] = sinter.reshape %[[T]] {type = tensor<1x2x4x24xf32>}
// CHECK-NEXT: return %[[R]]
func.func @heads_stay_transposed(%x: tensor<1x24x8xf32>) -> tensor<1x2x4x24xf32> {
  %0 = sinter.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<1x24x8xf32>) -> tensor<1x8x24xf32>
  %1 = sinter.reshape %0 {type = tensor<1x2x4x24xf32>} : (tensor<1x8x24xf32>) -> tensor<1x2x4x24xf32>
  return %1 : tensor<1x2x4x24xf32>
}

// Instances are columns once channels lie last: no transpose is left, and sums go down the columns.
// CHECK-LABEL: @instances_between_convolutions
// CHECK: %[[C:.*]] = sinter.convolution
// CHECK: %[[X:.*]] = sinter.reshape %[[C]] {type = tensor<2x64x16xf32>}
// CHECK: %[[T:.*]] = sinter.reduce add %[[X]] axes = [1]
// CHECK: %[[M:.*]] = sinter.div %[[T]]
// CHECK: %[[B:.*]] = sinter.broadcast %[[M]] axes = [0, 2]
// CHECK: %[[D:.*]] = sinter.sub %[[X]], %[[B]]
// CHECK: sinter.rsqrt
// CHECK: %[[N:.*]] = sinter.mul %[[D]], %{{.*}} : (tensor<2x64x16xf32>
// CHECK-NOT: sinter.transpose
// CHECK: sinter.max
// CHECK: %[[R:.*]] = sinter.reshape %{{.*}} {type = tensor<2x8x8x16xf32>}
// CHECK-NEXT: sinter.convolution %[[R]]
// ROWS-LABEL: @instances_between_convolutions
// ROWS: sinter.layer_norm
func.func @instances_between_convolutions(%x: tensor<2x3x8x8xf32>) -> tensor<2x4x8x8xf32> {
  %f = sinter.constant dense<1.0> : tensor<16x3x1x1xf32>
  %g = sinter.constant dense<1.0> : tensor<4x16x1x1xf32>
  %zero = sinter.constant dense<0.0> : tensor<2x16x64xf32>
  %0 = sinter.convolution %x, %f {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<2x3x8x8xf32>, tensor<16x3x1x1xf32>) -> tensor<2x16x8x8xf32>
  %1 = sinter.reshape %0 {type = tensor<2x16x64xf32>} : (tensor<2x16x8x8xf32>) -> tensor<2x16x64xf32>
  %2, %mean, %inverse = sinter.layer_norm %1 {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x16x64xf32>) -> (tensor<2x16x64xf32>, tensor<2x16x1xf32>, tensor<2x16x1xf32>)
  %3 = sinter.max %2, %zero : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
  %4 = sinter.reshape %3 {type = tensor<2x16x8x8xf32>} : (tensor<2x16x64xf32>) -> tensor<2x16x8x8xf32>
  %5 = sinter.convolution %4, %g {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<2x16x8x8xf32>, tensor<4x16x1x1xf32>) -> tensor<2x4x8x8xf32>
  return %5 : tensor<2x4x8x8xf32>
}

// Of a group, the sums of its channels are added; the statistics have a number for each group.
// CHECK-LABEL: @groups_of_channels
// CHECK: %[[T:.*]] = sinter.reduce add %{{.*}} axes = [1] : (tensor<2x64x16xf32>) -> tensor<2x16xf32>
// CHECK: %[[G:.*]] = sinter.reshape %[[T]] {type = tensor<2x4x4xf32>}
// CHECK: %[[S:.*]] = sinter.reduce add %[[G]] axes = [2]
// CHECK: %[[M:.*]] = sinter.div %[[S]]
// CHECK: sinter.reshape %[[M]] {type = tensor<2x4x1xf32>}
func.func @groups_of_channels(%x: tensor<2x3x8x8xf32>) -> (tensor<2x16x8x8xf32>, tensor<2x4x1xf32>) {
  %f = sinter.constant dense<1.0> : tensor<16x3x1x1xf32>
  %0 = sinter.convolution %x, %f {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<2x3x8x8xf32>, tensor<16x3x1x1xf32>) -> tensor<2x16x8x8xf32>
  %1 = sinter.reshape %0 {type = tensor<2x4x256xf32>} : (tensor<2x16x8x8xf32>) -> tensor<2x4x256xf32>
  %2, %mean, %inverse = sinter.layer_norm %1 {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4x256xf32>) -> (tensor<2x4x256xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>)
  %3 = sinter.reshape %2 {type = tensor<2x16x8x8xf32>} : (tensor<2x4x256xf32>) -> tensor<2x16x8x8xf32>
  return %3, %mean : tensor<2x16x8x8xf32>, tensor<2x4x1xf32>
}

// Few channels would leave lanes empty: their rows stay rows.
// CHECK-LABEL: @instances_of_few_channels
// CHECK: sinter.layer_norm
func.func @instances_of_few_channels(%x: tensor<2x3x8x8xf32>) -> tensor<2x4x64xf32> {
  %f = sinter.constant dense<1.0> : tensor<4x3x1x1xf32>
  %0 = sinter.convolution %x, %f {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, element_type = f32} : (tensor<2x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<2x4x8x8xf32>
  %1 = sinter.reshape %0 {type = tensor<2x4x64xf32>} : (tensor<2x4x8x8xf32>) -> tensor<2x4x64xf32>
  %2, %mean, %inverse = sinter.layer_norm %1 {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x4x64xf32>) -> (tensor<2x4x64xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>)
  return %2 : tensor<2x4x64xf32>
}

// Eight channels that are read at one place lie side by side; fewer stay where they are.
// CHECK-LABEL: @places_of_many_channels
// CHECK: %[[X:.*]] = sinter.transpose %arg0 {permutation = array<i64: 0, 2, 3, 1>}
// CHECK: %[[S:.*]] = sinter.grid_sample %[[X]], %arg1 {layout = #sinter<conv_layout channels_last>
// CHECK-SAME: -> tensor<2x6x?x8xf32>
// CHECK: %[[R:.*]] = sinter.abs %[[S]]
// CHECK: sinter.transpose %[[R]] {permutation = array<i64: 0, 3, 1, 2>}
// ROWS-LABEL: @places_of_many_channels
// ROWS: sinter.grid_sample %arg0, %arg1 {mode =
func.func @places_of_many_channels(%x: tensor<2x8x4x5xf32>, %grid: tensor<2x6x?x2xf32>) -> tensor<2x8x6x?xf32> {
  %0 = sinter.grid_sample %x, %grid {mode = #sinter<resize_mode linear>, padding = #sinter<pad_mode edge>} : (tensor<2x8x4x5xf32>, tensor<2x6x?x2xf32>) -> tensor<2x8x6x?xf32>
  %1 = sinter.abs %0 : (tensor<2x8x6x?xf32>) -> tensor<2x8x6x?xf32>
  return %1 : tensor<2x8x6x?xf32>
}

// CHECK-LABEL: @places_of_few_channels
// CHECK-NOT: transpose
func.func @places_of_few_channels(%x: tensor<2x7x4x5xf32>, %grid: tensor<2x6x3x2xf32>) -> tensor<2x7x6x3xf32> {
  %0 = sinter.grid_sample %x, %grid {mode = #sinter<resize_mode linear>, padding = #sinter<pad_mode edge>} : (tensor<2x7x4x5xf32>, tensor<2x6x3x2xf32>) -> tensor<2x7x6x3xf32>
  return %0 : tensor<2x7x6x3xf32>
}

// Tokens become an image of open sizes, and that is tokens again: channels stay last.
// CHECK-LABEL: @open_tokens
// CHECK-NOT: transpose
// CHECK: return
func.func @open_tokens(%x: tensor<?x?x8xf32>, %s: tensor<2xi64>) -> tensor<?x?x8xf32> {
  %n = sinter.dim %x {axis = 0 : i64} : (tensor<?x?x8xf32>) -> tensor<i64>
  %b = sinter.reshape %n {type = tensor<1xi64>} : (tensor<i64>) -> tensor<1xi64>
  %c = sinter.constant dense<8> : tensor<1xi64>
  %shape = sinter.concatenate %b, %c, %s {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<2xi64>) -> tensor<4xi64>
  %0 = sinter.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<?x?x8xf32>) -> tensor<?x8x?xf32>
  %1 = sinter.reshape %0, %shape {type = tensor<?x8x?x?xf32>} : (tensor<?x8x?xf32>, tensor<4xi64>) -> tensor<?x8x?x?xf32>
  %2 = sinter.neg %1 : (tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32>
  %3 = sinter.transpose %2 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<?x8x?x?xf32>) -> tensor<?x?x?x8xf32>
  %4 = sinter.reduce max %3 axes = [2] : (tensor<?x?x?x8xf32>) -> tensor<?x?x8xf32>
  return %4 : tensor<?x?x8xf32>
}
