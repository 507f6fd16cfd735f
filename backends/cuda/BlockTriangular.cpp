// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cholesky, triangular_solve and det with a block for each matrix.
//
//   cholesky           column after column: each thread has some rows below the diagonal and subtracts what the columns
//                      before contribute; behind a barrier all divide by the root of the pivot.
//   triangular_solve   a block has up to 32 columns of the right side. For each row its threads share out the sum over
//                      the rows that are done, which they join in an order that follows from the sizes, and divide.
//   det                elimination with partial pivoting in f64, in the workspace: lanes go along rows.

#include "backends/cuda/BlockTriangular.h"
#include "backends/cpu/emit/TriangularForm.h"
#include "backends/cuda/BlockForms.h"
#include "backends/cuda/Shuffles.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

constexpr int64_t kThreads = 256;
/// Matrices of fewer rows are a thread's.
constexpr int64_t kFewRows = 32;
/// Columns of the right side of a block.
constexpr int64_t kMostColumns = 32;

std::string cuda::planBlockTriangular(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  Operation *root = cpu::singleRoot(spec);
  if (std::string refusal = cpu::TriangularForm::refusal(root); !refusal.empty())
    return refusal;
  Dims sizes = spec.sizes->dims(root->getOperand(0));
  DimExpr rows = spec.dims.resolve(sizes.back());
  if (!schedule && rows.isConstant() && rows.constant() < kFewRows)
    return "its matrices have few rows";
  return takeOnly(spec, name, kThreads, schedule);
}

std::string cuda::planBlockDeterminant(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  if (!isa_and_nonnull<DetOp>(cpu::singleRoot(spec)))
    return "it is no det alone";
  return takeOnly(spec, name, kThreads, schedule);
}

namespace {
class BlockTriangular : cpu::TriangularForm {
public:
  BlockTriangular(cpu::SingleKernel &k, Type type) : TriangularForm(k, type), thread(threadNumber(k.fn)) {}
  void emitCholesky(CholeskyOp op);
  void emitSolve(TriangularSolveOp op);

private:
  using View = cpu::MatrixView;
  void barrier() { NVVM::Barrier0Op::create(b); }
  void eliminateColumn(const View &a, const View &l, Value column, Value n);
  /// Who solves: `width` columns at once, a power of two, each by kThreads / width threads.
  struct Strip {
    int64_t width;
    Value column, share, totals; // this thread's column and its number among those of the column; shared memory
    int64_t shares() const { return kThreads / width; }
  };
  Value joinShares(Value value, const Strip &strip);
  Value done(const View &t, const View &to, Value row, const Strip &strip);

  Value thread;
};
} // namespace

//===- cholesky ------------------------------------------------------------------------------===//

void BlockTriangular::eliminateColumn(const View &a, const View &l, Value column, Value n) {
  Value own = k.add(column, thread);
  k.fn.loop(own, n, kThreads, [&](Value row) {
    Value rest =
        sumDone(column, 1, ValueRange{element(a, row, column)}, [&](Value q, ValueRange carried) -> SmallVector<Value> {
          Value part = arith::MulFOp::create(b, element(l, row, q), element(l, column, q));
          return {arith::SubFOp::create(b, carried.front(), part)};
        }).front();
    store(rest, l, row, column);
  });
  barrier();
  Value pivot = root(element(l, column, column));
  barrier(); // all have read it
  k.fn.loop(own, n, kThreads, [&](Value row) {
    Value isPivot = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, row, column);
    Value divided = arith::DivFOp::create(b, element(l, row, column), pivot);
    store(k.select(isPivot, pivot, divided), l, row, column);
  });
  k.fn.loop(thread, column, kThreads, [&](Value row) { store(number(0), l, row, column); });
  barrier();
}

void BlockTriangular::emitCholesky(CholeskyOp op) {
  Dims sizes = k.sizesOf(op.getResult());
  order = sizes.back();
  Value n = k.size(order);
  k.chunkRows(k.dims().product(ArrayRef(sizes).drop_back(2)), k.dims().constant(1), [&](Value matrix, Value) {
    Factor factor = factorOf(op, matrix, n);
    k.fn.loop(index(0), n, 1, [&](Value column) { eliminateColumn(factor.matrix, factor.factor, column, n); });
  });
}

//===- triangular_solve ----------------------------------------------------------------------===//

