// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cholesky and triangular_solve. Both come down to one tile in registers, some rows of x by a strip of its columns:
//
//   x[i] = (x[i] - sum over q < i of t[i, q] x[q]) / t[i, i]
//
// a product with the rows that are done (one broadcast and its FMAs per element of t), then the substitution among the
// tile's own rows. Views with negative strides make a system that is solved from its end one that is solved from its
// start. Cholesky computes the upper factor U of U^T U, whose rows are contiguous: the tile's t is U^T itself, so
// nothing is packed. It works on a copy that is padded to whole tiles by the identity; the lower factor is transposed
// on the way in and out.

#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/TriangularForm.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {
class TriangularEmitter : TriangularForm {
public:
  TriangularEmitter(SingleKernel &k, Type type) : TriangularForm(k, type) {
    ScheduleAttr schedule = k.fn.spec.schedule();
    lanes = schedule.getLanes();
    if (schedule.getTile().empty())
      return; // plain code
    tileRows = schedule.getTile()[0];
    maxVectors = schedule.getTile()[1];
  }

  void emitCholesky(CholeskyOp op);
  void emitSolve(TriangularSolveOp op);
  // Of any size, one element after the other.
  void emitPlainCholesky(CholeskyOp op);
  void emitPlainSolve(TriangularSolveOp op);

private:
  /// A strip of columns: `vectors` vectors of `type`, of which `mask` (null: all) says what exists.
  struct Strip {
    VectorType type;
    int64_t vectors = 1;
    Value column;
    SmallVector<Value> masks;
  };

  Value load(VectorType vector, const MatrixView &view, Value i, Value j, Value mask = nullptr) {
    if (!mask)
      return vector::LoadOp::create(b, vector, view.buffer, ValueRange{at(view, i, j)});
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vector));
    return vector::MaskedLoadOp::create(b, vector, view.buffer, ValueRange{at(view, i, j)}, mask, zero);
  }
  void storeVector(Value value, const MatrixView &view, Value i, Value j, Value mask = nullptr) {
    if (mask)
      vector::MaskedStoreOp::create(b, view.buffer, ValueRange{at(view, i, j)}, mask, value);
    else
      vector::StoreOp::create(b, value, view.buffer, ValueRange{at(view, i, j)});
  }
  /// sum - factor * vector
  Value subtract(Value sum, Value factor, Value vector) {
    Value spread = vector::BroadcastOp::create(b, cast<VectorType>(vector.getType()), arith::NegFOp::create(b, factor));
    return vector::FMAOp::create(b, spread, vector, sum);
  }

  void emitTile(const MatrixView &t, const MatrixView &from, const MatrixView &to, Value first, int64_t rows,
                const Strip &strip, bool unit);
  void emitVectorTile(const MatrixView &t, const MatrixView &from, const MatrixView &to, Value first, bool forward,
                      bool lanesAlongRows, bool unit);
  void emitDiagonalTile(const MatrixView &u, Value first);
  void fillWorkspace(const MatrixView &from, const MatrixView &u, Value n, Value padded, Value rowSize, bool lower);
  void writeFactor(const MatrixView &u, const MatrixView &to, Value n, bool lower);

  int64_t lanes = 16, tileRows = 8, maxVectors = 3;
};
} // namespace

