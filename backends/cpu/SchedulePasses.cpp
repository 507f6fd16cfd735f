// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two steps from kernels to the LLVM dialect as passes, for tests and for people who want to look between them.

#include "backends/cpu/SchedulePasses.h"
#include "backends/cpu/LowerSchedule.h"
#include "backends/cpu/Schedule.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {
struct BuildSchedule : PassWrapper<BuildSchedule, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BuildSchedule)
  BuildSchedule() = default;
  BuildSchedule(const BuildSchedule &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "sinter-build-schedule"; }
  StringRef getDescription() const final {
    return "functions of kernels become schedules, and kernels loops; constants go to a block of bytes that no text "
           "holds";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<schedule::ScheduleDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect,
                    memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  }
  void runOnOperation() final {
    ModuleOp module = getOperation();
    Target machine;
    std::string error;
    if (!Target::parse(target, machine, error))
      return module.emitError(error), signalPassFailure();
    if (TargetAttr own = targetOf(module)) // the text's schedules are for it
      machine = Target::of(own);
    KernelOptions options{&machine, optLevel};
    KernelTable kernels(options, prefix);
    Weights weights;
    OwningOpRef<ModuleOp> schedules = ModuleOp::create(module.getLoc());
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isPrivate() && !function.isDeclaration() &&
          failed(emitSchedule(function, *schedules, prefix + "_run_" + function.getName().str(), kernels, weights)))
        return signalPassFailure();
    Block *body = module.getBody();
    body->clear();
    body->getOperations().splice(body->end(), schedules->getBody()->getOperations());
    for (KernelCode &code : kernels.codes()) { // each is compiled by itself
      code.module->setSymName(code.name + "_code");
      body->push_back(code.module.release());
    }
  }

  Option<std::string> target{*this, "target", llvm::cl::init("x86-64-v3"), llvm::cl::desc("CPU that kernels are for")};
  Option<int> optLevel{*this, "opt-level", llvm::cl::init(2), llvm::cl::desc("0 to 3")};
  Option<std::string> prefix{*this, "prefix", llvm::cl::init("sinter"), llvm::cl::desc("what symbols begin with")};
};

struct LowerSchedule : PassWrapper<LowerSchedule, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerSchedule)
  LowerSchedule() = default;
  LowerSchedule(const LowerSchedule &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "sinter-lower-schedule"; }
  StringRef getDescription() const final { return "schedules become entry functions of the LLVM dialect"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<LLVM::LLVMDialect, arith::ArithDialect, cf::ControlFlowDialect>();
  }
  void runOnOperation() final {
    if (failed(lowerSchedules(getOperation(), smallOnStack)))
      signalPassFailure();
  }

  Option<bool> smallOnStack{*this, "small-on-stack", llvm::cl::init(true),
                            llvm::cl::desc("buffers of few known bytes need no place in the arena")};
};
} // namespace

void cpu::registerSchedulePasses() {
  PassRegistration<BuildSchedule>();
  PassRegistration<LowerSchedule>();
}
