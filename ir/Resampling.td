// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading between elements.

include "ir/Dialect.td"

def ResizeOp : Sinter_Op<"resize", [DeclareOpInterfaceMethods<Elemental>, DeclareOpInterfaceMethods<SymbolicShape>, AttrSizedOperandSegments]> {
  let summary = "resampled to other sizes (ONNX Resize)";
  let description = [{
    Exactly one of `scales` (f32, one per axis; size = floor(size * scale)) and `sizes` (i64, one per axis); `roi` [2 * rank] only for
    tf_crop_and_resize. With `sizes` the scale of an axis is size / input size. The linear and cubic modes are
    separable over the axes whose scale is not 1. `exclude_outside` renormalizes cubic weights; `extrapolation` is the
    value outside under tf_crop_and_resize.
  }];
  let arguments = (ins Sinter_NumberTensor:$operand, Optional<1DTensorOf<[F32]>>:$scales, Optional<Sinter_SizesTensor>:$sizes,
                       Optional<Sinter_FloatTensor>:$roi, Sinter_ResizeModeAttr:$mode, Sinter_CoordinateModeAttr:$coordinates,
                       DefaultValuedAttr<Sinter_NearestModeAttr, "NearestMode::round_prefer_floor">:$nearest,
                       DefaultValuedAttr<F64Attr, "-0.75">:$cubic_coefficient, DefaultValuedAttr<BoolAttr, "false">:$exclude_outside,
                       DefaultValuedAttr<F64Attr, "0.0">:$extrapolation);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = [{
    $operand (`scales` `(` $scales^ `)`)? (`sizes` `(` $sizes^ `)`)? (`roi` `(` $roi^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def GridSampleOp : Sinter_Op<"grid_sample", [DeclareOpInterfaceMethods<Elemental>, DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "input [N, C, H, W] read at grid [N, h, w, 2] (x, y in [-1, 1])";
  let description = [{ `padding`: constant (zeros), edge (border) or reflect. }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_FloatTensor:$grid, Sinter_ResizeModeAttr:$mode,
                       Sinter_PadModeAttr:$padding, DefaultValuedAttr<BoolAttr, "false">:$align_corners);
  let results = (outs Sinter_FloatTensor:$result);
}
