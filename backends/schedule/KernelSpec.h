// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel by itself: its region, and all sizes in it as expressions over symbols of its own.

#ifndef SINTER_BACKENDS_SCHEDULE_KERNELSPEC_H
#define SINTER_BACKENDS_SCHEDULE_KERNELSPEC_H

#include "ir/Dims.h"
#include "ir/Kernel.h"
#include "mlir/IR/BuiltinOps.h"

namespace sinter::schedule {

class KernelSpec {
public:
  /// Computes sizes of everything in the kernel's region. The kernel's symbols are the distinct dynamic sizes of its
  /// inputs, then whatever else sizes inside depend on. With `outer`, the analysis of the function around, sizes that
  /// are equal there are one symbol and sizes known there are constants; without it every `?` of an input is a symbol.
  KernelSpec(KernelOp kernel, ShapeAnalysis *outer);
  virtual ~KernelSpec();

  KernelOp kernel;
  DimContext dims;
  std::unique_ptr<ShapeAnalysis> sizes;

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
  /// True for an input that is a constant.
  bool isConstant(unsigned input);

  /// Adds the kernel by itself, a `schedule.kernel`, to the end of `module`: its `sizes` and `elements` say what the
  /// function around knows.
  void write(mlir::ModuleOp module, llvm::StringRef symbol, llvm::StringRef backend);

private:
  void bindInputs(ShapeAnalysis *outer);
  void unifyOperands();
  void findInnerSymbols();

  llvm::SmallVector<DimExpr> symbols;
  llvm::SmallVector<Dims> boundSizes, boundElements; // by input, as the function around knows them
};

} // namespace sinter::schedule

#endif
