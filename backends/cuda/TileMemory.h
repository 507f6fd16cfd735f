// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slabs of an operand in shared memory: how they lie there, and how they come from global memory.
//
// A slab lies in the direction that the operand has in global memory, so that 16 bytes are copied at once (cp.async),
// whichever of k and free positions that is:
//
//     k inner      [free position][k]         a row-major a, a transposed b
//     free inner   [k][free position]         a transposed a, a row-major b
//
// Threads read elements of rows that are one chunk (16 bytes) longer than what they hold. Warps read chunks by
// ldmatrix, eight rows at a time; chunk c of row r lies at c xor a number made of r, so that the eight rows of a chunk
// are in different banks.

#ifndef SINTER_BACKENDS_CUDA_TILEMEMORY_H
#define SINTER_BACKENDS_CUDA_TILEMEMORY_H

#include "backends/cuda/ProductTile.h"

namespace sinter::cuda {

constexpr int64_t kChunkBytes = 16;
/// Elements that a thread holds on their way to shared memory.
constexpr int64_t kMostElements = 8;

/// Helpers over i64 values and pointers.
class TileBuilder {
public:
  explicit TileBuilder(cpu::KernelFunction &fn) : fn(fn), b(fn.b) {}

  mlir::Value add(mlir::Value x, mlir::Value y) { return mlir::arith::AddIOp::create(b, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return mlir::arith::SubIOp::create(b, x, y); }
  mlir::Value mul(mlir::Value x, int64_t y) { return mlir::arith::MulIOp::create(b, x, fn.index(y)); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return mlir::arith::MulIOp::create(b, x, y); }
  mlir::Value add(mlir::Value x, int64_t y) { return y ? add(x, fn.index(y)) : x; }
  mlir::Value div(mlir::Value x, int64_t y) { return mlir::arith::DivUIOp::create(b, x, fn.index(y)); }
  mlir::Value rem(mlir::Value x, int64_t y) { return mlir::arith::RemUIOp::create(b, x, fn.index(y)); }
  mlir::Value min(mlir::Value x, mlir::Value y) { return mlir::arith::MinSIOp::create(b, x, y); }
  mlir::Value less(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::slt, x, y);
  }
  mlir::Value both(mlir::Value x, mlir::Value y) { return mlir::arith::AndIOp::create(b, x, y); }
  mlir::Value max(mlir::Value x, mlir::Value y) { return mlir::arith::MaxSIOp::create(b, x, y); }
  mlir::Value either(mlir::Value x, mlir::Value y) { return mlir::arith::OrIOp::create(b, x, y); }
  mlir::Value i64(mlir::Value index) { return mlir::arith::IndexCastOp::create(b, b.getI64Type(), index); }
  void when(mlir::Value condition, llvm::function_ref<void()> body, llvm::function_ref<void()> otherwise = nullptr);

  /// `bytes` behind a pointer.
  mlir::Value behind(mlir::Value pointer, mlir::Value bytes);
  mlir::Value load(mlir::Type type, mlir::Value pointer, int64_t alignment);
  /// The 16 bytes there, as elements.
  llvm::SmallVector<mlir::Value> loadChunk(mlir::Type element, mlir::Value pointer);
  void store(mlir::Value value, mlir::Value pointer, int64_t alignment);
  /// Whether an address is a multiple of a chunk (or of `bytes`), where `also` (null: nothing) is or'd to it: at run
  /// time, as a slice that a loop reads or writes where it lies begins anywhere.
  mlir::Value isAligned(mlir::Value buffer, mlir::Value also = nullptr, int64_t bytes = kChunkBytes);
  /// Two f32 rounded to f16 or bf16, as a vector.
  mlir::Value pack(mlir::Type element, mlir::Value first, mlir::Value second);
  mlir::Value intrinsic(llvm::StringRef name, mlir::Type type, mlir::ValueRange operands);
  /// A buffer of the kernel in global memory.
  mlir::Value global(mlir::Value buffer);
  /// Memory that the block shares, for the whole kernel.
  mlir::Value shared(llvm::StringRef name, int64_t bytes);
  mlir::Value threadNumber();

