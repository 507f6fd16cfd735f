// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/CudaBackend.h"
#include "backends/cpu/emit/Emitters.h"
#include "backends/cuda/Lowering.h"
#include "backends/cuda/TileCore.h"
#include "backends/cuda/WgmmaInstructions.h"
#include "ir/CountedLoops.h"
#include "ir/Shape.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// What the scalar loops of the CPU's emitters are told of the machine.
static cpu::Target scalarTarget(const Generation &generation) {
  cpu::Target target;
  target.name = generation.cpu;
  target.hasFma = true;
  return target;
}

CudaBackend::CudaBackend(Generation generation)
    : generation(std::move(generation)), target(scalarTarget(this->generation)), options{&target, /*optLevel=*/0} {}
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
  // A kernel that the host got has the host's schedule when it is asked for again. What only a GPU has is forced, which
  // `settle` checks.
  if (before && (!findForm(before.getEmitter()) || !cpu::findEmitter(before.getEmitter())))
    return findForm(before.getEmitter()) ? "" : "its schedule is another back end's";
  std::string reasons;
  for (const KernelForm &form : kernelForms()) {
    if (before && before.getEmitter() != form.name)
      continue;
    std::string reason = form.plan(spec, form.name, schedule);
    if (reason.empty()) {
      reasons.clear();
      break;
    }
    reasons += (reasons.empty() ? "" : "; ") + form.name.str() + ": " + reason;
  }
  if (!reasons.empty())
    return reasons;
  if (before && before != schedule)
    return "its schedule is another back end's";
  spec.kernel.setScheduleAttr(schedule);
  writeLoops(spec);
  if (!before)
    spec.kernel.removeScheduleAttr();
  std::string unsupported = findUnsupported(*spec.loops);
  return unsupported.empty() ? "" : unsupported + " has no form on the GPU";
}

LogicalResult CudaBackend::settle(schedule::KernelSpec &given, Refused refused) {
  cuda::KernelSpec &spec = ours(given);
  ScheduleAttr before = spec.schedule();
  std::string notWide; // why attention does not multiply by wgmma
  for (const KernelForm &form : kernelForms()) {
    if (before && before.getEmitter() != form.name)
      continue;
    ScheduleAttr schedule = before;
    std::string reason = form.plan(spec, form.name, schedule);
    if (!reason.empty()) {
      if (form.name.starts_with("wgmma_attention"))
        notWide = reason;
      if (refused)
        refused(form.name, reason);
      if (before)
        return spec.kernel.emitOpError("has schedule ") << before << " that does not fit on a GPU: " << reason;
      continue;
    }
    spec.kernel.setScheduleAttr(schedule);
    if (form.name.starts_with("mma_attention") && !notWide.empty())
      remark::missed(spec.kernel.getLoc(), remark::RemarkOpts::name("wgmma").category("schedule"))
          << (form.name + " has no kernel of wgmma beside it: " + notWide).str();
    return success();
  }
  if (before)
    return spec.kernel.emitOpError("has schedule ") << before << " of no form on a GPU";
  return spec.kernel.emitOpError("has no form on a GPU");
}

schedule::KernelTraits CudaBackend::describe(schedule::KernelSpec &given, StringRef symbol) {
  cuda::KernelSpec &spec = ours(given);
  writeLoops(spec);
  spec.emitted.function.setName(symbol);
  const KernelForm *form = findForm(spec.schedule().getEmitter());
  int64_t threads = form->threads ? form->threads : spec.threads ? spec.threads : spec.schedule().getLanes();
  auto join = spec.loops->lookupSymbol<func::FuncOp>(("kernel" + kJoinSuffix).str());
  if (join)
    join.setName((symbol + kJoinSuffix).str());
  if (spec.wide.module)
    spec.wide.module->lookupSymbol<func::FuncOp>("kernel").setName((symbol + kWideSuffix).str());
  bySymbol[symbol] = kernels.size();
  kernels.push_back({symbol.str(), form->chunk, threads, form->threadsAtOnce, bool(join), std::move(spec.loops),
                     std::move(spec.wide)});
  return spec.emitted;
}

LoopedKernel CudaBackend::looped(StringRef symbol) const {
  const Kernel &kernel = kernels[bySymbol.at(symbol)];
  // One block runs what is beside clusters that compute chunks.
  bool isWide = kernel.wide.module && kernel.wide.chunk == Chunk::Grid;
  return {kernel.chunk, kernel.threads, kernel.isJoined, isWide, kernel.threadsAtOnce != 0, *kernel.loops, symbol};
}

