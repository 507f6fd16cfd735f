// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backward part of attention by wgmma. Scores are formed with own positions as rows, so that shares and slopes are
// the left operands of what sums them where they lie in registers, and nothing is turned through shared memory:
//
//     own keys:   s^T = k q^T, dp^T = v dy^T by wgmma, both operands from shared memory, k inside
//                 dv += p^T dy, dk += ds^T q: dy and q are read from the same slabs with k outside
//     own rows:   s = q k^T, dp = dy v^T; dq += ds k
//
//     warpgroup 0, one warp     for each tile of the block: own rows; for each slab: others' rows by tensor maps,
//                               their sums of logarithms and of dy y by its lanes
//     warpgroups 1 (and 2)      64 own rows each
//
// Dynamic shared memory: own rows; for each stage deep and wide rows of others; for each stage 64 sums of logarithms
// and 64 of dy y; mbarriers.

#include "backends/cuda/AttentionForms.h"
#include "backends/cuda/AttentionGradient.h"
#include "backends/cuda/AttentionWarpgroups.h"
#include "backends/cuda/AttentionWgmma.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

constexpr int64_t kMostStages = 4;
constexpr int64_t kSumBytes = 4, kSumsBytes = 2 * kOtherRows * kSumBytes; // of a stage
/// Sums of dk and dv that a thread holds beside 64 of scores and slopes; where a bias is read beside them.
constexpr int64_t kMostSums = 128, kMostSumsWithBias = 64;

static int64_t rowsBytes(const AttentionShape &shape) { return (shape.depth + shape.width) / kBoxNumbers * kBoxBytes; }
static int64_t ownBytes(const AttentionShape &shape, const AttentionTile &tile) {
  return consumersOf(tile) * rowsBytes(shape);
}

/// Of own rows; of slabs, which a thread asks for and lanes add sums to.
static std::array<AttentionWarpgroups::Barriers, 2> barriersOf(int64_t stages) { return {{{1}, {stages, 2}}}; }

static int64_t slabBytes(const AttentionShape &shape, const AttentionTile &tile, int64_t stages) {
  return ownBytes(shape, tile) + stages * (rowsBytes(shape) + kSumsBytes);
}

/// As many as fit, up to four; less than 2 for too few.
static int64_t stagesOf(const AttentionShape &shape, const AttentionTile &tile) {
  int64_t stages = kMostStages;
  while (stages > 1 && slabBytes(shape, tile, stages) + AttentionWarpgroups::barrierBytes(barriersOf(stages)) >
                           gpuOf("sm_90").sharedOfBlock)
    --stages;
  return stages;
}

static bool isSplitOf(const AttentionShape &shape) {
  return (shape.depth + shape.width) * kWarpgroupRows / kWarpgroupThreads >
         (shape.bias() ? kMostSumsWithBias : kMostSums);
}

//===- Plan -------------------------------------------------------------------------------------===//

static std::string misfit(const AttentionShape &shape, const AttentionTile &tile) {
  if ((tile.own != 64 && tile.own != 128) || tile.other != kOtherRows || tile.inner != kWarpgroupRows)
    return "its tile is 64 or 128 own keys or rows, 64 others and 64 of a warpgroup";
  if (stagesOf(shape, tile) < 2)
    return "its slabs do not fit into 227 KiB";
  return "";
}

std::string cuda::planWgmmaAttentionGradient(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  auto blocks = [](DimContext &dims, const AttentionShape &shape, const AttentionTile &tile) {
    return dims.add(AttentionWarpgroups::blocksOf(dims, shape.keyHeads, shape.keys, tile),
                    AttentionWarpgroups::blocksOf(dims, shape.heads, shape.rows, tile));
  };
  return AttentionWarpgroups::plan(spec, name, schedule, {true, "mma_attention_gradient", misfit, blocks});
}

//===- Code -------------------------------------------------------------------------------------===//

namespace {
class WgmmaAttentionGradient : GradientTiles {
public:
  WgmmaAttentionGradient(cpu::SingleKernel &k, const AttentionShape &shape, const AttentionTile &tile)
      : GradientTiles(k, shape, tile), stages(stagesOf(shape, tile)),
        groups(t, shape, tile, slabBytes(shape, tile, stages)), w(groups.w) {}
  void emit(WideKernel &wide);

private:
  /// How many slabs and tiles came before, of the block.
  struct Count {
    Value slabs, tiles;
  };
  enum Barrier { kOwn = 0, kSlabs = 2 };

