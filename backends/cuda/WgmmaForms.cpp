// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/WgmmaForms.h"
#include "backends/cuda/ProductForms.h"
#include "backends/cuda/ResultBoxes.h"
#include "backends/cuda/Shuffles.h"
#include "backends/cuda/TensorMaps.h"
#include "backends/cuda/WgmmaInstructions.h"
#include "ir/Shapes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

constexpr Core kCore = Core::Warpgroups;
constexpr int64_t kThreads = 128; // of a warpgroup
/// Registers of a thread that asks for slabs, and of one that multiplies, where two warpgroups multiply: 65,536 in all.
constexpr int64_t kFewRegisters = 40, kManyRegisters = 232;
/// The same where the threads of a warpgroup find pixels: together as many as above.
constexpr int64_t kGathererRegisters = 104, kBesideGatherers = 200;
/// Where they make numbers of bytes; products have 128 columns at most then.
constexpr int64_t kDecoderRegisters = 152, kBesideDecoders = 176;
/// What the second cache is counted on to give where blocks may share slabs, for each byte of memory's bandwidth: less
/// than elsewhere, as a slab that comes late is not made up for. An estimate, as it was not timed.
constexpr double kBusyCacheRate = 2;

//===- Plan -------------------------------------------------------------------------------------===//

/// Rows of a box of a slab: all free positions where k lies inside, else all k, of 64 positions.
static int64_t boxRowsOf(const ProductSide &side, int64_t positions, int64_t slab) {
  return side.kInner ? positions : slab;
}

/// Whether slabs come by a tensor map: pixels and bytes of 8-bit floats do not, which threads find, or make numbers of.
static bool isByMap(const ProductSide &side) { return !side.isGathered() && !side.encoding; }

static std::string refusalOfOperands(cuda::KernelSpec &spec, const MatrixProduct &product, const ProductTypes &types) {
  std::string refusal;
  if (product.a->isGathered() && signless(product.a->type) == types.a)
    for (DimExpr step : product.a->steps)
      if (step = spec.dims.resolve(step); !step.isConstant() || step.constant() * types.width() % kChunkBytes)
        return "channels of pixels are no multiples of 16 bytes";
  if (product.a->encoding && product.b->encoding)
    return "both operands are made of bytes";
  for (const ProductSide *side : {product.a.get(), product.b.get()}) {
    if (side->encoding && !SlabLoader::canDecode(spec, *side))
      return "rows of 8-bit floats are no multiples of 8 bytes apart";
    if (refusal.empty() && isByMap(*side))
      mapOf(spec, *side, types.a, 64, /*firstSize=*/0, refusal);
  }
  return refusal;
}

namespace {
struct Multiplied {
  MatrixProduct product;
  ProductTypes types;
};
} // namespace

/// What wgmma multiplies; nothing with the reason in `refusal`.
static std::optional<Multiplied> multipliedBy(cuda::KernelSpec &spec, std::string &refusal) {
  if (!canBeWide(spec.target().name)) {
    refusal = "sm_90a alone has wgmma";
    return std::nullopt;
  }
  std::optional<MatrixProduct> product = MatrixProduct::of(spec, refusal);
  std::optional<ProductTypes> types = product ? ProductTypes::of(*product, kCore, refusal) : std::nullopt;
  if (!types)
    return std::nullopt;
  if (refusal = refusalOfOperands(spec, *product, *types); !refusal.empty())
    return std::nullopt;
  return Multiplied{std::move(*product), *types};
}

std::string cuda::planWgmmaProduct(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  std::string refusal;
  std::optional<Multiplied> all = multipliedBy(spec, refusal);
  if (!all)
    return refusal;
  bool isGiven = bool(schedule);
  if (refusal = planProduct(spec, name, kCore, schedule); !refusal.empty() || isGiven)
    return refusal;
  double ns = 0, nsOfWarps = 0;
  const Gpu &gpu = gpuOf("sm_90");
  chooseTile(spec, all->product, all->types, kCore, gpu, &ns);
  chooseTile(spec, all->product, all->types, Core::Warps, gpu, &nsOfWarps);
  if (ns < nsOfWarps)
    return "";
  schedule = nullptr;
  return "mma_product takes less time";
}

