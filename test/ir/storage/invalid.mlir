// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt --split-input-file --verify-diagnostics %s

func.func @nothing_is_computed_in_f8(%x: tensor<4xf8E4M3FN>) {
  // expected-error @+1 {{'sinter.add' op operand #0 must be ranked tensor of}}
  %0 = sinter.add %x, %x : (tensor<4xf8E4M3FN>, tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN>
  return
}

// -----

func.func @nothing_is_compared_in_4_bits(%x: tensor<4xui4>) {
  // expected-error @+1 {{'sinter.compare' op operand #0 must be ranked tensor of}}
  %0 = sinter.compare lt %x, %x : (tensor<4xui4>, tensor<4xui4>) -> tensor<4xi1>
  return
}

// -----

func.func @nothing_is_reduced_in_4_bits(%x: tensor<4xi4>) {
  // expected-error @+1 {{'sinter.reduce' op operand #0 must be ranked tensor of}}
  %0 = sinter.reduce max %x axes = [0] : (tensor<4xi4>) -> tensor<i4>
  return
}

// -----

func.func @bytes_are_unsigned(%x: tensor<4xf8E5M2>) {
  // expected-error @+2 {{storage requires ui8 and one of f8E4M3FN, f8E5M2, i4, ui4, got 'f8E5M2' and 'i8'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.storage %x {type = tensor<4xi8>} : (tensor<4xf8E5M2>) -> tensor<4xi8>
  return
}

// -----

func.func @bytes_of_f8_have_its_shape(%x: tensor<4xf8E5M2>) {
  // expected-error @+2 {{storage of 'f8E5M2' requires one shape and no sizes, got 4 and 2x2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.storage %x {type = tensor<2x2xui8>} : (tensor<4xf8E5M2>) -> tensor<2x2xui8>
  return
}

// -----

func.func @bytes_of_4_bits_are_half_as_many(%x: tensor<5xi4>) {
  // expected-error @+2 {{storage of 'tensor<5xi4>' requires a list of half as many bytes, got 'tensor<2xui8>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.storage %x {type = tensor<2xui8>} : (tensor<5xi4>) -> tensor<2xui8>
  return
}

// -----

func.func @elements_of_unknown_sizes_need_them(%x: tensor<?xui8>) {
  // expected-error @+2 {{storage requires sizes for a result of 4-bit elements with `?`, got 'tensor<?xi4>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.storage %x {type = tensor<?xi4>} : (tensor<?xui8>) -> tensor<?xi4>
  return
}

// -----

func.func @sizes_are_for_elements_that_need_them(%x: tensor<?xi4>, %s: tensor<1xi64>) {
  // expected-error @+2 {{storage requires sizes only for a result of 4-bit elements with `?`}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.storage %x, %s {type = tensor<?xui8>} : (tensor<?xi4>, tensor<1xi64>) -> tensor<?xui8>
  return
}

// -----

func.func @one_size_per_axis(%x: tensor<?xui8>, %s: tensor<1xi64>) {
  // expected-error @+2 {{storage requires one size per axis (2), got 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.storage %x, %s {type = tensor<?x?xi4>} : (tensor<?xui8>, tensor<1xi64>) -> tensor<?x?xi4>
  return
}

// -----

func.func @c_functions_take_no_4_bits(%x: tensor<4xi4>) {
  // expected-error @+1 {{'sinter.call_external' op operand #0 must be}}
  %y = sinter.call_external "f" (%x) {dims = array<i64: 4>} : (tensor<4xi4>) -> tensor<4xf32>
  return
}

// -----

func.func @numbers_of_no_format(%x: tensor<4xui8>) {
  // expected-error @+2 {{decode_float8 requires one of f8E4M3FN, f8E5M2 and one of f32, f16, bf16, got 'i8' and 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = sinter.decode_float8 %x {element_type = f32, format = i8} : (tensor<4xui8>) -> tensor<4xf32>
  return
}
