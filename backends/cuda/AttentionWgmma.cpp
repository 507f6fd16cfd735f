// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//     warpgroup 0, one thread   for each tile of the block: q; for each slab of keys: k, v      by tensor maps
//     warpgroups 1 (and 2)      s = q k^T by wgmma, both from shared memory; m, l and shares as elsewhere
//                               y = c y + p v by wgmma, whose left operand is the shares in registers
//
// One slab of k and one of v come while others are multiplied; two warpgroups are at different steps by themselves.

#include "backends/cuda/AttentionWgmma.h"
#include "backends/cuda/AttentionForms.h"
#include "backends/cuda/AttentionForward.h"
#include "backends/cuda/AttentionWarpgroups.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

constexpr int64_t kStages = 2;

static int64_t slabBytes(const AttentionShape &shape, const AttentionTile &tile) {
  int64_t boxes = consumersOf(tile) * (shape.depth / kBoxNumbers) + kStages * (shape.depth + shape.width) / kBoxNumbers;
  return boxes * kBoxBytes;
}
/// Of q, and of k and v in each stage.
static const AttentionWarpgroups::Barriers barriers[] = {{1}, {kStages}, {kStages}};

//===- Plan -------------------------------------------------------------------------------------===//

static std::string misfit(const AttentionShape &shape, const AttentionTile &tile) {
  if ((tile.own != 64 && tile.own != 128) || tile.other != kOtherRows || tile.inner != kWarpgroupRows)
    return "its tile is 64 or 128 rows, 64 keys and 64 rows of a warpgroup";
  if (shape.fold(tile) > 1)
    return "a block would have the rows of several heads";
  if (slabBytes(shape, tile) + AttentionWarpgroups::barrierBytes(barriers) > gpuOf("sm_90").sharedOfBlock)
    return "its slabs do not fit into 227 KiB";
  return "";
}

std::string cuda::planWgmmaAttention(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  auto blocks = [](DimContext &dims, const AttentionShape &shape, const AttentionTile &tile) {
    return AttentionWarpgroups::blocksOf(dims, shape.heads, shape.rows, tile);
  };
  return AttentionWarpgroups::plan(spec, name, schedule, {false, "mma_attention", misfit, blocks});
}

//===- Code -------------------------------------------------------------------------------------===//

namespace {
class WgmmaAttention : ForwardTiles {
public:
  WgmmaAttention(cpu::SingleKernel &k, const AttentionShape &shape, const AttentionTile &tile)
      : ForwardTiles(k, shape, tile), groups(t, shape, tile, slabBytes(shape, tile)), w(groups.w) {}
  void emit(WideKernel &wide);

private:
  /// How many slabs and tiles came before, of the block.
  struct Count {
    Value slabs, tiles;
  };
  struct Place {
    Value head, keyHead, first, begin, end; // first row; keys from begin to end
  };
  enum Barrier { kQueries = 0, kKeysOf = 2, kValuesOf = 2 + 2 * kStages };

  Place placeOf(Value number);
  void forTiles(function_ref<Count(const Place &, Count)> body);
  /// Of k or v in a stage.
  Value barrier(Barrier of, bool isEmpty, Value stage) { return groups.barrier(of + (isEmpty ? kStages : 0), stage); }
  int64_t keyBytes() const { return shape.depth / kBoxNumbers * kBoxBytes; }
  int64_t valueBytes() const { return shape.width / kBoxNumbers * kBoxBytes; }
  int64_t queryBytes() const { return consumersOf(tile) * keyBytes(); }
  Value keysAt(Value stage) { return groups.at(t.add(t.mul(stage, keyBytes()), queryBytes())); }
  Value valuesAt(Value stage) {
    return groups.at(t.add(t.mul(stage, valueBytes()), queryBytes() + kStages * keyBytes()));
  }
  void emitProducer();
  void emitConsumer(Value warpgroup);

  AttentionWarpgroups groups;
  WgmmaBuilder &w;
  Value maps[3], block, blocks; // the block's number, and how many there are
};
} // namespace

WgmmaAttention::Place WgmmaAttention::placeOf(Value number) {
  DimContext &dims = k.dims();
  DimExpr blocks = dims.resolve(dims.ceilDiv(shape.rows, dims.constant(tile.own)));
  SmallVector<Value> at = fn.delinearize(number, {shape.heads, blocks});
  // The last rows count the most keys of a causal attention: they come first.
  Value block = shape.after ? t.sub(t.add(fn.materialize(blocks), -1), at[1]) : at[1];
  Value first = t.mul(block, tile.own);
  return {at[0], t.div(at[0], shape.groups), first, t.mul(t.div(firstKey(first), kOtherRows), kOtherRows),
          keysEnd(first, tile.own)};
}

void WgmmaAttention::forTiles(function_ref<Count(const Place &, Count)> body) {
  DimContext &dims = k.dims();
  DimExpr count = dims.resolve(dims.mul(shape.heads, dims.ceilDiv(shape.rows, dims.constant(tile.own))));
  auto loop = scf::ForOp::create(b, block, fn.materialize(count), blocks, ValueRange{fn.index(0), fn.index(0)});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Count next = body(placeOf(loop.getInductionVar()), {loop.getRegionIterArg(0), loop.getRegionIterArg(1)});
  scf::YieldOp::create(b, ValueRange{next.slabs, next.tiles});
}

