// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/TileCore.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

cuda::TileCore::~TileCore() = default;

//===- Threads ----------------------------------------------------------------------------------===//

namespace {
class ThreadCore final : public TileCore {
public:
  ThreadCore(TileBuilder &t, const ProductTile &tile, const ProductTypes &types, SlabLoader &a, SlabLoader &b,
             Value thread)
      : t(t), tile(tile), types(types), a(a), b(b) {
    int64_t across = tile.columns / tile.innerColumns, warpsAcross = across / 8;
    Value warp = t.div(thread, 32), lane = t.rem(thread, 32);
    y = t.add(t.mul(t.div(warp, warpsAcross), 4), t.div(lane, 8));
    x = t.add(t.mul(t.rem(warp, warpsAcross), 8), t.rem(lane, 8));
  }

  int64_t numSums() const override { return tile.innerRows * tile.innerColumns; }

  SmallVector<Run> runs() override {
    SmallVector<Run> all;
    int64_t together = b.layout.kInner ? 1 : b.layout.perChunk();
    for (int64_t i = 0; i < tile.innerRows; ++i)
      for (int64_t j = 0; j < tile.innerColumns; j += together) {
        Run run{position(a, y, i, tile.rows / tile.innerRows), position(b, x, j, tile.columns / tile.innerColumns), {}};
        for (int64_t n = j; n < j + together; ++n)
          run.sums.push_back(static_cast<unsigned>(i * tile.innerColumns + n));
        all.push_back(run);
      }
    return all;
  }

  SmallVector<Value> multiply(Value slabA, Value slabB, ValueRange given) override {
    SmallVector<Value> sums(given);
    int64_t step = a.layout.perChunk();
    for (int64_t k = 0; k < tile.slab; k += step) {
      auto as = read(a, slabA, y, k, tile.innerRows, tile.rows / tile.innerRows);
      auto bs = read(b, slabB, x, k, tile.innerColumns, tile.columns / tile.innerColumns);
      for (int64_t n = 0; n < step; ++n)
        for (int64_t i = 0; i < tile.innerRows; ++i)
          for (int64_t j = 0; j < tile.innerColumns; ++j) {
            Value &sum = sums[i * tile.innerColumns + j];
            sum = multiplyAdd(as[n][i], bs[n][j], sum);
          }
    }
    return sums;
  }

private:
  /// Where in the tile position `i` of a thread is, of `threads` along that side.
  Value position(SlabLoader &side, Value at, int64_t i, int64_t threads) {
    if (side.layout.kInner)
      return t.add(at, i * threads);
    int64_t run = side.layout.perChunk();
    return t.add(t.mul(at, run), i / run * threads * run + i % run);
  }

  /// The thread's elements of a chunk of k: [k][position].
  SmallVector<SmallVector<Value>> read(SlabLoader &side, Value slab, Value at, int64_t k, int64_t count,
                                       int64_t threads) {
    int64_t step = side.layout.perChunk();
    SmallVector<SmallVector<Value>> elements(step);
    if (side.layout.kInner) {
      for (int64_t i = 0; i < count; ++i)
        for (auto [n, value] : llvm::enumerate(
                 t.loadChunk(types.sum, t.behind(slab, side.byteOf(position(side, at, i, threads), t.fn.index(k))))))
          elements[n].push_back(value);
      return elements;
    }
    for (int64_t n = 0; n < step; ++n)
      for (int64_t i = 0; i < count; i += step)
        elements[n].append(
            t.loadChunk(types.sum, t.behind(slab, side.byteOf(t.fn.index(k + n), position(side, at, i, threads)))));
    return elements;
  }

  Value multiplyAdd(Value x, Value y, Value sum) {
    if (isa<FloatType>(types.sum))
      return math::FmaOp::create(t.b, x, y, sum);
    return arith::AddIOp::create(t.b, sum, arith::MulIOp::create(t.b, x, y));
  }

  TileBuilder &t;
  const ProductTile &tile;
  const ProductTypes &types;
  SlabLoader &a, &b;
  Value x, y; // the thread's column and row among the threads
};

//===- Warps ------------------------------------------------------------------------------------===//

class WarpCore final : public TileCore {
public:
  WarpCore(TileBuilder &t, const ProductTile &tile, const ProductTypes &types, SlabLoader &a, SlabLoader &b,
           Value thread)
      : t(t), tile(tile), types(types), a(a), b(b) {
    int64_t across = tile.columns / tile.innerColumns;
    Value warp = t.div(thread, 32);
    lane = t.rem(thread, 32);
    firstRow = t.mul(t.div(warp, across), tile.innerRows);
    firstColumn = t.mul(t.rem(warp, across), tile.innerColumns);
  }

  int64_t numSums() const override { return tile.innerRows * tile.innerColumns / 32; }

  SmallVector<Run> runs() override {
    SmallVector<Run> all;
    Value group = t.div(lane, 4), pair = t.mul(t.rem(lane, 4), 2);
    for (int64_t i = 0; i < tile.innerRows / 16; ++i)
      for (int64_t half = 0; half < 2; ++half)
        for (int64_t j = 0; j < tile.innerColumns / 8; ++j) {
          auto first = static_cast<unsigned>((i * (tile.innerColumns / 8) + j) * 4 + half * 2);
          all.push_back({t.add(t.add(firstRow, group), i * 16 + half * 8),
                         t.add(t.add(firstColumn, pair), j * 8),
                         {first, first + 1}});
        }
    return all;
  }

