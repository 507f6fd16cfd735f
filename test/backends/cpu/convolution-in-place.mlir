// What is added to a convolution dies there, and the sum lies where it was, unless tiles reach back over pixels that the
// ones before them have written: of 6x6 pixels tiles of 18 leave none twice, of 7x7 pixels tiles of 25 do.
// RUN: sinter compile %s --target=sapphirerapids --emit=schedule -o - | FileCheck %s
// RUN: sinter check %s

// CHECK-LABEL: schedule.function {{.*}}_whole
// CHECK: _convolution(%{{.*}}, %{{.*}}, %[[X:[0-9#]+]], %[[X]]) writes [3]
func.func @whole(%x: tensor<1x6x6x32xbf16>) -> tensor<1x6x6x32xbf16> {
  %w = sinter.constant dense<0.01> : tensor<32x3x3x32xbf16>
  %v = sinter.constant dense<0.02> : tensor<32x1x1x32xbf16>
  %a = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = bf16} : (tensor<1x6x6x32xbf16>, tensor<32x3x3x32xbf16>) -> tensor<1x6x6x32xbf16>
  %b = sinter.convolution %a, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = bf16} : (tensor<1x6x6x32xbf16>, tensor<32x3x3x32xbf16>) -> tensor<1x6x6x32xbf16>
  %c = sinter.convolution %b, %v {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = bf16} : (tensor<1x6x6x32xbf16>, tensor<32x1x1x32xbf16>) -> tensor<1x6x6x32xbf16>
  %s = sinter.add %c, %a : (tensor<1x6x6x32xbf16>, tensor<1x6x6x32xbf16>) -> tensor<1x6x6x32xbf16>
  %d = sinter.convolution %s, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = bf16} : (tensor<1x6x6x32xbf16>, tensor<32x3x3x32xbf16>) -> tensor<1x6x6x32xbf16>
  return %d : tensor<1x6x6x32xbf16>
}

// CHECK-LABEL: schedule.function {{.*}}_reaching
// CHECK-NOT: _convolution(%{{.*}}, %{{.*}}, %[[X:[0-9#]+]], %[[X]]) writes [3]
// CHECK: schedule.return
func.func @reaching(%x: tensor<1x7x7x32xbf16>) -> tensor<1x7x7x32xbf16> {
  %w = sinter.constant dense<0.01> : tensor<32x3x3x32xbf16>
  %v = sinter.constant dense<0.02> : tensor<32x1x1x32xbf16>
  %a = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = bf16} : (tensor<1x7x7x32xbf16>, tensor<32x3x3x32xbf16>) -> tensor<1x7x7x32xbf16>
  %b = sinter.convolution %a, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = bf16} : (tensor<1x7x7x32xbf16>, tensor<32x3x3x32xbf16>) -> tensor<1x7x7x32xbf16>
  %c = sinter.convolution %b, %v {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = bf16} : (tensor<1x7x7x32xbf16>, tensor<32x1x1x32xbf16>) -> tensor<1x7x7x32xbf16>
  %s = sinter.add %c, %a : (tensor<1x7x7x32xbf16>, tensor<1x7x7x32xbf16>) -> tensor<1x7x7x32xbf16>
  %d = sinter.convolution %s, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = bf16} : (tensor<1x7x7x32xbf16>, tensor<32x3x3x32xbf16>) -> tensor<1x7x7x32xbf16>
  return %d : tensor<1x7x7x32xbf16>
}
