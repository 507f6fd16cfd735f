// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/Strips.h"
#include "backends/cpu/emit/MicroKernel.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Steps between what is copied and what is asked for: each is on lines of its own, which nothing foresees.
constexpr int64_t kAskedAhead = 16;

static void ask(ImplicitLocOpBuilder &b, Value buffer, Value at) {
  memref::PrefetchOp::create(b, buffer, ValueRange{at}, /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
}

namespace {
class StripWriter {
public:
  StripWriter(KernelFunction &fn, const ProductForm &form, const StripSource &source, Value columnBegin, int64_t panel,
              int64_t lanes, Value strip, Value stripBase)
      : fn(fn), b(fn.b), form(form), source(source), columnBegin(columnBegin), panel(panel), lanes(lanes), strip(strip),
        stripBase(stripBase), element(typeOf(form.b, b.getContext())),
        wordVector(VectorType::get({lanes * form.kPack}, element)) {
    if (form.flips)
      words = add(stripBase, fn.index(panel * form.kPack));
    else
      words = stripBase;
  }

  void write() {
    if (source.transposed)
      writeTransposed();
    else
      writeColumns();
    if (form.flips)
      writeSums();
  }

private:
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  Value zeroOf(Type type) { return arith::ConstantOp::create(b, b.getZeroAttr(type)); }
  /// Words of k in whole steps, the last ones maybe with zeros.
  Value stepCount() {
    if (form.kPack == 1)
      return source.k;
    Value whole = arith::DivUIOp::create(b, add(source.k, fn.index(form.kStep - 1)), fn.index(form.kStep));
    return form.kStep == form.kPack ? whole : mul(whole, fn.index(form.kStep / form.kPack));
  }
  Value wholeSteps() {
    return form.kPack == 1 ? source.k : arith::DivUIOp::create(b, source.k, fn.index(form.kPack)).getResult();
  }
  Value place(Value step, int64_t column) {
    return add(mul(step, fn.index(panel * form.kPack)), fn.index(column * form.kPack));
  }

  void writeColumns();
  void writeWholeColumns();
  void writeStep(Value step, bool isLast);
  void writeSingly();
  void writeTransposed();
  void writeSums();
  Value loadOrZero(Value k, Value column);

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  const ProductForm &form;
  const StripSource &source;
  Value columnBegin;
  int64_t panel, lanes;
  Value strip, stripBase, words;
  Type element;
  VectorType wordVector;
};
} // namespace

/// `lanes` columns of as many rows of k as `rows`, side by side.
static Value interleave(ImplicitLocOpBuilder &b, ArrayRef<Value> rows) {
  if (rows.size() == 1)
    return rows.front();
  // The even rows and the odd rows, so that words come out in order.
  SmallVector<Value> halves[2];
  for (auto [i, row] : llvm::enumerate(rows))
    halves[i % 2].push_back(row);
  Value even = interleave(b, halves[0]), odd = interleave(b, halves[1]);
  int64_t count = cast<VectorType>(even.getType()).getNumElements();
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < count; ++i)
    order.append({i, count + i});
  return vector::ShuffleOp::create(b, even, odd, order);
}