/// Of all threads of a column: those of a warp in exchanges, then what the warps have in their order; in all of them.
Value BlockTriangular::joinShares(Value value, const Strip &strip) {
  for (int64_t mask = kWarp / 2; mask >= strip.width; mask /= 2)
    value = arith::AddFOp::create(b, value, exchange(b, value, mask));
  Value warp = arith::DivUIOp::create(b, thread, index(kWarp)), lane = arith::RemUIOp::create(b, thread, index(kWarp));
  Value place = k.add(k.mul(warp, index(strip.width)), strip.column);
  k.ifThen(k.less(lane, index(strip.width)), [&] { k.fn.store(value, strip.totals, place); });
  barrier();
  Value total = k.fn.load(strip.totals, strip.column, type);
  for (int64_t i = 1; i < kThreads / kWarp; ++i) {
    Value other = k.fn.load(strip.totals, k.add(index(i * strip.width), strip.column), type);
    total = arith::AddFOp::create(b, total, other);
  }
  return total;
}

/// The sum over the rows before `row` of t[row, q] to[q, column], by all threads of the column.
Value BlockTriangular::done(const View &t, const View &to, Value row, const Strip &strip) {
  Value shares = index(strip.shares());
  Value left = k.max(k.sub(row, strip.share), index(0));
  Value count = arith::CeilDivUIOp::create(b, left, shares);
  Value own = sumDone(count, 1, ValueRange{number(0)}, [&](Value i, ValueRange carried) -> SmallVector<Value> {
                Value q = k.add(k.mul(i, shares), strip.share);
                Value part = arith::MulFOp::create(b, element(t, row, q), element(to, q, strip.column));
                return {arith::AddFOp::create(b, carried.front(), part)};
              }).front();
  return joinShares(own, strip);
}

void BlockTriangular::emitSolve(TriangularSolveOp op) {
  DimContext &dims = k.dims();
  Dims sizes = k.sizesOf(op.getResult());
  DimExpr columns = dims.resolve(sizes.back());
  order = dims.resolve(sizes[sizes.size() - 2]);
  int64_t width = kMostColumns;
  if (columns.isConstant())
    width = std::min(width, static_cast<int64_t>(
                                llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(columns.constant(), 1)))));
  DimExpr strips = dims.ceilDiv(columns, dims.constant(width));
  Value n = k.size(order), m = k.size(columns), stripCount = k.size(strips);
  Strip strip{width, arith::RemUIOp::create(b, thread, index(width)), arith::DivUIOp::create(b, thread, index(width)),
              sharedArray(k.fn, type, kThreads / kWarp * width)};
  k.chunks = dims.mul(dims.product(ArrayRef(sizes).drop_back(2)), strips);
  k.fn.loop(k.fn.begin(), k.fn.end(), 1, [&](Value chunk) {
    Value matrix = arith::DivUIOp::create(b, chunk, stripCount);
    Value first = k.mul(k.sub(chunk, k.mul(matrix, stripCount)), index(width));
    System system = systemOf(op, matrix, n, m);
    // Threads behind the last column look at the last one, and store nothing.
    Value column = k.add(first, strip.column), isThere = k.less(column, m);
    Value shift = k.sub(k.min(column, k.sub(m, index(1))), strip.column);
    for (View *view : {&system.from, &system.to})
      view->base = k.add(view->base, shift);
    Value stores = k.both(isThere, k.less(strip.share, index(1)));
    k.fn.loop(index(0), n, 1, [&](Value row) {
      Value rest =
          arith::SubFOp::create(b, element(system.from, row, strip.column), done(system.matrix, system.to, row, strip));
      if (!op.getUnitDiagonal())
        rest = arith::DivFOp::create(b, rest, element(system.matrix, row, row));
      k.ifThen(stores, [&] { store(rest, system.to, row, strip.column); });
      barrier(); // the next rows read it; all have read the warps' totals
    });
  });
}

cpu::EmittedKernel cuda::emitBlockTriangular(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  Operation *root = cpu::singleRoot(spec);
  cpu::SingleKernel k(spec, module, symbol, root);
  BlockTriangular emitter(k, getElementTypeOrSelf(root->getResult(0)));
  if (auto cholesky = dyn_cast<CholeskyOp>(root))
    emitter.emitCholesky(cholesky);
  else
    emitter.emitSolve(cast<TriangularSolveOp>(root));
  return k.finish();
}

//===- det -----------------------------------------------------------------------------------===//