void TriangularEmitter::emitTile(const MatrixView &t, const MatrixView &from, const MatrixView &to, Value first,
                                 int64_t rows, const Strip &strip, bool unit) {
  int64_t width = strip.type.getNumElements();
  SmallVector<Value> columns, masks(strip.masks), row;
  masks.resize(strip.vectors);
  for (int64_t v = 0; v < strip.vectors; ++v)
    columns.push_back(k.add(strip.column, index(v * width)));
  SmallVector<Value> sums;
  for (int64_t r = 0; r < rows; ++r) {
    row.push_back(k.add(first, index(r)));
    for (int64_t v = 0; v < strip.vectors; ++v)
      sums.push_back(load(strip.type, from, row[r], columns[v], masks[v]));
  }
  sums = sumDone(first, 1, sums, [&](Value q, ValueRange carried) {
    SmallVector<Value> next(carried), done;
    for (int64_t v = 0; v < strip.vectors; ++v)
      done.push_back(load(strip.type, to, q, columns[v], masks[v]));
    for (int64_t r = 0; r < rows; ++r) {
      Value factor = element(t, row[r], q);
      for (int64_t v = 0; v < strip.vectors; ++v)
        next[r * strip.vectors + v] = subtract(next[r * strip.vectors + v], factor, done[v]);
    }
    return next;
  });
  auto sum = [&](int64_t r, int64_t v) -> Value & { return sums[r * strip.vectors + v]; };
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t q = 0; q < r; ++q) {
      Value factor = element(t, row[r], row[q]);
      for (int64_t v = 0; v < strip.vectors; ++v)
        sum(r, v) = subtract(sum(r, v), factor, sum(q, v));
    }
    if (!unit) {
      Value inverse = arith::DivFOp::create(b, number(1), element(t, row[r], row[r]));
      Value spread = vector::BroadcastOp::create(b, strip.type, inverse);
      for (int64_t v = 0; v < strip.vectors; ++v)
        sum(r, v) = arith::MulFOp::create(b, sum(r, v), spread);
    }
    for (int64_t v = 0; v < strip.vectors; ++v)
      storeVector(sum(r, v), to, row[r], columns[v], masks[v]);
  }
}

/// `tileRows` elements of an x of one column. `first` is a multiple of them. Lanes run along the tile's rows or along
/// the sum, whichever is contiguous in t; in views that run backwards the first lane is the last element.
void TriangularEmitter::emitVectorTile(const MatrixView &t, const MatrixView &from, const MatrixView &to, Value first,
                                       bool forward, bool lanesAlongRows, bool unit) {
  auto vectorType = VectorType::get({tileRows}, type);
  Value zero = index(0), none = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  auto lowest = [&](Value start) { return forward ? start : k.add(start, index(tileRows - 1)); };
  SmallVector<Value> row, sums;
  for (int64_t r = 0; r < tileRows; ++r) {
    row.push_back(k.add(first, index(r)));
    sums.push_back(element(from, row[r], zero));
  }
  if (lanesAlongRows) {
    // Four steps of the sum at a time, so that they do not wait for each other.
    constexpr int64_t chains = 4;
    SmallVector<Value> parts =
        sumDone(first, chains, SmallVector<Value>(chains, none), [&](Value q, ValueRange carried) {
          SmallVector<Value> next;
          for (int64_t c = 0; c < chains; ++c) {
            Value step = k.add(q, index(c));
            next.push_back(subtract(carried[c], element(to, step, zero), load(vectorType, t, lowest(first), step)));
          }
          return next;
        });
    Value total = arith::AddFOp::create(b, arith::AddFOp::create(b, parts[0], parts[1]),
                                        arith::AddFOp::create(b, parts[2], parts[3]));
    for (int64_t r = 0; r < tileRows; ++r)
      sums[r] = arith::AddFOp::create(b, sums[r], vector::ExtractOp::create(b, total, forward ? r : tileRows - 1 - r));
  } else {
    SmallVector<Value> parts =
        sumDone(first, tileRows, SmallVector<Value>(tileRows, none), [&](Value q, ValueRange carried) {
          SmallVector<Value> next;
          Value done = load(vectorType, to, lowest(q), zero);
          for (int64_t r = 0; r < tileRows; ++r)
            next.push_back(
                vector::FMAOp::create(b, load(vectorType, t, row[r], lowest(q)), done, carried[r]).getResult());
          return next;
        });
    for (int64_t r = 0; r < tileRows; ++r)
      sums[r] = arith::SubFOp::create(b, sums[r], vector::ReductionOp::create(b, vector::CombiningKind::ADD, parts[r]));
  }
  for (int64_t r = 0; r < tileRows; ++r) {
    for (int64_t q = 0; q < r; ++q)
      sums[r] = math::FmaOp::create(b, arith::NegFOp::create(b, element(t, row[r], row[q])), sums[q], sums[r]);
    if (!unit)
      sums[r] = arith::DivFOp::create(b, sums[r], element(t, row[r], row[r]));
    store(sums[r], to, row[r], zero);
  }
}

