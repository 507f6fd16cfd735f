// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/ChooseSchedules.h"
#include "backends/schedule/Backends.h"
#include "backends/schedule/KeepPolicy.h"
#include "backends/schedule/PlaceParts.h"
#include "backends/schedule/SchedulePlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

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
    func::FuncOp function = getOperation();
    if (function.isDeclaration() || function.isPrivate()) // no code is made of those
      return;
    Target target;
    std::string error;
    if (!readTarget(function->getParentOfType<ModuleOp>(), target, error)) {
      function.emitError(error);
      return signalPassFailure();
    }
    if (!target.host)
      return;
    std::unique_ptr<Backend> host = target.host->kind().create(*target.host, optLevel);
    Devices devices(target, optLevel);
    KernelTable places(*host, "", devices.list());
    DimContext context;
    ShapeAnalysis sizes(context);
    settleSizes(function, sizes, places.runsControl());
    bool isGiven = false;
    WalkResult chosen = function->walk([&](KernelOp kernel) {
      if (kernel.getInPlace() || (host->holdsElements() && isScalarKernel(kernel)))
        return WalkResult::skip();
      isGiven |= kernel.getSchedule().has_value();
      auto [backend, spec] = places.place(kernel, sizes);
      auto refused = [&](StringRef emitter, StringRef why) {
        if (explain)
          kernel.emitRemark() << "emitter '" << emitter << "' does not take it: " << why;
      };
      return succeeded(backend->settle(*spec, refused)) ? WalkResult::skip() : WalkResult::interrupt();
    });
    if (chosen.wasInterrupted())
      return signalPassFailure();
    // What is computed again is decided kernel by kernel, and schedules that were given stay.
    if (devices.list().empty() && !isGiven && !function->hasAttr(kKeepAttr))
      placeParts(function, *host, sizes);
  }

private:
  Option<int> optLevel{*this, "opt-level", llvm::cl::desc("optimization level, 0 to 3"), llvm::cl::init(2)};
  Option<bool> explain{*this, "explain", llvm::cl::desc("remarks that say why emitters declined"),
                       llvm::cl::init(false)};
};
} // namespace

std::unique_ptr<Pass> schedule::createChooseSchedules(int optLevel) {
  return std::make_unique<ChooseSchedules>(optLevel);
}

void schedule::registerChooseSchedules() { PassRegistration<ChooseSchedules>(); }
