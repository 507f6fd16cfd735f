// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with weights that are kept as codes of few bits, whose scales change from block to block along the sum.

include "ir/Dialect.td"

def Sinter_BlockNumbers : RankedTensorOf<[F64, F32]>;
def Sinter_Bytes : RankedTensorOf<[UI8]>;

def BlockDotOp : Sinter_Composite<"block_dot"> {
  let summary = "product with a matrix of 4-bit codes, a scale for each block of a column";
  let description = [{
    `x` [..., k], result [..., n]:

        result[..., c] = sum_i x[..., i] * (code(c, i) - zeros[c, i / block]) * scales[c, i / block]

    `codes` [n, blocks, block / 2] holds code(c, i), 0 to 15, two of them a byte, the first one below, as ONNX's MatMulNBits does. Blocks have 16 codes or a power of two times as
    many; codes of the last block beyond k count for nothing. `scales` and `zeros` are [n, blocks]; without `zeros` they are 8.
    `byte_rows` promises that in each block of a row x is a multiple of a 127th of its greatest magnitude, but for what floats round: kernels may multiply these bytes. (A block with an infinity
    or a NaN gives a NaN then.)
    * (C1) `codes`, `scales` and `zeros` have such shapes, of known sizes. * (C2) k is known, and ends in the last block. * (C3) `x` and `scales` have one element type.
  }];
  let arguments = (ins Sinter_BlockNumbers:$x, Sinter_Bytes:$codes, Sinter_BlockNumbers:$scales, Optional<Sinter_Bytes>:$zeros,
                       DefaultValuedAttr<BoolAttr, "false">:$byte_rows);
  let results = (outs Sinter_BlockNumbers:$result);
  let declarations = [{
    /// Codes that share a scale; a power of two from 16 on.
    int64_t blockSize() { return 2 * getCodes().getType().getDimSize(2); }
  }];
}
