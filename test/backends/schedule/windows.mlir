// Tensors between convolutions that are larger than a third of the second-level cache are windows; others lie in memory.
// RUN: sinter compile %s --target=znver4 --emit=schedule -o - | FileCheck %s

// What is expanded has 38.5 MB, of which each of 24 parts keeps a window.
// CHECK-LABEL: run_wide
// CHECK: %[[A:.*]]:2 = schedule.arena(%c38535168_i64, %{{.*}}) lives [5, 6, 5, 7]
// CHECK-NOT: schedule.launch
// CHECK: schedule.chain [@{{.*}}, @{{.*}}](%{{.*}}, %{{.*}}, %[[A]]#0, %[[A]]#0, %{{.*}}, %[[A]]#1) counts [3, 3] places [2, 3] in %[[A]]#0 windows [344064] parts [0,
// What a part makes again of its neighbour's rows, blocks 69 to 72, is moved where that part has just been run.
// CHECK-SAME: begins [{{.*}}, 0, 0, 1483776, 69, 84, 18, 21, {{.*}} steps [{{.*}}, 236544, 64512, 1483776, 72, 84, 18, 21,
// CHECK-COUNT-1: schedule.launch
func.func @wide(%x: tensor<8x112x112x16xf32>) -> tensor<8x56x56x24xf32> {
  %a = sinter.constant dense<0.5> : tensor<96x1x1x16xf32>
  %b = sinter.constant dense<0.25> : tensor<96x3x3x1xf32>
  %c = sinter.constant dense<0.125> : tensor<24x1x1x96xf32>
  %e = sinter.convolution %x, %a {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<8x112x112x16xf32>, tensor<96x1x1x16xf32>) -> tensor<8x112x112x96xf32>
  %d = sinter.convolution %e, %b {strides = array<i64: 2, 2>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 96 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<8x112x112x96xf32>, tensor<96x3x3x1xf32>) -> tensor<8x56x56x96xf32>
  %y = sinter.convolution %d, %c {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<8x56x56x96xf32>, tensor<24x1x1x96xf32>) -> tensor<8x56x56x24xf32>
  return %y : tensor<8x56x56x24xf32>
}

// 301 KB.
// CHECK-LABEL: run_narrow
// CHECK-NOT: schedule.chain
// CHECK-COUNT-3: schedule.launch
func.func @narrow(%x: tensor<1x28x28x16xf32>) -> tensor<1x28x28x24xf32> {
  %a = sinter.constant dense<0.5> : tensor<96x1x1x16xf32>
  %b = sinter.constant dense<0.25> : tensor<96x3x3x1xf32>
  %c = sinter.constant dense<0.125> : tensor<24x1x1x96xf32>
  %e = sinter.convolution %x, %a {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x28x28x16xf32>, tensor<96x1x1x16xf32>) -> tensor<1x28x28x96xf32>
  %d = sinter.convolution %e, %b {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 96 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x28x28x96xf32>, tensor<96x3x3x1xf32>) -> tensor<1x28x28x96xf32>
  %y = sinter.convolution %d, %c {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x28x28x96xf32>, tensor<24x1x1x96xf32>) -> tensor<1x28x28x24xf32>
  return %y : tensor<1x28x28x24xf32>
}

// How many images there are only a call tells.
// CHECK-LABEL: run_unknown
// CHECK-NOT: schedule.chain
// CHECK-COUNT-3: schedule.launch
func.func @unknown(%x: tensor<?x112x112x16xf32>) -> tensor<?x56x56x24xf32> {
  %a = sinter.constant dense<0.5> : tensor<96x1x1x16xf32>
  %b = sinter.constant dense<0.25> : tensor<96x3x3x1xf32>
  %c = sinter.constant dense<0.125> : tensor<24x1x1x96xf32>
  %e = sinter.convolution %x, %a {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<?x112x112x16xf32>, tensor<96x1x1x16xf32>) -> tensor<?x112x112x96xf32>
  %d = sinter.convolution %e, %b {strides = array<i64: 2, 2>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 96 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<?x112x112x96xf32>, tensor<96x3x3x1xf32>) -> tensor<?x56x56x96xf32>
  %y = sinter.convolution %d, %c {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<?x56x56x96xf32>, tensor<24x1x1x96xf32>) -> tensor<?x56x56x24xf32>
  return %y : tensor<?x56x56x24xf32>
}
