// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/General.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Result elements per chunk when each is a loop of its own.
constexpr int64_t kRootChunk = 256;
constexpr int64_t kMapChunk = 16384;

Operation *sinter::cpu::findRoot(KernelSpec &spec, bool &several) {
  Operation *root = nullptr;
  several = false;
  for (Operation &op : spec.body().without_terminator()) {
    if (isa<Pointwise, Elemental, ConstantOp>(op))
      continue;
    several |= root != nullptr;
    root = &op;
  }
  return root;
}

Operation *sinter::cpu::findShapedRoot(KernelSpec &spec) {
  bool several = false;
  Operation *root = findRoot(spec, several);
  if (!root || several)
    return nullptr;
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    if (!spec.sizes->sameShape(root->getResult(0), spec.yielded(i)))
      return nullptr;
  return root;
}

bool sinter::cpu::canBuildAfter(KernelFunction &fn, Operation *root) {
  KernelElements probe(fn, 1);
  probe.install(root->getResult(0), nullptr);
  return llvm::all_of(llvm::seq(fn.spec.kernel.getNumResults()),
                      [&](unsigned i) { return probe.canBuild(fn.spec.yielded(i)); });
}

bool sinter::cpu::isGeneral(KernelSpec &spec) {
  bool several = false;
  Operation *root = findRoot(spec, several);
  if (several || (root && !hasRootElement(root)))
    return false;
  auto isOfRoot = [&](Value value) { return root && value.getDefiningOp() == root; };
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    if (!spec.sizes->sameShape(spec.yielded(0), spec.yielded(i)) || !canBuild(spec.yielded(i), isOfRoot))
      return false;
  return !root || llvm::all_of(root->getOperands(), [&](Value operand) { return canBuild(operand, isOfRoot); });
}

std::optional<EmittedKernel> sinter::cpu::emitGeneral(KernelSpec &spec, ModuleOp module, StringRef name) {
  if (!isGeneral(spec))
    return std::nullopt;
  bool several = false;
  Operation *root = findRoot(spec, several);
  Value first = spec.yielded(0);

  KernelFunction fn(spec, module, name, {});
  Dims sizes = spec.sizes->dims(first);
  DimExpr count = spec.dims.product(sizes);
  int64_t perChunk = root ? kRootChunk : kMapChunk;
  ImplicitLocOpBuilder &b = fn.b;
  Value total = fn.materialize(count);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value low = arith::MulIOp::create(b, chunk, fn.index(perChunk));
    Value high = arith::MinSIOp::create(b, arith::AddIOp::create(b, low, fn.index(perChunk)), total);
    fn.loop(low, high, 1, [&](Value flat) {
      KernelElements elements(fn, 1);
      if (root)
        for (OpResult result : root->getResults())
          elements.install(result, [&, result](ArrayRef<LaneIndex> index) {
            return rootElement(fn, elements, root, result.getResultNumber(), index);
          });
      SmallVector<LaneIndex> index;
      for (Value position : fn.delinearize(flat, sizes))
        index.push_back(elements.uniform(position));
      SmallVector<Value> values;
      for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
        values.push_back(elements.load(spec.yielded(i), index));
      for (auto [i, value] : llvm::enumerate(values))
        elements.storeResult(i, value, index);
    });
  });
  fn.finish();
  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.inPlace = true; // each element once, its loads before its stores
  emitted.chunks = spec.dims.ceilDiv(count, spec.dims.constant(perChunk));
  if (count.isConstant() && !root)
    emitted.estimatedNs = static_cast<double>(count.constant());
  return emitted;
}
