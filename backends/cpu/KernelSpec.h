// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel as its emitter sees it, and what the emitter returns. Signature and chunks: backends/README.md.

#ifndef SINTER_BACKENDS_CPU_KERNELSPEC_H
#define SINTER_BACKENDS_CPU_KERNELSPEC_H

#include "backends/cpu/CostModel.h"
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
  /// Computes sizes of everything in the kernel's region. The kernel's symbols are the distinct dynamic sizes of its
  /// inputs, then whatever else sizes inside depend on. With `outer`, the analysis of the function around, sizes that
  /// are equal there are one symbol and sizes known there are constants; without it every `?` of an input is a symbol.
  KernelSpec(KernelOp kernel, const KernelOptions &options, ShapeAnalysis *outer = nullptr);
  ~KernelSpec();

  KernelOp kernel;
  const KernelOptions &options;
  DimContext dims;
  std::unique_ptr<ShapeAnalysis> sizes;

  const Target &target() const { return *options.target; }
  const CostModel &costs() const { return costsOf(options.target); }
  /// How the kernel's code looks; null before that is chosen.
  ScheduleAttr schedule() { return kernel.getScheduleAttr(); }
  mlir::Block &body() { return kernel.getBody().front(); }
  /// The yielded value of result `i`.
  mlir::Value yielded(unsigned i);
  /// Symbols that are passed as arguments; `argument(k)` is the k-th symbol.
  unsigned numSymbols() const { return symbols.size(); }
  DimExpr argument(unsigned k) const { return symbols[k]; }
  /// Where symbol k comes from: a size or an element of an input (`value` is the block argument), or a size of a value
  /// that only running tells (then the argument is -1 and means nothing).
  const SymbolSource &source(unsigned k) const { return dims.source(symbols[k].symbol()); }
  /// Sizes of inputs and results in local symbols, as text; equal kernels with equal text are the same code.
  std::string signature();

private:
  void bindInputs(ShapeAnalysis *outer);
  void unifyOperands();
  void findInnerSymbols();

  llvm::SmallVector<DimExpr> symbols;
};

struct EmittedKernel {
  mlir::func::FuncOp function;
  /// Number of chunks, over the spec's symbols; at least 1 unless the kernel has nothing to do.
  DimExpr chunks;
  /// Bytes of scratch memory for one launch, or null for none.
  DimExpr workspaceBytes;
  /// Results whose size only running tells: the kernel has a `sizes` buffer and writes every size of every result that
  /// is not a constant in `spec.sizes` to it, in order; `capacity[i]` elements are reserved for result i.
  bool writesSizes = false;
  llvm::SmallVector<DimExpr> capacity;
  /// About how many nanoseconds the whole launch takes (CostModel::inlineNs). Over static sizes only; 0 means unknown.
  double estimatedNs = 0;
  /// A result may share memory with an input, each with another, that is read through pointwise ops alone: the loop
  /// nest stores element i of any result after its last read of element i of every input, and computes no element
  /// twice.
  bool inPlace = false;
  /// The input that the only result must hold when the kernel is called: only what differs is written. -1: none. Reads
  /// of that input come before writes that they could see, so that both may be one buffer.
  int64_t updates = -1;
};

} // namespace sinter::cpu

#endif
