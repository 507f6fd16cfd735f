// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sorts and top-k in which a block orders a row by the elements' keys (cpu/emit/KeyOrder.h, BlockSort.h). Where few are
// kept of many, the block first finds a bound of the keys' leading bits and leaves out what is beyond it.

#include "backends/cuda/BlockOrder.h"
#include "backends/cpu/emit/KeyOrder.h"
#include "backends/cuda/BlockForms.h"
#include "backends/cuda/BlockSort.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// Rows of fewer elements are a thread's.
constexpr int64_t kFewElements = 64;
constexpr int64_t kThreadsOfShort = 128, kThreadsOfLong = 256;

std::string cuda::planBlockOrder(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  Operation *root = cpu::singleRoot(spec);
  if (!cpu::OrderedRows::isRoot(root))
    return "it is no sort or top_k alone";
  DimExpr length = spec.dims.resolve(spec.sizes->dims(root->getOperand(0))[cpu::OrderedRows::axisOf(root)]);
  if (length.isConstant() && length.constant() < kFewElements)
    return "its rows are of few elements";
  bool isLong = !length.isConstant() || length.constant() > kThreadsOfLong * 4;
  auto with = [&](int64_t threads, int64_t chunk) {
    return ScheduleAttr::get(spec.kernel.getContext(), name, threads, {}, chunk, {}, {});
  };
  if (!schedule)
    schedule = with(isLong ? kThreadsOfLong : kThreadsOfShort, 0);
  int64_t chunk = schedule.getChunk();
  if (schedule == with(kThreadsOfShort, chunk) || schedule == with(kThreadsOfLong, chunk))
    return "";
  return "its `lanes`, the threads of a block, require 128 or 256, and it has no other field than `chunk`, the least "
         "rows of a block";
}

namespace {
class OrderEmitter {
public:
  OrderEmitter(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol)
      : k(spec, module, symbol, cpu::singleRoot(spec), {.workspace = true}), b(k.b), rows(k), order(rows, /*lanes=*/1),
        threads(spec.schedule().getLanes()), block(k, order.records, threads), found(block.shared(1)) {}
  cpu::EmittedKernel emit();

private:
  void emitRow(ArrayRef<Value> outer, Value first);
  void emitDigits(ArrayRef<Value> outer, Value first, Value kept);
  Value keepCandidates(Value from, Value to, Value kept);
  Value boundOf(Value kept);

  void barrier() { block.barrier(); }

  cpu::SingleKernel k;
  ImplicitLocOpBuilder &b;
  cpu::OrderedRows rows;
  cpu::KeyOrder order;
  int64_t threads;
  BlockSort block;
  Value found; // in shared memory: a bound
};
} // namespace

/// The first group of leading bits up to which there are enough, where `counts` has those of each group.
Value OrderEmitter::boundOf(Value kept) {
  Value zero = k.fn.index(0), one = k.fn.index(1), each = k.fn.index(cpu::kBounds / threads),
        own = k.mul(block.thread, each);
  Value sum = k.fn.loop(zero, each, 1, ValueRange{zero},
                        [&](Value i, ValueRange carried) -> SmallVector<Value> {
                          return {k.add(carried.front(), block.loadCount(k.add(own, i)))};
                        })
                  .front();
  Value before = block.scan(sum).first;
  // One thread reaches the number.
  Value isHere = k.both(k.less(before, kept), k.negate(k.less(k.add(before, sum), kept)));
  k.ifThen(isHere, [&] {
    SmallVector<Value> group = k.whileLoop(
        {own, k.add(before, block.loadCount(own))}, [&](ValueRange carried) { return k.less(carried[1], kept); },
        [&](ValueRange carried) -> SmallVector<Value> {
          Value next = k.add(carried[0], one);
          return {next, k.add(carried[1], block.loadCount(next))};
        });
    block.storeIn(found, group[0], zero);
  });
  barrier();
  return block.loadFrom(found, zero);
}

