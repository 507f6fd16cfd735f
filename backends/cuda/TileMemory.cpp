// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/TileMemory.h"
#include "backends/cpu/emit/General.h"
#include "backends/cuda/BlockWalk.h"
#include "backends/cuda/Float8Numbers.h"
#include "ir/Shapes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// Copies of chunks that a thread asks for without a loop around.
constexpr int64_t kMostCopies = 8;
constexpr int64_t kNumbersOfChunk = 8;       // of 16 bits
constexpr unsigned kGlobal = 1, kShared = 3; // NVPTX's numbers of memories

//===- TileBuilder ------------------------------------------------------------------------------===//

void TileBuilder::when(Value condition, function_ref<void()> body, function_ref<void()> otherwise) {
  otherwise ? fn.branch(condition, body, otherwise) : fn.ifThen(condition, body);
}

Value TileBuilder::behind(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer, ArrayRef<LLVM::GEPArg>{i64(bytes)});
}

Value TileBuilder::load(Type type, Value pointer, int64_t alignment) {
  return LLVM::LoadOp::create(b, type, pointer, static_cast<unsigned>(alignment));
}

SmallVector<Value> TileBuilder::loadChunk(Type element, Value pointer) {
  int64_t count = kChunkBytes * 8 / element.getIntOrFloatBitWidth();
  Value chunk = load(VectorType::get({count}, element), pointer, kChunkBytes);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(vector::ExtractOp::create(b, chunk, i));
  return elements;
}

void TileBuilder::store(Value value, Value pointer, int64_t alignment) {
  LLVM::StoreOp::create(b, value, pointer, static_cast<unsigned>(alignment));
}

Value TileBuilder::isAligned(Value buffer, Value also, int64_t bytes) {
  Value bits = memref::ExtractAlignedPointerAsIndexOp::create(b, buffer);
  if (also)
    bits = either(bits, also);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rem(bits, bytes), fn.index(0));
}

Value TileBuilder::pack(Type element, Value first, Value second) {
  StringRef name = element.isF16() ? "llvm.nvvm.ff2f16x2.rn" : "llvm.nvvm.ff2bf16x2.rn";
  return intrinsic(name, VectorType::get({2}, element), {second, first}); // the high half comes first
}

Value TileBuilder::intrinsic(StringRef name, Type type, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), operands).getResult(0);
}

Value TileBuilder::global(Value buffer) {
  Value address = i64(memref::ExtractAlignedPointerAsIndexOp::create(b, buffer));
  Value generic = LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), address);
  return LLVM::AddrSpaceCastOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), kGlobal), generic);
}

Value TileBuilder::shared(StringRef name, int64_t bytes) {
  auto module = fn.function->getParentOfType<ModuleOp>();
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), static_cast<uint64_t>(bytes));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  auto memory = LLVM::GlobalOp::create(b, type, /*isConstant=*/false, LLVM::Linkage::Internal, name, Attribute(),
                                       /*alignment=*/128, kShared);
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(&memory.getInitializerRegion().emplaceBlock());
    LLVM::ReturnOp::create(b, ValueRange{LLVM::UndefOp::create(b, type)});
  }
  b.setInsertionPointToStart(&fn.function.getBody().front());
  return LLVM::AddressOfOp::create(b, memory);
}

Value TileBuilder::threadNumber() { return cuda::threadNumber(fn); }

//===- SlabLayout -------------------------------------------------------------------------------===//

SlabLayout SlabLayout::of(const ProductTile &tile, const ProductTypes &types, const ProductSide &side, bool isA,
                          Core core) {
  SlabLayout layout;
  layout.width = types.width();
  layout.isSwizzled = isOfWarps(core);
  // ldmatrix turns elements of two bytes only.
  layout.kInner = side.kInner || (layout.isSwizzled && layout.width == 1);
  layout.free = isA ? tile.rows : tile.columns;
  layout.k = tile.slab;
  layout.padding = !layout.isSwizzled && layout.kInner ? kChunkBytes : 0;
  return layout;
}

SlabLayout SlabLayout::ofRows(int64_t rows, int64_t k, int64_t width, Core core) {
  bool isSwizzled = isOfWarps(core);
  return {/*kInner=*/true, isSwizzled, rows, k, width, isSwizzled ? 0 : kChunkBytes};
}

Value SlabLayout::chunkAt(TileBuilder &t, Value row, Value chunk) const {
  int64_t perRow = inner() * width / kChunkBytes;
  if (isSwizzled) {
    int64_t period = std::min<int64_t>(perRow, 8), rowsPerLine = std::max<int64_t>(1, 8 / perRow);
    chunk = arith::XOrIOp::create(t.b, chunk, t.rem(t.div(row, rowsPerLine), period));
  }
  return t.add(t.mul(row, pitchBytes()), t.mul(chunk, kChunkBytes));
}

