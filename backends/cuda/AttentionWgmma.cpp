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
#include "backends/cuda/Shuffles.h"
#include "backends/cuda/WgmmaInstructions.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

constexpr int64_t kThreads = 128; // of a warpgroup
constexpr int64_t kRows = 64, kKeys = 64, kStages = 2;
constexpr int64_t kBoxBytes = 64 * kSwizzleBytes; // 64 rows of 64 numbers
constexpr int64_t kFewRegisters = 40, kManyRegisters = 232;

static int64_t consumersOf(const AttentionTile &tile) { return tile.own / kRows; }
static int64_t slabBytes(const AttentionShape &shape, const AttentionTile &tile) {
  int64_t boxes = tile.own / kRows * (shape.depth / 64) + kStages * (shape.depth + shape.width) / 64;
  return boxes * kBoxBytes;
}
/// Of q, and of k and v in each stage: full and empty.
constexpr int64_t kBarrierBytes = 8 * (2 + 4 * kStages);

//===- Plan -------------------------------------------------------------------------------------===//

static std::string misfit(const AttentionShape &shape, const AttentionTile &tile) {
  if ((tile.own != 64 && tile.own != 128) || tile.other != kKeys || tile.inner != kRows || tile.parts != 1)
    return "its tile is 64 or 128 rows, 64 keys and 64 rows of a warpgroup";
  if (shape.depth % 64 || shape.width % 64 || shape.depth > 256 || shape.width > 256)
    return "rows of a head are 64, 128, 192 or 256 numbers";
  if (shape.fold(tile) > 1)
    return "a block would have the rows of several heads";
  if (slabBytes(shape, tile) + kBarrierBytes > gpuOf("sm_90").sharedOfBlock)
    return "its slabs do not fit into 227 KiB";
  return "";
}

/// Rows of 256 numbers take the registers of two warpgroups.
static AttentionTile wideTileOf(const AttentionShape &shape) {
  return {std::max(shape.depth, shape.width) > 128 ? 64 : 128, kKeys, kRows};
}

std::string cuda::planWgmmaAttention(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  StringRef generation = spec.target().name;
  if (generation != "sm_90a" && gpuOf(generation).generation != "sm_90" &&
      !llvm::is_contained({"sm_80", "sm_86", "sm_87", "sm_89"}, generation))
    return "sm_90a alone has wgmma";
  std::string refusal;
  std::optional<AttentionShape> shape = AttentionShape::of(spec, Core::Warps, /*isGradient=*/false, refusal);
  if (!shape)
    return refusal;
  for (DimExpr size : {shape->heads, shape->rows, shape->keys, shape->keyHeads})
    if (!size.isConstant() || size.constant() == 0)
      return "only running tells a size, or there is nothing";
  for (unsigned i = 0; i < 3; ++i)
    if (!isa<BlockArgument>(shape->root->getOperand(i)))
      return "an operand is computed";
  if (schedule && schedule.getTile().size() != 3)
    return "its tile requires 3 numbers";
  AttentionTile tile = schedule ? attentionTileOf(schedule) : wideTileOf(*shape);
  if (refusal = misfit(*shape, tile); !refusal.empty())
    return refusal;
  auto made = ScheduleAttr::get(spec.kernel.getContext(), name, kThreads * (1 + consumersOf(tile)),
                                {tile.own, tile.other, tile.inner}, 0, {}, {});
  if (schedule)
    return schedule == made ? "" : "its schedule has other fields than `lanes`, the tile's threads, and `tile`";
  // A block is alone on a multiprocessor; fewer of them leave the others idle, which mma_attention does not.
  if (shape->heads.constant() * ((shape->rows.constant() + tile.own - 1) / tile.own) < gpuOf("sm_90").multiprocessors)
    return "mma_attention has more blocks";
  schedule = made;
  return "";
}

//===- Code -------------------------------------------------------------------------------------===//

namespace {
/// Warp w of a warpgroup has rows 16 w to 16 w + 15; a lane rows l / 4 and l / 4 + 8 of these, two columns of each 8.
class WarpgroupCore final : public TileCore {
public:
  WarpgroupCore(TileBuilder &t, Value warpgroup, int64_t columns)
      : TileCore(t), warpgroup(warpgroup), columns(columns) {}
  SmallVector<Run> runs() override {
    Value thread = t.rem(t.threadNumber(), kThreads), lane = t.rem(thread, 32);
    Value first = t.add(t.add(t.mul(warpgroup, kRows), t.mul(t.div(thread, 32), 16)), t.div(lane, 4));
    Value pair = t.mul(t.rem(lane, 4), 2);
    SmallVector<Run> all;
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t j = 0; j < columns / 8; ++j) {
        auto sum = static_cast<unsigned>(j * 4 + half * 2);
        all.push_back({t.add(first, half * 8), t.add(pair, j * 8), {sum, sum + 1}});
      }
    return all;
  }
  int64_t numSums() const override { return kRows * columns / kThreads; }
  int64_t numRows() const override { return 2; }
  int64_t threadsOfRow() const override { return 4; }
  SmallVector<Value> multiply(Value, Value, ValueRange) override { llvm_unreachable("wgmma multiplies whole slabs"); }
  SmallVector<Value> multiplyHeld(ValueRange, Value, ValueRange) override { llvm_unreachable("as above"); }

private:
  Value warpgroup;
  int64_t columns;
};

