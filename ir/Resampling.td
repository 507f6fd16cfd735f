// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading between elements.

include "ir/Dialect.td"

def ResizeOp : Sinter_Op<"resize", [DeclareOpInterfaceMethods<Elemental>, DeclareOpInterfaceMethods<SymbolicShape>, AttrSizedOperandSegments]> {
  let summary = "resampled to other sizes (ONNX Resize)";
  let description = [{
    `sizes` (one per axis) are the result's sizes, and the scale of an axis is its size / the operand's. With `scales` (one per axis) those are
    the scales instead; without `sizes`, the result's sizes then are floor(size * scale), where a scale stands for the simplest fraction that
    rounds to it in f32, so that f32(2 / 3) of 9 is 6. At least one of the two is given. `roi` [2 * rank] only for
    tf_crop_and_resize: starts, then ends, in [0, 1] of each axis. The linear and cubic modes are separable over
    the axes. `exclude_outside` leaves positions outside out of the weights; `extrapolation` is the value outside under tf_crop_and_resize.
    Integers are interpolated as floats, then truncate.

    * (C1) `scales` or `sizes` is given.   * (C2) `scales` and `sizes` have rank(operand) elements.
    * (C3) `roi` is given for tf_crop_and_resize and has 2 * rank(operand) elements.   * (C4) scales are above 0, sizes at least 0.
    * (C5) operand has elements where the result has.
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
  let summary = "operand [N, C, H, W] read at grid [N, h, w, 2] (x, y in [-1, 1])";
  let description = [{
    Any number r of spatial axes: operand [N, C, D1 ... Dr], grid [N, d1 ... dr, r], result [N, C, d1 ... dr]; the last grid axis counts
    spatial axes from the innermost. -1 and 1 are the centers of the first and last element with `align_corners`, else their
    outer borders. `padding`: constant (zeros), edge (border) or reflect. A position that is not a number reads position 0.
    With edge, positions are bounded, of a cubic the four elements that each reads along an axis, as torch and onnxruntime do.
    Under channels_last, operand [N, D1 ... Dr, C] and result [N, d1 ... dr, C].

    * (C1) operand has rank 3 at least, grid the same rank.   * (C2) grid's last size is rank - 2.   * (C3) both have one N.
    * (C4) both have one element type.   * (C5) padding is not wrap.
    * (C6) operand has elements where the result has.
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_FloatTensor:$grid, Sinter_ResizeModeAttr:$mode,
                       Sinter_PadModeAttr:$padding, DefaultValuedAttr<BoolAttr, "false">:$align_corners,
                       DefaultValuedAttr<Sinter_ConvLayoutAttr, "ConvLayout::channels_first">:$layout);
  let results = (outs Sinter_FloatTensor:$result);
  let extraClassDeclaration = [{
    /// The axis of channels, and the first spatial axis, of operand and result.
    int64_t channelAxis();
    int64_t firstSpatialAxis();
  }];
}