Value SlabLayout::byteOf(TileBuilder &t, Value row, Value position) const {
  if (!isSwizzled)
    return t.add(t.mul(row, pitchBytes()), t.mul(position, width));
  return t.add(chunkAt(t, row, t.div(position, perChunk())), t.mul(t.rem(position, perChunk()), width));
}

//===- SlabLoader -------------------------------------------------------------------------------===//

/// Distances that are whole chunks where these are read at once. Of 8-bit floats no chunk is read in part.
static Dims stepsOf(const ProductSide &side) {
  Dims steps = side.steps;
  if (side.encoding && side.panel)
    steps.push_back(side.panel->inner);
  return steps;
}

/// Whether all of those that types tell are.
static bool areWhole(cpu::KernelSpec &spec, const ProductSide &side, int64_t perChunk) {
  return llvm::all_of(stepsOf(side), [&](DimExpr step) {
    step = spec.dims.resolve(step);
    return !step.isConstant() || step.constant() % perChunk == 0;
  });
}

bool SlabLoader::canDecode(cpu::KernelSpec &spec, const ProductSide &side) {
  return side.encoding && side.panel && areWhole(spec, side, kNumbersOfChunk);
}

SlabLoader::SlabLoader(TileBuilder &t, ProductSide &side, SlabLayout layout, Type stored, int64_t threads, Value thread,
                       int64_t others)
    : layout(layout), t(t), fn(t.fn), b(t.b), side(side), stored(stored), threads(threads), others(others),
      thread(thread) {
  canReadChunks = side.encoding ? canDecode(fn.spec, side) : side.copied && areWhole(fn.spec, side, layout.perChunk());
  canReadChunks &= signless(side.type) == stored && side.kInner == layout.kInner;
  canCopy = canReadChunks && !side.encoding;
  if (!canReadChunks)
    return;
  Value buffer = fn.input(*side.copied);
  source = t.global(buffer);
  Value apart;
  for (DimExpr step : stepsOf(side))
    if (step = fn.spec.dims.resolve(step); !step.isConstant()) {
      Value bytes = t.mul(fn.materialize(step), side.memoryBytes());
      apart = apart ? t.either(apart, bytes) : bytes;
    }
  aligned = t.isAligned(buffer, apart, side.memoryBytes() * layout.perChunk());
}

/// Copies what of chunk `chunk` of row `outer` is there to `to`; the rest becomes zeros.
void SlabLoader::copyChunk(const SlabPlace &place, Value k, Value outer, Value chunk, Value to) {
  Value inner = t.mul(chunk, layout.perChunk());
  Value freeAt = t.add(place.free, layout.kInner ? outer : inner), kAt = t.add(k, layout.kInner ? inner : outer);
  Value left = layout.kInner ? t.sub(place.kEnd, kAt) : t.sub(place.freeEnd, freeAt);
  Value inside = t.both(t.less(freeAt, place.freeEnd), t.less(kAt, place.kEnd));
  Value at = side.offset(fn, place.batch, freeAt, kAt, inside);
  Value count = t.min(left, fn.index(layout.perChunk()));
  Value bytes = arith::SelectOp::create(b, inside, t.mul(count, layout.width), fn.index(0));
  // Of no bytes the address is not looked at.
  NVVM::CpAsyncOp::create(b, to, t.behind(source, t.mul(at, layout.width)), kChunkBytes,
                          NVVM::LoadCacheModifierKind::CG, arith::TruncIOp::create(b, b.getI32Type(), t.i64(bytes)));
}

void SlabLoader::copyChunks(const SlabPlace &place, Value k, Value slab) {
  int64_t perRow = layout.inner() / layout.perChunk(), chunks = layout.outer() * perRow;
  if (chunks > kMostCopies * threads) {
    forEachOf(chunks, [&](Value number) {
      Value outer = t.div(number, perRow), chunk = t.rem(number, perRow);
      copyChunk(place, k, outer, chunk, t.behind(slab, layout.chunkAt(t, outer, chunk)));
    });
    return;
  }
  // Rows whose chunks lie alike are a constant apart, which costs no register.
  int64_t rowsApart = std::max<int64_t>(1, threads / perRow), period = layout.isSwizzled ? 8 : 1;
  Value chunk = t.rem(thread, perRow), first = t.div(thread, perRow);
  for (int64_t i = 0; i < chunks; i += threads) {
    auto copy = [&] {
      int64_t row = i / perRow;
      Value outer = threads % perRow ? t.div(t.add(thread, i), perRow) : t.add(first, row);
      if (threads % perRow)
        chunk = t.rem(t.add(thread, i), perRow);
      bool isApart = threads % perRow == 0 && rowsApart % period == 0;
      Value to =
          isApart ? t.add(layout.chunkAt(t, first, chunk), row * layout.pitchBytes()) : layout.chunkAt(t, outer, chunk);
      copyChunk(place, k, outer, chunk, t.behind(slab, to));
    };
    if (i + threads <= chunks)
      copy();
    else
      t.when(t.less(t.add(thread, i), fn.index(chunks)), copy);
  }
}