LogicalResult CudaBackend::chooseLoop(schedule::RepeatOp loop, StringRef function) {
  auto given = loop->getAttrOfType<BoolAttr>(kOneKernel);
  bool isForced = given && given.getValue(), isForbidden = given && !given.getValue();
  std::optional<schedule::LoopProgram> program = schedule::LoopProgram::of(loop);
  std::string reason = isForbidden ? "its text asks for a graph" : program ? "" : "it copies pieces";
  int64_t threads = 0;
  TripTimes times;
  if (reason.empty())
    reason =
        planLoop(*program, generation.cpu, isForced, [&](StringRef symbol) { return looped(symbol); }, threads, times);
  auto options = remark::RemarkOpts::name("loop").category("schedule");
  if (reason.empty()) {
    LoopKernel &kernel = loops.emplace_back();
    kernel.symbol = (function + "_loop" + Twine(loops.size() - 1)).str();
    kernel.threads = threads;
    kernel.loop = std::move(program->loop);
    for (const schedule::LoopProgram::Word &word : program->words)
      kernel.areBuffers.push_back(word.role != SINTER_WORD_SIZE);
    loop.setKernel(kernel.symbol);
    remark::passed(loop.getLoc(), options)
        << ("a loop is one kernel of " + Twine(threads) + " threads, " + kernel.symbol).str();
    return success();
  }
  if (isForced)
    return loop.emitOpError("is to be one kernel and cannot: ") << reason;
  remark::missed(loop.getLoc(), options) << "a loop is a graph and not one kernel: " + reason;
  WalkResult inner = loop->walk([&](schedule::RepeatOp other) {
    if (other->getParentOfType<schedule::RepeatOp>() != loop)
      return WalkResult::advance();
    return succeeded(chooseLoop(other, function)) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(inner.wasInterrupted());
}

LogicalResult CudaBackend::chooseLoops(ModuleOp schedules) {
  for (auto function : schedules.getOps<schedule::FunctionOp>()) {
    WalkResult all = function.walk([&](schedule::RepeatOp loop) {
      if (loop->getParentOfType<schedule::RepeatOp>())
        return WalkResult::advance();
      return succeeded(chooseLoop(loop, function.getSymName())) ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (all.wasInterrupted())
      return failure();
  }
  schedules.walk([&](schedule::LaunchOp launch) {
    bool isLooped = false;
    for (auto loop = launch->getParentOfType<schedule::RepeatOp>(); loop && !isLooped;
         loop = loop->getParentOfType<schedule::RepeatOp>())
      isLooped = loop.getKernel().has_value();
    if (!isLooped)
      launched.insert(launch.getKernel());
  });
  return success();
}

/// Makes the version of PTX the one that the loops require, where it is above the lowest that knows the generation.
static void raiseVersion(ModuleOp loops, Generation &generation) {
  bool isNew = false;
  loops.walk([&](LLVM::InlineAsmOp op) {
    isNew |= op.getAsmString().starts_with(kFloat8Mma) || mixesSigns(op.getAsmString());
  });
  if (isNew && llvm::is_contained({"sm_89", "sm_90", "sm_90a"}, generation.cpu))
    generation.features = "+ptx84";
}

FailureOr<schedule::CodeObject> CudaBackend::code(Location loc) {
  Generation generation = this->generation;
  Lowering lowering(loc.getContext());
  Generation wideGeneration{"sm_90a", "+ptx80"};
  const bool isTogether = generation.cpu == wideGeneration.cpu;
  std::vector<PtxUnit> units, wideUnits;
  schedule::CodeObject object{name().str(), generation.cpu, ""};
  llvm::raw_string_ostream os(object.payload);
  for (Kernel &kernel : kernels) {
    if (failed(lowering.run(*kernel.loops)))
      return failure();
    raiseVersion(*kernel.loops, generation);
    units.push_back({*kernel.loops, {{kernel.symbol, kernel.chunk, kernel.threads, kernel.threadsAtOnce}}});
    std::string join = kernel.symbol + kJoinSuffix.str();
    if (kernel.isJoined)
      units.back().entries.push_back({join, Chunk::Block, kJoinThreads});
    if (!loops.empty() && !launched.contains(kernel.symbol))
      continue;
    os << "kernel " << kernel.symbol << (kernel.chunk == Chunk::Thread ? " thread " : " block ") << kernel.threads
       << "\n";
    if (kernel.isJoined)
      os << "then " << join << " block " << kJoinThreads << "\n";
    if (!kernel.wide.module)
      continue;
    if (failed(lowering.run(*kernel.wide.module)))
      return failure();
    raiseVersion(*kernel.wide.module, isTogether ? generation : wideGeneration);
    std::string name = kernel.symbol + kWideSuffix.str();
    bool isCluster = kernel.wide.chunk == Chunk::Cluster;
    wideUnits.push_back({*kernel.wide.module,
                         {{name, kernel.wide.chunk, kernel.wide.threads, isCluster ? kernel.threadsAtOnce : 0,
                           kernel.wide.numMaps, kernel.wide.cluster}}});
    os << "wide " << name << " " << kernel.wide.threads << " " << kernel.wide.sharedBytes << " "
       << kernel.wide.leastChunks;
    if (kernel.wide.cluster > 1)
      os << " " << kernel.wide.cluster;
    if (isCluster)
      os << " " << kernel.wide.mostChunks;
    os << "\n" << kernel.wide.maps;
    if (kernel.wide.isJoined)
      os << "then " << kernel.symbol << kJoinSuffix << " block " << kJoinThreads << "\n";
  }
  for (const LoopKernel &loop : loops)
    os << "loop " << loop.symbol << " block " << loop.threads << "\n";
  const PtxLoops looped{loops, launched};
  if (isTogether)
    llvm::append_range(units, wideUnits);
  FailureOr<std::string> ptx = generatePtx(units, generation, loc, loops.empty() ? nullptr : &looped);
  if (failed(ptx))
    return failure();
  os << "\n" << *ptx;
  if (isTogether || wideUnits.empty())
    return object;
  ptx = generatePtx(wideUnits, wideGeneration, loc);
  if (failed(ptx))
    return failure();
  os << "\n=== " << wideGeneration.cpu << "\n" << *ptx;
  return object;
}
