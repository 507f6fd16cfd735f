// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of element types that nothing computes in, and the bytes they are kept in.

include "ir/Dialect.td"

def StorageOp : Sinter_Op<"storage", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "the bytes of a tensor of f8 or 4 bits, and a tensor of such bytes";
  let description = [{
    One side is ui8, the other f8E4M3FN, f8E5M2, i4 or ui4. Bytes of an f8 tensor have its shape. Those of i4 and ui4 are a list
    of two elements each, in row-major order, the first in the low half; of an odd number the last byte's high half is 0 and is not
    read. `shape` gives the sizes of a result of 4-bit elements with `?`. Memory stays as it is: the result is a view. The
    compiler makes these ops where a function takes and gives such tensors.
  }];
  let arguments = (ins Sinter_Tensor:$operand, Optional<Sinter_SizesTensor>:$shape, TypeAttrOf<Sinter_Tensor>:$type);
  let results = (outs Sinter_Tensor:$result);
}
