// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules of loops -> object code in memory, several at a time. Each unit has its own LLVMContext; nothing is shared
// but the MLIRContext. Of a context without threading one thread at a time makes use, and only LLVM's part runs in
// parallel.

#ifndef SINTER_BACKENDS_CPU_OBJECT_H
#define SINTER_BACKENDS_CPU_OBJECT_H

#include "backends/cpu/Target.h"
#include "backends/schedule/Timeline.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace sinter::cpu {

class KernelCache;

struct ObjectOptions {
  const Target *target = nullptr;
  int optLevel = 2;
  unsigned threads = 1;
  bool keepLLVM = false;     // text of the LLVM dialect
  bool keepAssembly = false; // text of the machine code
  schedule::Timeline *timeline = nullptr;
  KernelCache *cache = nullptr; // which keepLLVM and keepAssembly pass by
};

struct ObjectUnit {
  mlir::ModuleOp module; // converted in place
  /// The kernel of the module, which becomes NAME_body; empty for a module that stays as it is.
  std::string kernel;
  /// Other modules need NAME_body; without, it is internal.
  bool callable = false;
  /// It gets a wrapper `i32 NAME(ctx, args, begin, end)`.
  bool wrapped = true;
  /// A micro-kernel that came out of its emitter as it should be, or code that hardly runs: five passes instead of a
  /// pipeline.
  bool light = false;
  /// The emitter whose row of a timeline its time is added to.
  std::string emitter = {};
  /// Kernels that become internal functions of this module, each a module with one function.
  struct Part {
    mlir::ModuleOp module; // consumed
    std::string kernel;
    enum class Inline { Always, AsLLVMThinks, Never } inlining = Inline::AsLLVMThinks;
    bool wrapped = false; // as above
  };
  std::vector<Part> parts = {};
};

struct ObjectFile {
  std::string bytes; // ELF
  std::string llvm, assembly;
  bool wasCached = false;
  double lowerMs = 0, optimizeMs = 0, generateMs = 0;
};

/// One object per unit, in order. Fails with a diagnostic.
llvm::FailureOr<std::vector<ObjectFile>> compileObjects(llvm::MutableArrayRef<ObjectUnit> units,
                                                        const ObjectOptions &options);

/// Optimizes and compiles an LLVM module of data and short functions on the calling thread.
llvm::FailureOr<std::string> compileModule(llvm::Module &module, const ObjectOptions &options, std::string &error);

} // namespace sinter::cpu

#endif