/// One step of k of all columns of the panel; in the last step, rows beyond k are zeros.
void StripWriter::writeStep(Value step, bool isLast) {
  auto rowVector = VectorType::get({lanes}, element);
  SmallVector<Value> starts, inside;
  for (int64_t r = 0; r < form.kPack; ++r) {
    Value k = form.kPack == 1 ? step : add(mul(step, fn.index(form.kPack)), fn.index(r));
    if (isLast) {
      inside.push_back(arith::CmpIOp::create(b, arith::CmpIPredicate::slt, k, source.k));
      k = arith::MinSIOp::create(b, k, arith::SubIOp::create(b, source.k, fn.index(1)));
    }
    starts.push_back(add(add(source.base, columnBegin), mul(k, source.kStride)));
  }
  for (int64_t at = 0; at < panel; at += lanes) {
    Value mask;
    if (source.masked) {
      Value left = arith::SubIOp::create(b, source.columns, add(columnBegin, fn.index(at)));
      mask = vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()), ValueRange{left});
    }
    SmallVector<Value> rows;
    for (auto [r, start] : llvm::enumerate(starts)) {
      Value from = add(start, fn.index(at)), row;
      if (mask)
        row = vector::MaskedLoadOp::create(b, rowVector, source.buffer, ValueRange{from}, mask, zeroOf(rowVector));
      else
        row = vector::LoadOp::create(b, rowVector, source.buffer, ValueRange{from});
      if (!isLast)
        ask(b, source.buffer, add(from, mul(fn.index(kAskedAhead * form.kPack), source.kStride)));
      rows.push_back(isLast ? arith::SelectOp::create(b, inside[r], row, zeroOf(rowVector)).getResult() : row);
    }
    vector::StoreOp::create(b, toColumn(b, form, interleave(b, rows)), strip, ValueRange{add(words, place(step, at))});
  }
}

void StripWriter::writeWholeColumns() {
  Value whole = wholeSteps();
  fn.loop(fn.index(0), whole, 1, [&](Value step) { writeStep(step, false); });
  if (form.kPack > 1)
    fn.loop(whole, stepCount(), 1, [&](Value step) { writeStep(step, true); });
}

Value StripWriter::loadOrZero(Value k, Value column) {
  auto inside = [&](Value &i, Value count) -> Value {
    Value isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, i, count);
    i = arith::MinSIOp::create(b, i, arith::SubIOp::create(b, count, fn.index(1)));
    return isInside;
  };
  Value both = arith::AndIOp::create(b, inside(k, source.k), inside(column, source.columns));
  Value at = add(add(source.base, mul(k, source.kStride)), mul(column, source.columnStride));
  return arith::SelectOp::create(b, both, memref::LoadOp::create(b, source.buffer, ValueRange{at}), zeroOf(element));
}

/// A panel with fewer columns, where masked loads of narrow elements would be scalar code anyway.
void StripWriter::writeSingly() {
  fn.loop(fn.index(0), stepCount(), 1, [&](Value step) {
    fn.loop(fn.index(0), fn.index(panel), 1, [&](Value column) {
      for (int64_t r = 0; r < form.kPack; ++r) {
        Value k = add(mul(step, fn.index(form.kPack)), fn.index(r));
        Value to = add(place(step, 0), add(mul(column, fn.index(form.kPack)), fn.index(r)));
        Value value = toColumn(b, form, loadOrZero(k, add(columnBegin, column)));
        memref::StoreOp::create(b, value, strip, ValueRange{add(words, to)});
      }
    });
  });
}

void StripWriter::writeColumns() {
  if (!source.masked || fn.spec.target().hasMaskedMemory || form.b == form.sum)
    return writeWholeColumns();
  Value isWhole =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sle, add(columnBegin, fn.index(panel)), source.columns);
  StripSource whole = source;
  whole.masked = false;
  fn.branch(
      isWhole, [&] { StripWriter(fn, form, whole, columnBegin, panel, lanes, strip, stripBase).writeWholeColumns(); },
      [&] { writeSingly(); });
}