//===- triangular_solve ----------------------------------------------------------------------===//

TriangularForm::System TriangularForm::systemOf(Operation *solve, Value number, Value n, Value m) {
  auto op = cast<TriangularSolveOp>(solve);
  MatrixView t = viewOf(inputOf(op.getMatrix()), k.mul(number, k.mul(n, n)), n);
  if (op.getTranspose())
    std::swap(t.row, t.column);
  Value base = k.mul(number, k.mul(n, m));
  MatrixView from = viewOf(inputOf(op.getRhs()), base, m), to = viewOf(k.fn.result(0), base, m);
  if (op.getLower() != op.getTranspose())
    return {t, from, to};
  return {reversed(t, n, /*columns=*/true), reversed(from, n, /*columns=*/false), reversed(to, n, /*columns=*/false)};
}

void TriangularEmitter::emitSolve(TriangularSolveOp op) {
  DimContext &dims = k.dims();
  Dims sizes = k.sizesOf(op.getResult()), batch(sizes);
  batch.resize(sizes.size() - 2);
  DimExpr columns = dims.resolve(sizes.back());
  order = dims.resolve(sizes[sizes.size() - 2]);
  // Vectors no wider than the columns; of the widths that cover them with the least rest the greatest.
  int64_t width = lanes, vectors = maxVectors;
  bool masked = true;
  if (columns.isConstant()) {
    int64_t count = std::max<int64_t>(columns.constant(), 1);
    width = std::min<int64_t>(lanes, llvm::PowerOf2Ceil(count));
    int64_t needed = llvm::divideCeil(count, width);
    auto covered = [&](int64_t v) { return llvm::divideCeil(needed, v) * v; };
    for (int64_t v = maxVectors - 1; v >= 1; --v)
      if (covered(v) < covered(vectors))
        vectors = v;
    masked = count % (vectors * width) != 0;
  }
  Strip strip{VectorType::get({width}, type), vectors, {}, {}};
  DimExpr strips = dims.ceilDiv(columns, dims.constant(vectors * width));
  Value n = k.size(order), m = k.size(columns), stripCount = k.size(strips);
  DimExpr whole = dims.mul(dims.floorDiv(order, dims.constant(tileRows)), dims.constant(tileRows));
  Value wholeRows = k.size(whole);
  k.chunks = dims.mul(dims.product(batch), strips);
  k.fn.loop(k.fn.begin(), k.fn.end(), 1, [&](Value chunk) {
    Value matrix = arith::DivUIOp::create(b, chunk, stripCount);
    strip.column = k.mul(k.sub(chunk, k.mul(matrix, stripCount)), index(vectors * width));
    strip.masks.clear();
    for (int64_t v = 0; masked && v < vectors; ++v)
      strip.masks.push_back(vector::CreateMaskOp::create(b, VectorType::get({width}, b.getI1Type()),
                                                         ValueRange{k.sub(m, k.add(strip.column, index(v * width)))}));
    System system = systemOf(op, matrix, n, m);
    const MatrixView &t = system.matrix, &from = system.from, &to = system.to;
    bool unit = op.getUnitDiagonal();
    k.fn.loop(index(0), wholeRows, tileRows, [&](Value first) { emitTile(t, from, to, first, tileRows, strip, unit); });
    if (order.isConstant()) {
      if (int64_t rest = order.constant() % tileRows)
        emitTile(t, from, to, wholeRows, rest, strip, unit);
    } else {
      k.fn.loop(wholeRows, n, 1, [&](Value first) { emitTile(t, from, to, first, 1, strip, unit); });
    }
  });
}

void TriangularEmitter::emitPlainSolve(TriangularSolveOp op) {
  Dims sizes = k.sizesOf(op.getResult()), batch(sizes);
  batch.resize(sizes.size() - 2);
  order = sizes[sizes.size() - 2];
  Value n = k.size(order), m = k.size(sizes.back());
  k.chunkRows(k.dims().product(batch), k.dims().constant(1), [&](Value matrix, Value) {
    System system = systemOf(op, matrix, n, m);
    const MatrixView &t = system.matrix, &from = system.from, &to = system.to;
    k.fn.loop(index(0), n, 1, [&](Value i) {
      k.fn.loop(index(0), m, 1, [&](Value j) {
        Value sum =
            sumDone(i, 1, ValueRange{element(from, i, j)}, [&](Value q, ValueRange carried) -> SmallVector<Value> {
              Value part = arith::MulFOp::create(b, element(t, i, q), element(to, q, j));
              return {arith::SubFOp::create(b, carried.front(), part)};
            }).front();
        if (!op.getUnitDiagonal())
          sum = arith::DivFOp::create(b, sum, element(t, i, i));
        store(sum, to, i, j);
      });
    });
  });
}