class WgmmaAttention : ForwardTiles {
public:
  WgmmaAttention(cpu::SingleKernel &k, const AttentionShape &shape, const AttentionTile &tile)
      : ForwardTiles(k, shape, tile), w(t) {}
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

  void addMap(WideKernel &wide, unsigned operand, DimExpr rows, DimExpr heads, int64_t size);
  Place placeOf(Value number);
  void forTiles(function_ref<Count(const Place &, Count)> body);
  Value barrier(int64_t number) { return t.behind(memory, fn.index(slabBytes(shape, tile) + 8 * number)); }
  /// Of k or v in a stage.
  Value barrier(Barrier of, bool isEmpty, Value stage) {
    return t.behind(barrier(of + (isEmpty ? kStages : 0)), t.mul(stage, 8));
  }
  Value parityOf(Value count) { return arith::TruncIOp::create(b, b.getI32Type(), t.i64(t.rem(count, 2))); }
  Value other(Value parity) {
    return arith::XOrIOp::create(b, parity, arith::ConstantIntOp::create(b, b.getI32Type(), 1));
  }
  int64_t keyBytes() const { return shape.depth / 64 * kBoxBytes; }
  int64_t valueBytes() const { return shape.width / 64 * kBoxBytes; }
  int64_t queryBytes() const { return consumersOf(tile) * keyBytes(); }
  Value keysAt(Value stage) { return t.behind(memory, t.add(t.mul(stage, keyBytes()), queryBytes())); }
  Value valuesAt(Value stage) {
    return t.behind(memory, t.add(t.mul(stage, valueBytes()), queryBytes() + kStages * keyBytes()));
  }
  void emitProducer();
  void emitConsumer(Value warpgroup);
  void give(Value barrier);

  WgmmaBuilder w;
  Value memory, maps[3], block, blocks; // the block's number, and how many there are
};
} // namespace

/// Axes of a map: a row, rows of a head, heads; a box is 64 numbers of 64 rows.
void WgmmaAttention::addMap(WideKernel &wide, unsigned operand, DimExpr rows, DimExpr heads, int64_t size) {
  unsigned number = fn.function.getNumArguments();
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  [[maybe_unused]] LogicalResult added = fn.function.insertArgument(number, pointer, {}, fn.function.getLoc());
  assert(succeeded(added) && "any function takes one more argument");
  maps[operand] = fn.function.getArgument(number);
  unsigned word = cast<BlockArgument>(shape.root->getOperand(operand)).getArgNumber();
  llvm::raw_string_ostream(wide.maps) << "map " << word << (shape.type.isF16() ? " f16 " : " bf16 ") << size << ","
                                      << rows.constant() << "," << heads.constant() << " " << size * 2 << ","
                                      << rows.constant() * size * 2 << " 64,64,1\n";
  ++wide.numMaps;
}