std::string cuda::planClusterProduct(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  std::string refusal;
  std::optional<Multiplied> all = multipliedBy(spec, refusal);
  if (!all)
    return refusal;
  if (schedule)
    return planProduct(spec, name, kCore, schedule);
  auto &[product, types] = *all;
  if (!spec.dims.resolve(product.rowCount).isConstant())
    return "its rows may be few";
  Gpu busy = gpuOf("sm_90");
  busy.cacheRate = kBusyCacheRate;
  auto rank = [&](Core core, int64_t blocks) { return rankTiles(spec, product, types, core, busy, 0, blocks); };
  std::vector<RankedTile> sharing = rank(kCore, kSharingBlocks);
  if (sharing.empty())
    return "threads find or make an operand, which blocks do not share";
  for (const RankedTile &other : {rank(kCore, 1).front(), rank(Core::Warps, 1).front()})
    if (sharing.front().ns >= other.ns)
      return "blocks that bring their own slabs take no more time";
  if (refusal = planProduct(spec, name, kCore, schedule); refusal.empty())
    schedule = sharing.front().tile.schedule(spec.kernel.getContext(), name, kCore);
  return refusal;
}

//===- Code -------------------------------------------------------------------------------------===//

namespace {
class WgmmaEmitter {
public:
  WgmmaEmitter(cuda::KernelSpec &spec, const MatrixProduct &product, const ProductTypes &types, const ProductTile &tile,
               bool hasWorkspace)
      : spec(spec), product(product), types(types), tile(tile), result(spec, product, types, tile),
        hasWorkspace(hasWorkspace), isByThreads(!isByMap(*product.a) || !isByMap(*product.b)) {
    auto cut = [&](DimExpr size, int64_t by) {
      return spec.dims.resolve(spec.dims.ceilDiv(size, spec.dims.constant(by)));
    };
    slabCount = cut(product.k, tile.slab);
    slabsOfPart = cut(slabCount, tile.parts);
    assert(!(isByThreads && isShared()) && "the plan has asked for it");
  }

  void emit(WideKernel &wide);

private:
  /// A place in the ring of slabs: its number, and the parity of its phase.
  struct Ring {
    Value stage, parity;
  };
  /// Slabs of one part of k; the last parts may have none.
  struct Slabs {
    Value first, count;
  };
  void emitProducer(TileBuilder &t, Value firstTile, Value tileStep);
  void emitConsumer(TileBuilder &t, Value warpgroup, Value firstTile, Value tileStep);
  void emitGatherer(TileBuilder &t, Value firstTile, Value tileStep);
  void emitDecoder(TileBuilder &t, Value firstTile, Value tileStep);
  void sayFull(TileBuilder &t, Value count, int64_t underWay);
  ProductResult::Place placeOf(TileBuilder &t, Value number) {
    return result.place(t, number, isShared() ? WgmmaBuilder(t).rankInCluster() : nullptr);
  }
  Ring ringOf(TileBuilder &t, Value count);
  void sayEmpty(TileBuilder &t, Value stage, Value also = nullptr);
  void waitUntilEmpty(TileBuilder &t, const Ring &ring);
  Ring bringSlabs(TileBuilder &t, const ProductResult::Place &at, Ring ring);
  void bringSlab(TileBuilder &t, const ProductResult::Place &at, Value slab, const Ring &ring);
  std::pair<SmallVector<Value>, Ring> sumSlabs(TileBuilder &t, Value warpgroup, Value count, Ring ring);
  std::pair<SmallVector<Value>, Ring> sumSlabsApart(TileBuilder &t, Value warpgroup, Value count, Ring ring);
  SmallVector<Value> multiplySlab(TileBuilder &t, Value warpgroup, const Ring &ring, ValueRange sums);
  void forTiles(TileBuilder &t, Value first, Value step, function_ref<Ring(Value, Ring)> body);
  SmallVector<Value> forTiles(TileBuilder &t, Value first, Value step, ValueRange init,
                              function_ref<SmallVector<Value>(Value, ValueRange)> body);
  SmallVector<TileCore::Run> runs(TileBuilder &t, Value warpgroup);
  Ring after(TileBuilder &t, const Ring &ring);

