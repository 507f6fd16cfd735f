// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/ProductForms.h"
#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/General.h"
#include "backends/cuda/ProductResult.h"
#include "ir/Precision.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// Products of fewer multiply-adds a thread for each result computes as soon.
constexpr int64_t kFewMacs = 4096;
constexpr int64_t kFewSums = 8;
/// Sums of a thread.
constexpr int64_t kManySums = 64;

//===- Plan -------------------------------------------------------------------------------------===//

std::string cuda::planProduct(cuda::KernelSpec &spec, StringRef name, Core core, ScheduleAttr &schedule) {
  std::string refusal;
  std::optional<MatrixProduct> product = MatrixProduct::of(spec, refusal);
  if (!product)
    return refusal;
  std::optional<ProductTypes> types = ProductTypes::of(*product, core, refusal);
  if (!types)
    return refusal;
  if (!schedule && core == Core::WarpsTf32 && !mayMultiplyInTf32(product->root))
    return "nobody allows it to round to tf32";
  if (schedule) { // given
    if (schedule.getTile().size() != 7)
      return "its tile requires 7 numbers";
    ProductTile tile = ProductTile::of(schedule);
    refusal = unfit(tile, *types, *product, core);
    if (refusal.empty() && tile.schedule(spec.kernel.getContext(), name, core) != schedule)
      return "its schedule has other fields than `lanes`, the tile's " + std::to_string(tile.threads(core)) +
             " threads, and `tile`";
    return refusal;
  }
  int64_t macs = 1;
  for (DimExpr size : {product->rowCount, product->columnCount, product->k}) {
    size = spec.dims.resolve(size);
    if (size == spec.dims.resolve(product->k) && size.isConstant() && size.constant() < kFewSums)
      return "it sums few elements";
    macs = size.isConstant() ? llvm::SaturatingMultiply<uint64_t>(macs, size.constant()) : kFewMacs;
  }
  if (macs < kFewMacs)
    return "it is small";
  DimExpr inGroup = product->rowCount, ofGroup = product->columnCount;
  if (product->root->getName().stripDialect() == "convolution")
    for (DimExpr size : {inGroup, ofGroup})
      if (size = spec.dims.resolve(size); size.isConstant() && size.constant() < 4)
        return "its groups are small";
  const Gpu &gpu = gpuOf(core == Core::Warpgroups ? "sm_90" : spec.target().name);
  ProductTile tile = chooseTile(spec, *product, *types, core, gpu, nullptr, /*parts=*/0, sharingBlocksOf(name));
  schedule = tile.schedule(spec.kernel.getContext(), name, core);
  return "";
}

//===- Code -------------------------------------------------------------------------------------===//

namespace {
class ProductEmitter {
public:
  ProductEmitter(cuda::KernelSpec &spec, const MatrixProduct &product, const ProductTypes &types, Core core,
                 const ProductTile &tile)
      : spec(spec), dims(spec.dims), product(product), types(types), core(core), tile(tile),
        result(spec, product, types, tile) {
    auto cut = [&](DimExpr size, int64_t by) { return dims.resolve(dims.ceilDiv(size, dims.constant(by))); };
    perPart = dims.mul(cut(cut(product.k, tile.parts), tile.slab), dims.constant(tile.slab));
  }

  cpu::EmittedKernel emit(ModuleOp module, StringRef symbol);

private:
  struct Stage { // of slabs in shared memory
    Value a, b;
  };
  void emitTile(TileBuilder &t, Value chunk, SlabLoader &a, SlabLoader &b, TileCore &code, Value memory);
  SmallVector<Value> sumSlabs(TileBuilder &t, const SlabPlace &forA, const SlabPlace &forB, Value kBegin, SlabLoader &a,
                              SlabLoader &b, TileCore &code, Value memory);
  void emitJoin(ModuleOp module, StringRef symbol);

  cuda::KernelSpec &spec;
  DimContext &dims;
  const MatrixProduct &product;
  const ProductTypes &types;
  Core core;
  ProductTile tile;
  ProductResult result;
  DimExpr perPart;
};
} // namespace

