// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/CpuBackend.h"
#include "backends/cpu/emit/Emitters.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

static KernelSpec &ours(schedule::KernelSpec &spec) { return static_cast<KernelSpec &>(spec); }

static bool isSmallKernel(KernelSpec &spec, const EmittedKernel &emitted) {
  if (emitted.writesSizes || emitted.workspaceBytes || emitted.estimatedNs > spec.costs().smallNs ||
      !spec.dims.resolve(emitted.chunks).isConstant() || spec.dims.resolve(emitted.chunks).constant() > 1)
    return false;
  if (emitted.updates >= 0)
    return emitted.estimatedNs > 0;
  int64_t elements = 0, most = spec.costs().smallElements;
  auto add = [&](Value value) {
    DimExpr count = spec.dims.resolve(spec.dims.product(spec.sizes->dims(value)));
    // A large operand of which a small kernel reads a part is no matter, but costs are counted from what is there.
    elements = count.isConstant() ? elements + std::min<int64_t>(count.constant(), 2 * most) : 2 * most;
    return elements <= most;
  };
  bool isMap = spec.kernel.getKernelTemplate() == KernelTemplate::map;
  for (Operation &op : spec.body().without_terminator())
    for (Value result : op.getResults())
      if (!add(result))
        return false;
  return isMap || llvm::all_of(spec.body().getArguments(), [&](Value argument) { return add(argument); });
}

std::unique_ptr<schedule::KernelSpec> CpuBackend::specify(KernelOp kernel, ShapeAnalysis *outer) {
  return std::make_unique<KernelSpec>(kernel, options, outer);
}

std::string CpuBackend::refusal(schedule::KernelSpec &spec) {
  std::string reasons;
  for (const KernelEmitter *emitter : emittersFor(ours(spec))) {
    Plan plan = emitter->plan(ours(spec), nullptr);
    if (plan.takes())
      return "";
    reasons += (reasons.empty() ? "" : "; ") + emitter->name.str() + ": " + plan.refusal;
  }
  return reasons.empty() ? "no emitter of its template" : reasons;
}

LogicalResult CpuBackend::settle(schedule::KernelSpec &spec, Refused refused) {
  return settleSchedule(ours(spec), refused);
}

void EmittedKernel::estimate(KernelSpec &spec, DimExpr work, double ns) {
  DimContext &dims = spec.dims;
  work = dims.resolve(work);
  if (work.isConstant()) {
    estimatedNs = ns * static_cast<double>(work.constant());
    return;
  }
  constexpr int64_t parts = 1 << 20; // of a nanosecond
  auto perUnit = std::max<int64_t>(1, std::llround(ns * parts));
  auto start = static_cast<int64_t>(spec.costs().inlineNs * parts);
  forks = dims.floorDiv(dims.mul(work, dims.constant(perUnit)), dims.constant(start));
}

bool CpuBackend::takesStrides(schedule::KernelSpec &spec) {
  return findEmitter(spec.schedule().getEmitter())->takesStrides;
}

SmallVector<schedule::Packing> CpuBackend::packing(schedule::KernelSpec &spec) { return packingOf(ours(spec)); }

schedule::KernelTraits CpuBackend::describe(schedule::KernelSpec &given, StringRef symbol) {
  KernelSpec &spec = ours(given);
  KernelCode &code = codes[symbol];
  code.module = ModuleOp::create(spec.kernel.getLoc());
  EmittedKernel emitted = emitKernel(spec, *code.module, symbol);
  code.isSmall = options.optLevel > 0 && numSmall < spec.costs().smallKernels && isSmallKernel(spec, emitted);
  numSmall += code.isSmall;
  anyTiles |= emitted.usesTiles;
  emitted.isShort = emitted.estimatedNs > 0 && emitted.estimatedNs < spec.costs().inlineNs;
  emitted.isBrief = code.isSmall;
  return emitted;
}

LogicalResult CpuBackend::emitKernels(ModuleOp schedules) {
  for (auto text : llvm::make_early_inc_range(schedules.getOps<schedule::CodeOp>())) {
    if (text.getBackend() != name())
      return text.emitOpError("is for back end '")
             << text.getBackend() << "', which this schedule's host does not know";
    DimContext context;
    schedule::CodeSizes sizes(text, context);
    std::unique_ptr<schedule::KernelSpec> spec = specify(cast<KernelOp>(text.getBody().front().front()), &sizes);
    if (failed(settle(*spec)))
      return failure();
    std::string symbol = text.getSymName().str();
    describe(*spec, symbol);
    ModuleOp loops = loopsOf(symbol).module.release();
    loops.setSymName(symbol + "_code");
    text->getBlock()->getOperations().insert(text->getIterator(), loops);
    text.erase();
  }
  return success();
}