  SmallVector<Value> multiply(Value slabA, Value slabB, ValueRange given) override {
    SmallVector<Value> sums(given);
    int64_t step = 2 * a.layout.perChunk(), across = tile.innerColumns / 8;
    for (int64_t k = 0; k < tile.slab; k += step) {
      SmallVector<SmallVector<Value>> as, bs;
      for (int64_t i = 0; i < tile.innerRows; i += 16)
        as.push_back(read(a, slabA, t.add(firstRow, i), k, /*freeFirst=*/true));
      for (int64_t j = 0; j < tile.innerColumns; j += 16) {
        SmallVector<Value> both = read(b, slabB, t.add(firstColumn, j), k, /*freeFirst=*/false);
        bs.push_back({both[0], both[1]});
        bs.push_back({both[2], both[3]});
      }
      for (int64_t i = 0; i < tile.innerRows / 16; ++i)
        for (int64_t j = 0; j < across; ++j) {
          MutableArrayRef<Value> part = MutableArrayRef(sums).slice((i * across + j) * 4, 4);
          llvm::copy(multiplyAdd(as[i], bs[j], part), part.begin());
        }
    }
    return sums;
  }

private:
  /// Four 8 x 8 matrices (of 16 bits; bytes in pairs): 16 free positions from `first` on, two chunks of k. They are in
  /// the order in which mma.sync has them: of a free positions change first, of b k.
  SmallVector<Value> read(SlabLoader &side, Value slab, Value first, int64_t k, bool freeFirst) {
    Value matrix = t.div(lane, 8), row = t.rem(lane, 8);
    Value low = t.rem(matrix, 2), high = t.div(matrix, 2);
    Value freeHalf = freeFirst ? low : high, kHalf = freeFirst ? high : low;
    int64_t perChunk = side.layout.perChunk();
    Value at;
    if (side.layout.kInner) {
      Value outer = t.add(t.add(first, t.mul(freeHalf, 8)), row);
      at = side.chunkAt(outer, t.add(kHalf, k / perChunk));
    } else {
      Value outer = t.add(t.add(t.mul(kHalf, 8), row), k);
      at = side.chunkAt(outer, t.add(t.div(first, perChunk), freeHalf));
    }
    Type i32 = t.b.getI32Type();
    auto type = LLVM::LLVMStructType::getLiteral(t.b.getContext(), {i32, i32, i32, i32});
    Value four = NVVM::LdMatrixOp::create(
        t.b, type, t.behind(slab, at), 4, side.layout.kInner ? NVVM::MMALayout::row : NVVM::MMALayout::col,
        NVVM::LdStMatrixShapeAttr::get(t.b.getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
    SmallVector<Value> registers;
    for (int64_t i = 0; i < 4; ++i)
      registers.push_back(asOperand(LLVM::ExtractValueOp::create(t.b, four, i)));
    return registers;
  }

  Value asOperand(Value bits) {
    if (!types.a.isF16())
      return bits;
    return LLVM::BitcastOp::create(t.b, VectorType::get({2}, types.a), bits);
  }

  NVVM::MMATypes typeOf(bool isA) const {
    if (types.a.isF16())
      return NVVM::MMATypes::f16;
    if (types.a.isBF16())
      return NVVM::MMATypes::bf16;
    return (isA ? types.aUnsigned : types.bUnsigned) ? NVVM::MMATypes::u8 : NVVM::MMATypes::s8;
  }

  SmallVector<Value> multiplyAdd(ArrayRef<Value> as, ArrayRef<Value> bs, ArrayRef<Value> sums) {
    bool isFloat = isa<FloatType>(types.sum);
    auto type = LLVM::LLVMStructType::getLiteral(t.b.getContext(), SmallVector<Type>(4, types.sum));
    std::optional<NVVM::MMAIntOverflow> overflow;
    if (!isFloat)
      overflow = NVVM::MMAIntOverflow::wrapped;
    Value result = NVVM::MmaOp::create(t.b, type, as, bs, sums, ArrayRef<int64_t>{16, 8, isFloat ? 16 : 32},
                                       std::nullopt, overflow, std::array{typeOf(true), typeOf(false)},
                                       std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
    SmallVector<Value> values;
    for (int64_t i = 0; i < 4; ++i)
      values.push_back(LLVM::ExtractValueOp::create(t.b, result, i));
    return values;
  }

  TileBuilder &t;
  const ProductTile &tile;
  const ProductTypes &types;
  SlabLoader &a, &b;
  Value lane, firstRow, firstColumn; // of the warp, within the tile
};
} // namespace

std::unique_ptr<TileCore> TileCore::of(Core core, TileBuilder &t, const ProductTile &tile, const ProductTypes &types,
                                       SlabLoader &a, SlabLoader &b, Value thread) {
  if (core == Core::Warps)
    return std::make_unique<WarpCore>(t, tile, types, a, b, thread);
  return std::make_unique<ThreadCore>(t, tile, types, a, b, thread);
}
