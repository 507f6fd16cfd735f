// Convolutions whose tiles leave out what is beyond the image, with tiles of rows, pixels and vectors that nobody would choose: tiles of one pixel, of
// more rows than are left, and of pixels that begin at several borders.
// RUN: sinter check %s
// RUN: sinter compile %s --emit=loops -o - | FileCheck %s
// REQUIRES: x86_64

// None of them copies: a kernel has no workspace.
// CHECK-NOT: xi8>
func.func @main(%x: tensor<1x9x11x8xf32>, %f0: tensor<3x3x8x32xf32>, %f1: tensor<5x5x8x32xf32>, %f2: tensor<3x7x8x32xf32>, %f3: tensor<2x3x8x32xf32>) -> (tensor<1x9x11x32xf32>, tensor<1x9x11x32xf32>, tensor<1x9x11x32xf32>, tensor<1x9x11x32xf32>, tensor<1x9x11x32xf32>, tensor<1x9x11x32xf32>, tensor<1x5x6x32xf32>, tensor<1x5x6x32xf32>, tensor<1x5x6x32xf32>, tensor<1x5x6x32xf32>, tensor<1x5x6x32xf32>, tensor<1x5x6x32xf32>, tensor<1x9x5x32xf32>, tensor<1x9x5x32xf32>, tensor<1x9x5x32xf32>, tensor<1x9x5x32xf32>, tensor<1x9x5x32xf32>, tensor<1x9x5x32xf32>, tensor<1x3x11x32xf32>, tensor<1x3x11x32xf32>, tensor<1x3x11x32xf32>, tensor<1x3x11x32xf32>, tensor<1x3x11x32xf32>, tensor<1x3x11x32xf32>) {
  %y0 = sinter.kernel convolution(%x, %f0) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [1, 1, 1], chunk = 1>} : (tensor<1x9x11x8xf32>, tensor<3x3x8x32xf32>) -> tensor<1x9x11x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<3x3x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<3x3x8x32xf32>) -> tensor<32x3x3x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x3x3x8xf32>) -> tensor<1x9x11x32xf32>
    %r = sinter.neg %s : (tensor<1x9x11x32xf32>) -> tensor<1x9x11x32xf32>
    sinter.yield (%r) : tensor<1x9x11x32xf32>
  }
  %y1 = sinter.kernel convolution(%x, %f0) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [9, 3, 2], chunk = 100000>} : (tensor<1x9x11x8xf32>, tensor<3x3x8x32xf32>) -> tensor<1x9x11x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<3x3x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<3x3x8x32xf32>) -> tensor<32x3x3x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x3x3x8xf32>) -> tensor<1x9x11x32xf32>
    %r = sinter.neg %s : (tensor<1x9x11x32xf32>) -> tensor<1x9x11x32xf32>
    sinter.yield (%r) : tensor<1x9x11x32xf32>
  }
  %y2 = sinter.kernel convolution(%x, %f0) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [2, 11, 1], chunk = 8388608>} : (tensor<1x9x11x8xf32>, tensor<3x3x8x32xf32>) -> tensor<1x9x11x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<3x3x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<3x3x8x32xf32>) -> tensor<32x3x3x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x3x3x8xf32>) -> tensor<1x9x11x32xf32>
    %r = sinter.neg %s : (tensor<1x9x11x32xf32>) -> tensor<1x9x11x32xf32>
    sinter.yield (%r) : tensor<1x9x11x32xf32>
  }
  %y3 = sinter.kernel convolution(%x, %f0) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [4, 5, 2], chunk = 20000>} : (tensor<1x9x11x8xf32>, tensor<3x3x8x32xf32>) -> tensor<1x9x11x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<3x3x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<3x3x8x32xf32>) -> tensor<32x3x3x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x3x3x8xf32>) -> tensor<1x9x11x32xf32>
    %r = sinter.neg %s : (tensor<1x9x11x32xf32>) -> tensor<1x9x11x32xf32>
    sinter.yield (%r) : tensor<1x9x11x32xf32>
  }
  %y4 = sinter.kernel convolution(%x, %f0) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [5, 2, 2], chunk = 1>} : (tensor<1x9x11x8xf32>, tensor<3x3x8x32xf32>) -> tensor<1x9x11x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<3x3x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<3x3x8x32xf32>) -> tensor<32x3x3x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x3x3x8xf32>) -> tensor<1x9x11x32xf32>
    %r = sinter.neg %s : (tensor<1x9x11x32xf32>) -> tensor<1x9x11x32xf32>
    sinter.yield (%r) : tensor<1x9x11x32xf32>
  }
  %y5 = sinter.kernel convolution(%x, %f0) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [1, 4, 4], chunk = 9000>} : (tensor<1x9x11x8xf32>, tensor<3x3x8x32xf32>) -> tensor<1x9x11x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<3x3x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<3x3x8x32xf32>) -> tensor<32x3x3x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x3x3x8xf32>) -> tensor<1x9x11x32xf32>
    %r = sinter.neg %s : (tensor<1x9x11x32xf32>) -> tensor<1x9x11x32xf32>
    sinter.yield (%r) : tensor<1x9x11x32xf32>
  }
  %y6 = sinter.kernel convolution(%x, %f1) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [1, 1, 1], chunk = 1>} : (tensor<1x9x11x8xf32>, tensor<5x5x8x32xf32>) -> tensor<1x5x6x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<5x5x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<5x5x8x32xf32>) -> tensor<32x5x5x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 2, 2>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x5x5x8xf32>) -> tensor<1x5x6x32xf32>
    %r = sinter.neg %s : (tensor<1x5x6x32xf32>) -> tensor<1x5x6x32xf32>
    sinter.yield (%r) : tensor<1x5x6x32xf32>
  }
  %y7 = sinter.kernel convolution(%x, %f1) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [5, 3, 2], chunk = 100000>} : (tensor<1x9x11x8xf32>, tensor<5x5x8x32xf32>) -> tensor<1x5x6x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<5x5x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<5x5x8x32xf32>) -> tensor<32x5x5x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 2, 2>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x5x5x8xf32>) -> tensor<1x5x6x32xf32>
    %r = sinter.neg %s : (tensor<1x5x6x32xf32>) -> tensor<1x5x6x32xf32>
    sinter.yield (%r) : tensor<1x5x6x32xf32>
  }
  %y8 = sinter.kernel convolution(%x, %f1) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [2, 6, 1], chunk = 8388608>} : (tensor<1x9x11x8xf32>, tensor<5x5x8x32xf32>) -> tensor<1x5x6x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<5x5x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<5x5x8x32xf32>) -> tensor<32x5x5x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 2, 2>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x5x5x8xf32>) -> tensor<1x5x6x32xf32>
    %r = sinter.neg %s : (tensor<1x5x6x32xf32>) -> tensor<1x5x6x32xf32>
    sinter.yield (%r) : tensor<1x5x6x32xf32>
  }
  %y9 = sinter.kernel convolution(%x, %f1) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [4, 5, 2], chunk = 20000>} : (tensor<1x9x11x8xf32>, tensor<5x5x8x32xf32>) -> tensor<1x5x6x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<5x5x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<5x5x8x32xf32>) -> tensor<32x5x5x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 2, 2>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x5x5x8xf32>) -> tensor<1x5x6x32xf32>
    %r = sinter.neg %s : (tensor<1x5x6x32xf32>) -> tensor<1x5x6x32xf32>
    sinter.yield (%r) : tensor<1x5x6x32xf32>
  }
  %y10 = sinter.kernel convolution(%x, %f1) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [5, 2, 2], chunk = 1>} : (tensor<1x9x11x8xf32>, tensor<5x5x8x32xf32>) -> tensor<1x5x6x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<5x5x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<5x5x8x32xf32>) -> tensor<32x5x5x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 2, 2>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x5x5x8xf32>) -> tensor<1x5x6x32xf32>
    %r = sinter.neg %s : (tensor<1x5x6x32xf32>) -> tensor<1x5x6x32xf32>
    sinter.yield (%r) : tensor<1x5x6x32xf32>
  }
  %y11 = sinter.kernel convolution(%x, %f1) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [1, 4, 4], chunk = 9000>} : (tensor<1x9x11x8xf32>, tensor<5x5x8x32xf32>) -> tensor<1x5x6x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<5x5x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<5x5x8x32xf32>) -> tensor<32x5x5x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 2, 2>, low = array<i64: 2, 2>, high = array<i64: 2, 2>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x5x5x8xf32>) -> tensor<1x5x6x32xf32>
    %r = sinter.neg %s : (tensor<1x5x6x32xf32>) -> tensor<1x5x6x32xf32>
    sinter.yield (%r) : tensor<1x5x6x32xf32>
  }
  %y12 = sinter.kernel convolution(%x, %f2) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [1, 1, 1], chunk = 1>} : (tensor<1x9x11x8xf32>, tensor<3x7x8x32xf32>) -> tensor<1x9x5x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<3x7x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<3x7x8x32xf32>) -> tensor<32x3x7x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 1, 2>, low = array<i64: 0, 3>, high = array<i64: 2, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x3x7x8xf32>) -> tensor<1x9x5x32xf32>
    %r = sinter.neg %s : (tensor<1x9x5x32xf32>) -> tensor<1x9x5x32xf32>
    sinter.yield (%r) : tensor<1x9x5x32xf32>
  }
  %y13 = sinter.kernel convolution(%x, %f2) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [9, 3, 2], chunk = 100000>} : (tensor<1x9x11x8xf32>, tensor<3x7x8x32xf32>) -> tensor<1x9x5x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<3x7x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<3x7x8x32xf32>) -> tensor<32x3x7x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 1, 2>, low = array<i64: 0, 3>, high = array<i64: 2, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x3x7x8xf32>) -> tensor<1x9x5x32xf32>
    %r = sinter.neg %s : (tensor<1x9x5x32xf32>) -> tensor<1x9x5x32xf32>
    sinter.yield (%r) : tensor<1x9x5x32xf32>
  }
  %y14 = sinter.kernel convolution(%x, %f2) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [2, 5, 1], chunk = 8388608>} : (tensor<1x9x11x8xf32>, tensor<3x7x8x32xf32>) -> tensor<1x9x5x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<3x7x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<3x7x8x32xf32>) -> tensor<32x3x7x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 1, 2>, low = array<i64: 0, 3>, high = array<i64: 2, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x3x7x8xf32>) -> tensor<1x9x5x32xf32>
    %r = sinter.neg %s : (tensor<1x9x5x32xf32>) -> tensor<1x9x5x32xf32>
    sinter.yield (%r) : tensor<1x9x5x32xf32>
  }
  %y15 = sinter.kernel convolution(%x, %f2) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [4, 5, 2], chunk = 20000>} : (tensor<1x9x11x8xf32>, tensor<3x7x8x32xf32>) -> tensor<1x9x5x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<3x7x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<3x7x8x32xf32>) -> tensor<32x3x7x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 1, 2>, low = array<i64: 0, 3>, high = array<i64: 2, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x3x7x8xf32>) -> tensor<1x9x5x32xf32>
    %r = sinter.neg %s : (tensor<1x9x5x32xf32>) -> tensor<1x9x5x32xf32>
    sinter.yield (%r) : tensor<1x9x5x32xf32>
  }
  %y16 = sinter.kernel convolution(%x, %f2) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [5, 2, 2], chunk = 1>} : (tensor<1x9x11x8xf32>, tensor<3x7x8x32xf32>) -> tensor<1x9x5x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<3x7x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<3x7x8x32xf32>) -> tensor<32x3x7x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 1, 2>, low = array<i64: 0, 3>, high = array<i64: 2, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x3x7x8xf32>) -> tensor<1x9x5x32xf32>
    %r = sinter.neg %s : (tensor<1x9x5x32xf32>) -> tensor<1x9x5x32xf32>
    sinter.yield (%r) : tensor<1x9x5x32xf32>
  }
  %y17 = sinter.kernel convolution(%x, %f2) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [1, 4, 4], chunk = 9000>} : (tensor<1x9x11x8xf32>, tensor<3x7x8x32xf32>) -> tensor<1x9x5x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<3x7x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<3x7x8x32xf32>) -> tensor<32x3x7x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 1, 2>, low = array<i64: 0, 3>, high = array<i64: 2, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x3x7x8xf32>) -> tensor<1x9x5x32xf32>
    %r = sinter.neg %s : (tensor<1x9x5x32xf32>) -> tensor<1x9x5x32xf32>
    sinter.yield (%r) : tensor<1x9x5x32xf32>
  }
  %y18 = sinter.kernel convolution(%x, %f3) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [1, 1, 1], chunk = 1>} : (tensor<1x9x11x8xf32>, tensor<2x3x8x32xf32>) -> tensor<1x3x11x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<2x3x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<2x3x8x32xf32>) -> tensor<32x2x3x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 3, 1>, low = array<i64: 1, 0>, high = array<i64: 0, 2>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x2x3x8xf32>) -> tensor<1x3x11x32xf32>
    %r = sinter.neg %s : (tensor<1x3x11x32xf32>) -> tensor<1x3x11x32xf32>
    sinter.yield (%r) : tensor<1x3x11x32xf32>
  }
  %y19 = sinter.kernel convolution(%x, %f3) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [3, 3, 2], chunk = 100000>} : (tensor<1x9x11x8xf32>, tensor<2x3x8x32xf32>) -> tensor<1x3x11x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<2x3x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<2x3x8x32xf32>) -> tensor<32x2x3x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 3, 1>, low = array<i64: 1, 0>, high = array<i64: 0, 2>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x2x3x8xf32>) -> tensor<1x3x11x32xf32>
    %r = sinter.neg %s : (tensor<1x3x11x32xf32>) -> tensor<1x3x11x32xf32>
    sinter.yield (%r) : tensor<1x3x11x32xf32>
  }
  %y20 = sinter.kernel convolution(%x, %f3) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [2, 11, 1], chunk = 8388608>} : (tensor<1x9x11x8xf32>, tensor<2x3x8x32xf32>) -> tensor<1x3x11x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<2x3x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<2x3x8x32xf32>) -> tensor<32x2x3x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 3, 1>, low = array<i64: 1, 0>, high = array<i64: 0, 2>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x2x3x8xf32>) -> tensor<1x3x11x32xf32>
    %r = sinter.neg %s : (tensor<1x3x11x32xf32>) -> tensor<1x3x11x32xf32>
    sinter.yield (%r) : tensor<1x3x11x32xf32>
  }
  %y21 = sinter.kernel convolution(%x, %f3) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [3, 5, 2], chunk = 20000>} : (tensor<1x9x11x8xf32>, tensor<2x3x8x32xf32>) -> tensor<1x3x11x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<2x3x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<2x3x8x32xf32>) -> tensor<32x2x3x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 3, 1>, low = array<i64: 1, 0>, high = array<i64: 0, 2>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x2x3x8xf32>) -> tensor<1x3x11x32xf32>
    %r = sinter.neg %s : (tensor<1x3x11x32xf32>) -> tensor<1x3x11x32xf32>
    sinter.yield (%r) : tensor<1x3x11x32xf32>
  }
  %y22 = sinter.kernel convolution(%x, %f3) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [3, 2, 2], chunk = 1>} : (tensor<1x9x11x8xf32>, tensor<2x3x8x32xf32>) -> tensor<1x3x11x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<2x3x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<2x3x8x32xf32>) -> tensor<32x2x3x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 3, 1>, low = array<i64: 1, 0>, high = array<i64: 0, 2>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x2x3x8xf32>) -> tensor<1x3x11x32xf32>
    %r = sinter.neg %s : (tensor<1x3x11x32xf32>) -> tensor<1x3x11x32xf32>
    sinter.yield (%r) : tensor<1x3x11x32xf32>
  }
  %y23 = sinter.kernel convolution(%x, %f3) {schedule = #sinter.schedule<convolution, lanes = 4, tile = [1, 4, 4], chunk = 9000>} : (tensor<1x9x11x8xf32>, tensor<2x3x8x32xf32>) -> tensor<1x3x11x32xf32> {
  ^bb0(%a: tensor<1x9x11x8xf32>, %b: tensor<2x3x8x32xf32>):
    %t = sinter.transpose %b {permutation = array<i64: 3, 0, 1, 2>} : (tensor<2x3x8x32xf32>) -> tensor<32x2x3x8xf32>
    %s = sinter.convolution %a, %t {strides = array<i64: 3, 1>, low = array<i64: 1, 0>, high = array<i64: 0, 2>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x9x11x8xf32>, tensor<32x2x3x8xf32>) -> tensor<1x3x11x32xf32>
    %r = sinter.neg %s : (tensor<1x3x11x32xf32>) -> tensor<1x3x11x32xf32>
    sinter.yield (%r) : tensor<1x3x11x32xf32>
  }
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23 : tensor<1x9x11x32xf32>, tensor<1x9x11x32xf32>, tensor<1x9x11x32xf32>, tensor<1x9x11x32xf32>, tensor<1x9x11x32xf32>, tensor<1x9x11x32xf32>, tensor<1x5x6x32xf32>, tensor<1x5x6x32xf32>, tensor<1x5x6x32xf32>, tensor<1x5x6x32xf32>, tensor<1x5x6x32xf32>, tensor<1x5x6x32xf32>, tensor<1x9x5x32xf32>, tensor<1x9x5x32xf32>, tensor<1x9x5x32xf32>, tensor<1x9x5x32xf32>, tensor<1x9x5x32xf32>, tensor<1x9x5x32xf32>, tensor<1x3x11x32xf32>, tensor<1x3x11x32xf32>, tensor<1x3x11x32xf32>, tensor<1x3x11x32xf32>, tensor<1x3x11x32xf32>, tensor<1x3x11x32xf32>
}
