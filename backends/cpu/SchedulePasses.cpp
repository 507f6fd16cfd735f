// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two steps from kernels to the LLVM dialect as passes, for tests and for people who want to look between them.

#include "backends/cpu/SchedulePasses.h"
#include "backends/cpu/CpuBackend.h"
#include "backends/cpu/LowerSchedule.h"
#include "backends/schedule/ScheduleEmitter.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// The machine that schedules in the text are for, else the one that `name` says.
static LogicalResult findMachine(ModuleOp module, StringRef name, Target &machine) {
  if (TargetAttr own = targetOf(module)) {
    machine = Target::of(own);
    return success();
  }
  std::string error;
  if (Target::parse(name, machine, error))
    return success();
  return module.emitError(error);
}

namespace {
struct BuildSchedule : PassWrapper<BuildSchedule, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BuildSchedule)
  BuildSchedule() = default;
  BuildSchedule(const BuildSchedule &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "sinter-build-schedule"; }
  StringRef getDescription() const final {
    return "functions of kernels become schedules; constants go to a block of bytes that no text holds";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<schedule::ScheduleDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect,
                    memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>(); // describing a kernel may emit it
  }
  void runOnOperation() final {
    ModuleOp module = getOperation();
    Target machine;
    if (failed(findMachine(module, target, machine)))
      return signalPassFailure();
    CpuBackend backend(machine, optLevel);
    schedule::KernelTable kernels(backend, prefix);
    schedule::Weights weights;
    OwningOpRef<ModuleOp> schedules = ModuleOp::create(module.getLoc());
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isPrivate() && !function.isDeclaration() &&
          failed(schedule::emitSchedule(function, *schedules, prefix + "_run_" + function.getName().str(), kernels,
                                        weights)))
        return signalPassFailure();
    kernels.write(*schedules);
    Block *body = module.getBody();
    body->clear();
    body->getOperations().splice(body->end(), schedules->getBody()->getOperations());
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
  StringRef getDescription() const final {
    return "schedules become entry functions of the LLVM dialect, and kernels loops";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<LLVM::LLVMDialect, arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                    math::MathDialect, memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  }
  void runOnOperation() final {
    Target machine;
    if (failed(findMachine(getOperation(), target, machine)))
      return signalPassFailure();
    CpuBackend backend(machine, optLevel);
    if (failed(backend.emitKernels(getOperation())))
      return signalPassFailure();
    lowerSchedules(getOperation(), smallOnStack);
  }

  Option<std::string> target{*this, "target", llvm::cl::init("x86-64-v3"), llvm::cl::desc("CPU that kernels are for")};
  Option<int> optLevel{*this, "opt-level", llvm::cl::init(2), llvm::cl::desc("0 to 3")};
  Option<bool> smallOnStack{*this, "small-on-stack", llvm::cl::init(true),
                            llvm::cl::desc("buffers of few known bytes need no place in the arena")};
};
} // namespace

void cpu::registerSchedulePasses() {
  PassRegistration<BuildSchedule>();
  PassRegistration<LowerSchedule>();
}