  void forTasks(function_ref<Count(const Task &, const Place &, Count)> body);
  Values forSlabs(const Task &task, const Place &at, ValueRange init,
                  function_ref<Values(Value head, Value position, ValueRange carried)> body);
  Value full(Value stage) { return groups.barrier(kSlabs, stage); }
  Value empty(Value stage) { return groups.barrier(kSlabs + stages, stage); }
  int64_t bytesOf(int64_t size) const { return size / kBoxNumbers * kBoxBytes; }
  Value ownWide() { return groups.at(consumersOf(tile) * bytesOf(shape.depth)); }
  Value deepAt(Value stage) { return groups.at(t.add(t.mul(stage, rowsBytes(shape)), ownBytes(shape, tile))); }
  Value wideAt(Value stage) { return t.behind(deepAt(stage), fn.index(bytesOf(shape.depth))); }
  /// Of the row that a score has in a stage: its sum of logarithms, in units of log2(e), and of dy y.
  Value sumAt(Value stage, bool isOfLogs, Value row) {
    int64_t begin = ownBytes(shape, tile) + stages * rowsBytes(shape) + (isOfLogs ? 0 : kSumsBytes / 2);
    return groups.at(t.add(t.add(t.mul(stage, kSumsBytes), t.mul(row, kSumBytes)), begin));
  }
  Value isFirstLane() { return t.less(t.rem(thread, 32), fn.index(1)); }
  Value rowInside(Value row) { return t.min(row, t.add(fn.materialize(shape.rows), -1)); }

  void ask();
  void bringSums(Value head, Value first, Value stage, bool withRows);
  void multiply(Value warpgroup);
  /// Of rows of a tile of scores: of own rows from what was read before, of others' from the stage.
  struct Sums {
    Values logs, rows;
  };
  Sums sumsOfOwn(TileCore &core, const Place &at);
  Sums sumsOfStage(TileCore &core, Value stage, bool withRows);
  Values addSlab(const Task &task, TileCore &scores, const Grid &grid, Value warpgroup, Value stage, const Sums *own,
                 ValueRange sums);

  const int64_t stages;
  AttentionWarpgroups groups;
  WgmmaBuilder &w;
  Value maps[4], block, blocks; // by operand; the block's number, and how many there are
};
} // namespace

/// Tiles of the block, task after task: the number of the first one of a task follows from the last one before.
void WgmmaAttentionGradient::forTasks(function_ref<Count(const Task &, const Place &, Count)> body) {
  DimContext &dims = k.dims();
  DimExpr end = dims.constant(0);
  Values so = {block, fn.index(0), fn.index(0)};
  for (const Task &task : tasks(isSplitOf(shape))) {
    Value begin = fn.materialize(end);
    end = dims.resolve(dims.add(end, dims.mul(task.heads, task.blocks)));
    auto loop = scf::ForOp::create(b, so[0], fn.materialize(end), blocks, so);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    Count next = body(task, placeOf(task, t.sub(number, begin)), {loop.getRegionIterArg(1), loop.getRegionIterArg(2)});
    scf::YieldOp::create(b, ValueRange{t.add(number, blocks), next.slabs, next.tiles});
    so = Values(loop.getResults());
  }
}

WgmmaAttentionGradient::Values WgmmaAttentionGradient::forSlabs(const Task &task, const Place &at, ValueRange init,
                                                                function_ref<Values(Value, Value, ValueRange)> body) {
  Others others = othersOf(task.pass, at);
  auto ofHead = [&](Value head, ValueRange before) {
    return fn.loop(others.begin, others.end, kOtherRows, before,
                   [&](Value position, ValueRange carried) { return body(head, position, carried); });
  };
  if (others.heads == 1)
    return ofHead(others.head, init);
  return fn.loop(fn.index(0), fn.index(others.heads), 1, init,
                 [&](Value nth, ValueRange carried) { return ofHead(t.add(others.head, nth), carried); });
}

/// Behind the last row are the last row's.
void WgmmaAttentionGradient::bringSums(Value head, Value first, Value stage, bool withRows) {
  for (int64_t i = 0; i < kOtherRows; i += 32) {
    Value at = t.add(t.rem(thread, 32), i), row = rowInside(t.add(first, at));
    t.store(times(ofRow(kLogSums, head, row), number(M_LOG2E)), sumAt(stage, true, at), kSumBytes);
    if (withRows)
      t.store(ofRow(kRowSums, head, row), sumAt(stage, false, at), kSumBytes);
  }
}

