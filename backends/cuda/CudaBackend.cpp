// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/CudaBackend.h"
#include "backends/cuda/Lowering.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// What the scalar loops of the CPU's emitters are told of the machine.
static const cpu::Target &scalarTarget() {
  static const cpu::Target target = [] {
    cpu::Target target;
    target.name = "cuda";
    target.hasFma = true;
    return target;
  }();
  return target;
}

CudaBackend::CudaBackend(Generation generation)
    : generation(std::move(generation)), options{&scalarTarget(), /*optLevel=*/0} {}
CudaBackend::~CudaBackend() = default;

static cuda::KernelSpec &ours(schedule::KernelSpec &spec) { return static_cast<cuda::KernelSpec &>(spec); }

std::unique_ptr<schedule::KernelSpec> CudaBackend::specify(KernelOp kernel, ShapeAnalysis *outer) {
  return std::make_unique<cuda::KernelSpec>(kernel, options, outer);
}

/// The loops of the kernel's schedule, once.
static void writeLoops(cuda::KernelSpec &spec) {
  if (spec.loops)
    return;
  spec.loops = ModuleOp::create(spec.kernel.getLoc());
  spec.emitted = findForm(spec.schedule().getEmitter())->emit(spec, *spec.loops, "kernel");
}

std::string CudaBackend::refusal(schedule::KernelSpec &given) {
  cuda::KernelSpec &spec = ours(given);
  for (unsigned k = 0; k < spec.numSymbols(); ++k)
    if (!isa<BlockArgument>(spec.source(k).value))
      return "a size that only running tells";
  ScheduleAttr before = spec.schedule(), schedule;
  std::string reasons;
  for (const KernelForm &form : kernelForms()) {
    std::string reason = form.plan(spec, form.name, schedule);
    if (reason.empty()) {
      reasons.clear();
      break;
    }
    reasons += (reasons.empty() ? "" : "; ") + form.name.str() + ": " + reason;
  }
  if (!reasons.empty())
    return reasons;
  if (before)
    return ""; // forced, which `settle` checks
  spec.kernel.setScheduleAttr(schedule);
  writeLoops(spec);
  spec.kernel.removeScheduleAttr();
  std::string unsupported = findUnsupported(*spec.loops);
  return unsupported.empty() ? "" : unsupported + " has no form on the GPU";
}

LogicalResult CudaBackend::settle(schedule::KernelSpec &given, Refused refused) {
  cuda::KernelSpec &spec = ours(given);
  ScheduleAttr before = spec.schedule(), schedule;
  for (const KernelForm &form : kernelForms()) {
    if (before && before.getEmitter() != form.name)
      continue;
    std::string reason = form.plan(spec, form.name, schedule);
    if (!reason.empty()) {
      if (refused)
        refused(form.name, reason);
      continue;
    }
    if (before && before != schedule)
      return spec.kernel.emitOpError("requires schedule ") << schedule << " on a GPU, got " << before;
    spec.kernel.setScheduleAttr(schedule);
    return success();
  }
  if (before)
    return spec.kernel.emitOpError("has a schedule that does not fit on a GPU: ") << before;
  return spec.kernel.emitOpError("has no form on a GPU");
}

schedule::KernelTraits CudaBackend::describe(schedule::KernelSpec &given, StringRef symbol) {
  cuda::KernelSpec &spec = ours(given);
  writeLoops(spec);
  spec.emitted.function.setName(symbol);
  const KernelForm *form = findForm(spec.schedule().getEmitter());
  int64_t threads = form->threads ? form->threads : spec.schedule().getLanes();
  kernels.push_back({symbol.str(), form->chunk, threads, std::move(spec.loops)});
  return spec.emitted;
}

FailureOr<schedule::CodeObject> CudaBackend::code(Location loc) {
  Lowering lowering(loc.getContext());
  std::vector<PtxUnit> units;
  schedule::CodeObject object{name().str(), generation.cpu, ""};
  llvm::raw_string_ostream os(object.payload);
  for (Kernel &kernel : kernels) {
    if (failed(lowering.run(*kernel.loops)))
      return failure();
    units.push_back({*kernel.loops, kernel.symbol, kernel.chunk, kernel.threads});
    os << "kernel " << kernel.symbol << (kernel.chunk == Chunk::Thread ? " thread " : " block ") << kernel.threads
       << "\n";
  }
  FailureOr<std::string> ptx = generatePtx(units, generation, loc);
  if (failed(ptx))
    return failure();
  os << "\n" << *ptx;
  return object;
}