/// Passes slabs through shared memory; the sums of all of this part's k.
SmallVector<Value> ProductEmitter::sumSlabs(TileBuilder &t, const SlabPlace &forA, const SlabPlace &forB, Value kBegin,
                                            SlabLoader &a, SlabLoader &b, TileCore &code, Value memory) {
  cpu::KernelFunction &fn = t.fn;
  int64_t stageBytes = a.layout.bytes() + b.layout.bytes();
  auto stageAt = [&](Value stage) -> Stage {
    Value at = t.mul(stage, stageBytes);
    return {t.behind(memory, at), t.behind(memory, t.add(at, a.layout.bytes()))};
  };
  auto kOf = [&](Value slab) { return t.add(kBegin, t.mul(slab, tile.slab)); };
  Value zero = fn.index(0), length = arith::MaxSIOp::create(t.b, t.sub(forA.kEnd, kBegin), zero);
  Value slabs = t.div(t.add(length, tile.slab - 1), tile.slab);
  // What an earlier chunk left has been read.
  NVVM::Barrier0Op::create(t.b);
  for (int64_t i = 0; i + 1 < tile.stages; ++i) {
    Value slab = fn.index(i);
    Stage stage = stageAt(slab);
    t.when(t.less(slab, slabs), [&] {
      a.bring(forA, kOf(slab), stage.a);
      b.bring(forB, kOf(slab), stage.b);
    });
    NVVM::CpAsyncCommitGroupOp::create(t.b);
  }
  Value none = arith::ConstantOp::create(t.b, t.b.getZeroAttr(types.sum));
  SmallVector<Value> fresh(code.numSums(), none);
  // Carried: sums, the stage that is multiplied, the stage that is filled.
  auto chain = [&](Value low, Value high, ValueRange init) {
    return fn.loop(low, high, 1, init, [&](Value slab, ValueRange carried) -> SmallVector<Value> {
      Value current = carried[carried.size() - 2], next = carried.back();
      NVVM::CpAsyncWaitGroupOp::create(t.b, static_cast<uint32_t>(tile.stages - 2));
      NVVM::Barrier0Op::create(t.b);
      Value ahead = t.add(slab, tile.stages - 1), isThere = t.less(ahead, slabs);
      Stage now = stageAt(current), filled = stageAt(next);
      SmallVector<Value> ofA = a.begin(forA, kOf(ahead), filled.a, isThere);
      // Beside 64 sums there are no registers for elements of both.
      int64_t most = ofA.empty() || code.numSums() < kManySums ? kMostElements : 0;
      SmallVector<Value> ofB = b.begin(forB, kOf(ahead), filled.b, isThere, most);
      SmallVector<Value> sums = code.multiply(now.a, now.b, carried.drop_back(2));
      a.end(forA, kOf(ahead), ofA, filled.a);
      b.end(forB, kOf(ahead), ofB, filled.b);
      NVVM::CpAsyncCommitGroupOp::create(t.b);
      auto after = [&](Value stage) -> Value {
        Value last = arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, stage, fn.index(tile.stages - 1));
        return arith::SelectOp::create(t.b, last, zero, t.add(stage, 1));
      };
      sums.push_back(after(current));
      sums.push_back(after(next));
      return sums;
    });
  };
  DimExpr known = dims.resolve(perPart);
  bool byBlocks = core == Core::Threads && isa<FloatType>(types.sum) &&
                  !(known.isConstant() && known.constant() <= cpu::kProductBlock);
  SmallVector<Value> init = fresh;
  init.append({zero, fn.index(tile.stages - 1)});
  if (!byBlocks) {
    SmallVector<Value> sums = chain(zero, slabs, init);
    sums.truncate(code.numSums());
    return sums;
  }
  int64_t perBlock = cpu::kProductBlock / tile.slab;
  SmallVector<Value> totals = fn.loop(zero, slabs, perBlock, init, [&](Value first, ValueRange carried) {
    SmallVector<Value> from = fresh;
    llvm::append_range(from, carried.take_back(2));
    SmallVector<Value> sums = chain(first, t.min(t.add(first, perBlock), slabs), from);
    for (auto [sum, total] : llvm::zip(MutableArrayRef(sums).drop_back(2), carried))
      sum = arith::AddFOp::create(t.b, total, sum);
    return sums;
  });
  totals.truncate(code.numSums());
  return totals;
}