//===- cholesky ------------------------------------------------------------------------------===//

/// The block on the diagonal: the product with the rows above, then its own factor, row by row in registers. Lanes left
/// of the diagonal mean nothing.
void TriangularEmitter::emitDiagonalTile(const MatrixView &u, Value first) {
  auto vectorType = VectorType::get({tileRows}, type);
  SmallVector<Value> row, sums;
  for (int64_t r = 0; r < tileRows; ++r) {
    row.push_back(k.add(first, index(r)));
    sums.push_back(load(vectorType, u, row[r], first));
  }
  sums = sumDone(first, 1, sums, [&](Value q, ValueRange carried) {
    SmallVector<Value> next(carried);
    Value done = load(vectorType, u, q, first);
    for (int64_t r = 0; r < tileRows; ++r)
      next[r] = subtract(next[r], element(u, q, row[r]), done);
    return next;
  });
  for (int64_t r = 0; r < tileRows; ++r) {
    Value pivot = root(vector::ExtractOp::create(b, sums[r], r));
    Value inverse = arith::DivFOp::create(b, number(1), pivot);
    Value scaled = arith::MulFOp::create(b, sums[r], vector::BroadcastOp::create(b, vectorType, inverse));
    sums[r] = vector::InsertOp::create(b, pivot, scaled, r);
    storeVector(sums[r], u, row[r], first);
    for (int64_t below = r + 1; below < tileRows; ++below)
      sums[below] = subtract(sums[below], vector::ExtractOp::create(b, sums[r], below), sums[r]);
  }
}

/// u := the upper half of the matrix, zero beyond its columns, the identity beyond its rows.
void TriangularEmitter::fillWorkspace(const MatrixView &from, const MatrixView &u, Value n, Value padded, Value rowSize,
                                      bool lower) {
  auto vectorType = VectorType::get({lanes}, type);
  Value zero = index(0), step = index(lanes);
  Value blocks = arith::DivUIOp::create(b, n, step), inBlocks = k.mul(blocks, step);
  if (lower) {
    k.fn.loop(zero, inBlocks, lanes, [&](Value i) {
      k.fn.loop(zero, k.add(i, index(1)), lanes, [&](Value j) {
        SmallVector<Value> rows;
        for (int64_t r = 0; r < lanes; ++r)
          rows.push_back(load(vectorType, from, k.add(i, index(r)), j));
        for (auto [r, column] : llvm::enumerate(transposeVectors(b, rows)))
          storeVector(column, u, k.add(j, index(r)), i);
      });
    });
    k.fn.loop(inBlocks, n, 1, [&](Value i) {
      k.fn.loop(zero, k.add(i, index(1)), 1, [&](Value j) { store(element(from, i, j), u, j, i); });
    });
  } else {
    k.fn.loop(zero, n, 1, [&](Value i) {
      Value start = k.mul(arith::DivUIOp::create(b, i, step), step);
      k.fn.loop(start, inBlocks, lanes, [&](Value j) { storeVector(load(vectorType, from, i, j), u, i, j); });
      k.fn.loop(k.max(start, inBlocks), n, 1, [&](Value j) { store(element(from, i, j), u, i, j); });
    });
  }
  k.fn.loop(zero, n, 1, [&](Value i) { k.fn.loop(n, rowSize, 1, [&](Value j) { store(number(0), u, i, j); }); });
  k.fn.loop(n, padded, 1, [&](Value i) {
    k.fn.loop(zero, rowSize, 1, [&](Value j) { store(number(0), u, i, j); });
    store(number(1), u, i, i);
  });
}

