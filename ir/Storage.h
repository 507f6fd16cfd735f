// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types that tensors are kept in but not computed in: f8E4M3FN, f8E5M2, i4, ui4. `convert` and ops that move
// elements take them; others are refused by their definition.
//
// `convert` to an 8-bit float rounds to nearest even; what is greater than any number, infinity too, becomes the
// greatest, and NaN stays. To 4 bits it does what it does to other integers: floats truncate and saturate, integers
// wrap.
//
// In memory of compiled code, in graph files and at the C ABI two elements of 4 bits lie in a byte, in row-major order,
// the first in the low half (as in ONNX); n elements take (n + 1) / 2 bytes, and 0 stands in the half that is left. A
// HostTensor and MLIR's own attributes keep each in a byte of its own (0 to 15).

#ifndef SINTER_IR_STORAGE_H
#define SINTER_IR_STORAGE_H

#include "ir/Dialect.h"
#include "ir/reference/HostTensor.h"

#define GET_OP_CLASSES
#include "ir/Storage.h.inc"

namespace sinter {

/// True when the result of `op` is its operand's memory.
bool isView(mlir::Operation *op);
/// The value whose memory `value` has through views, itself where it is no view.
mlir::Value viewed(mlir::Value value);

bool isStorageOnly(mlir::Type elementType);
/// f8E4M3FN and f8E5M2.
bool isFloat8(mlir::Type elementType);
/// i4 and ui4.
bool isPacked(mlir::Type elementType);

/// Bytes of `count` elements as compiled code and files keep them.
int64_t storedBytes(mlir::Type elementType, int64_t count);
/// A tensor of elements that are kept so; `stored.size()` must be what storedBytes says.
HostTensor fromStored(mlir::Type elementType, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<char> stored);
std::vector<char> toStored(const HostTensor &tensor);

} // namespace sinter

#endif
