// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a module in the sinter dialect to an ONNX file, for graphs that ONNX can say.

#ifndef SINTER_COMPILER_ONNX_EXPORT_H
#define SINTER_COMPILER_ONNX_EXPORT_H

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace sinter::onnx {

/// The operator set that exported models use, and the format version that goes with it.
inline constexpr int64_t kExportOpset = 20, kExportVersion = 9;
/// Of models with 4-bit integers, which no earlier version has.
inline constexpr int64_t kPackedOpset = 21, kPackedVersion = 10;

/// Writes the function `main` of `graph` (or the only public one) as an ONNX model at `path`; calls are expanded.
/// Weights are stored within the model, which holds 2 GiB at most. Fails without a file: with one line in `unsupported`
/// for each reason why ops cannot be said, or with a diagnostic when the module or the path is at fault.
llvm::LogicalResult exportOnnx(mlir::ModuleOp graph, llvm::StringRef path, std::vector<std::string> &unsupported);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_EXPORT_H
