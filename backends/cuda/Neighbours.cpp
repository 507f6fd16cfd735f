// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tuning tries for a kernel: tiles that the cost model knows, those that it prefers first; then one number of the
// kernel's own schedule larger or smaller at a time. A product or an attention of wgmma may be one of mma.sync instead,
// a product by wgmma one of blocks that share slabs, a row or a reduction of a block one of clusters, and the other way
// round; no other form is tried, as it would round in another way.

#include "backends/cuda/AttentionShape.h"
#include "backends/cuda/AttentionWarpgroups.h"
#include "backends/cuda/BlockForms.h"
#include "backends/cuda/ClusterForms.h"
#include "backends/cuda/CudaBackend.h"
#include "backends/cuda/ProductTile.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

using Schedules = SmallVector<ScheduleAttr>;

/// Of the tiles that the cost model knows.
constexpr size_t kMostRanked = 12;

static std::optional<Core> coreOfProduct(StringRef form) {
  return llvm::StringSwitch<std::optional<Core>>(form)
      .Cases({"wgmma_product", kClusterProduct}, Core::Warpgroups)
      .Case("mma_product", Core::Warps)
      .Case("tf32_product", Core::WarpsTf32)
      .Case("product", Core::Threads)
      .Default(std::nullopt);
}

/// The same attention by wgmma for one by mma.sync, and the other way round; empty for others.
static std::string siblingOf(StringRef form) {
  if (form.consume_front("wgmma_"))
    return ("mma_" + form).str();
  return form.consume_front("mma_") ? ("wgmma_" + form).str() : "";
}

/// The forms of a product that multiply as it does, its own the first.
static SmallVector<StringRef> formsLike(StringRef form) {
  SmallVector<StringRef> forms = {form};
  const StringRef ofTensorCores[] = {"mma_product", "wgmma_product", kClusterProduct};
  if (llvm::is_contained(ofTensorCores, form))
    for (StringRef other : ofTensorCores)
      if (other != form)
        forms.push_back(other);
  return forms;
}

/// `numbers` with number `i` twice as large, then half as large.
static SmallVector<SmallVector<int64_t>> twiceAndHalf(ArrayRef<int64_t> numbers, size_t i) {
  SmallVector<SmallVector<int64_t>> result;
  for (int64_t other : {numbers[i] * 2, numbers[i] / 2})
    if (other > 0) {
      result.emplace_back(numbers);
      result.back()[i] = other;
    }
  return result;
}

static void addProducts(cuda::KernelSpec &spec, ScheduleAttr now, Schedules &wanted) {
  MLIRContext *context = spec.kernel.getContext();
  for (StringRef form : formsLike(now.getEmitter())) {
    std::optional<Core> core = coreOfProduct(form);
    std::string refusal;
    std::optional<MatrixProduct> product = core ? MatrixProduct::of(spec, refusal) : std::nullopt;
    std::optional<ProductTypes> types = product ? ProductTypes::of(*product, *core, refusal) : std::nullopt;
    if (!types)
      continue;
    const Gpu &gpu = gpuOf(*core == Core::Warpgroups ? "sm_90" : spec.target().name);
    std::vector<RankedTile> ranked = rankTiles(spec, *product, *types, *core, gpu, /*parts=*/0, sharingBlocksOf(form));
    for (const RankedTile &each : ArrayRef(ranked).take_front(kMostRanked))
      wanted.push_back(each.tile.schedule(context, form, *core));
  }
  Core core = *coreOfProduct(now.getEmitter());
  ArrayRef<int64_t> numbers = now.getTile();
  auto add = [&](ArrayRef<int64_t> n) {
    wanted.push_back(ProductTile{n[0], n[1], n[2], n[3], n[4], n[5], n[6]}.schedule(context, now.getEmitter(), core));
  };
  constexpr size_t kStages = 5;
  for (size_t i = 0; i < numbers.size(); ++i)
    if (i != kStages)
      llvm::for_each(twiceAndHalf(numbers, i), add);
  for (int64_t step : {1, -1, 2, -2}) {
    SmallVector<int64_t> other(numbers);
    other[kStages] += step;
    if (other[kStages] > 0)
      add(other);
  }
}

static ScheduleAttr attentionSchedule(ScheduleAttr now, StringRef form, ArrayRef<int64_t> numbers) {
  int64_t own = numbers[0], inner = numbers[2];
  int64_t threads = form.starts_with("wgmma_") ? kWarpgroupThreads * (1 + own / kWarpgroupRows)
                                               : own / inner * (form.starts_with("mma_") ? 32 : 8);
  return ScheduleAttr::get(now.getContext(), form, threads, numbers, 0, {}, {});
}

