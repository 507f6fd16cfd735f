// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code of one product with four-bit codes: floats and strips (BlockDot.cpp), and rows as digits of bytes
// (BlockDotDigits.cpp).

#ifndef SINTER_BACKENDS_CPU_EMIT_BLOCKDOTEMITTER_H
#define SINTER_BACKENDS_CPU_EMIT_BLOCKDOTEMITTER_H

#include "backends/cpu/emit/DigitRows.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/MicroKernel.h"
#include "ir/Blocks.h"

namespace sinter::cpu {

/// Codes of a word, and of each of its halves, whose places in a mantissa differ.
constexpr int64_t kWordCodes = 8, kHalfCodes = 4;
/// Rows that read codes as they stream by; for more a strip is made.
constexpr int64_t kFewRows = 4;
/// What is subtracted from codes without zero points.
constexpr int64_t kUsualZero = 8;

/// The operands as inputs of the kernel, and the sizes that are walked.
struct BlockProduct {
  BlockDotOp op;
  unsigned x, codes, scales;
  std::optional<unsigned> zeros;
  int64_t k, columns, block, blocks, panel;
  DimExpr rows;
  Dims rowSizes; // the axes of the result before its columns

  int64_t panels() const { return llvm::divideCeil(columns, panel); }
  int64_t words() const { return blocks * block / kWordCodes; } // of a column
  std::optional<int64_t> knownRows() const { return rows.isConstant() ? std::optional(rows.constant()) : std::nullopt; }
  bool mayHaveStrips() const { return !knownRows() || *knownRows() > kFewRows; }
  /// Whether all rows become one digit an element.
  bool areBytes(const Target &target) { return op.getByteRows() && DigitRows::areFor(target); }
};

/// Writes the body of `fn` for a product.
class BlockDotEmitter : BlockProduct {
public:
  BlockDotEmitter(KernelFunction &fn, const BlockProduct &product)
      : BlockProduct(product), fn(fn), b(fn.b), dims(fn.spec.dims), lanes(fn.spec.schedule().getLanes()),
        tile{fn.spec.schedule().getTile()[0], fn.spec.schedule().getTile()[1]},
        fewVectors(fn.spec.schedule().getTile()[2]), floats(mlir::VectorType::get({lanes}, b.getF32Type())),
        ints(mlir::VectorType::get({lanes}, b.getI32Type())) {
    auto wordBuffer = mlir::MemRefType::get({kHuge}, b.getI32Type());
    wordsOf = mlir::memref::ViewOp::create(b, wordBuffer, fn.input(codes), fn.index(0), mlir::ValueRange{});
  }

  EmittedKernel emit();

private:
  /// Columns whose codes a loop reads: vectors of them from `first` of panel `panelIndex` on.
  struct Columns {
    mlir::Value panelIndex;
    int64_t first, vectors; // in vectors
  };
  /// What becomes of a block's codes: for each vector its scale, and the numbers that are subtracted, by place.
  struct BlockNumbers {
    llvm::SmallVector<mlir::Value> scales;
    llvm::SmallVector<llvm::SmallVector<mlir::Value>> centres; // [vector][place]
  };

  mlir::Value add(mlir::Value x, mlir::Value y) { return mlir::arith::AddIOp::create(b, x, y); }
  mlir::Value mul(mlir::Value x, int64_t y) { return mlir::arith::MulIOp::create(b, x, fn.index(y)); }
  mlir::Value splat(float number) {
    return mlir::arith::ConstantOp::create(b, mlir::DenseElementsAttr::get(floats, number));
  }
  mlir::Value splatInt(int32_t number) {
    return mlir::arith::ConstantOp::create(b, mlir::DenseElementsAttr::get(ints, number));
  }
  /// 2^(23 - 4 p), to which a code at bit 4 p is added.
  static float baseOf(int64_t place) { return std::ldexp(1.0f, static_cast<int>(23 - 4 * place)); }

  mlir::Value wordPlace(const Columns &columns, mlir::Value word, int64_t vector);
  mlir::Value wordsAt(const Columns &columns, mlir::Value word, int64_t vector);
  mlir::Value placeOf(const Columns &columns, mlir::Value block, int64_t vector);
  mlir::Value zerosAt(mlir::Value place);
  BlockNumbers numbersOf(const Columns &columns, mlir::Value block);
  mlir::Value codesAt(mlir::Value words, int64_t place, mlir::Value centre);
  llvm::SmallVector<mlir::Value> addWord(const Columns &columns, mlir::Value word, int64_t count,
                                         const BlockNumbers &numbers, llvm::ArrayRef<mlir::Value> rows,
                                         mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> addBlock(const Columns &columns, mlir::Value block, int64_t count,
                                          llvm::ArrayRef<mlir::Value> rows, mlir::ValueRange totals);
  void addDigits(const Columns &all, int64_t from, mlir::Value block, mlir::Value row, int64_t height,
                 llvm::MutableArrayRef<mlir::Value> totals);
  using Codes = llvm::function_ref<void(mlir::Value element, int64_t vector, mlir::Value codes)>;
  void forCodes(const Columns &columns, mlir::Value block, mlir::Value word, Codes use);
  llvm::SmallVector<mlir::Value> addDots(const Columns &columns, mlir::Value block, llvm::ArrayRef<mlir::Value> rows,
                                         llvm::ArrayRef<mlir::Value> sums);
  void addPairsOfWord(const Columns &columns, mlir::Value block, mlir::Value word, llvm::ArrayRef<mlir::Value> rows,
                      llvm::MutableArrayRef<mlir::Value> sums);
  llvm::SmallVector<mlir::Value> addPairs(const Columns &columns, mlir::Value block, llvm::ArrayRef<mlir::Value> rows,
                                          llvm::ArrayRef<mlir::Value> sums);
  void emitStream(const Columns &columns, mlir::Value row, int64_t height);
  void streamRows(mlir::Value panelIndex);
  void forRows(mlir::Value low, mlir::Value high, int64_t most,
               llvm::function_ref<void(mlir::Value, int64_t)> emitRows);
  int64_t digitCount() { return areBytes(fn.spec.target()) ? 1 : DigitRows::countFor(fn.spec.target()); }
  void writeStrip(mlir::Value panelIndex);
  void emitTile(const RegisterTile &shape, mlir::Value panelIndex, int64_t first, mlir::Value row);
  void tileRows(mlir::Value panelIndex);
  void finishTile(mlir::ValueRange sums, mlir::Value row, int64_t height, const Columns &columns);
  int64_t stripElements() const { return words() * kWordCodes * panel; }
  int64_t workspaceBytes();

  KernelFunction &fn;
  mlir::ImplicitLocOpBuilder &b;
  DimContext &dims;
  int64_t lanes;
  RegisterTile tile;  // of strips
  int64_t fewVectors; // that few rows take at once
  mlir::VectorType floats, ints;
  mlir::Value wordsOf, strip, stripBase;
  std::optional<DigitRows> digitRows; // where few rows are digits
  mlir::Value firstRow, rowEnd;       // those of bytes whose digits are written
};

} // namespace sinter::cpu

#endif
