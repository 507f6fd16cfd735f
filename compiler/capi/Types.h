// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types and tensors of the C ABI as those of the dialect, and the status that every call returns.

#ifndef SINTER_COMPILER_CAPI_TYPES_H
#define SINTER_COMPILER_CAPI_TYPES_H

#include "ir/reference/HostTensor.h"
#include "runtime/sinter.h"
#include "llvm/ADT/Twine.h"

namespace sinter::capi {

/// Records the message and returns the code.
sinter_status_code fail(sinter_status_code code, const llvm::Twine &message);
inline sinter_status_code invalid(const llvm::Twine &message) { return fail(SINTER_INVALID_ARGUMENT, message); }

/// Null for a value that is not a sinter_dtype.
mlir::Type elementTypeOf(mlir::MLIRContext *context, int32_t dtype);

/// Checks dtype, rank and sizes (`what` begins the message, "input 2"); symbols must be below `numSymbols`.
sinter_status_code checkType(const sinter_value_type *type, const llvm::Twine &what, size_t numSymbols);
/// The same for a tensor of known sizes, its byte count and, unless it is empty, its data.
sinter_status_code checkTensor(const sinter_tensor *tensor, const llvm::Twine &what);

/// Of a type that was checked; negative dims become `?`.
mlir::RankedTensorType tensorTypeOf(mlir::MLIRContext *context, const sinter_value_type &type);

/// A row-major copy of a tensor that was checked.
HostTensor hostTensorOf(mlir::MLIRContext *context, const sinter_tensor &tensor);

/// A tensor that owns a 64-byte aligned copy, for sinter_tensor_free. False when memory runs out.
bool copyOut(const HostTensor &tensor, sinter_tensor &result);

/// "f32[2, ?]" for messages.
std::string describe(mlir::Type type);

/// Copies as much of the caller's sized struct as both know; false when its struct_size is not set.
template <typename Options> bool readOptions(const Options *given, Options &read) {
  if (!given)
    return true;
  if (given->struct_size < sizeof(uint32_t))
    return false;
  std::memcpy(&read, given, std::min<size_t>(given->struct_size, sizeof(Options)));
  return true;
}

} // namespace sinter::capi

#endif