/// Element `number` of the slab, as shared memory holds it, with where it goes.
Value SlabLoader::elementAt(const SlabPlace &place, Value k, Value number, Value &at) {
  // Neighbours read neighbours, however the slab lies.
  int64_t inner = side.kInner ? layout.k : layout.free;
  Value high = t.div(number, inner), low = t.rem(number, inner);
  Value freeIn = side.kInner ? high : low, kIn = side.kInner ? low : high;
  at = layout.kInner ? layout.byteOf(t, freeIn, kIn) : layout.byteOf(t, kIn, freeIn);
  Value freeAt = t.add(place.free, freeIn), kAt = t.add(k, kIn);
  Value inside = t.both(t.less(freeAt, place.freeEnd), t.less(kAt, place.kEnd));
  freeAt = t.min(freeAt, t.sub(place.freeEnd, fn.index(1)));
  kAt = t.min(kAt, t.sub(place.kEnd, fn.index(1)));
  cpu::KernelElements elements(fn, 1);
  Value value = side.element(fn, elements, place.batch, freeAt, kAt, inside);
  value = cpu::widen(b, b.getLoc(), value, stored, isUnsigned(side.type));
  return arith::SelectOp::create(b, inside, value, arith::ConstantOp::create(b, b.getZeroAttr(stored)));
}

/// One after the other: unrolled, what each of them needs would stay in registers all the while.
void SlabLoader::forEachOf(int64_t count, function_ref<void(Value)> body) {
  Value step = arith::IndexCastUIOp::create(b, b.getIndexType(), NVVM::BlockDimXOp::create(b, b.getI32Type()));
  step = t.add(step, -others);
  auto loop = scf::ForOp::create(b, thread, fn.index(count), step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void SlabLoader::moveElements(const SlabPlace &place, Value k, Value slab) {
  forEachOf(layout.free * layout.k, [&](Value number) {
    Value at, value = elementAt(place, k, number, at);
    t.store(value, t.behind(slab, at), layout.width);
  });
}

//===- 8-bit floats -----------------------------------------------------------------------------===//

SmallVector<SlabLoader::Encoded> SlabLoader::encodedOf() {
  int64_t perRow = layout.inner() / layout.perChunk(), chunks = layout.outer() * perRow;
  Value first = t.div(thread, perRow), chunk = t.rem(thread, perRow);
  bool isWhole = threads % perRow == 0, isApart = isWhole && threads / perRow % (layout.isSwizzled ? 8 : 1) == 0;
  SmallVector<Encoded> all;
  for (int64_t i = 0; i < chunks; i += threads) {
    Encoded of{t.add(first, i / perRow), chunk, {}, {}};
    if (!isWhole)
      of = {t.div(t.add(thread, i), perRow), t.rem(t.add(thread, i), perRow), {}, {}};
    // Rows whose chunks lie alike are a constant apart, which costs no register.
    of.place = isApart ? t.add(layout.chunkAt(t, first, chunk), i / perRow * layout.pitchBytes())
                       : layout.chunkAt(t, of.outer, of.chunk);
    if (i + threads > chunks)
      of.isThere = t.less(t.add(thread, i), fn.index(chunks));
    all.push_back(of);
  }
  return all;
}

/// Eight bytes (i64); zeros where there is none.
Value SlabLoader::bytesOf(const SlabPlace &place, Value k, const Encoded &of) {
  Value inner = t.mul(of.chunk, layout.perChunk());
  Value freeAt = t.add(place.free, layout.kInner ? of.outer : inner), kAt = t.add(k, layout.kInner ? inner : of.outer);
  Value inside = t.both(t.less(freeAt, place.freeEnd), t.less(kAt, place.kEnd));
  if (of.isThere)
    inside = t.both(inside, of.isThere);
  Value at = side.offset(fn, place.batch, freeAt, kAt, inside);
  // Somewhere in memory, whatever the index: nothing branches around the load.
  at = arith::SelectOp::create(b, inside, at, fn.index(0));
  Value bytes = t.load(b.getI64Type(), t.behind(source, at), layout.perChunk());
  return arith::SelectOp::create(b, inside, bytes, arith::ConstantIntOp::create(b, b.getI64Type(), 0));
}

/// The numbers of eight bytes, times the scale of their k where there is one.
void SlabLoader::storeNumbers(const SlabPlace &place, Value k, const Encoded &of, Value bytes, Value slab) {
  SmallVector<Value> words;
  Value wide = LLVM::BitcastOp::create(b, VectorType::get({2}, b.getI32Type()), bytes);
  for (int64_t half = 0; half < 2; ++half) {
    Value word = vector::ExtractOp::create(b, wide, half);
    for (auto [n, pair] : llvm::enumerate(numbersOfWord(t, word, side.encoding, stored, hasConversion))) {
      if (side.scales)
        pair = scaled(place, k, of, pair, 4 * half + 2 * static_cast<int64_t>(n));
      words.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), pair));
    }
  }
  Value together = vector::FromElementsOp::create(b, VectorType::get({4}, b.getI32Type()), words);
  auto store = [&] { t.store(together, t.behind(slab, of.place), kChunkBytes); };
  of.isThere ? t.when(of.isThere, store) : store();
}