  cpu::KernelFunction &fn;
  mlir::ImplicitLocOpBuilder &b;
};

/// How slabs of one operand lie.
struct SlabLayout {
  bool kInner = false, isSwizzled = false;
  int64_t free = 0, k = 0, width = 4; // positions, bytes of an element
  int64_t padding = 0;                // bytes behind each row
  int64_t inner() const { return kInner ? k : free; }
  int64_t outer() const { return kInner ? free : k; }
  int64_t perChunk() const { return kChunkBytes / width; }
  int64_t pitchBytes() const { return inner() * width + padding; }
  int64_t bytes() const { return outer() * pitchBytes(); }
  /// The same memory read in the other direction: its rows are k, or are no longer.
  SlabLayout turned() const { return {!kInner, isSwizzled, k, free, width, padding}; }

  /// Where the element at `position` of row `row` lies behind a slab's beginning, in bytes.
  mlir::Value byteOf(TileBuilder &t, mlir::Value row, mlir::Value position) const;
  /// Of a chunk: `chunk` counts along a row.
  mlir::Value chunkAt(TileBuilder &t, mlir::Value row, mlir::Value chunk) const;

  static SlabLayout of(const ProductTile &tile, const ProductTypes &types, const ProductSide &side, bool isA,
                       Core core);
  /// Rows of k, `width` bytes an element.
  static SlabLayout ofRows(int64_t rows, int64_t k, int64_t width, Core core);
};

/// What of the operands a block is at.
struct SlabPlace {
  llvm::SmallVector<mlir::Value> batch;
  mlir::Value free;          // the tile's first position
  mlir::Value freeEnd, kEnd; // of all positions, of this part's k
};

/// Brings slabs of one operand into shared memory, the block's first `threads` together; `others` are the rest.
class SlabLoader {
public:
  SlabLoader(TileBuilder &t, ProductSide &side, SlabLayout layout, mlir::Type stored, int64_t threads,
             mlir::Value thread, int64_t others = 0);

  /// All of it, some of which may only be there after the copies have been waited for. Only where there is such a slab.
  void bring(const SlabPlace &place, mlir::Value k, mlir::Value slab);
  /// The same in two steps around what hides the time that memory takes; `isThere` says whether there is such a slab.
  /// A thread holds so many elements at most between them.
  llvm::SmallVector<mlir::Value> begin(const SlabPlace &place, mlir::Value k, mlir::Value slab, mlir::Value isThere,
                                       int64_t most = kMostElements);
  /// Of a slab of 8-bit floats the bytes that a thread holds, for `end` to make numbers of.
  llvm::SmallVector<mlir::Value> beginEncoded(const SlabPlace &place, mlir::Value k);
  /// Whether bytes of such an operand come eight at a time, but for what running tells.
  static bool canDecode(cpu::KernelSpec &spec, const ProductSide &side);
  void end(const SlabPlace &place, mlir::Value k, llvm::ArrayRef<mlir::Value> elements, mlir::Value slab);

  const SlabLayout layout;
  /// The code is for a generation with an instruction for 8-bit floats (Float8Numbers.h).
  bool hasConversion = false;

private:
  /// Chunks of 16-bit numbers that a thread makes of as many bytes, eight each.
  struct Encoded {
    mlir::Value outer, chunk, place; // of the slab; bytes behind its beginning
    mlir::Value isThere;             // null: always
  };
  bool isDecoded() const { return side.encoding && canReadChunks; }
  llvm::SmallVector<Encoded> encodedOf();
  mlir::Value bytesOf(const SlabPlace &place, mlir::Value k, const Encoded &of);
  mlir::Value scaled(const SlabPlace &place, mlir::Value k, const Encoded &of, mlir::Value pair, int64_t first);
  void storeNumbers(const SlabPlace &place, mlir::Value k, const Encoded &of, mlir::Value bytes, mlir::Value slab);
  void copyChunk(const SlabPlace &place, mlir::Value k, mlir::Value outer, mlir::Value chunk, mlir::Value to);
  void copyChunks(const SlabPlace &place, mlir::Value k, mlir::Value slab);
  void forEachOf(int64_t count, llvm::function_ref<void(mlir::Value)> body);
  mlir::Value elementAt(const SlabPlace &place, mlir::Value k, mlir::Value number, mlir::Value &at);
  void moveElements(const SlabPlace &place, mlir::Value k, mlir::Value slab);

  TileBuilder &t;
  cpu::KernelFunction &fn;
  mlir::ImplicitLocOpBuilder &b;
  ProductSide &side;
  mlir::Type stored;
  int64_t threads, others;
  mlir::Value thread;
  bool canReadChunks = false;
  bool canCopy = false;
  mlir::Value source, aligned; // whether chunks may be read, at run time
};

} // namespace sinter::cuda

#endif
