// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that sum over shared axes. Floats accumulate in at least f32, in an order that is a function
// of the shapes only; integers accumulate in the result's type.

include "ir/Dialect.td"

def DotGeneralOp : Sinter_Op<"dot_general", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "batched tensor contraction";
  let description = [{
    Result axes: batch axes, then the free axes of lhs, then those of rhs. `element_type` is the result's,
    free to be wider than the operands' (i8 x i8 -> i32, f16 x f16 -> f32).
    * (C1) the axis lists have equal lengths per pair and no duplicates. * (C2) paired sizes are equal.
  }];
  let arguments = (ins Sinter_NumberTensor:$lhs, Sinter_NumberTensor:$rhs, DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
                       DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract, TypeAttr:$element_type);
  let results = (outs Sinter_NumberTensor:$result);
}

def ConvolutionOp : Sinter_Op<"convolution", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "cross-correlation with strides, padding, dilations and groups";
  let description = [{
    `input` [N, C, spatial...], `filter` [O, C / groups, spatial...], result [N, O, spatial...] under channels_first;
    [N, spatial..., C], [O, spatial..., C / groups], [N, spatial..., O] under channels_last. 1 to 3 spatial axes; arrays have
    one entry per spatial axis. `input_dilation` puts zeros between input elements (transposed convolution); low and
    high padding may be negative. Output size: floor(((in - 1) * input_dilation + 1 + low + high - ((k - 1) * dilation + 1)) / stride) + 1.
    * (C1) C = groups * filter's input channels. * (C2) O is a multiple of groups.
  }];
  let arguments = (ins Sinter_NumberTensor:$input, Sinter_NumberTensor:$filter, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$input_dilation, DenseI64ArrayAttr:$dilation,
                       DefaultValuedAttr<I64Attr, "1">:$groups, DefaultValuedAttr<Sinter_ConvLayoutAttr, "ConvLayout::channels_first">:$layout,
                       TypeAttr:$element_type);
  let results = (outs Sinter_NumberTensor:$result);
}

def DetOp : Sinter_Op<"det", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "determinant of the last two axes (LU with partial pivoting)";
  let arguments = (ins Sinter_FloatTensor:$operand);
  let results = (outs Sinter_FloatTensor:$result);
}