/// A pair of numbers from `first` of a chunk on, each times the scale of its k; rounded as the kernel's ops do.
Value SlabLoader::scaled(const SlabPlace &place, Value k, const Encoded &of, Value pair, int64_t first) {
  Type f32 = b.getF32Type();
  Value products[2];
  for (int64_t i = 0; i < 2; ++i) {
    Value kAt = t.add(k, layout.kInner ? t.add(t.mul(of.chunk, layout.perChunk()), first + i) : of.outer);
    cpu::KernelElements elements(fn, 1);
    Value last = t.sub(place.kEnd, fn.index(1));
    Value scale = elements.load(side.scales, {elements.uniform(t.max(t.min(kAt, last), fn.index(0)))});
    Value number = vector::ExtractOp::create(b, pair, i);
    products[i] =
        arith::MulFOp::create(b, arith::ExtFOp::create(b, f32, number), cpu::widen(b, b.getLoc(), scale, f32, false));
  }
  return t.pack(stored, products[0], products[1]);
}

void SlabLoader::bring(const SlabPlace &place, Value k, Value slab) {
  if (!canReadChunks)
    return moveElements(place, k, slab);
  auto read = [&] {
    if (canCopy)
      return copyChunks(place, k, slab);
    for (const Encoded &of : encodedOf())
      storeNumbers(place, k, of, bytesOf(place, k, of), slab);
  };
  t.when(aligned, read, [&] { moveElements(place, k, slab); });
}

SmallVector<Value> SlabLoader::begin(const SlabPlace &place, Value k, Value slab, Value isThere, int64_t most) {
  if (isDecoded() && layout.free * layout.k / threads / 4 <= most)
    return beginEncoded(place, k);
  if (canReadChunks || layout.free * layout.k % threads != 0 || layout.free * layout.k / threads > most) {
    t.when(isThere, [&] { bring(place, k, slab); });
    return {};
  }
  SmallVector<Value> elements;
  for (int64_t i = 0; i < layout.free * layout.k; i += threads) {
    Value at;
    elements.push_back(elementAt(place, k, t.add(thread, i), at));
    elements.push_back(at);
  }
  return elements;
}

/// Bytes that a thread holds: words for four elements each.
SmallVector<Value> SlabLoader::beginEncoded(const SlabPlace &place, Value k) {
  SmallVector<Encoded> mine = encodedOf();
  SmallVector<Type> types(mine.size(), b.getI64Type());
  auto branch = scf::IfOp::create(b, types, aligned, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> bytes = llvm::map_to_vector(mine, [&](const Encoded &of) { return bytesOf(place, k, of); });
  scf::YieldOp::create(b, bytes);
  b.setInsertionPointToStart(branch.elseBlock());
  Value none = arith::ConstantIntOp::create(b, b.getI64Type(), 0);
  scf::YieldOp::create(b, SmallVector<Value>(mine.size(), none));
  return llvm::to_vector_of<Value>(branch.getResults());
}

void SlabLoader::end(const SlabPlace &place, Value k, ArrayRef<Value> elements, Value slab) {
  if (isDecoded() && !elements.empty()) {
    auto store = [&] {
      for (auto [of, bytes] : llvm::zip(encodedOf(), elements))
        storeNumbers(place, k, of, bytes, slab);
    };
    return t.when(aligned, store, [&] { moveElements(place, k, slab); });
  }
  for (size_t i = 0; i < elements.size(); i += 2)
    t.store(elements[i], t.behind(slab, elements[i + 1]), layout.width);
}
