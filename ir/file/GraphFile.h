// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graph files (`.sinter`): a module of functions in the sinter dialect, saved and loaded.
//
//   offset 0      header, 64 bytes (Header.h): magic, version, where the other two sections are
//   64            the graph: a FlatBuffer by graph.fbs
//   next 64       weights, each at a multiple of 64 bytes; one for each distinct content
//
// The same module gives the same bytes. What is read is not trusted: sizes, then the FlatBuffers verifier, then
// validate(), then each op's own verifier. Weights stay where they were
// read to, once.

#ifndef SINTER_IR_FILE_GRAPHFILE_H
#define SINTER_IR_FILE_GRAPHFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/LogicalResult.h"
#include <string>

namespace mlir {
class ParserConfig;
}

namespace sinter {

/// Saves `module` at `path`, which appears only when it is complete. Fails with a diagnostic when the file cannot be
/// written, or at the op or attribute that graph files cannot hold.
llvm::LogicalResult writeGraph(mlir::ModuleOp module, llvm::StringRef path);
/// The same as bytes in memory.
llvm::LogicalResult serializeGraph(mlir::ModuleOp module, std::string &bytes);

/// Loads the graph file at `path`. Null with one diagnostic, `PATH: what was required, what was found`, when it is no
/// valid graph file. Its weights stay in memory for as long as the context lives; the file itself is no longer needed.
mlir::OwningOpRef<mlir::ModuleOp> readGraph(mlir::MLIRContext *context, llvm::StringRef path);
/// The same from MLIR text, in the context of `config`.
mlir::OwningOpRef<mlir::ModuleOp> readGraphText(const mlir::ParserConfig &config, llvm::StringRef path);
/// The same as readGraph from bytes, which are copied; diagnostics call them `name`.
mlir::OwningOpRef<mlir::ModuleOp> readGraph(mlir::MLIRContext *context, llvm::ArrayRef<char> bytes,
                                            llvm::StringRef name);

} // namespace sinter

#endif