WgmmaAttention::Place WgmmaAttention::placeOf(Value number) {
  DimContext &dims = k.dims();
  DimExpr blocks = dims.resolve(dims.ceilDiv(shape.rows, dims.constant(tile.own)));
  SmallVector<Value> at = fn.delinearize(number, {shape.heads, blocks});
  // The last rows count the most keys of a causal attention: they come first.
  Value block = shape.after ? t.sub(t.add(fn.materialize(blocks), -1), at[1]) : at[1];
  Value first = t.mul(block, tile.own);
  return {at[0], t.div(at[0], shape.groups), first, t.mul(t.div(firstKey(first), kKeys), kKeys),
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
  if (consumersOf(tile) == 2)
    w.setRegisters(kFewRegisters, /*isLess=*/true);
  t.when(t.less(thread, fn.index(1)), [&] {
    forTiles([&](const Place &at, Count count) -> Count {
      w.wait(barrier(kQueries + 1), other(parityOf(count.tiles))); // a fresh one is
      w.arriveAndExpect(barrier(kQueries), queryBytes());
      for (int64_t i = 0; i < shape.depth / 64; ++i)
        for (int64_t g = 0; g < consumersOf(tile); ++g)
          w.copyBox(maps[0], {fn.index(64 * i), t.add(at.first, kRows * g), at.head},
                    t.behind(memory, fn.index((i * consumersOf(tile) + g) * kBoxBytes)), barrier(kQueries));
      Values end = fn.loop(at.begin, at.end, kKeys, ValueRange{count.slabs}, [&](Value key, ValueRange so) -> Values {
        Value stage = t.rem(so[0], kStages), parity = parityOf(t.div(so[0], kStages));
        auto bring = [&](Barrier of, Value map, int64_t size, Value to) {
          w.wait(barrier(of, true, stage), other(parity));
          w.arriveAndExpect(barrier(of, false, stage), size / 64 * kBoxBytes);
          for (int64_t i = 0; i < size / 64; ++i)
            w.copyBox(map, {fn.index(64 * i), key, at.keyHead}, t.behind(to, fn.index(i * kBoxBytes)),
                      barrier(of, false, stage));
        };
        bring(kKeysOf, maps[1], shape.depth, keysAt(stage));
        bring(kValuesOf, maps[2], shape.width, valuesAt(stage));
        return {t.add(so[0], 1)};
      });
      return {end[0], t.add(count.tiles, 1)};
    });
  });
}

/// Says, of each warp, that what a barrier stands for has been read.
void WgmmaAttention::give(Value barrier) { w.arriveWhere(t.less(t.rem(thread, 32), fn.index(1)), barrier); }

void WgmmaAttention::emitConsumer(Value warpgroup) {
  if (consumersOf(tile) == 2)
    w.setRegisters(kManyRegisters, /*isLess=*/false);
  products = std::make_unique<WarpgroupCore>(t, warpgroup, kKeys);
  results = std::make_unique<WarpgroupCore>(t, warpgroup, shape.width);
  forTiles([&](const Place &at, Count count) -> Count {
    w.joinWarp();
    w.wait(barrier(kQueries), parityOf(count.tiles));
    State fresh{Values(2, number(-INFINITY)), Values(2, number(0)), zeros(*results)};
    Values init = fresh.all();
    init.push_back(count.slabs);
    Values last = fn.loop(at.begin, at.end, kKeys, init, [&](Value key, ValueRange carried) -> Values {
      State state = State::of(carried.drop_back(), 2);
      Value stage = t.rem(carried.back(), kStages), parity = parityOf(t.div(carried.back(), kStages));
      w.wait(barrier(kKeysOf, false, stage), parity);
      Values scores = zeros(*products);
      for (int64_t i = 0; i < shape.depth / 64; ++i) {
        Value own = t.behind(memory, t.add(t.mul(warpgroup, kBoxBytes), i * consumersOf(tile) * kBoxBytes));
        scores = w.multiply({shape.type, shape.type}, {own, true},
                            {t.behind(keysAt(stage), fn.index(i * kBoxBytes)), true}, kKeys, scores);
      }
      scores = w.settle(scores, 0);
      give(barrier(kKeysOf, true, stage));
      Grid grid{*products, at.head, at.first, key, /*ownsKeys=*/false, tile.own, kKeys};
      Shares shares = updateSoftmax(state, counted(grid, scoresOf(grid, scores), -INFINITY));
      scaleResults(state, shares.factors);
      w.wait(barrier(kValuesOf, false, stage), parity);
      w.joinWarp();
      state.result = w.multiplyHeld(shape.type, shares.held, {valuesAt(stage), false}, shape.width, state.result);
      give(barrier(kValuesOf, true, stage));
      Values next = state.all();
      next.push_back(t.add(carried.back(), 1));
      return next;
    });
    give(barrier(kQueries + 1));
    finish(State::of(ValueRange(last).drop_back(), 2), at.head, at.first);
    return {last.back(), t.add(count.tiles, 1)};
  });
}

void WgmmaAttention::emit(WideKernel &wide) {
  block = fn.begin(); // maps come behind them
  blocks = fn.end();
  addMap(wide, 0, shape.rows, shape.heads, shape.depth);
  addMap(wide, 1, shape.keys, shape.keyHeads, shape.depth);
  addMap(wide, 2, shape.keys, shape.keyHeads, shape.width);
  int64_t consumers = consumersOf(tile);
  wide.threads = kThreads * (1 + consumers);
  wide.sharedBytes = slabBytes(shape, tile) + kBarrierBytes;
  memory = w.dynamicShared();
  t.when(t.less(thread, fn.index(1)), [&] {
    auto init = [&](int64_t from, int64_t stages) {
      for (int64_t i = 0; i < stages; ++i) {
        w.initBarrier(barrier(from + i), 1);
        w.initBarrier(barrier(from + stages + i), 4 * consumers); // each warp
      }
    };
    init(kQueries, 1);
    init(kKeysOf, kStages);
    init(kValuesOf, kStages);
    w.fenceBarriers();
  });
  meet();
  // Of lane 0, so that it is known to be the warp's.
  Value number = fromLane(b, t.i64(t.div(thread, kThreads)), fn.index(0));
  Value warpgroup = arith::IndexCastOp::create(b, b.getIndexType(), number);
  t.when(t.less(warpgroup, fn.index(1)), [&] { emitProducer(); }, [&] { emitConsumer(t.sub(warpgroup, fn.index(1))); });
}

cpu::EmittedKernel cuda::emitWgmmaAttention(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  std::string refusal;
  AttentionShape shape = *AttentionShape::of(spec, Core::Warps, /*isGradient=*/false, refusal);
  AttentionTile beside = largestTile(shape);
  cpu::EmittedKernel emitted = emitAttention(spec, module, symbol, Core::Warps, beside);
  spec.threads = beside.threads(Core::Warps);
  spec.wide.module = ModuleOp::create(spec.kernel.getLoc());
  cpu::SingleKernel k(spec, *spec.wide.module, "kernel", shape.root);
  WgmmaAttention(k, shape, attentionTileOf(spec.schedule())).emit(spec.wide);
  k.finish();
  return emitted;
}
