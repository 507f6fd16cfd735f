// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forms in which a cluster of blocks computes a chunk, on sm_90a: a result of a reduction, or a row of a softmax or
// norm, where these are too few for all multiprocessors and long. `lanes` of their schedules are the threads of a
// block, `tile` = [blocks of a cluster]. Beside each stands what `block_reduce` or `block_row` make, for other GPUs.

#include "backends/cuda/ClusterForms.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/TakenForms.h"
#include "backends/cuda/BlockForms.h"
#include "backends/cuda/Gpus.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// What a barrier of the cluster with the values that are sent before it takes; an estimate, as it was not timed.
constexpr double kExchangeNs = 700;

namespace {
/// What the cost model looks at.
struct Work {
  DimExpr chunks, length; // results or rows, and elements of each
  double bytes;           // that an element is read and written in
  int64_t lanes;          // elements that a thread takes at once
  int64_t exchanges;      // values that all blocks combine, one after the other
};
struct Choice {
  int64_t threads, cluster;
  double ns;
};
} // namespace

/// `blocks` of them at once have their share of the bandwidth, one multiprocessor's each.
static double readingNs(const Gpu &gpu, double bytes, int64_t blocks) {
  return bytes / (gpu.bandwidth * std::min(1.0, double(blocks) / double(gpu.multiprocessors)));
}

/// The clusters that take the least time for `chunks` of them.
static Choice chooseCluster(cuda::KernelSpec &spec, const Work &work, int64_t chunks, const Gpu &gpu) {
  std::optional<Choice> best;
  double bytes = double(chunks) * double(work.length.constant()) * work.bytes;
  for (int64_t cluster = 2; cluster <= kMostOfCluster; cluster *= 2) {
    DimExpr part = spec.dims.resolve(spec.dims.ceilDiv(work.length, spec.dims.constant(cluster)));
    // One more barrier stands before a row.
    double ns = readingNs(gpu, bytes, chunks * cluster) + double(work.exchanges + 1) * kExchangeNs;
    if (!best || ns < best->ns)
      best = {threadsFor(part, work.lanes, kMostGivenThreads), cluster, ns};
  }
  return *best;
}

/// How many chunks a kernel of clusters is for: half as many as multiprocessors, where the number is not known before.
static int64_t mostChunks(DimExpr chunks, const Gpu &gpu) { return chunks.isConstant() ? 0 : gpu.multiprocessors / 2; }

static Walkers walkersOf(ScheduleAttr schedule) { return {schedule.getLanes(), schedule.getTile().front()}; }

/// Why a schedule that is given does not fit, or why clusters are not chosen; `beside` is what the kernel takes for
/// so many chunks otherwise.
static std::string choose(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule, const Work &work,
                          llvm::function_ref<double(int64_t chunks)> beside) {
  if (schedule) {
    int64_t threads = schedule.getLanes(), cluster = schedule.getTile().empty() ? 0 : schedule.getTile().front();
    if (areThreads(threads, kMostGivenThreads) && cluster >= 2 && cluster <= kMostOfCluster &&
        schedule == blockSchedule(spec, name, threads, cluster))
      return "";
    return "its `lanes`, the threads of a block, require a power of two from 32 to 512, and its tile is the number of "
           "blocks of a cluster, 2 to " +
           std::to_string(kMostOfCluster);
  }
  if (!work.length.isConstant())
    return "its rows may be short";
  const Gpu &gpu = gpuOf("sm_90");
  int64_t chunks = work.chunks.isConstant() ? work.chunks.constant() : 1;
  Choice best = chooseCluster(spec, work, chunks, gpu);
  if (chunks == 0 || best.ns >= beside(chunks))
    return "a block for each takes less time";
  schedule = blockSchedule(spec, name, best.threads, best.cluster);
  return "";
}

static DimExpr resolvedProduct(cuda::KernelSpec &spec, ArrayRef<DimExpr> sizes) {
  return spec.dims.resolve(spec.dims.product(sizes));
}

