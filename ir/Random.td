// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counter-based random numbers: a value depends on the key and its row-major position only.

include "ir/Dialect.td"

def RandomBitsOp : Sinter_Op<"random_bits", [DeclareOpInterfaceMethods<Elemental>, DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "uniform 32-bit integers from Philox 4x32-10";
  let description = [{
    `key` = (k0, k1, c2, c3). Element i is word i % 4 of the block with counter (low 32 bits of i / 4, high 32 bits of i / 4, c2, c3) and
    key (k0, k1) (Salmon et al. 2011). Without `shape` the type is static.
  }];
  let arguments = (ins 1DTensorOf<[UI32]>:$key, Optional<Sinter_SizesTensor>:$shape, TypeAttrOf<RankedTensorOf<[UI32]>>:$type);
  let results = (outs RankedTensorOf<[UI32]>:$result);
}