void WgmmaAttentionGradient::ask() {
  t.when(t.less(thread, fn.index(32)), [&] {
    forTasks([&](const Task &task, const Place &at, Count count) -> Count {
      const Pass &pass = task.pass;
      w.wait(groups.barrier(kOwn + 1), groups.parityBefore(count.tiles));
      t.when(isFirstLane(), [&] {
        Value own = groups.barrier(kOwn);
        int64_t bytes = bytesOf(shape.depth) + (task.wanted.slopes ? bytesOf(shape.width) : 0);
        w.arriveAndExpect(own, consumersOf(tile) * bytes);
        groups.bring(maps[pass.deep], shape.depth, at.head, at.first, consumersOf(tile), groups.at(0), own);
        if (task.wanted.slopes)
          groups.bring(maps[pass.wide], shape.width, at.head, at.first, consumersOf(tile), ownWide(), own);
      });
      Values end = forSlabs(task, at, count.slabs, [&](Value head, Value position, ValueRange so) -> Values {
        Value stage = t.rem(so[0], stages);
        w.wait(empty(stage), groups.parityBefore(t.div(so[0], stages)));
        t.when(isFirstLane(), [&] {
          w.arriveAndExpect(full(stage), rowsBytes(shape));
          groups.bring(maps[pass.otherDeep], shape.depth, head, position, 1, deepAt(stage), full(stage));
          groups.bring(maps[pass.otherWide], shape.width, head, position, 1, wideAt(stage), full(stage));
        });
        if (pass.ownsKeys)
          bringSums(head, position, stage, task.wanted.slopes);
        w.joinWarp();
        groups.give(full(stage));
        return {t.add(so[0], 1)};
      });
      return {end[0], t.add(count.tiles, 1)};
    });
  });
}

WgmmaAttentionGradient::Sums WgmmaAttentionGradient::sumsOfOwn(TileCore &core, const Place &at) {
  SmallVector<TileCore::Run> runs = core.runs();
  Sums sums{Values(core.numSums()), Values(core.numSums())};
  size_t perRow = runs.size() / static_cast<size_t>(core.numRows());
  Value logs, rows;
  for (auto [nth, run] : llvm::enumerate(runs)) {
    if (nth % perRow == 0) {
      Value row = rowInside(t.add(at.first, run.row));
      logs = times(ofRow(kLogSums, at.head, row), number(M_LOG2E));
      rows = ofRow(kRowSums, at.head, row);
    }
    for (unsigned i : run.sums) {
      sums.logs[i] = logs;
      sums.rows[i] = rows;
    }
  }
  return sums;
}

WgmmaAttentionGradient::Sums WgmmaAttentionGradient::sumsOfStage(TileCore &core, Value stage, bool withRows) {
  SmallVector<TileCore::Run> runs = core.runs();
  Sums sums{Values(core.numSums()), Values(core.numSums())};
  size_t perRow = runs.size() / static_cast<size_t>(core.numRows());
  auto pair = VectorType::get({2}, types.sum);
  for (size_t column = 0; column < perRow; ++column) {
    auto load = [&](bool isOfLogs) { return t.load(pair, sumAt(stage, isOfLogs, runs[column].column), 2 * kSumBytes); };
    Value logs = load(true), rows = withRows ? load(false) : Value();
    for (size_t nth = column; nth < runs.size(); nth += perRow)
      for (auto [n, i] : llvm::enumerate(runs[nth].sums)) {
        auto at = static_cast<int64_t>(n);
        sums.logs[i] = vector::ExtractOp::create(b, logs, at);
        sums.rows[i] = withRows ? vector::ExtractOp::create(b, rows, at).getResult() : Value();
      }
  }
  return sums;
}