/// k is contiguous: squares of words are turned in registers.
void StripWriter::writeTransposed() {
  Type held = typeOf(form.column, b.getContext());
  Type word = form.kPack == 1 ? held : b.getIntegerType(form.kPack * widthOf(form.b) * 8);
  auto stepVector = VectorType::get(wordVector.getShape(), held);
  Value whole = wholeSteps();
  Value kEnd = arith::SubIOp::create(b, whole, arith::RemUIOp::create(b, whole, fn.index(lanes)));
  Value last = arith::SubIOp::create(b, source.columns, fn.index(1));
  for (int64_t block = 0; block < panel; block += lanes) {
    SmallVector<Value> columns;
    for (int64_t i = 0; i < lanes; ++i) {
      // A column past the end repeats the last one; its products are not stored.
      Value inside = arith::MinSIOp::create(b, add(columnBegin, fn.index(block + i)), last);
      columns.push_back(add(source.base, mul(inside, source.columnStride)));
    }
    auto castTo = [&](Value value, Type type) -> Value {
      return form.kPack == 1 ? value : vector::BitCastOp::create(b, type, value).getResult();
    };
    fn.loop(fn.index(0), kEnd, lanes, [&](Value step) {
      Value k = form.kPack == 1 ? step : mul(step, fn.index(form.kPack));
      SmallVector<Value> rows;
      for (Value column : columns) {
        ask(b, source.buffer, add(column, add(k, fn.index(lanes * form.kPack))));
        rows.push_back(
            castTo(toColumn(b, form, vector::LoadOp::create(b, wordVector, source.buffer, ValueRange{add(column, k)})),
                   VectorType::get({lanes}, word)));
      }
      for (auto [i, row] : llvm::enumerate(transposeVectors(b, rows)))
        vector::StoreOp::create(b, castTo(row, stepVector), strip,
                                ValueRange{add(words, place(add(step, fn.index(i)), block))});
    });
    fn.loop(kEnd, stepCount(), 1, [&](Value step) {
      for (auto [i, column] : llvm::enumerate(columns))
        for (int64_t r = 0; r < form.kPack; ++r) {
          Value k = form.kPack == 1 ? step : add(mul(step, fn.index(form.kPack)), fn.index(r)), value;
          Value to = add(words, add(place(step, block + i), fn.index(r)));
          if (form.kPack == 1) {
            value = memref::LoadOp::create(b, source.buffer, ValueRange{add(column, k)});
          } else {
            Value isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, k, source.k);
            Value at = arith::MinSIOp::create(b, k, arith::SubIOp::create(b, source.k, fn.index(1)));
            value = memref::LoadOp::create(b, source.buffer, ValueRange{add(column, at)});
            value = arith::SelectOp::create(b, isInside, value, zeroOf(element));
          }
          memref::StoreOp::create(b, toColumn(b, form, value), strip, ValueRange{to});
        }
    });
  }
}

/// What sums start from, in front of the columns (ProductForm::flips).
void StripWriter::writeSums() {
  auto sumVector = VectorType::get({lanes}, typeOf(form.sum, b.getContext()));
  auto splat = [&](VectorType type, int64_t value) -> Value {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, b.getIntegerAttr(type.getElementType(), value)));
  };
  for (int64_t block = 0; block < panel; block += lanes) {
    SmallVector<Value> sums =
        fn.loop(fn.index(0), stepCount(), 1, zeroOf(sumVector), [&](Value step, ValueRange carried) {
          Value column = vector::LoadOp::create(b, wordVector, strip, ValueRange{add(words, place(step, block))});
          return SmallVector<Value>{multiplyAdd(b, form, splat(wordVector, 1), column, carried[0])};
        });
    Value scaled = arith::MulIOp::create(b, sums[0], splat(sumVector, form.columnFactor()));
    vector::StoreOp::create(b, vector::BitCastOp::create(b, wordVector, scaled), strip,
                            ValueRange{add(stripBase, fn.index(block * form.kPack))});
  }
}

void sinter::cpu::emitStrip(KernelFunction &fn, const ProductForm &form, const StripSource &source, Value columnBegin,
                            int64_t panel, int64_t lanes, Value strip, Value stripBase) {
  StripWriter(fn, form, source, columnBegin, panel, lanes, strip, stripBase).write();
}

namespace {
class RowWriter {
public:
  RowWriter(KernelFunction &fn, const ProductForm &form, const RowSource &source, Value begin, Value end, Value width,
            Value pitch, Value rows, Value rowsBase)
      : fn(fn), b(fn.b), form(form), source(source), begin(begin), end(end), width(width), pitch(pitch), rows(rows),
        rowsBase(rowsBase), from(typeOf(form.a, b.getContext())) {}