/// Copies the records, which may just have been written, whose leading bits are not beyond the bound, in their order;
/// returns how many there are.
Value OrderEmitter::keepCandidates(Value from, Value to, Value kept) {
  int64_t leading = std::min(cpu::kBoundBits, order.keyWidth());
  Value zero = k.fn.index(0), one = k.fn.index(1), count = k.size(rows.length());
  Value shift = order.records.word(order.keyWidth() - leading);
  block.share(k.fn.index(cpu::kBounds), [&](Value i) { block.storeCount(zero, i); });
  barrier();
  block.share(count, [&](Value i) {
    Value group = order.records.bitsFrom(order.records.load(from, i).key, shift, leading);
    Value more = arith::ConstantIntOp::create(b, b.getI32Type(), 1);
    memref::AtomicRMWOp::create(b, arith::AtomicRMWKind::addi, more, block.counts, ValueRange{group});
  });
  barrier();
  Value bound = boundOf(kept);
  auto [low, high] = block.stretch(count);
  auto isBeyond = [&](const cpu::Records::Record &record) {
    return k.less(bound, order.records.bitsFrom(record.key, shift, leading));
  };
  Value own = k.fn.loop(low, high, 1, ValueRange{zero},
                        [&](Value i, ValueRange carried) -> SmallVector<Value> {
                          Value more = k.select(isBeyond(order.records.load(from, i)), zero, one);
                          return {k.add(carried.front(), more)};
                        })
                  .front();
  auto [before, total] = block.scan(own);
  k.fn.loop(low, high, 1, ValueRange{before}, [&](Value i, ValueRange carried) -> SmallVector<Value> {
    cpu::Records::Record record = order.records.load(from, i);
    Value isCandidate = k.negate(isBeyond(record));
    k.ifThen(isCandidate, [&] { order.records.store(record, to, carried.front()); });
    return {k.select(isCandidate, k.add(carried.front(), one), carried.front())};
  });
  barrier();
  return total;
}

void OrderEmitter::emitDigits(ArrayRef<Value> outer, Value first, Value kept) {
  Value count = k.size(rows.length()), second = k.add(first, k.mul(count, k.fn.index(order.records.words)));
  block.share(count, [&](Value i) { order.records.store(order.makeRecord(rows.load(outer, i), i), first, i); });
  auto takeSorted = [&](Value from, Value to, Value count) {
    Value sorted = block.sort(from, to, count, k.fn.index(order.keyWidth()));
    block.share(k.min(kept, count), [&](Value rank) {
      Value position = order.records.load(sorted, rank).position;
      rows.store(outer, rank, rows.load(outer, position), position);
    });
  };
  auto takeAll = [&] {
    barrier();
    takeSorted(first, second, count);
  };
  if (rows.keepsAll)
    return takeAll();
  Value areFew = k.less(k.mul(kept, k.fn.index(cpu::kCandidates)), count);
  k.fn.branch(areFew, [&] { takeSorted(second, first, keepCandidates(first, second, kept)); }, takeAll);
}

void OrderEmitter::emitRow(ArrayRef<Value> outer, Value first) {
  Value kept = k.size(rows.resultSizes[rows.axis]);
  auto digits = [&] { k.ifThen(k.less(k.fn.index(0), kept), [&] { emitDigits(outer, first, kept); }); };
  Value fit = order.areNarrow();
  if (!fit)
    return digits();
  k.fn.branch(fit, digits, [&] {
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, block.thread, k.fn.index(0));
    k.ifThen(isFirst, [&] {
      order.emitMerges(
          first, kept, [&](Value position) { return rows.load(outer, position); },
          [&](Value rank, Value value, Value position) { rows.store(outer, rank, value, position); });
    });
  });
}

cpu::EmittedKernel OrderEmitter::emit() {
  DimContext &dims = k.dims();
  DimExpr count = dims.product(rows.others), one = dims.constant(1);
  DimExpr words = dims.mul(dims.max(rows.length(), one), dims.constant(2 * order.records.words));
  DimExpr bytes = dims.mul(words, dims.constant(8));
  DimExpr least = dims.constant(k.fn.spec.schedule().getChunk());
  k.chunkRows(count, dims.max(dims.ceilDiv(count, blocksAtOnce(dims, bytes)), least), [&](Value row, Value chunk) {
    emitRow(k.fn.delinearize(row, rows.others), k.mul(chunk, k.size(words)));
    barrier(); // before the next row writes to the workspace
  });
  k.workspaceBytes = dims.mul(k.chunks, bytes);
  return k.finish();
}

cpu::EmittedKernel cuda::emitBlockOrder(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  return OrderEmitter(spec, module, symbol).emit();
}