namespace {
class BlockDeterminant {
public:
  BlockDeterminant(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol)
      : k(spec, module, symbol, cpu::singleRoot(spec), {.workspace = true}), b(k.b), op(cast<DetOp>(k.root)),
        type(getElementTypeOrSelf(op.getOperand())), sizes(k.sizesOf(op.getOperand())), order(sizes.back()),
        thread(threadNumber(k.fn)), n(k.size(order)) {
    memory = memref::ViewOp::create(b, MemRefType::get({cpu::kHuge}, b.getF64Type()), k.fn.workspace(), k.fn.index(0),
                                    ValueRange{});
  }
  cpu::EmittedKernel emit();

private:
  void barrier() { NVVM::Barrier0Op::create(b); }
  Value number(double value) { return arith::ConstantOp::create(b, b.getF64FloatAttr(value)); }
  Value place(Value row, Value column) { return k.add(first, k.add(k.mul(row, n), column)); }
  Value load(Value row, Value column) { return memref::LoadOp::create(b, memory, ValueRange{place(row, column)}); }
  void store(Value value, Value row, Value column) {
    memref::StoreOp::create(b, value, memory, ValueRange{place(row, column)});
  }
  void copyMatrix(ArrayRef<Value> outer);
  Value pivotOf(Value column);
  Value eliminate(Value column);

  cpu::SingleKernel k;
  ImplicitLocOpBuilder &b;
  DetOp op;
  Type type;
  Dims sizes;
  DimExpr order;
  Value thread, n, memory, first; // first: where the block's matrix begins in the workspace
};
} // namespace

void BlockDeterminant::copyMatrix(ArrayRef<Value> outer) {
  k.fn.loop(thread, k.mul(n, n), kThreads, [&](Value flat) {
    SmallVector<Value> at = k.fn.delinearize(flat, {order, order}), position(outer);
    llvm::append_range(position, at);
    Value value = k.element(op.getOperand(), position);
    store(type.isF64() ? value : arith::ExtFOp::create(b, b.getF64Type(), value).getResult(), at[0], at[1]);
  });
  barrier();
}

/// The row of the largest element from the diagonal on; each thread finds it.
Value BlockDeterminant::pivotOf(Value column) {
  return k.fn
      .loop(column, n, 1, ValueRange{column, number(-1)},
            [&](Value row, ValueRange best) -> SmallVector<Value> {
              Value size = math::AbsFOp::create(b, load(row, column));
              Value isBetter = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, size, best[1]);
              return {k.select(isBetter, row, best[0]), k.select(isBetter, size, best[1])};
            })
      .front();
}

/// Makes what is below the diagonal of a column count as zero; returns the factor that it gives the determinant.
Value BlockDeterminant::eliminate(Value column) {
  Value pivot = pivotOf(column), one = k.fn.index(1);
  barrier(); // all have found it
  k.fn.loop(k.add(column, thread), n, kThreads, [&](Value j) {
    Value upper = load(column, j), lower = load(pivot, j);
    store(lower, column, j);
    store(upper, pivot, j);
  });
  barrier();
  Value head = load(column, column), lane = arith::RemUIOp::create(b, thread, k.fn.index(kWarp));
  // Below a head of 0 there are only zeros.
  Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, head, number(0));
  Value divisor = k.select(isZero, number(1), head), below = k.add(column, one);
  k.fn.loop(k.add(below, arith::DivUIOp::create(b, thread, k.fn.index(kWarp))), n, kThreads / kWarp, [&](Value row) {
    Value factor = arith::DivFOp::create(b, load(row, column), divisor);
    k.fn.loop(k.add(below, lane), n, kWarp, [&](Value j) {
      Value part = arith::MulFOp::create(b, factor, load(column, j));
      store(arith::SubFOp::create(b, load(row, j), part), row, j);
    });
  });
  barrier();
  Value isSwapped = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, pivot, column);
  return k.select(isSwapped, arith::NegFOp::create(b, head), head);
}

cpu::EmittedKernel BlockDeterminant::emit() {
  DimContext &dims = k.dims();
  Dims batch(ArrayRef(sizes).drop_back(2));
  DimExpr count = dims.product(batch), one = dims.constant(1);
  DimExpr elements = dims.max(dims.mul(order, order), one), bytes = dims.mul(elements, dims.constant(8));
  k.chunkRows(count, dims.ceilDiv(count, blocksAtOnce(dims, bytes)), [&](Value matrix, Value chunk) {
    first = k.mul(chunk, k.size(elements));
    SmallVector<Value> outer = k.fn.delinearize(matrix, batch);
    copyMatrix(outer);
    Value product = k.fn.loop(k.fn.index(0), n, 1, ValueRange{number(1)},
                              [&](Value column, ValueRange carried) -> SmallVector<Value> {
                                return {arith::MulFOp::create(b, carried.front(), eliminate(column))};
                              })
                        .front();
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, k.fn.index(0));
    k.ifThen(isFirst, [&] {
      Value narrow = type.isF64() ? product : arith::TruncFOp::create(b, type, product).getResult();
      k.store(0, narrow, k.fn.offset(outer, batch));
    });
  });
  k.workspaceBytes = dims.mul(k.chunks, bytes);
  return k.finish();
}

cpu::EmittedKernel cuda::emitBlockDeterminant(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  return BlockDeterminant(spec, module, symbol).emit();
}
