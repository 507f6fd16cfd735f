// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules that were compiled before, in this process and, where asked for, on disk. What a module was compiled from is
// kept whole beside it and compared; hashes only find it. Files are `.smod` in a folder that is the user's alone, since
// they hold native code; they appear by a rename, and one that is damaged is as good as none.

#ifndef SINTER_COMPILER_CAPI_JITCACHE_H
#define SINTER_COMPILER_CAPI_JITCACHE_H

#include "backends/schedule/Backends.h"
#include "compiler/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/sinter.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace sinter::capi {

/// The graph without its source lines, the contents of its weights (by SHA-256), targets, options and this build of the
/// compiler.
std::string jitKey(mlir::ModuleOp module, const Options &options, llvm::ArrayRef<schedule::Target> targets);

/// Most modules of this process, and most kernels of sinter_eager, that are kept.
int64_t jitLimit();

struct JitCacheOptions {
  bool memory = true, disk = false;
  std::string folder; // empty: the user's
  int64_t maxBytes = int64_t(1) << 30;
  std::string device; // sinter_open_options.device; empty: none
};

/// The module of `key`. Where none is kept, `compile(path)` must write it to `path`.
sinter_status_code findOrCompile(const std::string &key, const JitCacheOptions &options,
                                 llvm::function_ref<sinter_status_code(const std::string &path)> compile,
                                 sinter_module **module);

} // namespace sinter::capi

#endif