/// `sums` and what the slab of a stage adds to them.
WgmmaAttentionGradient::Values WgmmaAttentionGradient::addSlab(const Task &task, TileCore &scores, const Grid &grid,
                                                               Value warpgroup, Value stage, const Sums *own,
                                                               ValueRange sums) {
  auto [wantsShares, wantsSlopes] = task.wanted;
  Values held = groups.multiplyRows(groups.at(0), warpgroup, deepAt(stage), shape.depth, zeros(scores)), slopes;
  if (wantsSlopes)
    slopes = groups.multiplyRows(ownWide(), warpgroup, wideAt(stage), shape.width, zeros(scores));
  held = w.settle(held, wantsSlopes ? shape.width / kBoxNumbers : 0);
  Sums ofRows = own ? *own : sumsOfStage(scores, stage, wantsSlopes);
  size_t count = held.size();
  held = scoresOf(grid, held);
  for (auto [share, logs] : llvm::zip(held, ofRows.logs))
    share = power(minus(share, logs));
  if (wantsSlopes)
    for (auto [i, slope] : llvm::enumerate(w.settle(slopes, 0)))
      held.push_back(times(held[i], minus(slope, ofRows.rows[i])));
  held = counted(grid, held, 0); // both: 0 times what may be no number
  w.joinWarp();
  Values byShares, bySlopes;
  if (wantsShares)
    byShares = w.multiplyHeld(shape.type, ArrayRef(held).take_front(count), {wideAt(stage), false}, shape.width,
                              sums.take_front(shape.width * kWarpgroupRows / kWarpgroupThreads));
  if (wantsSlopes)
    bySlopes = w.multiplyHeld(shape.type, ArrayRef(held).drop_front(count), {deepAt(stage), false}, shape.depth,
                              sums.take_back(shape.depth * kWarpgroupRows / kWarpgroupThreads));
  if (wantsShares)
    byShares = w.settle(byShares, wantsSlopes);
  if (wantsSlopes)
    llvm::append_range(byShares, w.settle(bySlopes, 0));
  return byShares;
}

void WgmmaAttentionGradient::multiply(Value warpgroup) {
  WarpgroupCore scores(t, warpgroup, kOtherRows), byShares(t, warpgroup, shape.width),
      bySlopes(t, warpgroup, shape.depth);
  forTasks([&](const Task &task, const Place &at, Count count) -> Count {
    bool ownsKeys = task.pass.ownsKeys;
    w.joinWarp();
    w.wait(groups.barrier(kOwn), groups.parityOf(count.tiles));
    Sums own;
    if (!ownsKeys)
      own = sumsOfOwn(scores, at);
    Values init = task.wanted.shares ? zeros(byShares) : Values();
    if (task.wanted.slopes)
      llvm::append_range(init, zeros(bySlopes));
    init.push_back(count.slabs);
    Values last = forSlabs(task, at, init, [&](Value head, Value position, ValueRange carried) -> Values {
      Value stage = t.rem(carried.back(), stages);
      w.wait(full(stage), groups.parityOf(t.div(carried.back(), stages)));
      Grid grid{scores,
                ownsKeys ? head : at.head,
                ownsKeys ? position : at.first,
                ownsKeys ? at.first : position,
                ownsKeys,
                tile.own,
                kOtherRows};
      Values next = addSlab(task, scores, grid, warpgroup, stage, ownsKeys ? nullptr : &own, carried.drop_back());
      groups.give(empty(stage));
      next.push_back(t.add(carried.back(), 1));
      return next;
    });
    groups.give(groups.barrier(kOwn + 1));
    storeSums(task, &byShares, &bySlopes, ValueRange(last).drop_back(), at);
    return {last.back(), t.add(count.tiles, 1)};
  });
}

void WgmmaAttentionGradient::emit(WideKernel &wide) {
  block = fn.begin(); // maps come behind them
  blocks = fn.end();
  maps[kQuery] = groups.addMap(wide, kQuery, shape.rows, shape.heads, shape.depth);
  maps[kKey] = groups.addMap(wide, kKey, shape.keys, shape.keyHeads, shape.depth);
  maps[kValue] = groups.addMap(wide, kValue, shape.keys, shape.keyHeads, shape.width);
  maps[kCotangent] = groups.addMap(wide, kCotangent, shape.rows, shape.heads, shape.width);
  groups.emit(wide, barriersOf(stages), [&] { ask(); }, [&](Value warpgroup) { multiply(warpgroup); });
}

cpu::EmittedKernel cuda::emitWgmmaAttentionGradient(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  std::string refusal;
  AttentionShape shape = *AttentionShape::of(spec, Core::Warps, /*isGradient=*/true, refusal);
  AttentionTile beside = largestTile(shape);
  cpu::EmittedKernel emitted = emitAttentionGradient(spec, module, symbol, Core::Warps, beside);
  spec.threads = beside.threads(Core::Warps);
  spec.wide.module = ModuleOp::create(spec.kernel.getLoc());
  cpu::SingleKernel k(spec, *spec.wide.module, "kernel", shape.root);
  WgmmaAttentionGradient(k, shape, AttentionWarpgroups::tileOf(spec.schedule())).emit(spec.wide);
  spec.wide.leastChunks = AttentionWarpgroups::leastChunks(spec.schedule(), beside);
  k.finish();
  return emitted;
}
