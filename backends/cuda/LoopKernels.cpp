// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which loops are one kernel, by a model of time: what a block takes for a trip against what nodes of a graph take that
// run on the whole GPU, one after the other.

#include "backends/cuda/LoopKernels.h"
#include "backends/cuda/Gpus.h"
#include "backends/cuda/Shuffles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;
using schedule::LoopStep;

/// More would be long code: a launch is a copy of the kernel's code.
constexpr unsigned kMostLaunches = 48;
constexpr int64_t kMostOps = 12000;
/// A kernel has parameters of 4 KiB.
constexpr size_t kMostWords = 500;
/// Static shared memory of a block.
constexpr int64_t kSharedBytes = 48 << 10;
/// Barriers of a block are 16, of which number 0 is the whole block's.
constexpr int64_t kMostGroups = 15;
constexpr int64_t kMostThreads = 512;
/// Above, kernels that take all registers would spill.
constexpr int64_t kMostThreadsOfTiles = 256;

int64_t cuda::sharedBytesOf(ModuleOp loops) {
  int64_t bytes = 0;
  auto add = [&](int64_t elements, Type type) {
    bytes = static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(bytes), kGroupAlignment)) +
            elements * static_cast<int64_t>(llvm::divideCeil(type.getIntOrFloatBitWidth(), 8));
  };
  loops.walk([&](Operation *op) {
    if (auto global = dyn_cast<memref::GlobalOp>(op))
      add(cast<MemRefType>(global.getType()).getNumElements(), cast<MemRefType>(global.getType()).getElementType());
    else if (auto memory = dyn_cast<LLVM::GlobalOp>(op))
      if (auto type = dyn_cast<LLVM::LLVMArrayType>(memory.getGlobalType()))
        add(static_cast<int64_t>(type.getNumElements()), type.getElementType());
  });
  return bytes;
}

int64_t cuda::groupsOf(int64_t threads, int64_t threadsOfChunk, int64_t sharedBytes) {
  int64_t groups = std::min(threads / threadsOfChunk, kMostGroups);
  auto each = static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(sharedBytes), kGroupAlignment));
  return each ? std::max<int64_t>(1, std::min(groups, kSharedBytes / each)) : groups;
}

//===- Time ----------------------------------------------------------------------------------------===//

/// A clock of 1.7 GHz.
constexpr double kNsOfCycle = 0.6;
/// Until what a step wrote is there for the next one: a barrier, and the first reads.
constexpr double kStepNs = 150;
/// A node of a graph is behind another in half the time that a launch takes.
constexpr double kNodeShare = 0.5;
/// Trips of a loop whose bounds only running tells, and of a loop within a trip.
constexpr double kUnknownTrips = 16;

/// Cycles from an op's operands to its result in one thread.
static double cyclesOf(Operation &op) {
  StringRef dialect = op.getName().getDialectNamespace();
  Type type = op.getNumResults() ? op.getResult(0).getType() : Type();
  bool isDouble = type && getElementTypeOrSelf(type).isF64();
  auto vector = dyn_cast_or_null<VectorType>(type);
  double lanes = vector ? static_cast<double>(vector.getNumElements()) : 1;
  if (isa<arith::ConstantOp, arith::IndexCastOp, arith::IndexCastUIOp, func::ReturnOp, scf::YieldOp>(op))
    return 0;
  if (isa<memref::LoadOp, vector::LoadOp, LLVM::LoadOp>(op))
    return 60;
  if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::RemFOp>(op))
    return (isDouble ? 80 : 40) * lanes;
  if (dialect == "math")
    return (isDouble ? 120 : 60) * lanes;
  return (dialect == "nvvm" || isa<LLVM::InlineAsmOp>(op) ? 30 : 4) * lanes;
}

static double cyclesOf(Block &block);

static double tripsOf(scf::ForOp loop) {
  // The outermost loop goes over chunks, of which each call has one.
  if (auto upper = dyn_cast<BlockArgument>(loop.getUpperBound());
      upper && isa<func::FuncOp>(upper.getOwner()->getParentOp()))
    return 1;
  std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound()), step = getConstantIntValue(loop.getStep());
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
  if (!upper || !step || *step <= 0)
    return kUnknownTrips;
  return std::max<double>(0, llvm::divideCeilSigned(*upper - lower.value_or(0), *step));
}