  int64_t bytesOfA() const { return tile.rows * kSwizzleBytes; }
  int64_t stageBytes() const { return (tile.rows + tile.columns) * kSwizzleBytes; }
  int64_t bytesByMaps() const {
    return (isByMap(*product.a) ? bytesOfA() : 0) + (isByMap(*product.b) ? stageBytes() - bytesOfA() : 0);
  }
  int64_t consumers() const { return tile.rows / tile.innerRows; }
  bool isShared() const { return tile.blocks > 1; }
  int64_t ownColumns() const { return tile.columns / tile.blocks; } // of b, that this block brings
  /// Slabs whose copies are under way: the others are being multiplied, two at once.
  int64_t copiesUnderWay() const { return tile.stages - 2; }
  Value slabAt(TileBuilder &t, const Ring &ring) { return t.behind(memory, t.mul(ring.stage, stageBytes())); }
  Value full(TileBuilder &t, Value stage) {
    return t.behind(memory, t.add(t.mul(stage, 8), tile.stages * stageBytes()));
  }
  Value empty(TileBuilder &t, Value stage) {
    return t.behind(memory, t.add(t.mul(stage, 8), tile.stages * (stageBytes() + 8)));
  }
  Slabs slabsOf(TileBuilder &t, Value part);
  Value lane(TileBuilder &t) { return t.rem(t.threadNumber(), 32); }

  cuda::KernelSpec &spec;
  const MatrixProduct &product;
  const ProductTypes &types;
  ProductTile tile;
  ProductResult result;
  bool hasWorkspace;
  bool isByThreads; // one of the operands
  DimExpr slabCount, slabsOfPart;
  struct Map {
    Value address;
    SmallVector<MapLine::Axis> axes;
  };
  Map mapA, mapB;
  Value memory;
  std::optional<ResultBoxes> boxes; // how results are stored, if not by threads
  Value boxesAddress;               // of their map
};
} // namespace

WgmmaEmitter::Slabs WgmmaEmitter::slabsOf(TileBuilder &t, Value part) {
  Value all = t.fn.materialize(slabCount);
  if (tile.parts == 1)
    return {t.fn.index(0), all};
  Value most = t.fn.materialize(slabsOfPart), first = t.min(t.mul(part, most), all);
  return {first, t.min(most, t.sub(all, first))};
}

/// The next place of the ring.
WgmmaEmitter::Ring WgmmaEmitter::after(TileBuilder &t, const Ring &ring) {
  Value last = arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, ring.stage, t.fn.index(tile.stages - 1));
  Value turned = arith::ExtUIOp::create(t.b, t.b.getI32Type(), last);
  return {arith::SelectOp::create(t.b, last, t.fn.index(0), t.add(ring.stage, 1)),
          arith::XOrIOp::create(t.b, ring.parity, turned)};
}

