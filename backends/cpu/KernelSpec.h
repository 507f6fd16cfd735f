// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel as its emitter sees it, and what the emitter returns. Signature and chunks: backends/README.md.

#ifndef SINTER_BACKENDS_CPU_KERNELSPEC_H
#define SINTER_BACKENDS_CPU_KERNELSPEC_H

#include "backends/cpu/Target.h"
#include "ir/Dims.h"
#include "ir/Kernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace sinter::cpu {

/// Leading size of flat buffers: larger than any tensor, small enough that byte offsets fit.
constexpr int64_t kHuge = int64_t(1) << 40;

struct KernelOptions {
  const Target *target = nullptr;
  /// 0: plain scalar loops and libm, a second opinion on every emitter. 1 to 3: templates.
  int optLevel = 2;
};

class KernelSpec {
public:
  /// Computes sizes of everything in the kernel's region. Local symbol k of `sizes.context()` is the k-th distinct
  /// dynamic size among inputs and results, in order of first appearance.
  KernelSpec(KernelOp kernel, const KernelOptions &options);
  ~KernelSpec();

  KernelOp kernel;
  const KernelOptions &options;
  DimContext dims;
  std::unique_ptr<ShapeAnalysis> sizes;

  const Target &target() const { return *options.target; }
  mlir::Block &body() { return kernel.getBody().front(); }
  /// The yielded value of result `i`.
  mlir::Value yielded(unsigned i);
  /// Symbols that are passed as arguments; `argument(k)` is the k-th symbol.
  unsigned numSymbols() const { return symbols.size(); }
  DimExpr argument(unsigned k) const { return symbols[k]; }
  /// Where the schedule finds symbol k: (operand or result, axis). Results only when their size is not known from
  /// inputs.
  struct SymbolPlace {
    bool isResult;
    unsigned index;
    int64_t axis;
  };
  SymbolPlace place(unsigned k) const { return places[k]; }

private:
  llvm::SmallVector<DimExpr> symbols;
  llvm::SmallVector<SymbolPlace> places;
};

struct EmittedKernel {
  mlir::func::FuncOp function;
  /// Number of chunks, over the spec's symbols; at least 1 unless the kernel has nothing to do.
  DimExpr chunks;
  /// Bytes of scratch memory for one launch, or null for none.
  DimExpr workspaceBytes;
  /// Results whose size only running tells: the kernel has a `sizes` buffer and writes every dynamic size of every
  /// result to it, in order; `capacity[i]` elements are reserved for result i.
  bool writesSizes = false;
  llvm::SmallVector<DimExpr> capacity;
  /// About how many nanoseconds the whole launch takes; below ~2000 the schedule calls it inline on one thread. Over
  /// static sizes only; 0 means unknown.
  double estimatedNs = 0;
};

} // namespace sinter::cpu

#endif
