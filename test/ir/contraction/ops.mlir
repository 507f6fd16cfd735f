// RUN: sinter-opt --verify-roundtrip %s

func.func @dot_general(%a: tensor<2x?x8xf32>, %b: tensor<2x8x5xf32>, %i: tensor<3x4xi8>, %u: tensor<4x6xui8>) {
  %0 = sinter.dot_general %a, %b {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>,
       element_type = f32} : (tensor<2x?x8xf32>, tensor<2x8x5xf32>) -> tensor<2x?x5xf32>
  %1 = sinter.dot_general %i, %u {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>,
       element_type = i32} : (tensor<3x4xi8>, tensor<4x6xui8>) -> tensor<3x6xi32>
  return
}

func.func @convolution(%x: tensor<1x4x?x9xf32>, %w: tensor<6x2x3x3xf32>, %y: tensor<2x9x4xf16>, %v: tensor<3x2x4xf16>) {
  %0 = sinter.convolution %x, %w {strides = array<i64: 2, 1>, low = array<i64: 1, 0>, high = array<i64: 1, 0>, input_dilation = array<i64: 1, 1>,
       dilation = array<i64: 1, 2>, groups = 2 : i64, element_type = f32} : (tensor<1x4x?x9xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x?x5xf32>
  %1 = sinter.convolution %y, %v {strides = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, input_dilation = array<i64: 2>,
       dilation = array<i64: 1>, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<2x9x4xf16>, tensor<3x2x4xf16>) -> tensor<2x16x3xf32>
  return
}

func.func @det(%x: tensor<?x3x3xf64>) {
  %0 = sinter.det %x : (tensor<?x3x3xf64>) -> tensor<?xf64>
  return
}

func.func @cholesky(%x: tensor<?x3x?xf64>, %y: tensor<4x4xf32>) {
  %0 = sinter.cholesky %x : (tensor<?x3x?xf64>) -> tensor<?x3x?xf64>
  %1 = sinter.cholesky %y {lower = false} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

func.func @triangular_solve(%a: tensor<?x3x3xf64>, %b: tensor<2x?x5xf64>) {
  %0 = sinter.triangular_solve %a, %b : (tensor<?x3x3xf64>, tensor<2x?x5xf64>) -> tensor<2x3x5xf64>
  %1 = sinter.triangular_solve %a, %b {lower = false, transpose = true, unit_diagonal = true} : (tensor<?x3x3xf64>, tensor<2x?x5xf64>) -> tensor<2x?x5xf64>
  return
}
