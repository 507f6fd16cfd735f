// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/TileCore.h"
#include "backends/cuda/Shuffles.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

cuda::TileCore::~TileCore() = default;

Value TileCore::joinRow(Value value, function_ref<Value(Value, Value)> join) {
  for (int64_t mask = 1; mask < threadsOfRow(); mask *= 2)
    value = join(value, exchange(t.b, value, mask));
  return value;
}

//===- Threads ----------------------------------------------------------------------------------===//

namespace {
class ThreadCore final : public TileCore {
public:
  ThreadCore(TileBuilder &t, const ProductTile &tile, const ProductTypes &types, const SlabLayout &a,
             const SlabLayout &b, Value thread)
      : TileCore(t), tile(tile), types(types), a(a), b(b) {
    int64_t across = tile.columns / tile.innerColumns, warpsAcross = across / 8;
    Value warp = t.div(thread, 32);
    lane = t.rem(thread, 32);
    y = t.add(t.mul(t.div(warp, warpsAcross), 4), t.div(lane, 8));
    x = t.add(t.mul(t.rem(warp, warpsAcross), 8), t.rem(lane, 8));
  }

  int64_t numSums() const override { return tile.innerRows * tile.innerColumns; }
  int64_t numRows() const override { return tile.innerRows; }
  int64_t threadsOfRow() const override { return 8; }

  SmallVector<Run> runs() override {
    SmallVector<Run> all;
    int64_t together = b.kInner ? 1 : b.perChunk();
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
    for (int64_t k = 0; k < tile.slab; k += a.perChunk()) {
      Chunk as = read(a, slabA, y, k, tile.innerRows, tile.rows / tile.innerRows);
      Chunk bs = read(b, slabB, x, k, tile.innerColumns, tile.columns / tile.innerColumns);
      for (auto [ofA, ofB] : llvm::zip(as, bs))
        addOuter(sums, ofA, ofB);
    }
    return sums;
  }

  /// Column k of what is held is with lane k % 8 of those that hold the row.
  SmallVector<Value> multiplyHeld(ValueRange held, Value slabB, ValueRange given) override {
    SmallVector<Value> sums(given);
    Value first = t.mul(t.div(lane, 8), 8);
    int64_t columns = tile.slab / 8;
    for (int64_t k = 0; k < tile.slab; ++k) {
      SmallVector<Value> ofA;
      for (int64_t i = 0; i < tile.innerRows; ++i)
        ofA.push_back(fromLane(t.b, held[i * columns + k / 8], t.add(first, k % 8)));
      addOuter(sums, ofA, readRow(b, slabB, x, k, tile.innerColumns, tile.columns / tile.innerColumns));
    }
    return sums;
  }

private:
  using Chunk = SmallVector<SmallVector<Value>>; // [k][position]

  void addOuter(MutableArrayRef<Value> sums, ArrayRef<Value> ofA, ArrayRef<Value> ofB) {
    for (int64_t i = 0; i < tile.innerRows; ++i)
      for (int64_t j = 0; j < tile.innerColumns; ++j) {
        Value &sum = sums[i * tile.innerColumns + j];
        sum = multiplyAdd(ofA[i], ofB[j], sum);
      }
  }

  /// Where in the tile position `i` of a thread is, of `threads` along that side.
  Value position(const SlabLayout &side, Value at, int64_t i, int64_t threads) {
    if (side.kInner)
      return t.add(at, i * threads);
    int64_t run = side.perChunk();
    return t.add(t.mul(at, run), i / run * threads * run + i % run);
  }

  /// The thread's elements of a chunk of k.
  Chunk read(const SlabLayout &side, Value slab, Value at, int64_t k, int64_t count, int64_t threads) {
    int64_t step = side.perChunk();
    Chunk elements(step);
    if (side.kInner) {
      for (int64_t i = 0; i < count; ++i)
        for (auto [n, value] : llvm::enumerate(
                 t.loadChunk(types.sum, t.behind(slab, side.byteOf(t, position(side, at, i, threads), t.fn.index(k))))))
          elements[n].push_back(value);
      return elements;
    }
    for (int64_t n = 0; n < step; ++n)
      elements[n] = readRow(side, slab, at, k + n, count, threads);
    return elements;
  }

  /// The thread's elements of one k where free positions lie side by side.
  SmallVector<Value> readRow(const SlabLayout &side, Value slab, Value at, int64_t k, int64_t count, int64_t threads) {
    SmallVector<Value> elements;
    for (int64_t i = 0; i < count; i += side.perChunk())
      elements.append(
          t.loadChunk(types.sum, t.behind(slab, side.byteOf(t, t.fn.index(k), position(side, at, i, threads)))));
    return elements;
  }