/// u or its transpose, with zeros in the other half.
void TriangularEmitter::writeFactor(const MatrixView &u, const MatrixView &to, Value n, bool lower) {
  auto vectorType = VectorType::get({lanes}, type);
  auto maskType = VectorType::get({lanes}, b.getI1Type());
  Value zero = index(0), step = index(lanes), none = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  Value inBlocks = k.mul(arith::DivUIOp::create(b, n, step), step);
  auto firstLanes = [&](Value count) { return vector::CreateMaskOp::create(b, maskType, ValueRange{count}); };
  if (lower)
    k.fn.loop(zero, inBlocks, lanes, [&](Value i) {
      k.fn.loop(zero, k.add(i, index(1)), lanes, [&](Value j) {
        SmallVector<Value> rows;
        for (int64_t r = 0; r < lanes; ++r)
          rows.push_back(load(vectorType, u, k.add(j, index(r)), i));
        for (auto [r, column] : llvm::enumerate(transposeVectors(b, rows))) {
          Value row = k.add(i, index(r));
          Value kept = firstLanes(k.add(k.sub(row, j), index(1)));
          storeVector(k.select(kept, column, none), to, row, j);
        }
      });
      k.fn.loop(i, k.add(i, step), 1, [&](Value row) {
        k.fn.loop(k.add(i, step), inBlocks, lanes, [&](Value j) { storeVector(none, to, row, j); });
        k.fn.loop(inBlocks, n, 1, [&](Value j) { store(number(0), to, row, j); });
      });
    });
  else
    k.fn.loop(zero, inBlocks, 1, [&](Value i) {
      k.fn.loop(zero, inBlocks, lanes, [&](Value j) {
        storeVector(k.select(firstLanes(k.sub(i, j)), none, load(vectorType, u, i, j)), to, i, j);
      });
      k.fn.loop(inBlocks, n, 1, [&](Value j) { store(element(u, i, j), to, i, j); });
    });
  k.fn.loop(inBlocks, n, 1, [&](Value i) {
    k.fn.loop(zero, n, 1, [&](Value j) {
      Value isThere = arith::CmpIOp::create(b, lower ? arith::CmpIPredicate::sle : arith::CmpIPredicate::sge, j, i);
      Value there = element(u, lower ? j : i, lower ? i : j);
      store(k.select(isThere, there, number(0)), to, i, j);
    });
  });
}

void TriangularEmitter::emitCholesky(CholeskyOp op) {
  DimContext &dims = k.dims();
  Dims sizes = k.sizesOf(op.getResult()), batch(sizes);
  batch.resize(sizes.size() - 2);
  DimExpr matrices = dims.product(batch);
  order = dims.resolve(sizes.back());
  DimExpr padded = dims.mul(dims.ceilDiv(order, dims.constant(tileRows)), dims.constant(tileRows));
  // Tiles may reach beyond the last column. An odd number of vectors in a row spreads rows over the cache's sets.
  DimExpr pairs = dims.floorDiv(dims.add(padded, dims.constant(maxVectors * lanes)), dims.constant(2 * lanes));
  DimExpr rowSize = dims.add(dims.mul(pairs, dims.constant(2 * lanes)), dims.constant(3 * lanes));
  DimExpr elements = dims.mul(padded, rowSize);
  Value n = k.size(order), end = k.size(padded);
  MemRefType flat = MemRefType::get({kHuge}, type);
  Value buffer = memref::ViewOp::create(b, flat, k.fn.workspace(), index(0), ValueRange{});
  auto wide = VectorType::get({lanes}, type);
  k.chunkRows(matrices, dims.ceilDiv(matrices, dims.constant(k.fn.spec.costs().choleskyChunks)),
              [&](Value matrix, Value chunk) {
                MatrixView u = viewOf(buffer, k.mul(chunk, k.size(elements)), k.size(rowSize));
                Value base = k.mul(matrix, k.mul(n, n));
                fillWorkspace(viewOf(inputOf(op.getOperand()), base, n), u, n, end, k.size(rowSize), op.getLower());
                MatrixView t = u; // U^T
                std::swap(t.row, t.column);
                k.fn.loop(index(0), end, tileRows, [&](Value first) {
                  emitDiagonalTile(u, first);
                  Value column = k.add(first, index(tileRows)), left = k.sub(end, column);
                  Value whole =
                      k.mul(arith::DivUIOp::create(b, left, index(maxVectors * lanes)), index(maxVectors * lanes));
                  Value wholeEnd = k.add(column, whole);
                  k.fn.loop(column, wholeEnd, maxVectors * lanes,
                            [&](Value c) { emitTile(t, u, u, first, tileRows, {wide, maxVectors, c, {}}, false); });
                  k.fn.loop(wholeEnd, end, lanes,
                            [&](Value c) { emitTile(t, u, u, first, tileRows, {wide, 1, c, {}}, false); });
                });
                writeFactor(u, viewOf(k.fn.result(0), base, n), n, op.getLower());
              });
  k.workspaceBytes = dims.mul(dims.mul(k.chunks, elements), dims.constant(byteWidth(type)));
}

