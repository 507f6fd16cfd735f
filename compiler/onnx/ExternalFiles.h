// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_COMPILER_ONNX_EXTERNALFILES_H
#define SINTER_COMPILER_ONNX_EXTERNALFILES_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace sinter::onnx {

/// Paths of the files that hold tensors of the ONNX model at `path`, each once; none where it cannot be read.
std::vector<std::string> externalFilesOf(llvm::StringRef path);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_EXTERNALFILES_H