void WgmmaAttention::emitProducer() {
  t.when(t.less(thread, fn.index(1)), [&] {
    forTiles([&](const Place &at, Count count) -> Count {
      w.wait(groups.barrier(kQueries + 1), groups.parityBefore(count.tiles));
      w.arriveAndExpect(groups.barrier(kQueries), queryBytes());
      groups.bring(maps[0], shape.depth, at.head, at.first, consumersOf(tile), groups.at(0), groups.barrier(kQueries));
      Values end =
          fn.loop(at.begin, at.end, kOtherRows, ValueRange{count.slabs}, [&](Value key, ValueRange so) -> Values {
            Value stage = t.rem(so[0], kStages), turn = t.div(so[0], kStages);
            auto bring = [&](Barrier of, Value map, int64_t size, Value to) {
              w.wait(barrier(of, true, stage), groups.parityBefore(turn));
              w.arriveAndExpect(barrier(of, false, stage), size / kBoxNumbers * kBoxBytes);
              groups.bring(map, size, at.keyHead, key, 1, to, barrier(of, false, stage));
            };
            bring(kKeysOf, maps[1], shape.depth, keysAt(stage));
            bring(kValuesOf, maps[2], shape.width, valuesAt(stage));
            return {t.add(so[0], 1)};
          });
      return {end[0], t.add(count.tiles, 1)};
    });
  });
}

void WgmmaAttention::emitConsumer(Value warpgroup) {
  products = std::make_unique<WarpgroupCore>(t, warpgroup, kOtherRows);
  results = std::make_unique<WarpgroupCore>(t, warpgroup, shape.width);
  forTiles([&](const Place &at, Count count) -> Count {
    w.joinWarp();
    w.wait(groups.barrier(kQueries), groups.parityOf(count.tiles));
    State fresh{Values(2, number(-INFINITY)), Values(2, number(0)), zeros(*results)};
    Values init = fresh.all();
    init.push_back(count.slabs);
    Values last = fn.loop(at.begin, at.end, kOtherRows, init, [&](Value key, ValueRange carried) -> Values {
      State state = State::of(carried.drop_back(), 2);
      Value stage = t.rem(carried.back(), kStages), parity = groups.parityOf(t.div(carried.back(), kStages));
      w.wait(barrier(kKeysOf, false, stage), parity);
      Values scores = groups.multiplyRows(groups.at(0), warpgroup, keysAt(stage), shape.depth, zeros(*products));
      scores = w.settle(scores, 0);
      groups.give(barrier(kKeysOf, true, stage));
      Grid grid{*products, at.head, at.first, key, /*ownsKeys=*/false, tile.own, kOtherRows};
      Shares shares = updateSoftmax(state, counted(grid, scoresOf(grid, scores), -INFINITY));
      scaleResults(state, shares.factors);
      w.wait(barrier(kValuesOf, false, stage), parity);
      w.joinWarp();
      state.result = w.multiplyHeld(shape.type, shares.held, {valuesAt(stage), false}, shape.width, state.result);
      state.result = w.settle(state.result, 0);
      groups.give(barrier(kValuesOf, true, stage));
      Values next = state.all();
      next.push_back(t.add(carried.back(), 1));
      return next;
    });
    groups.give(groups.barrier(kQueries + 1));
    finish(State::of(ValueRange(last).drop_back(), 2), at.head, at.first);
    return {last.back(), t.add(count.tiles, 1)};
  });
}

void WgmmaAttention::emit(WideKernel &wide) {
  block = fn.begin(); // maps come behind them
  blocks = fn.end();
  maps[0] = groups.addMap(wide, 0, shape.rows, shape.heads, shape.depth);
  maps[1] = groups.addMap(wide, 1, shape.keys, shape.keyHeads, shape.depth);
  maps[2] = groups.addMap(wide, 2, shape.keys, shape.keyHeads, shape.width);
  groups.emit(wide, barriers, [&] { emitProducer(); }, [&](Value warpgroup) { emitConsumer(warpgroup); });
}

cpu::EmittedKernel cuda::emitWgmmaAttention(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  std::string refusal;
  AttentionShape shape = *AttentionShape::of(spec, Core::Warps, /*isGradient=*/false, refusal);
  AttentionTile beside = largestTile(shape);
  cpu::EmittedKernel emitted = emitAttention(spec, module, symbol, Core::Warps, beside);
  spec.threads = beside.threads(Core::Warps);
  spec.wide.module = ModuleOp::create(spec.kernel.getLoc());
  cpu::SingleKernel k(spec, *spec.wide.module, "kernel", shape.root);
  WgmmaAttention(k, shape, AttentionWarpgroups::tileOf(spec.schedule())).emit(spec.wide);
  spec.wide.leastChunks = AttentionWarpgroups::leastChunks(spec.schedule(), beside);
  k.finish();
  return emitted;
}
