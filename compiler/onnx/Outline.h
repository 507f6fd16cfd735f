// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_COMPILER_ONNX_OUTLINE_H
#define SINTER_COMPILER_ONNX_OUTLINE_H

#include "ir/file/FileBytes.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sinter::onnx {

/// A serialized model whose large tensors have numbers, from 1, in place of their raw data.
struct Outline {
  std::string text;
  std::vector<std::shared_ptr<FileBytes>> outside;
};

/// The outline of the model that the `size` bytes of an open file, which is read from its begin, hold; raw data are
/// left out unless `readsData`. Nothing where the file is no model. Fails where one would take too much memory for its
/// size, or the file cannot be read.
llvm::Expected<std::optional<Outline>> outlineOf(int file, uint64_t size, bool readsData);

/// Fails where the serialized model would take too much memory for its size.
llvm::Error checkFootprint(llvm::StringRef text);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_OUTLINE_H
