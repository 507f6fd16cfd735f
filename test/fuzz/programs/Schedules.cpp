// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/fuzz/programs/Schedules.h"
#include "backends/cpu/emit/Emitters.h"
#include "backends/schedule/SchedulePlan.h"
#include "compiler/Pipeline.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

static int64_t below(std::mt19937_64 &random, int64_t count) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
}

/// Any number that the choice allows; small ones as often as large ones.
static int64_t draw(const cpu::Choice &choice, std::mt19937_64 &random) {
  if (choice.chosen == 0)
    return 0;
  int64_t most = std::min(choice.most, 2 * choice.chosen + 8);
  for (int tries = 0; tries < 64; ++tries) {
    int64_t scale = int64_t(1) << below(random, llvm::Log2_64(most) + 1);
    int64_t value = std::min(most, scale + below(random, scale));
    value -= value % choice.multiple;
    if (choice.allows(value))
      return value;
  }
  return choice.chosen;
}

static ScheduleAttr drawSchedule(cpu::KernelSpec &spec, const cpu::KernelEmitter &emitter, std::mt19937_64 &random) {
  MLIRContext *context = spec.kernel.getContext();
  cpu::Plan plan = emitter.plan(spec, {});
  for (int64_t lanes = plan.lanes.chosen; lanes > plan.lanes.least && below(random, 2); lanes /= 2)
    plan.lanes.chosen = lanes / 2;
  if (!plan.needsPacking && below(random, 2))
    plan.packing.clear();
  // What else is allowed depends on the lanes and what is packed.
  cpu::Plan rest = emitter.plan(spec, plan.schedule(context, emitter.name));
  SmallVector<int64_t> tile;
  for (const cpu::Choice &choice : rest.tile)
    tile.push_back(draw(choice, random));
  return ScheduleAttr::get(context, emitter.name, plan.lanes.chosen, tile, draw(rest.chunk, random), plan.packing,
                           below(random, 2) ? plan.zeros : SmallVector<int64_t>());
}

static void drawSchedules(func::FuncOp function, std::mt19937_64 &random) {
  cpu::Target target = cpu::Target::of(targetOf(function));
  cpu::KernelOptions options{&target, 2};
  DimContext context;
  ShapeAnalysis sizes(context);
  schedule::settleSizes(function, sizes, /*runsControl=*/false);
  function.walk([&](KernelOp kernel) {
    if (!kernel.getSchedule())
      return WalkResult::skip(); // of one element
    cpu::KernelSpec spec(kernel, options, &sizes);
    kernel.removeScheduleAttr();
    SmallVector<const cpu::KernelEmitter *> takers;
    for (const cpu::KernelEmitter *emitter : cpu::emittersFor(spec))
      if (emitter->plan(spec, {}).takes())
        takers.push_back(emitter);
    // Plain loops take nearly everything: half of the draws are the template's own.
    size_t number = below(random, 2) ? 0 : static_cast<size_t>(below(random, static_cast<int64_t>(takers.size())));
    kernel.setScheduleAttr(drawSchedule(spec, *takers[number], random));
    return WalkResult::skip();
  });
}

bool sinter::test::drawSchedules(ModuleOp module, std::mt19937_64 &random) {
  module->setAttr(TargetAttr::moduleAttr, cpu::Target::host().attribute(module.getContext()));
  PassManager passes(module.getContext());
  buildPipeline(passes, Options());
  if (failed(passes.run(module)))
    return false;
  for (auto function : module.getOps<func::FuncOp>())
    ::drawSchedules(function, random);
  return true;
}
