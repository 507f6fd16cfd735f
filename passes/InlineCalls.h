// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls between functions of a module. All that comes later knows one function at a time, so this is done first: where
// a module is read, and where a graph is compiled.

#ifndef SINTER_PASSES_INLINECALLS_H
#define SINTER_PASSES_INLINECALLS_H

#include "mlir/IR/BuiltinOps.h"

namespace sinter {

/// A function that calls others to this depth is refused.
inline constexpr unsigned kMaxCallDepth = 256;
/// As is a module that has more ops than this once calls are expanded.
inline constexpr int64_t kMaxExpandedOps = 1'000'000;

/// Puts the bodies of called functions in the place of all calls, and drops private functions that nothing refers to
/// any more. Fails with a diagnostic that begins with "not supported: " on recursion, on functions without a body or
/// with several blocks, and beyond the limits above; the module is then partly changed.
llvm::LogicalResult inlineCalls(mlir::ModuleOp module);

} // namespace sinter

#endif
