// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which initializers of an ONNX model are states of the step that trains it.

#ifndef SINTER_COMPILER_TRAIN_IMPORTSTATES_H
#define SINTER_COMPILER_TRAIN_IMPORTSTATES_H

#include "compiler/onnx/Import.h"

namespace sinter {

struct TrainedInitializers {
  /// Null: all.
  std::function<bool(llvm::StringRef)> isTrained;
  /// Whether names were asked for: then single numbers are weights too.
  bool isNamed = false;

  /// Makes weights and statistics states. `batch` is the size of dynamic first dims in training, -1 for none; `seen`
  /// gets the names that `isTrained` is asked for, and must live as long as `options`.
  void adjust(onnx::OnnxImportOptions &options, bool forInference, int64_t batch, std::vector<std::string> &seen) const;
};

} // namespace sinter

#endif