static double cyclesOf(Block &block) {
  double cycles = 0;
  for (Operation &op : block) {
    double trips = 1;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      trips = tripsOf(loop);
    else if (isa<scf::WhileOp>(op))
      trips = kUnknownTrips;
    else
      cycles += cyclesOf(op);
    double inner = 0;
    for (Region &region : op.getRegions())
      for (Block &body : region)
        inner = isa<scf::WhileOp>(op) ? inner + cyclesOf(body) : std::max(inner, cyclesOf(body));
    cycles += trips * (inner + (op.getNumRegions() ? 4 : 0));
  }
  return cycles;
}

static double cyclesOfChunk(const LoopedKernel &kernel, StringRef function) {
  ModuleOp loops = kernel.loops;
  auto found = loops.lookupSymbol<func::FuncOp>(function);
  return found ? cyclesOf(found.getBody().front()) : 0;
}

namespace {
class TripModel {
public:
  TripModel(const Gpu &gpu, FindKernel find) : nodeNs(gpu.launchNs * kNodeShare), gpu(gpu), find(find) {}

  TripTimes timesOf(const std::vector<LoopStep> &steps, int64_t threads);
  TripTimes timesOf(const LoopStep &step, int64_t threads);

private:
  TripTimes launch(const LoopStep &step, int64_t threads);

  double nodeNs;
  const Gpu &gpu;
  FindKernel find;
  llvm::StringMap<double> cycles; // of chunks, by function
};
} // namespace

static TripTimes operator+(TripTimes a, TripTimes b) { return {a.oneNs + b.oneNs, a.graphNs + b.graphNs}; }

TripTimes TripModel::launch(const LoopStep &step, int64_t threads) {
  LoopedKernel kernel = find(step.kernel);
  auto time = [&](const std::string &function, Chunk chunk, int64_t threadsOfChunk) -> TripTimes {
    auto [known, isNew] = cycles.try_emplace(function);
    if (isNew)
      known->second = cyclesOfChunk(kernel, function);
    bool isThreads = chunk == Chunk::Thread;
    auto chunks = static_cast<double>(step.operands.back().number.value_or(0));
    auto here =
        static_cast<double>(isThreads ? threads : groupsOf(threads, threadsOfChunk, sharedBytesOf(kernel.loops)));
    auto everywhere = static_cast<double>(gpu.multiprocessors * (isThreads ? 1024 : 1024 / threadsOfChunk));
    double ns = known->second * kNsOfCycle;
    return {kStepNs + std::ceil(chunks / here) * ns, nodeNs + std::ceil(chunks / everywhere) * ns};
  };
  TripTimes times = time(step.kernel, kernel.chunk, kernel.threads);
  if (kernel.isJoined)
    times = times + time(step.kernel + kJoinSuffix.str(), Chunk::Block, kJoinThreads);
  return times;
}

TripTimes TripModel::timesOf(const LoopStep &step, int64_t threads) {
  switch (step.kind) {
  case LoopStep::Kind::Launch:
    return launch(step, threads);
  case LoopStep::Kind::Copy:
  case LoopStep::Kind::Clear: {
    auto bytes = static_cast<double>(step.operands.back().number.value_or(0));
    return {kStepNs + std::ceil(bytes / (16.0 * static_cast<double>(threads))) * 100 * kNsOfCycle,
            nodeNs + bytes / gpu.bandwidth};
  }
  case LoopStep::Kind::Branch: {
    TripTimes then = timesOf(step.first, threads), otherwise = timesOf(step.second, threads);
    return {kStepNs + std::max(then.oneNs, otherwise.oneNs), 3 * nodeNs + std::max(then.graphNs, otherwise.graphNs)};
  }
  case LoopStep::Kind::Loop: {
    TripTimes trip = timesOf(step.first, threads) + timesOf(step.second, threads);
    return {kUnknownTrips * (kStepNs + trip.oneNs), kUnknownTrips * (2 * nodeNs + trip.graphNs)};
  }
  }
  llvm_unreachable("all kinds handled");
}

TripTimes TripModel::timesOf(const std::vector<LoopStep> &steps, int64_t threads) {
  TripTimes times;
  for (const LoopStep &step : steps)
    times = times + timesOf(step, threads);
  return times;
}