  Value multiplyAdd(Value x, Value y, Value sum) {
    if (isa<FloatType>(types.sum))
      return math::FmaOp::create(t.b, x, y, sum);
    return arith::AddIOp::create(t.b, sum, arith::MulIOp::create(t.b, x, y));
  }

  const ProductTile tile;
  const ProductTypes types;
  const SlabLayout a, b;
  Value x, y, lane; // the thread's column and row among the threads
};

//===- Warps ------------------------------------------------------------------------------------===//

class WarpCore final : public TileCore {
public:
  WarpCore(TileBuilder &t, const ProductTile &tile, const ProductTypes &types, const SlabLayout &a, const SlabLayout &b,
           Value thread)
      : TileCore(t), tile(tile), types(types), a(a), b(b) {
    int64_t across = tile.columns / tile.innerColumns;
    Value warp = t.div(thread, 32);
    lane = t.rem(thread, 32);
    firstRow = t.mul(t.div(warp, across), tile.innerRows);
    firstColumn = t.mul(t.rem(warp, across), tile.innerColumns);
  }

  int64_t numSums() const override { return tile.innerRows * tile.innerColumns / 32; }
  int64_t numRows() const override { return tile.innerRows / 8; }
  int64_t threadsOfRow() const override { return 4; }

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

  double factor() const override {
    double all = 1;
    if (types.isFloat8)
      return all;
    for (Type format : {types.formatA, types.formatB})
      all *= format && isa<Float8E4M3FNType>(format) ? 256 : 1;
    return all;
  }

  SmallVector<Value> multiply(Value slabA, Value slabB, ValueRange given) override {
    if (!types.isFloat8)
      return multiplySlab(slabA, slabB, given);
    // Such instructions keep fewer bits of a sum than f32 has: those of a slab are summed by themselves.
    Value none = arith::ConstantOp::create(t.b, t.b.getZeroAttr(types.sum));
    SmallVector<Value> sums = multiplySlab(slabA, slabB, SmallVector<Value>(given.size(), none));
    for (auto [sum, total] : llvm::zip(sums, given))
      sum = arith::AddFOp::create(t.b, total, sum);
    return sums;
  }

  SmallVector<Value> multiplySlab(Value slabA, Value slabB, ValueRange given) {
    SmallVector<Value> sums(given);
    for (int64_t k = 0; k < tile.slab; k += 2 * a.perChunk()) {
      SmallVector<SmallVector<Value>> as;
      for (int64_t i = 0; i < tile.innerRows; i += 16)
        as.push_back(read(a, slabA, t.add(firstRow, i), k, /*freeFirst=*/true));
      addChunks(sums, as, slabB, k);
    }
    return sums;
  }

  /// Two tiles of 8 columns lie in a lane's registers as the operand for 16 k does.
  SmallVector<Value> multiplyHeld(ValueRange held, Value slabB, ValueRange given) override {
    SmallVector<Value> sums(given);
    for (int64_t k = 0; k < tile.slab; k += 16) {
      SmallVector<SmallVector<Value>> as;
      for (int64_t i = 0; i < tile.innerRows / 16; ++i) {
        SmallVector<Value> registers;
        for (int64_t first = (i * (tile.slab / 8) + k / 8) * 4, at = first; at < first + 8; at += 2)
          registers.push_back(operandOf(t.pack(types.a, held[at], held[at + 1])));
        as.push_back(registers);
      }
      addChunks(sums, as, slabB, k);
    }
    return sums;
  }

private:
  /// Adds the products of two chunks of k.
  void addChunks(MutableArrayRef<Value> sums, ArrayRef<SmallVector<Value>> as, Value slabB, int64_t k) {
    int64_t across = tile.innerColumns / 8;
    for (int64_t j = 0; j < across; j += 2) {
      SmallVector<Value> both = read(b, slabB, t.add(firstColumn, j * 8), k, /*freeFirst=*/false);
      for (int64_t i = 0; i < tile.innerRows / 16; ++i)
        for (int64_t half = 0; half < 2; ++half) {
          MutableArrayRef<Value> part = sums.slice((i * across + j + half) * 4, 4);
          llvm::copy(multiplyAdd(as[i], ArrayRef(both).slice(2 * half, 2), part), part.begin());
        }
    }
  }

