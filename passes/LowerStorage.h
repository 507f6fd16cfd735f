// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types that nothing computes in (ir/Storage.h) are an affair of memory: a back end sees the bytes they are
// kept in, and ops that make numbers of these.
//
//   func @f(%x: tensor<3x5xi4>)                 func @f(%x: tensor<3x5xi4>)
//     %y = convert %x : f32             ->        %b = storage %x : tensor<8xui8>      a view
//                                                 %v = ... %b                          i8, -8 to 7
//                                                 %y = convert %v : f32
//
// Within a function, 8-bit floats are ui8 bytes and 4-bit integers are i8 or ui8 of the same value, so that ops that
// move elements stay as they are. Only what a function takes, gives and holds as large constants has two elements in a
// byte.

#ifndef SINTER_PASSES_LOWERSTORAGE_H
#define SINTER_PASSES_LOWERSTORAGE_H

#include "mlir/IR/BuiltinOps.h"

namespace sinter {

/// Leaves no such element type but in what functions take and give, and the `storage` ops that view those. Calls are
/// inlined before. Fails with a diagnostic on a state of 4-bit elements.
llvm::LogicalResult lowerStorage(mlir::ModuleOp module);

} // namespace sinter

#endif