SmallVector<Value> WgmmaEmitter::forTiles(TileBuilder &t, Value first, Value step, ValueRange init,
                                          function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(t.b, first, t.fn.materialize(result.count()), step, init);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(t.b, body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return llvm::to_vector_of<Value>(loop.getResults());
}

void WgmmaEmitter::forTiles(TileBuilder &t, Value first, Value step, function_ref<Ring(Value, Ring)> body) {
  Value even = arith::ConstantIntOp::create(t.b, t.b.getI32Type(), 0);
  forTiles(t, first, step, {t.fn.index(0), even}, [&](Value number, ValueRange carried) -> SmallVector<Value> {
    Ring ring = body(number, {carried[0], carried[1]});
    return {ring.stage, ring.parity};
  });
}

void WgmmaEmitter::waitUntilEmpty(TileBuilder &t, const Ring &ring) {
  Value one = arith::ConstantIntOp::create(t.b, t.b.getI32Type(), 1);
  WgmmaBuilder(t).wait(empty(t, ring.stage), arith::XOrIOp::create(t.b, ring.parity, one),
                       isShared()); // a fresh one is
}

/// The slab of that place is multiplied, where `also` holds; what other blocks bring to it waits for that as well.
void WgmmaEmitter::sayEmpty(TileBuilder &t, Value stage, Value also) {
  WgmmaBuilder w(t);
  Value arrives = t.less(lane(t), t.fn.index(tile.blocks)); // lane i at block i
  if (also)
    arrives = t.both(arrives, also);
  if (isShared())
    w.arriveInClusterWhere(arrives, empty(t, stage), lane(t));
  else
    w.arriveWhere(arrives, empty(t, stage));
}

/// What comes by maps.
void WgmmaEmitter::bringSlab(TileBuilder &t, const ProductResult::Place &at, Value slab, const Ring &ring) {
  WgmmaBuilder w(t);
  Value barrier = full(t, ring.stage), to = slabAt(t, ring), k = t.mul(slab, tile.slab);
  w.arriveAndExpect(barrier, bytesByMaps());
  auto bring = [&](const ProductSide &side, const Map &map, Value free, int64_t positions, Value begin,
                   int64_t blocks = 1) {
    for (int64_t i = 0; i < positions; i += side.kInner ? positions : 64) {
      SmallVector<Value> coordinates;
      for (const MapLine::Axis &axis : map.axes)
        coordinates.push_back(axis.kind == MapLine::Axis::Batch ? axis.batch ? at.batch[*axis.batch] : at.flatBatch
                              : (axis.kind == MapLine::Axis::Inner) == side.kInner ? k
                              : side.kInner                                        ? free
                                                                                   : t.add(free, i));
      w.copyBox(map.address, coordinates, t.behind(begin, t.fn.index(i * kSwizzleBytes)), barrier, blocks);
    }
  };
  if (isByMap(*product.a))
    bring(*product.a, mapA, t.mul(at.row, tile.rows), tile.rows, to);
  if (!isByMap(*product.b))
    return;
  Value column = t.mul(at.column, tile.columns), begin = t.behind(to, t.fn.index(bytesOfA()));
  if (isShared()) {
    Value own = t.mul(at.rank, ownColumns());
    column = t.add(column, own);
    begin = t.behind(begin, t.mul(own, kSwizzleBytes));
  }
  bring(*product.b, mapB, column, ownColumns(), begin, tile.blocks);
}

WgmmaEmitter::Ring WgmmaEmitter::bringSlabs(TileBuilder &t, const ProductResult::Place &at, Ring ring) {
  Slabs slabs = slabsOf(t, at.part);
  SmallVector<Value> end =
      t.fn.loop(t.fn.index(0), slabs.count, 1, {ring.stage, ring.parity}, [&](Value slab, ValueRange carried) {
        Ring now{carried[0], carried[1]};
        waitUntilEmpty(t, now);
        bringSlab(t, at, t.add(slabs.first, slab), now);
        Ring next = after(t, now);
        return SmallVector<Value>{next.stage, next.parity};
      });
  return {end[0], end[1]};
}

void WgmmaEmitter::emitProducer(TileBuilder &t, Value firstTile, Value tileStep) {
  if (consumers() == 2)
    WgmmaBuilder(t).setRegisters(kFewRegisters, /*isLess=*/true);
  t.when(t.less(t.threadNumber(), t.fn.index(1)), [&] {
    forTiles(t, firstTile, tileStep, [&](Value number, Ring ring) { return bringSlabs(t, placeOf(t, number), ring); });
  });
}

/// Of slab number `count` of the block.
WgmmaEmitter::Ring WgmmaEmitter::ringOf(TileBuilder &t, Value count) {
  Value parity = t.rem(t.div(count, tile.stages), 2);
  return {t.rem(count, tile.stages), arith::TruncIOp::create(t.b, t.b.getI32Type(), t.i64(parity))};
}

/// Waits until so many slabs at most of the `count` that this thread asked for are under way; then the warp says that
/// the last of the others, if there is one, is there.
void WgmmaEmitter::sayFull(TileBuilder &t, Value count, int64_t underWay) {
  WgmmaBuilder w(t);
  NVVM::CpAsyncWaitGroupOp::create(t.b, static_cast<uint32_t>(underWay));
  w.fenceForProducts();
  w.joinWarp();
  Value isThere = t.less(t.fn.index(underWay), count);
  // Of the slab as many places on, so that it is no negative number.
  Value stage = ringOf(t, t.add(count, tile.stages - 1 - underWay)).stage;
  w.arriveWhere(t.both(isThere, t.less(lane(t), t.fn.index(1))), full(t, stage));
}

/// All threads of the warpgroup copy pixels; one of them asks for the filter's boxes.
void WgmmaEmitter::emitGatherer(TileBuilder &t, Value firstTile, Value tileStep) {
  WgmmaBuilder w(t);
  if (consumers() == 2)
    w.setRegisters(kGathererRegisters, /*isLess=*/true);
  Value thread = t.threadNumber(), kEnd = t.fn.materialize(product.k);
  SlabLoader pixels(t, *product.a, SlabLayout::of(tile, types, *product.a, /*isA=*/true, kCore), types.a, kThreads,
                    thread, tile.threads(kCore) - kThreads);
  SmallVector<Value> end = forTiles(t, firstTile, tileStep, {t.fn.index(0)}, [&](Value number, ValueRange before) {
    ProductResult::Place at = placeOf(t, number);
    SlabPlace place{at.batch, t.mul(at.row, tile.rows), t.fn.materialize(product.rowCount), kEnd};
    Slabs slabs = slabsOf(t, at.part);
    return t.fn.loop(t.fn.index(0), slabs.count, 1, before, [&](Value i, ValueRange carried) -> SmallVector<Value> {
      Value count = carried[0], slab = t.add(slabs.first, i);
      Ring ring = ringOf(t, count);
      waitUntilEmpty(t, ring);
      t.when(t.less(thread, t.fn.index(1)), [&] { bringSlab(t, at, slab, ring); });
      pixels.bring(place, t.mul(slab, tile.slab), slabAt(t, ring));
      NVVM::CpAsyncCommitGroupOp::create(t.b);
      Value next = t.add(count, 1);
      sayFull(t, next, copiesUnderWay());
      return {next};
    });
  });
  for (int64_t underWay = copiesUnderWay(); underWay-- > 0;)
    sayFull(t, end[0], underWay);
}

/// All threads of the warpgroup make numbers of bytes; one of them asks for the other operand's boxes. Bytes of the
/// next slab are under way meanwhile.
void WgmmaEmitter::emitDecoder(TileBuilder &t, Value firstTile, Value tileStep) {
  WgmmaBuilder w(t);
  if (consumers() == 2)
    w.setRegisters(kDecoderRegisters, /*isLess=*/true);
  const bool isA = bool(product.a->encoding);
  ProductSide &side = isA ? *product.a : *product.b;
  const int64_t positions = isA ? tile.rows : tile.columns, together = side.kInner ? positions : 64;
  Value thread = t.threadNumber(), kEnd = t.fn.materialize(product.k);
  // As boxes lie: all positions as rows of k, or 64 of them side by side.
  SlabLoader numbers(t, side, {side.kInner, /*isSwizzled=*/true, together, tile.slab, types.width()}, types.a, kThreads,
                     thread, tile.threads(kCore) - kThreads);
  numbers.hasConversion = true; // of sm_90a
  forTiles(t, firstTile, tileStep, [&](Value number, Ring ring) -> Ring {
    ProductResult::Place at = placeOf(t, number);
    Slabs slabs = slabsOf(t, at.part);
    Value free = isA ? t.mul(at.row, tile.rows) : t.mul(at.column, tile.columns);
    auto placeOf = [&](int64_t first) -> SlabPlace {
      return {at.batch, t.add(free, first), t.fn.materialize(isA ? product.rowCount : product.columnCount), kEnd};
    };
    auto kOf = [&](Value slab) { return t.mul(t.add(slabs.first, slab), tile.slab); };
    auto read = [&](Value slab) {
      SmallVector<Value> bytes;
      for (int64_t first = 0; first < positions; first += together)
        bytes.append(numbers.beginEncoded(placeOf(first), kOf(slab)));
      return bytes;
    };
    SmallVector<Value> init = read(t.fn.index(0));
    const size_t perPiece = init.size() * static_cast<size_t>(together) / static_cast<size_t>(positions);
    init.append({ring.stage, ring.parity});
    SmallVector<Value> end = t.fn.loop(t.fn.index(0), slabs.count, 1, init, [&](Value slab, ValueRange carried) {
      Ring now{carried[carried.size() - 2], carried.back()};
      SmallVector<Value> bytes(carried.drop_back(2)), values = read(t.add(slab, 1));
      waitUntilEmpty(t, now);
      t.when(t.less(thread, t.fn.index(1)), [&] { bringSlab(t, at, t.add(slabs.first, slab), now); });
      Value to = t.behind(slabAt(t, now), t.fn.index(isA ? 0 : bytesOfA()));
      for (int64_t first = 0, piece = 0; first < positions; first += together, ++piece)
        numbers.end(placeOf(first), kOf(slab), ArrayRef(bytes).slice(size_t(piece) * perPiece, perPiece),
                    t.behind(to, t.fn.index(first * kSwizzleBytes)));
      w.fenceForProducts();
      w.joinWarp();
      w.arriveWhere(t.less(lane(t), t.fn.index(1)), full(t, now.stage));
      Ring next = after(t, now);
      values.append({next.stage, next.parity});
      return values;
    });
    return {end[end.size() - 2], end.back()};
  });
}

/// Waits for the slab of that place; its products with the sums are under way then.
SmallVector<Value> WgmmaEmitter::multiplySlab(TileBuilder &t, Value warpgroup, const Ring &ring, ValueRange sums) {
  WgmmaBuilder w(t);
  Value at = slabAt(t, ring);
  w.wait(full(t, ring.stage), ring.parity, isShared());
  Value ofA = t.behind(at, t.mul(warpgroup, tile.innerRows * kSwizzleBytes));
  Value ofB = t.behind(at, t.fn.index(bytesOfA()));
  auto element = [&](Type format, Type stored, bool isByteUnsigned) -> Type {
    return format ? format : isByteUnsigned ? t.b.getIntegerType(8, /*isSigned=*/false) : stored;
  };
  return w.multiply(
      {element(types.formatA, types.a, types.aUnsigned), element(types.formatB, types.b, types.bUnsigned)},
      {ofA, product.a->kInner}, {ofB, product.b->kInner}, tile.columns, sums);
}

/// Sums of each slab by themselves, which are added in f32: of 8-bit floats wgmma keeps fewer bits of a sum. While one
/// warpgroup adds, the other one multiplies.
std::pair<SmallVector<Value>, WgmmaEmitter::Ring> WgmmaEmitter::sumSlabsApart(TileBuilder &t, Value warpgroup,
                                                                              Value count, Ring ring) {
  WgmmaBuilder w(t);
  auto numSums = static_cast<size_t>(tile.innerRows * tile.columns / kThreads);
  Value none = arith::ConstantOp::create(t.b, t.b.getF32FloatAttr(0));
  SmallVector<Value> init(numSums, none);
  init.append({ring.stage, ring.parity});
  SmallVector<Value> end = t.fn.loop(t.fn.index(0), count, 1, init, [&](Value, ValueRange carried) {
    Ring now{carried[numSums], carried[numSums + 1]};
    SmallVector<Value> fresh(numSums, none);
    SmallVector<Value> sums = w.settle(multiplySlab(t, warpgroup, now, fresh), 0);
    sayEmpty(t, now.stage);
    for (auto [sum, total] : llvm::zip(sums, carried))
      sum = arith::AddFOp::create(t.b, total, sum);
    Ring next = after(t, now);
    sums.append({next.stage, next.parity});
    return sums;
  });
  Ring next{end[numSums], end[numSums + 1]};
  end.truncate(numSums);
  return {end, next};
}

/// Products of one slab are under way while the next is waited for.
std::pair<SmallVector<Value>, WgmmaEmitter::Ring> WgmmaEmitter::sumSlabs(TileBuilder &t, Value warpgroup, Value count,
                                                                         Ring ring) {
  WgmmaBuilder w(t);
  auto numSums = static_cast<size_t>(tile.innerRows * tile.columns / kThreads);
  Value none = arith::ConstantOp::create(t.b, t.b.getZeroAttr(types.sum));
  SmallVector<Value> init(numSums, none);
  init.append({ring.stage, ring.parity});
  // Where there may be no slab, the zeros must not meet sums that are under way: ptxas would run products one by one.
  auto any = scf::IfOp::create(t.b, ValueRange(init).getTypes(), t.less(t.fn.index(0), count), /*withElse=*/true);
  {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(any.elseBlock());
    scf::YieldOp::create(t.b, init);
    t.b.setInsertionPointToStart(any.thenBlock());
    init.push_back(ring.stage);
    SmallVector<Value> end = t.fn.loop(t.fn.index(0), count, 1, init, [&](Value slab, ValueRange carried) {
      Ring now{carried[numSums], carried[numSums + 1]};
      Value before = carried[numSums + 2];
      SmallVector<Value> sums = w.settle(multiplySlab(t, warpgroup, now, carried.take_front(numSums)), 1);
      sayEmpty(t, before, t.less(t.fn.index(0), slab));
      Ring next = after(t, now);
      sums.append({next.stage, next.parity, now.stage});
      return sums;
    });
    SmallVector<Value> sums = w.settle(ValueRange(end).take_front(numSums), 0);
    sayEmpty(t, end[numSums + 2]);
    sums.append({end[numSums], end[numSums + 1]});
    scf::YieldOp::create(t.b, sums);
  }
  SmallVector<Value> sums = llvm::to_vector_of<Value>(any.getResults().take_front(numSums));
  return {sums, {any.getResult(unsigned(numSums)), any.getResult(unsigned(numSums + 1))}};
}

/// Warp w of a warpgroup has rows 16 w to 16 w + 15; a lane rows l / 4 and l / 4 + 8 of these, two columns of each 8.
SmallVector<TileCore::Run> WgmmaEmitter::runs(TileBuilder &t, Value warpgroup) {
  Value warp = t.rem(t.div(t.threadNumber(), 32), 4);
  Value first = t.add(t.add(t.mul(warpgroup, tile.innerRows), t.mul(warp, 16)), t.div(lane(t), 4));
  Value pair = t.mul(t.rem(lane(t), 4), 2);
  SmallVector<TileCore::Run> all;
  for (int64_t half = 0; half < 2; ++half)
    for (int64_t j = 0; j < tile.columns / 8; ++j) {
      auto sum = static_cast<unsigned>(j * 4 + half * 2);
      all.push_back({t.add(first, half * 8), t.add(pair, j * 8), {sum, sum + 1}});
    }
  return all;
}

void WgmmaEmitter::emitConsumer(TileBuilder &t, Value warpgroup, Value firstTile, Value tileStep) {
  if (consumers() == 2)
    WgmmaBuilder(t).setRegisters(!isByThreads              ? kManyRegisters
                                 : product.a->isGathered() ? kBesideGatherers
                                                           : kBesideDecoders,
                                 /*isLess=*/false);
  forTiles(t, firstTile, tileStep, [&](Value number, Ring ring) {
    WgmmaBuilder(t).joinWarp();
    Value part = tile.parts == 1 ? nullptr : placeOf(t, number).part;
    Value count = slabsOf(t, part).count;
    auto [sums, next] = types.formatA ? sumSlabsApart(t, warpgroup, count, ring) : sumSlabs(t, warpgroup, count, ring);
    ProductResult::Place at = placeOf(t, number); // not in registers before
    Value kEnd = t.fn.materialize(product.k);
    SlabPlace forA{at.batch, t.mul(at.row, tile.rows), t.fn.materialize(product.rowCount), kEnd};
    SlabPlace forB{at.batch, t.mul(at.column, tile.columns), t.fn.materialize(product.columnCount), kEnd};
    if (boxes)
      boxes->store(t, result, boxesAddress, memory, warpgroup, runs(t, warpgroup), sums, at, forA, forB);
    else
      result.storeRuns(t, runs(t, warpgroup), sums, forA, forB, at.part);
    return next;
  });
  if (boxes)
    ResultBoxes::finish(t);
}

void WgmmaEmitter::emit(WideKernel &wide) {
  wide.module = ModuleOp::create(spec.kernel.getLoc());
  cpu::KernelFunction fn(spec, *wide.module, "kernel", {.workspace = hasWorkspace});
  TileBuilder t(fn);
  Value block = fn.begin(), blocks = fn.end();
  Type pointer = LLVM::LLVMPointerType::get(t.b.getContext());
  auto addArgument = [&](const MapLine &line) -> Value {
    unsigned number = fn.function.getNumArguments();
    [[maybe_unused]] LogicalResult added = fn.function.insertArgument(number, pointer, {}, fn.function.getLoc());
    assert(succeeded(added) && "any function takes one more argument");
    wide.maps += line.text;
    ++wide.numMaps;
    return fn.function.getArgument(number);
  };
  auto addMap = [&](const ProductSide &side, int64_t positions, Map &map) {
    std::string refusal;
    MapLine line = mapOf(spec, side, types.a, boxRowsOf(side, positions, tile.slab), fn.sizeArgument(0), refusal);
    assert(refusal.empty() && "the plan has asked for it");
    map = {addArgument(line), line.axes};
  };
  if (isByMap(*product.a))
    addMap(*product.a, tile.rows, mapA);
  if (isByMap(*product.b))
    addMap(*product.b, ownColumns(), mapB);
  if (boxes = ResultBoxes::of(spec, product, types, tile, fn.sizeArgument(0)); boxes)
    boxesAddress = addArgument(boxes->map);
  wide.isJoined = tile.parts > 1;
  wide.threads = tile.threads(kCore);
  wide.cluster = tile.blocks;
  wide.sharedBytes = boxes ? boxes->sharedBytes() : cuda::sharedBytes(tile, types, product, kCore);

  memory = WgmmaBuilder(t).dynamicShared();
  result.prepare(t);
  t.when(t.less(t.threadNumber(), fn.index(1)), [&] {
    WgmmaBuilder w(t);
    for (int64_t i = 0; i < tile.stages; ++i) {
      w.initBarrier(full(t, fn.index(i)), isByThreads ? 5 : 1); // each warp of threads, and who asks for boxes
      w.initBarrier(empty(t, fn.index(i)), 4 * consumers() * tile.blocks); // each warp
    }
    w.fenceBarriers();
  });
  if (isShared())
    WgmmaBuilder(t).meetCluster();
  else
    NVVM::Barrier0Op::create(t.b);
  // Of lane 0, so that it is known to be the warp's.
  Value number = fromLane(t.b, t.i64(t.div(t.threadNumber(), kThreads)), fn.index(0));
  Value warpgroup = arith::IndexCastOp::create(t.b, t.b.getIndexType(), number);
  t.when(
      t.less(warpgroup, fn.index(1)),
      [&] {
        if (product.a->isGathered())
          emitGatherer(t, block, blocks);
        else if (isByThreads)
          emitDecoder(t, block, blocks);
        else
          emitProducer(t, block, blocks);
      },
      [&] { emitConsumer(t, t.sub(warpgroup, fn.index(1)), block, blocks); });
  if (isShared()) // the other block may still arrive here
    WgmmaBuilder(t).meetCluster();
  fn.finish();
}

cpu::EmittedKernel cuda::emitWgmmaProduct(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  std::string refusal;
  MatrixProduct product = *MatrixProduct::of(spec, refusal);
  ProductTypes types = *ProductTypes::of(product, kCore, refusal);
  ProductTile tile = ProductTile::of(spec.schedule());
  // The parts of both are joined by one function.
  ProductTile beside = chooseTile(spec, product, types, Core::Warps, gpuOf(spec.target().name), nullptr,
                                  tile.parts > 1 ? tile.parts : 0);
  cpu::EmittedKernel emitted = emitProduct(spec, module, symbol, Core::Warps, beside);
  spec.threads = beside.threads(Core::Warps);
  WgmmaEmitter(spec, product, types, tile, bool(emitted.workspaceBytes)).emit(spec.wide);
  return emitted;
}