static void addAttention(cuda::KernelSpec &spec, ScheduleAttr now, Schedules &wanted) {
  std::string sibling = siblingOf(now.getEmitter());
  for (StringRef form : {now.getEmitter(), StringRef(sibling)}) {
    if (form.starts_with("wgmma_"))
      for (int64_t rows : {2 * kWarpgroupRows, kWarpgroupRows})
        wanted.push_back(attentionSchedule(now, form, {rows, kOtherRows, kWarpgroupRows}));
    ScheduleAttr planned;
    if (const KernelForm *found = findForm(form); found && found->plan(spec, found->name, planned).empty())
      wanted.push_back(planned);
  }
  if (now.getEmitter().starts_with("wgmma_"))
    return;
  for (size_t i = 0; i < now.getTile().size(); ++i)
    for (ArrayRef<int64_t> numbers : twiceAndHalf(now.getTile(), i))
      if (i != 3 || numbers[i] > 1) // one part is no number
        wanted.push_back(attentionSchedule(now, now.getEmitter(), numbers));
      else
        wanted.push_back(attentionSchedule(now, now.getEmitter(), numbers.drop_back()));
}

/// What a form of clusters is without them, and the other way round, where there are both.
static std::string clusterSiblingOf(StringRef form) {
  if (form.consume_front("cluster_"))
    return ("block_" + form).str();
  return form.consume_front("block_") ? ("cluster_" + form).str() : "";
}

/// Clusters of all sizes, with these threads for each block.
static void addClusters(cuda::KernelSpec &spec, StringRef form, int64_t threads, Schedules &wanted) {
  for (int64_t cluster = 2; cluster <= kMostOfCluster; cluster *= 2)
    wanted.push_back(blockSchedule(spec, form, threads, cluster));
}

/// Of `cluster_reduce` and `cluster_row`: blocks and threads, or no clusters.
static void addFromClusters(cuda::KernelSpec &spec, ScheduleAttr now, Schedules &wanted) {
  int64_t cluster = now.getTile().front();
  addClusters(spec, now.getEmitter(), now.getLanes(), wanted);
  for (int64_t threads : {now.getLanes() * 2, now.getLanes() / 2})
    wanted.push_back(blockSchedule(spec, now.getEmitter(), threads, cluster));
  const KernelForm *block = findForm(clusterSiblingOf(now.getEmitter()));
  if (ScheduleAttr planned; block->plan(spec, block->name, planned).empty())
    wanted.push_back(planned);
}

/// Of `block_reduce`, `block_columns`, `block_row`, `block_running` and `block_order`: threads, and parts of a sum; or
/// clusters.
static void addBlocks(cuda::KernelSpec &spec, ScheduleAttr now, Schedules &wanted) {
  addClusters(spec, clusterSiblingOf(now.getEmitter()), now.getLanes(), wanted);
  int64_t parts = partsOf(now);
  auto add = [&](int64_t threads, int64_t parts) {
    wanted.push_back(blockSchedule(spec, now.getEmitter(), threads, parts));
  };
  for (int64_t threads : {now.getLanes() * 2, now.getLanes() / 2})
    add(threads, parts);
  if (now.getEmitter() == "block_reduce" || now.getEmitter() == "block_columns" || now.getEmitter() == "block_running")
    for (int64_t other : {parts * 2, parts * 4, parts / 2, int64_t(1)})
      add(now.getLanes(), std::max<int64_t>(other, 1));
}

SmallVector<ScheduleAttr> CudaBackend::neighbours(schedule::KernelSpec &given) {
  auto &spec = static_cast<cuda::KernelSpec &>(given);
  ScheduleAttr now = spec.schedule();
  Schedules wanted, result;
  if (!now)
    return result;
  if (StringRef form = now.getEmitter(); coreOfProduct(form))
    addProducts(spec, now, wanted);
  else if (form.contains("attention"))
    addAttention(spec, now, wanted);
  else if (form == "block_reduce" || form == "block_columns" || form == "block_row" || form == "block_running" ||
           form == "block_order")
    addBlocks(spec, now, wanted);
  else if (form.starts_with("cluster_"))
    addFromClusters(spec, now, wanted);
  for (ScheduleAttr schedule : wanted) {
    const KernelForm *form = findForm(schedule.getEmitter());
    if (form && schedule != now && !llvm::is_contained(result, schedule) &&
        form->plan(spec, form->name, schedule).empty())
      result.push_back(schedule);
  }
  return result;
}
