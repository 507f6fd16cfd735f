// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/ChooseSchedules.h"
#include "backends/cpu/emit/Emitters.h"
#include "backends/schedule/SchedulePlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sinter;

namespace {
class ChooseSchedules : public PassWrapper<ChooseSchedules, OperationPass<func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChooseSchedules)
  ChooseSchedules() = default;
  explicit ChooseSchedules(int level) { optLevel = level; }
  ChooseSchedules(const ChooseSchedules &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "sinter-choose-schedules"; }
  StringRef getDescription() const override { return "how the code of each kernel looks, from one cost model"; }

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect>(); // elementCost looks at scalar bodies
  }

  void runOnOperation() override {
    TargetAttr attribute = targetOf(getOperation());
    if (!attribute || getOperation().isDeclaration() || getOperation().isPrivate()) // no code is made of those
      return;
    cpu::Target target = cpu::Target::of(attribute);
    cpu::KernelOptions options{&target, optLevel};
    DimContext context;
    ShapeAnalysis sizes(context);
    schedule::settleSizes(getOperation(), sizes);
    WalkResult chosen = getOperation()->walk([&](KernelOp kernel) {
      if (optLevel > 0 && schedule::isScalarKernel(kernel))
        return WalkResult::skip();
      cpu::KernelSpec spec(kernel, options, &sizes);
      auto refused = [&](StringRef emitter, StringRef why) {
        if (explain)
          kernel.emitRemark() << "emitter '" << emitter << "' does not take it: " << why;
      };
      return succeeded(cpu::settleSchedule(spec, refused)) ? WalkResult::skip() : WalkResult::interrupt();
    });
    if (chosen.wasInterrupted())
      signalPassFailure();
  }

private:
  Option<int> optLevel{*this, "opt-level", llvm::cl::desc("optimization level, 0 to 3"), llvm::cl::init(2)};
  Option<bool> explain{*this, "explain", llvm::cl::desc("remarks that say why emitters declined"),
                       llvm::cl::init(false)};
};
} // namespace

std::unique_ptr<Pass> cpu::createChooseSchedules(int optLevel) { return std::make_unique<ChooseSchedules>(optLevel); }

void cpu::registerChooseSchedules() { PassRegistration<ChooseSchedules>(); }