std::string cuda::planClusterReduce(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  if (!canBeWide(spec.target().name))
    return "sm_90a alone has clusters";
  ScheduleAttr block, columns;
  if (std::string refusal = planBlockReduce(spec, "block_reduce", block); !refusal.empty())
    return refusal;
  if (!schedule && planBlockColumns(spec, "block_columns", columns).empty())
    return "its results lie side by side";
  auto op = cast<ReduceOp>(cpu::findShapedRoot(spec));
  auto [length, lanes] = columnsOfReduce(spec, op);
  Work work{resolvedProduct(spec, spec.sizes->dims(op.getResult())), length,
            double(byteWidth(getElementTypeOrSelf(op.getOperand()))), lanes, 1};
  return choose(spec, name, schedule, work, [&](int64_t chunks) {
    const Gpu &gpu = gpuOf("sm_90");
    int64_t parts = partsOf(block);
    double bytes = double(chunks) * double(length.constant()) * work.bytes;
    return readingNs(gpu, bytes, chunks * parts) + (parts > 1 ? gpu.launchNs : 0);
  });
}

std::string cuda::planClusterRow(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  if (!canBeWide(spec.target().name))
    return "sm_90a alone has clusters";
  ScheduleAttr block;
  if (std::string refusal = planBlockRow(spec, "block_row", block); !refusal.empty())
    return refusal;
  auto [length, lanes] = columnsOfRow(spec);
  Value operand = rowOperand(spec);
  Dims sizes = spec.sizes->dims(operand);
  sizes.pop_back();
  constexpr int64_t kReductions = 2; // of a softmax, and of most norms
  Work work{resolvedProduct(spec, sizes), length, 2.0 * double(byteWidth(getElementTypeOrSelf(operand))), lanes,
            kReductions};
  return choose(spec, name, schedule, work, [&](int64_t chunks) {
    return readingNs(gpuOf("sm_90"), double(chunks) * double(length.constant()) * work.bytes, chunks);
  });
}

/// The kernel of clusters beside `emitted`, whose loops are written already.
static void describeWide(cuda::KernelSpec &spec, ScheduleAttr block, DimExpr chunks) {
  spec.threads = block.getLanes();
  spec.wide.chunk = Chunk::Cluster;
  spec.wide.threads = spec.schedule().getLanes();
  spec.wide.cluster = walkersOf(spec.schedule()).cluster;
  spec.wide.mostChunks = mostChunks(chunks, gpuOf("sm_90"));
}

cpu::EmittedKernel cuda::emitClusterReduce(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  ScheduleAttr block;
  [[maybe_unused]] std::string refusal = planBlockReduce(spec, "block_reduce", block);
  assert(refusal.empty() && "the plan has asked for it");
  auto op = cast<ReduceOp>(cpu::findShapedRoot(spec));
  cpu::EmittedKernel emitted = emitReduceBy(spec, module, symbol, block);
  spec.wide.module = ModuleOp::create(spec.kernel.getLoc());
  emitReduceLoops(spec, op, *spec.wide.module, "kernel", walkersOf(spec.schedule()), /*parts=*/1, partsOf(block) > 1);
  describeWide(spec, block, resolvedProduct(spec, spec.sizes->dims(op.getResult())));
  return emitted;
}

cpu::EmittedKernel cuda::emitClusterRow(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  ScheduleAttr block;
  [[maybe_unused]] std::string refusal = planBlockRow(spec, "block_row", block);
  assert(refusal.empty() && "the plan has asked for it");
  cpu::EmittedKernel emitted = emitRowLoops(spec, module, symbol, {block.getLanes()});
  spec.wide.module = ModuleOp::create(spec.kernel.getLoc());
  emitRowLoops(spec, *spec.wide.module, "kernel", walkersOf(spec.schedule()));
  describeWide(spec, block, spec.dims.resolve(emitted.chunks));
  return emitted;
}