//===- Limits --------------------------------------------------------------------------------------===//

static void forEachStep(const LoopStep &step, function_ref<void(const LoopStep &)> visit) {
  visit(step);
  for (const auto *steps : {&step.first, &step.second})
    for (const LoopStep &inner : *steps)
      forEachStep(inner, visit);
}

static int64_t countOps(ModuleOp loops) {
  int64_t count = 0;
  loops.walk([&](Operation *) { ++count; });
  return count;
}

namespace {
/// What the kernels of a loop ask for together.
struct Demands {
  int64_t leastThreads = kWarp, mostThreads = kMostThreads, mostChunks = 1;
  std::string refusal;
};
} // namespace

static Demands demandsOf(const schedule::LoopProgram &program, bool isForced, FindKernel find) {
  Demands demands;
  unsigned launches = 0;
  int64_t ops = 0;
  auto refuse = [&](std::string reason) {
    if (demands.refusal.empty())
      demands.refusal = std::move(reason);
  };
  forEachStep(program.loop, [&](const LoopStep &step) {
    bool isSized = step.kind == LoopStep::Kind::Copy || step.kind == LoopStep::Kind::Clear;
    if (step.kind != LoopStep::Kind::Launch) {
      if (isSized && !step.operands.back().number && !isForced)
        refuse("it has sizes that only running tells");
      return;
    }
    LoopedKernel kernel = find(step.kernel);
    std::optional<int64_t> chunks = step.operands.back().number;
    if (!chunks && !isForced)
      refuse("it has sizes that only running tells");
    if (kernel.isWide)
      refuse("a kernel of it has one of wgmma beside it");
    if (kernel.threads > kMostThreads || kernel.threads % kWarp != 0 || sharedBytesOf(kernel.loops) > kSharedBytes)
      refuse("a kernel of it has blocks of " + std::to_string(kernel.threads) + " threads and " +
             std::to_string(sharedBytesOf(kernel.loops)) + " bytes of shared memory");
    ++launches;
    ops += countOps(kernel.loops);
    if (kernel.chunk == Chunk::Block)
      demands.leastThreads = std::max(demands.leastThreads, kernel.threads);
    if (kernel.isJoined)
      demands.leastThreads = std::max(demands.leastThreads, kJoinThreads);
    if (kernel.takesRegisters)
      demands.mostThreads = std::min(demands.mostThreads, kMostThreadsOfTiles);
    int64_t each = kernel.chunk == Chunk::Block ? kernel.threads : 1;
    demands.mostChunks = std::max(demands.mostChunks, chunks.value_or(kMostThreads) * each);
  });
  if (launches > kMostLaunches || ops > kMostOps)
    refuse("its code would be long: " + std::to_string(launches) + " launches of " + std::to_string(ops) + " ops");
  if (program.words.size() > kMostWords)
    refuse("it would have " + std::to_string(program.words.size()) + " words, of at most " +
           std::to_string(kMostWords));
  if (demands.leastThreads > demands.mostThreads)
    refuse("a kernel of it takes the registers that blocks of " + std::to_string(demands.leastThreads) +
           " threads would need");
  return demands;
}

std::string cuda::planLoop(const schedule::LoopProgram &program, StringRef generation, bool isForced, FindKernel find,
                           int64_t &threads, TripTimes &times) {
  Demands demands = demandsOf(program, isForced, find);
  if (!demands.refusal.empty())
    return demands.refusal;
  TripModel model(gpuOf(generation), find);
  threads = 0;
  int64_t enough = std::max<int64_t>(
      demands.leastThreads, static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(demands.mostChunks))));
  for (int64_t tried = demands.leastThreads; tried <= std::min(enough, demands.mostThreads); tried *= 2) {
    TripTimes found = model.timesOf(program.loop, tried);
    if (threads && found.oneNs >= times.oneNs)
      continue;
    threads = tried;
    times = {found.oneNs, found.graphNs};
  }
  times = {times.oneNs / kUnknownTrips, times.graphNs / kUnknownTrips};
  if (isForced || times.oneNs < times.graphNs)
    return "";
  auto us = [](double ns) { return std::to_string(static_cast<int64_t>(std::ceil(ns / 1000))); };
  return "a trip would take a block about " + us(times.oneNs) + " us, as a graph " + us(times.graphNs) + " us";
}
