// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that sum over shared axes. Floats accumulate in at least f32, in an order that is a function
// of the shapes only; integers accumulate in the result's type.

include "ir/Dialect.td"

/// What factorizations are computed in.
def Sinter_WideFloatTensor : RankedTensorOf<[F64, F32]>;

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

def CholeskyOp : Sinter_Op<"cholesky", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "triangular factor of symmetric positive definite matrices in the last two axes";
  let description = [{
    Lower L with L L^T = operand, or with `lower = false` the upper U with U^T U = operand. That half of the operand is
    read, the other one taken for its mirror image; the other half of the result is zero. Where a pivot is not positive
    the matrix is not positive definite: from its column of L (row of U) on, the factor is NaN.
    * (C1) the last two sizes are equal.
  }];
  let arguments = (ins Sinter_WideFloatTensor:$operand, DefaultValuedAttr<BoolAttr, "true">:$lower);
  let results = (outs Sinter_WideFloatTensor:$result);
}

def TriangularSolveOp : Sinter_Op<"triangular_solve", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "x with matrix x = rhs, for triangular matrices in the last two axes";
  let description = [{
    `matrix` [..., n, n], `rhs` and result [..., n, k]. The lower half of `matrix` is read, or with `lower = false` the upper
    one; with `unit_diagonal` its diagonal counts as ones and is not read. `transpose` solves matrix^T x = rhs. A zero on the
    diagonal gives infinities or NaN.
    * (C1) the last two sizes of `matrix` are equal. * (C2) one element type. * (C3) ranks are equal, and all sizes but the
    last one.
  }];
  let arguments = (ins Sinter_WideFloatTensor:$matrix, Sinter_WideFloatTensor:$rhs, DefaultValuedAttr<BoolAttr, "true">:$lower,
                       DefaultValuedAttr<BoolAttr, "false">:$transpose, DefaultValuedAttr<BoolAttr, "false">:$unit_diagonal);
  let results = (outs Sinter_WideFloatTensor:$result);
}

def DetOp : Sinter_Op<"det", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "determinant of the last two axes (LU with partial pivoting)";
  let arguments = (ins Sinter_FloatTensor:$operand);
  let results = (outs Sinter_FloatTensor:$result);
}