  /// Four 8 x 8 matrices (of 16 bits; bytes in pairs): 16 free positions from `first` on, two chunks of k. They are in
  /// the order in which mma.sync has them: of a free positions change first, of b k.
  SmallVector<Value> read(const SlabLayout &side, Value slab, Value first, int64_t k, bool freeFirst) {
    if (!side.kInner && side.width == 4) // ldmatrix turns elements of two bytes only
      return readWords(side, slab, first, k, freeFirst);
    Value matrix = t.div(lane, 8), row = t.rem(lane, 8);
    Value low = t.rem(matrix, 2), high = t.div(matrix, 2);
    Value freeHalf = freeFirst ? low : high, kHalf = freeFirst ? high : low;
    int64_t perChunk = side.perChunk();
    Value at;
    if (side.kInner) {
      Value outer = t.add(t.add(first, t.mul(freeHalf, 8)), row);
      at = side.chunkAt(t, outer, t.add(kHalf, k / perChunk));
    } else {
      Value outer = t.add(t.add(t.mul(kHalf, 8), row), k);
      at = side.chunkAt(t, outer, t.add(t.div(first, perChunk), freeHalf));
    }
    Type i32 = t.b.getI32Type();
    auto type = LLVM::LLVMStructType::getLiteral(t.b.getContext(), {i32, i32, i32, i32});
    Value four = NVVM::LdMatrixOp::create(
        t.b, type, t.behind(slab, at), 4, side.kInner ? NVVM::MMALayout::row : NVVM::MMALayout::col,
        NVVM::LdStMatrixShapeAttr::get(t.b.getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
    SmallVector<Value> registers;
    for (int64_t i = 0; i < 4; ++i)
      registers.push_back(asOperand(LLVM::ExtractValueOp::create(t.b, four, i)));
    return registers;
  }

  /// The same of 4-byte elements, one by one.
  SmallVector<Value> readWords(const SlabLayout &side, Value slab, Value first, int64_t k, bool freeFirst) {
    SmallVector<Value> registers;
    for (int64_t i = 0; i < 4; ++i) {
      int64_t freeHalf = freeFirst ? i % 2 : i / 2, kHalf = freeFirst ? i / 2 : i % 2;
      Value free = t.add(t.add(first, t.div(lane, 4)), 8 * freeHalf), row = t.add(t.rem(lane, 4), k + 4 * kHalf);
      registers.push_back(asOperand(t.load(t.b.getI32Type(), t.behind(slab, side.byteOf(t, row, free)), 4)));
    }
    return registers;
  }

  Value asOperand(Value bits) {
    if (types.a.isF32())
      return t.intrinsic("llvm.nvvm.f2tf32.rna", t.b.getI32Type(),
                         LLVM::BitcastOp::create(t.b, types.a, bits).getResult());
    if (!types.a.isF16())
      return bits;
    return LLVM::BitcastOp::create(t.b, VectorType::get({2}, types.a), bits);
  }

  /// What `asOperand` makes of bits, made of a pair of elements.
  Value operandOf(Value pair) {
    return types.a.isF16() ? pair : LLVM::BitcastOp::create(t.b, t.b.getI32Type(), pair).getResult();
  }

  NVVM::MMATypes typeOf(bool isA) const {
    if (types.a.isF16())
      return NVVM::MMATypes::f16;
    if (types.a.isBF16())
      return NVVM::MMATypes::bf16;
    if (types.a.isF32())
      return NVVM::MMATypes::tf32;
    return (isA ? types.aUnsigned : types.bUnsigned) ? NVVM::MMATypes::u8 : NVVM::MMATypes::s8;
  }

  Value word(int64_t bits) { return arith::ConstantIntOp::create(t.b, t.b.getI32Type(), bits); }

  /// Two registers of two f16 each: bytes 0 and 2 of `bytes`, bytes 1 and 3. Numbers of f8E4M3FN are those of f16 with
  /// the same bits for exponent and fraction, times 2^8 (`factor`); f8E5M2 is the upper byte of an f16.
  std::array<Value, 2> halvesOf(Value bytes, Type format) {
    auto with = [&](Value value, int64_t mask) -> Value { return arith::AndIOp::create(t.b, value, word(mask)); };
    auto left = [&](Value value, int64_t by) -> Value { return arith::ShLIOp::create(t.b, value, word(by)); };
    auto asHalves = [&](Value bits) -> Value {
      return LLVM::BitcastOp::create(t.b, VectorType::get({2}, t.b.getF16Type()), bits);
    };
    constexpr int64_t upper = 0xff00ff00, signs = 0x80008000, rest = 0x7f807f80;
    if (isa<Float8E5M2Type>(format))
      return {asHalves(with(left(bytes, 8), upper)), asHalves(with(bytes, upper))};
    // Where all bits of a number but its sign are set it is NaN, which is the highest bit of its byte in `marked`; one
    // place lower, as the highest bit of the exponent, that makes a NaN of an f16.
    Value magnitude = with(bytes, 0x7f7f7f7f), next = arith::AddIOp::create(t.b, magnitude, word(0x01010101));
    Value marked = arith::OrIOp::create(t.b, magnitude, with(next, 0x80808080));
    Value odd = arith::ShRUIOp::create(t.b, marked, word(1));
    auto joined = [&](Value sign, Value number) {
      return asHalves(arith::OrIOp::create(t.b, with(sign, signs), with(number, rest)));
    };
    return {joined(left(bytes, 8), left(marked, 7)), joined(bytes, odd)};
  }

  /// Products of 8-bit floats by their own instruction, which LLVM does not name.
  SmallVector<Value> multiplyFloat8(ArrayRef<Value> as, ArrayRef<Value> bs, ArrayRef<Value> sums) {
    auto nameOf = [](Type format) { return std::string(isa<Float8E4M3FNType>(format) ? "e4m3" : "e5m2"); };
    const std::string text = kFloat8Mma.str() + nameOf(types.formatA) + "." + nameOf(types.formatB) +
                             ".f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};";
    SmallVector<Value> operands(as);
    llvm::append_range(operands, bs);
    llvm::append_range(operands, sums);
    auto type = LLVM::LLVMStructType::getLiteral(t.b.getContext(), SmallVector<Type>(4, types.sum));
    auto made = LLVM::InlineAsmOp::create(t.b, type, operands, text, "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f",
                                          /*has_side_effects=*/false, /*is_align_stack=*/false,
                                          LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    SmallVector<Value> values;
    for (int64_t i = 0; i < 4; ++i)
      values.push_back(LLVM::ExtractValueOp::create(t.b, made.getResult(0), i));
    return values;
  }

  /// Products of 8-bit floats, as two of f16.
  SmallVector<Value> multiplyHalves(ArrayRef<Value> as, ArrayRef<Value> bs, ArrayRef<Value> sums) {
    SmallVector<std::array<Value, 2>> a = llvm::map_to_vector(as, [&](Value x) { return halvesOf(x, types.formatA); });
    SmallVector<std::array<Value, 2>> b = llvm::map_to_vector(bs, [&](Value x) { return halvesOf(x, types.formatB); });
    SmallVector<Value> values(sums);
    for (size_t pair = 0; pair < 2; ++pair) {
      auto of = [&](const std::array<Value, 2> &both) { return both[pair]; };
      auto type = LLVM::LLVMStructType::getLiteral(t.b.getContext(), SmallVector<Type>(4, types.sum));
      Value result = NVVM::MmaOp::create(t.b, type, llvm::map_to_vector(a, of), llvm::map_to_vector(b, of), values,
                                         ArrayRef<int64_t>{16, 8, 16}, std::nullopt, std::nullopt,
                                         std::array{NVVM::MMATypes::f16, NVVM::MMATypes::f16},
                                         std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
      for (int64_t i = 0; i < 4; ++i)
        values[i] = LLVM::ExtractValueOp::create(t.b, result, i);
    }
    return values;
  }

  SmallVector<Value> multiplyAdd(ArrayRef<Value> as, ArrayRef<Value> bs, ArrayRef<Value> sums) {
    if (types.formatA)
      return types.isFloat8 ? multiplyFloat8(as, bs, sums) : multiplyHalves(as, bs, sums);
    bool isFloat = isa<FloatType>(types.sum);
    auto type = LLVM::LLVMStructType::getLiteral(t.b.getContext(), SmallVector<Type>(4, types.sum));
    std::optional<NVVM::MMAIntOverflow> overflow;
    if (!isFloat)
      overflow = NVVM::MMAIntOverflow::wrapped;
    Value result = NVVM::MmaOp::create(t.b, type, as, bs, sums, ArrayRef<int64_t>{16, 8, 32 / types.width()},
                                       std::nullopt, overflow, std::array{typeOf(true), typeOf(false)},
                                       std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
    SmallVector<Value> values;
    for (int64_t i = 0; i < 4; ++i)
      values.push_back(LLVM::ExtractValueOp::create(t.b, result, i));
    return values;
  }

  const ProductTile tile;
  const ProductTypes types;
  const SlabLayout a, b;
  Value lane, firstRow, firstColumn; // of the warp, within the tile
};
} // namespace

std::unique_ptr<TileCore> TileCore::of(Core core, TileBuilder &t, const ProductTile &tile, const ProductTypes &types,
                                       const SlabLayout &a, const SlabLayout &b, Value thread) {
  if (isOfWarps(core))
    return std::make_unique<WarpCore>(t, tile, types, a, b, thread);
  return std::make_unique<ThreadCore>(t, tile, types, a, b, thread);
}
