// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All constants of a module in one block of bytes, each once, 64-byte aligned.

#ifndef SINTER_BACKENDS_CPU_WEIGHTS_H
#define SINTER_BACKENDS_CPU_WEIGHTS_H

#include "backends/cpu/emit/Packing.h"
#include "ir/reference/HostTensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include <vector>

namespace sinter::cpu {

class Weights {
public:
  /// Byte offset of a constant's elements as they are; fails on attributes other than `dense` and `dense_resource`.
  llvm::FailureOr<int64_t> add(mlir::ElementsAttr value);
  /// Byte offset of its packed form.
  llvm::FailureOr<int64_t> add(mlir::ElementsAttr value, const Packing &packing);

  const std::vector<char> &bytes() const { return blob; }
  std::vector<char> take() { return std::move(blob); }

private:
  int64_t place(llvm::ArrayRef<char> content);

  std::vector<char> blob;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::StringAttr>, int64_t> known;
  /// Content hash -> (offset, bytes).
  llvm::DenseMap<uint64_t, llvm::SmallVector<std::pair<int64_t, int64_t>, 1>> byContent;
};

} // namespace sinter::cpu

#endif
