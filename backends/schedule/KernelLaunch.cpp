// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/KernelLaunch.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

int64_t RowWalk::written(int64_t count) const {
  if (count == 0)
    return 0;
  int64_t image = (count - 1) / blocksOfImage(), block = (count - 1) % blocksOfImage();
  return (image * rows + std::min((block + 1) * rowsOfBlock, rows)) * rowBytes;
}

int64_t RowWalk::needed(int64_t count) const {
  if (count == 0)
    return 0;
  int64_t image = (count - 1) / blocksOfImage(), block = (count - 1) % blocksOfImage();
  int64_t last = std::min((block + 1) * rowsOfBlock, rows) - 1;
  int64_t end = std::clamp<int64_t>(last * stride - before + reach, 0, inputRows);
  return (image * inputRows + end) * inputRowBytes;
}

int64_t RowWalk::firstRead(int64_t number) const {
  int64_t image = number / blocksOfImage(), row = firstRow(number % blocksOfImage());
  return (image * inputRows + std::clamp<int64_t>(row * stride - before, 0, inputRows)) * inputRowBytes;
}

int64_t RowWalk::firstWritten(int64_t number) const {
  return (number / blocksOfImage() * rows + firstRow(number % blocksOfImage())) * rowBytes;
}

/// The size outside of the kernel that argument `k` stands for.
static DimExpr outerSize(KernelSpec &spec, unsigned k, ShapeAnalysis &outer) {
  const SymbolSource &source = spec.source(k);
  auto argument = dyn_cast<BlockArgument>(source.value);
  if (!argument || argument.getOwner() != &spec.body()) {
    OperandRange yielded = spec.body().getTerminator()->getOperands();
    auto found = llvm::find(yielded, source.value);
    if (found == yielded.end() || source.kind != SymbolSource::Kind::Size)
      return DimExpr();
    return outer.dims(spec.kernel.getResult(found.getIndex()))[source.axis];
  }
  Value operand = spec.kernel.getInputs()[argument.getArgNumber()];
  if (source.kind == SymbolSource::Kind::Size)
    return outer.dims(operand)[source.axis];
  std::optional<Dims> contents = outer.contents(operand);
  return contents ? (*contents)[source.axis] : DimExpr();
}

Dims schedule::argumentsOf(KernelSpec &spec, ShapeAnalysis &outer) {
  Dims symbols;
  for (unsigned k = 0; k < spec.numSymbols(); ++k)
    symbols.push_back(outerSize(spec, k, outer));
  return symbols;
}

FailureOr<KernelLaunch> schedule::describeLaunch(KernelOp kernel, KernelSpec &spec, const KernelTraits &traits,
                                                 Dims symbols, DimContext &outer) {
  KernelLaunch launch;
  launch.traits = traits;
  launch.symbols = std::move(symbols);
  bool missing = false;
  auto toOuter = [&](DimExpr expr) {
    if (!expr)
      return expr;
    DimExpr result = outer.rebuild(spec.dims.resolve(expr), [&](DimExpr symbol) {
      for (unsigned k = 0; k < spec.numSymbols(); ++k)
        if (spec.argument(k) == symbol)
          return launch.symbols[k];
      return DimExpr();
    });
    missing |= !result;
    return result;
  };
  launch.traits.chunks = toOuter(traits.chunks);
  launch.traits.steps = toOuter(traits.steps);
  launch.traits.workspaceBytes = toOuter(traits.workspaceBytes);
  bool wasMissing = missing;
  launch.traits.forks = toOuter(traits.forks); // no need
  missing = wasMissing;
  if (traits.writesSizes)
    for (auto [i, capacity] : llvm::enumerate(launch.traits.capacity)) {
      capacity = toOuter(capacity);
      for (auto [axis, size] : llvm::enumerate(spec.sizes->dims(spec.yielded(i))))
        if (!size.isConstant())
          launch.writtenSizes.emplace_back(i, axis);
    }
  if (missing || !launch.traits.chunks)
    return kernel.emitOpError("not supported: an amount of work that only the values of its operands tell");
  return launch;
}