void TriangularEmitter::emitPlainCholesky(CholeskyOp op) {
  Dims sizes = k.sizesOf(op.getResult()), batch(sizes);
  batch.resize(sizes.size() - 2);
  order = sizes.back();
  Value n = k.size(order);
  k.chunkRows(k.dims().product(batch), k.dims().constant(1), [&](Value matrix, Value) {
    Factor factor = factorOf(op, matrix, n);
    const MatrixView &a = factor.matrix, &l = factor.factor;
    k.fn.loop(index(0), n, 1, [&](Value i) {
      auto eliminated = [&](Value j) {
        return sumDone(j, 1, ValueRange{element(a, i, j)},
                       [&](Value q, ValueRange carried) -> SmallVector<Value> {
                         Value part = arith::MulFOp::create(b, element(l, i, q), element(l, j, q));
                         return {arith::SubFOp::create(b, carried.front(), part)};
                       })
            .front();
      };
      k.fn.loop(index(0), i, 1,
                [&](Value j) { store(arith::DivFOp::create(b, eliminated(j), element(l, j, j)), l, i, j); });
      store(root(eliminated(i)), l, i, i);
      k.fn.loop(k.add(i, index(1)), n, 1, [&](Value j) { store(number(0), l, i, j); });
    });
  });
}

std::string TriangularForm::refusal(Operation *root) {
  if (!isa_and_nonnull<CholeskyOp, TriangularSolveOp>(root))
    return "it is no cholesky or triangular_solve alone";
  if (!llvm::all_of(root->getOperands(), llvm::IsaPred<BlockArgument>))
    return "an operand is computed";
  return "";
}

Plan sinter::cpu::planTriangular(KernelSpec &spec, ScheduleAttr) {
  Operation *root = singleRoot(spec);
  if (std::string refusal = TriangularForm::refusal(root); !refusal.empty())
    return Plan::refuse(refusal);
  Plan plan;
  if (spec.options.optLevel == 0) { // one element after the other
    plan.setLanes(1);
    return plan;
  }
  int64_t width = byteWidth(getElementTypeOrSelf(root->getResult(0)));
  bool many = spec.target().vectorRegisters > 16;
  plan.setLanes(spec.target().lanes(width), 16 / width);
  plan.addTile(many ? 8 : 4, 8, 8);
  plan.tile.back().least = 2;
  plan.addTile(many ? 3 : 2, 3);
  return plan;
}

EmittedKernel sinter::cpu::emitTriangular(KernelSpec &spec, ModuleOp module, StringRef name) {
  Operation *root = singleRoot(spec);
  bool plain = spec.schedule().getLanes() == 1;
  SingleKernel k(spec, module, name, root, {/*sizes=*/false, /*workspace=*/!plain && isa<CholeskyOp>(root)});
  TriangularEmitter emitter(k, getElementTypeOrSelf(root->getResult(0)));
  if (auto cholesky = dyn_cast<CholeskyOp>(root))
    plain ? emitter.emitPlainCholesky(cholesky) : emitter.emitCholesky(cholesky);
  else
    plain ? emitter.emitPlainSolve(cast<TriangularSolveOp>(root)) : emitter.emitSolve(cast<TriangularSolveOp>(root));
  return k.finish();
}
