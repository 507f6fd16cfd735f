// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is computed element by element from one byte and is a byte again has 256 results, however long it takes: models
// of bytes put functions such as x logistic(x) between two roundings. Such a chain of ops is a table, whose elements
// the reference evaluates once, when the code is made.

#ifndef SINTER_BACKENDS_CPU_EMIT_BYTETABLES_H
#define SINTER_BACKENDS_CPU_EMIT_BYTETABLES_H

#include "backends/cpu/emit/Emitter.h"
#include <array>

namespace sinter::cpu {

inline constexpr int64_t kByteValues = 256;

struct ByteTable {
  mlir::Value source; // the bytes that all is computed from
  std::array<uint8_t, kByteValues> results;
};

/// The table that gives `value` of a kernel's region, where looking up elements is less work than the ops are.
std::optional<ByteTable> byteTableOf(KernelSpec &spec, mlir::Value value);

/// Its elements for a byte or a vector of bytes.
mlir::Value lookUp(KernelFunction &fn, const ByteTable &table, mlir::Value bytes);

} // namespace sinter::cpu

#endif
