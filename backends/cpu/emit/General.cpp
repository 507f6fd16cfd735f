// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/General.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

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

bool sinter::cpu::canBuildAfter(KernelSpec &spec, Operation *root) {
  auto isGiven = [&](Value value) { return value == root->getResult(0); };
  return llvm::all_of(llvm::seq(spec.kernel.getNumResults()),
                      [&](unsigned i) { return canBuild(spec.yielded(i), isGiven); });
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

Plan sinter::cpu::planGeneral(KernelSpec &spec, ScheduleAttr) {
  if (!isGeneral(spec))
    return Plan::refuse("its ops have no scalar form, or its results several shapes");
  bool several = false;
  Plan plan;
  plan.setChunk(findRoot(spec, several) ? spec.costs().rootElements : spec.costs().plainElements);
  return plan;
}

EmittedKernel sinter::cpu::emitGeneral(KernelSpec &spec, ModuleOp module, StringRef name) {
  bool several = false;
  Operation *root = findRoot(spec, several);
  Value first = spec.yielded(0);

  KernelFunction fn(spec, module, name, {});
  Dims sizes = spec.sizes->dims(first);
  DimExpr count = spec.dims.product(sizes);
  int64_t perChunk = spec.schedule().getChunk();
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
      elements.storeResultsAfterReads(elements.uniform(fn.delinearize(flat, sizes)));
    });
  });
  fn.finish();
  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.inPlace = true; // each element once, its loads before its stores
  emitted.chunks = spec.dims.ceilDiv(count, spec.dims.constant(perChunk));
  if (count.isConstant() && !root)
    emitted.estimatedNs = spec.costs().scalarNs * static_cast<double>(count.constant());
  return emitted;
}