void ProductEmitter::emitTile(TileBuilder &t, Value chunk, SlabLoader &a, SlabLoader &b, TileCore &code, Value memory) {
  cpu::KernelFunction &fn = t.fn;
  ProductResult::Place at = result.place(t, chunk);
  Value kBegin = t.mul(at.part, fn.materialize(perPart));
  Value kEnd = t.min(t.add(kBegin, fn.materialize(perPart)), fn.materialize(product.k));
  SlabPlace forA{at.batch, t.mul(at.row, tile.rows), fn.materialize(product.rowCount), kEnd};
  SlabPlace forB{at.batch, t.mul(at.column, tile.columns), fn.materialize(product.columnCount), kEnd};
  SmallVector<Value> sums = sumSlabs(t, forA, forB, kBegin, a, b, code, memory);
  if (code.factor() != 1) {
    Value factor = arith::ConstantOp::create(t.b, FloatAttr::get(types.sum, code.factor()));
    for (Value &sum : sums)
      sum = arith::MulFOp::create(t.b, sum, factor);
  }
  result.storeRuns(t, code.runs(), sums, forA, forB, at.part);
}

/// A kernel after the first one: the parts' sums in their order, and what follows the product.
void ProductEmitter::emitJoin(ModuleOp module, StringRef symbol) {
  cpu::KernelFunction fn(spec, module, symbol, {.workspace = true});
  TileBuilder t(fn);
  Value total = fn.materialize(result.elements()), from = t.global(fn.workspace());
  Value step = t.mul(fn.materialize(result.count()), kJoinThreads);
  int64_t width = types.sum.getIntOrFloatBitWidth() / 8;
  Value thread = t.threadNumber();
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    auto loop = scf::ForOp::create(t.b, t.add(t.mul(chunk, kJoinThreads), thread), total, step);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(loop.getBody());
    Value flat = loop.getInductionVar(), sum;
    for (int64_t part = 0; part < tile.parts; ++part) {
      Value at = t.add(flat, t.mul(total, part));
      Value next = t.load(types.sum, t.behind(from, t.mul(at, width)), width);
      sum = !sum                        ? next
            : isa<FloatType>(types.sum) ? arith::AddFOp::create(t.b, sum, next).getResult()
                                        : arith::AddIOp::create(t.b, sum, next).getResult();
    }
    SmallVector<Value> at = fn.delinearize(flat, {product.batchCount, product.rowCount, product.columnCount});
    result.finishRun(t, fn.delinearize(at[0], product.batches), at[1], at[2], sum, 1);
  });
  fn.finish();
}

cpu::EmittedKernel ProductEmitter::emit(ModuleOp module, StringRef symbol) {
  bool isSplit = tile.parts > 1;
  if (isSplit)
    emitJoin(module, (symbol + kJoinSuffix).str());
  cpu::KernelFunction fn(spec, module, symbol, {.workspace = isSplit});
  TileBuilder t(fn);
  Value thread = t.threadNumber();
  int64_t threads = tile.threads(core);
  SlabLoader a(t, *product.a, SlabLayout::of(tile, types, *product.a, true, core), types.a, threads, thread);
  SlabLoader b(t, *product.b, SlabLayout::of(tile, types, *product.b, false, core), types.b, threads, thread);
  a.hasConversion = b.hasConversion = generationOf(spec.target().name) >= 90;
  result.prepare(t);
  Value memory = t.shared("slabs", sharedBytes(tile, types, product, core));
  std::unique_ptr<TileCore> code = TileCore::of(core, t, tile, types, a.layout, b.layout, thread);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) { emitTile(t, chunk, a, b, *code, memory); });
  fn.finish();
  cpu::EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = result.count();
  if (isSplit)
    emitted.workspaceBytes =
        dims.mul(result.elements(), dims.constant(tile.parts * types.sum.getIntOrFloatBitWidth() / 8));
  return emitted;
}

cpu::EmittedKernel cuda::emitProduct(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol, Core core,
                                     const ProductTile &tile) {
  std::string refusal;
  MatrixProduct product = *MatrixProduct::of(spec, refusal);
  ProductTypes types = *ProductTypes::of(product, core, refusal);
  return ProductEmitter(spec, product, types, core, tile).emit(module, symbol);
}