  void write() {
    if (!source.isTransposed)
      return writeRows(fn.index(0));
    int64_t lanes = fn.spec.target().lanes(form.kPack * widthOf(form.row)), square = lanes * form.kPack;
    Value count = arith::SubIOp::create(b, end, begin);
    Value isHigh = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, count, fn.index(lanes));
    Value whole = arith::SubIOp::create(b, source.k, arith::RemUIOp::create(b, source.k, fn.index(square)));
    Value turned = arith::SelectOp::create(b, isHigh, whole, fn.index(0));
    // The last square overlaps the one before it.
    Value last = arith::SubIOp::create(b, end, fn.index(lanes));
    fn.loop(fn.index(0), turned, square, [&](Value k) {
      fn.loop(begin, end, lanes, [&](Value row) { writeSquare(arith::MinSIOp::create(b, row, last), k, lanes); });
    });
    writeRows(turned);
  }

private:
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  Value targetOf(Value row) { return add(rowsBase, mul(arith::SubIOp::create(b, row, begin), pitch)); }

  /// `lanes` rows from `row` on, as many steps of k: turned in registers.
  void writeSquare(Value row, Value k, int64_t lanes) {
    auto held = VectorType::get({lanes * form.kPack}, typeOf(form.row, b.getContext()));
    auto words = VectorType::get({lanes}, b.getIntegerType(form.kPack * widthOf(form.row) * 8));
    SmallVector<Value> steps;
    for (int64_t step = 0; step < lanes; ++step) {
      SmallVector<Value> parts;
      for (int64_t r = 0; r < form.kPack; ++r) {
        Value at = add(add(source.base, row), mul(add(k, fn.index(step * form.kPack + r)), source.kStride));
        ask(b, source.buffer, add(at, mul(fn.index(lanes * form.kPack), source.kStride)));
        parts.push_back(
            toRow(b, form, vector::LoadOp::create(b, VectorType::get({lanes}, from), source.buffer, ValueRange{at})));
      }
      steps.push_back(vector::BitCastOp::create(b, words, interleave(b, parts)));
    }
    for (auto [i, turned] : llvm::enumerate(transposeVectors(b, steps)))
      vector::StoreOp::create(b, vector::BitCastOp::create(b, held, turned), rows,
                              ValueRange{add(targetOf(add(row, fn.index(i))), k)});
  }

  /// Elements from `first` on, then zeros up to `width`.
  void writeRows(Value first) {
    int64_t lanes = fn.spec.target().lanes(std::max(widthOf(form.row), widthOf(form.a)));
    fn.loop(begin, end, 1, [&](Value row) {
      Value start = add(source.base, mul(row, source.rowStride)), target = targetOf(row), done = first;
      if (source.isContiguous) {
        done = arith::SubIOp::create(b, source.k, arith::RemUIOp::create(b, source.k, fn.index(lanes)));
        fn.loop(first, done, lanes, [&](Value k) {
          Value loaded =
              vector::LoadOp::create(b, VectorType::get({lanes}, from), source.buffer, ValueRange{add(start, k)});
          vector::StoreOp::create(b, toRow(b, form, loaded), rows, ValueRange{add(target, k)});
        });
      }
      fn.loop(done, source.k, 1, [&](Value k) {
        Value at = add(start, source.isContiguous ? k : mul(k, source.kStride));
        Value loaded = memref::LoadOp::create(b, source.buffer, ValueRange{at});
        memref::StoreOp::create(b, toRow(b, form, loaded), rows, ValueRange{add(target, k)});
      });
      Value zero = arith::ConstantOp::create(b, b.getZeroAttr(typeOf(form.row, b.getContext())));
      fn.loop(source.k, width, 1, [&](Value k) { memref::StoreOp::create(b, zero, rows, ValueRange{add(target, k)}); });
    });
  }

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  const ProductForm &form;
  const RowSource &source;
  Value begin, end, width, pitch, rows, rowsBase;
  Type from;
};
} // namespace

void sinter::cpu::emitRowCopy(KernelFunction &fn, const ProductForm &form, const RowSource &source, Value begin,
                              Value end, Value width, Value pitch, Value rows, Value rowsBase) {
  RowWriter(fn, form, source, begin, end, width, pitch, rows, rowsBase).write();
}
