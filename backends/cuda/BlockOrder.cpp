// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sorts and top-k in which a block orders a row, by four bits of the elements' keys (cpu/emit/KeyOrder.h) after the
// other. Each thread has a stretch of the records. It counts its digits; counts are summed over digits and, for each
// digit, over threads; then it moves its records, in their order, to where the sums say. So equal keys stay in order,
// and no thread waits for another's result. Where few are kept of many, the block first finds a bound of the keys'
// leading bits and leaves out what is beyond it.

#include "backends/cuda/BlockOrder.h"
#include "backends/cpu/emit/KeyOrder.h"
#include "backends/cuda/BlockWalk.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// Rows of fewer elements are a thread's.
constexpr int64_t kFewElements = 64;
constexpr int64_t kLeastThreads = 128, kMostThreads = 256;
constexpr int64_t kDigitBits = 4, kDigits = 1 << kDigitBits;
/// Blocks that share out the rows, as each has a workspace: as many as its bytes allow, but enough for any GPU.
constexpr int64_t kWorkspaceBytes = 64 << 20, kEnoughBlocks = 512;

std::string cuda::planBlockOrder(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  Operation *root = cpu::singleRoot(spec);
  if (!cpu::OrderedRows::isRoot(root))
    return "it is no sort or top_k alone";
  DimExpr length = spec.dims.resolve(spec.sizes->dims(root->getOperand(0))[cpu::OrderedRows::axisOf(root)]);
  if (length.isConstant() && length.constant() < kFewElements)
    return "its rows are of few elements";
  bool isLong = !length.isConstant() || length.constant() > kMostThreads * 4;
  auto with = [&](int64_t threads, int64_t chunk) {
    return ScheduleAttr::get(spec.kernel.getContext(), name, threads, {}, chunk, {}, {});
  };
  if (!schedule)
    schedule = with(isLong ? kMostThreads : kLeastThreads, 0);
  int64_t chunk = schedule.getChunk();
  if (schedule == with(kLeastThreads, chunk) || schedule == with(kMostThreads, chunk))
    return "";
  return "its `lanes`, the threads of a block, require 128 or 256, and it has no other field than `chunk`, the least "
         "rows of a block";
}

namespace {
class OrderEmitter {
public:
  OrderEmitter(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol)
      : k(spec, module, symbol, cpu::singleRoot(spec), {.workspace = true}), b(k.b), rows(k), order(rows, /*lanes=*/1),
        threads(spec.schedule().getLanes()) {}
  cpu::EmittedKernel emit();

private:
  void emitRow(ArrayRef<Value> outer, Value first);
  void emitDigits(ArrayRef<Value> outer, Value first, Value kept);
  Value sortRecords(Value from, Value to, Value count);
  void move(Value shift, Value from, Value to, Value count);
  Value keepCandidates(Value from, Value to, Value kept);
  Value boundOf(Value kept);

  /// Sum of the threads' values before this one's, and of all. A barrier follows before the next scan.
  std::pair<Value, Value> scan(Value value);
  void barrier() { NVVM::Barrier0Op::create(b); }
  /// Every so-manieth of [0, end) for this thread.
  void share(Value end, function_ref<void(Value)> body) { k.fn.loop(thread, end, threads, body); }
  /// This thread's stretch of [0, count).
  std::pair<Value, Value> stretch(Value count);
  Value loadCount(Value buffer, Value at);
  void storeCount(Value value, Value buffer, Value at);

  cpu::SingleKernel k;
  ImplicitLocOpBuilder &b;
  cpu::OrderedRows rows;
  cpu::KeyOrder order;
  int64_t threads;
  Value thread, counts, sums, found; // counts, sums, found: in shared memory
};
} // namespace

Value OrderEmitter::loadCount(Value buffer, Value at) {
  return arith::IndexCastUIOp::create(b, b.getIndexType(), memref::LoadOp::create(b, buffer, ValueRange{at}));
}

void OrderEmitter::storeCount(Value value, Value buffer, Value at) {
  memref::StoreOp::create(b, arith::IndexCastUIOp::create(b, b.getI32Type(), value), buffer, ValueRange{at});
}

std::pair<Value, Value> OrderEmitter::stretch(Value count) {
  Value each = arith::CeilDivUIOp::create(b, count, k.fn.index(threads));
  Value low = k.min(k.mul(thread, each), count);
  return {low, k.min(k.add(low, each), count)};
}

std::pair<Value, Value> OrderEmitter::scan(Value value) {
  storeCount(value, sums, thread);
  barrier();
  Value zero = k.fn.index(0);
  SmallVector<Value> total =
      k.fn.loop(zero, k.fn.index(threads), 1, ValueRange{zero, zero}, [&](Value i, ValueRange carried) {
        Value here = loadCount(sums, i);
        Value before = k.select(k.less(i, thread), k.add(carried[0], here), carried[0]);
        return SmallVector<Value>{before, k.add(carried[1], here)};
      });
  return {total[0], total[1]};
}

/// Moves the records in the order of the digits at `shift`. Counts are [digit][thread].
void OrderEmitter::move(Value shift, Value from, Value to, Value count) {
  Value zero = k.fn.index(0), one = k.fn.index(1), digits = k.fn.index(kDigits);
  auto [low, high] = stretch(count);
  auto place = [&](Value digit) { return k.add(k.mul(digit, k.fn.index(threads)), thread); };
  k.fn.loop(zero, digits, 1, [&](Value digit) { storeCount(zero, counts, place(digit)); });
  k.fn.loop(low, high, 1, [&](Value i) {
    Value at = place(order.bitsFrom(order.loadRecord(from, i).key, shift, kDigitBits));
    storeCount(k.add(loadCount(counts, at), one), counts, at);
  });
  barrier();
  Value own = k.mul(thread, digits); // this thread sums so many counts that lie side by side
  Value sum = k.fn.loop(zero, digits, 1, ValueRange{zero},
                        [&](Value i, ValueRange carried) -> SmallVector<Value> {
                          return {k.add(carried.front(), loadCount(counts, k.add(own, i)))};
                        })
                  .front();
  Value before = scan(sum).first;
  k.fn.loop(zero, digits, 1, ValueRange{before}, [&](Value i, ValueRange carried) -> SmallVector<Value> {
    Value at = k.add(own, i), here = loadCount(counts, at);
    storeCount(carried.front(), counts, at);
    return {k.add(carried.front(), here)};
  });
  barrier();
  k.fn.loop(low, high, 1, [&](Value i) {
    cpu::KeyOrder::Record record = order.loadRecord(from, i);
    Value at = place(order.bitsFrom(record.key, shift, kDigitBits)), target = loadCount(counts, at);
    order.storeRecord(record, to, target);
    storeCount(k.add(target, one), counts, at);
  });
  barrier();
}

/// Returns where the sorted records begin.
Value OrderEmitter::sortRecords(Value from, Value to, Value count) {
  Value end = k.fn.index(order.keyWidth());
  return k.fn
      .loop(k.fn.index(0), end, kDigitBits, ValueRange{from, to},
            [&](Value shift, ValueRange carried) -> SmallVector<Value> {
              move(k.asInt64(shift), carried[0], carried[1], count);
              return {carried[1], carried[0]};
            })
      .front();
}

/// The first group of leading bits up to which there are enough, where `counts` has those of each group.
Value OrderEmitter::boundOf(Value kept) {
  Value zero = k.fn.index(0), one = k.fn.index(1), each = k.fn.index(cpu::kBounds / threads), own = k.mul(thread, each);
  Value sum = k.fn.loop(zero, each, 1, ValueRange{zero},
                        [&](Value i, ValueRange carried) -> SmallVector<Value> {
                          return {k.add(carried.front(), loadCount(counts, k.add(own, i)))};
                        })
                  .front();
  Value before = scan(sum).first;
  // One thread reaches the number.
  Value isHere = k.both(k.less(before, kept), k.negate(k.less(k.add(before, sum), kept)));
  k.ifThen(isHere, [&] {
    SmallVector<Value> group = k.whileLoop(
        {own, k.add(before, loadCount(counts, own))}, [&](ValueRange carried) { return k.less(carried[1], kept); },
        [&](ValueRange carried) -> SmallVector<Value> {
          Value next = k.add(carried[0], one);
          return {next, k.add(carried[1], loadCount(counts, next))};
        });
    storeCount(group[0], found, zero);
  });
  barrier();
  return loadCount(found, zero);
}

/// Copies the records, which may just have been written, whose leading bits are not beyond the bound, in their order;
/// returns how many there are.
Value OrderEmitter::keepCandidates(Value from, Value to, Value kept) {
  int64_t leading = std::min(cpu::kBoundBits, order.keyWidth());
  Value zero = k.fn.index(0), one = k.fn.index(1), count = k.size(rows.length());
  Value shift = order.wordOf(order.keyWidth() - leading);
  share(k.fn.index(cpu::kBounds), [&](Value i) { storeCount(zero, counts, i); });
  barrier();
  share(count, [&](Value i) {
    Value group = order.bitsFrom(order.loadRecord(from, i).key, shift, leading);
    Value more = arith::ConstantIntOp::create(b, b.getI32Type(), 1);
    memref::AtomicRMWOp::create(b, arith::AtomicRMWKind::addi, more, counts, ValueRange{group});
  });
  barrier();
  Value bound = boundOf(kept);
  auto [low, high] = stretch(count);
  auto isBeyond = [&](const cpu::KeyOrder::Record &record) {
    return k.less(bound, order.bitsFrom(record.key, shift, leading));
  };
  Value own = k.fn.loop(low, high, 1, ValueRange{zero},
                        [&](Value i, ValueRange carried) -> SmallVector<Value> {
                          Value more = k.select(isBeyond(order.loadRecord(from, i)), zero, one);
                          return {k.add(carried.front(), more)};
                        })
                  .front();
  auto [before, total] = scan(own);
  k.fn.loop(low, high, 1, ValueRange{before}, [&](Value i, ValueRange carried) -> SmallVector<Value> {
    cpu::KeyOrder::Record record = order.loadRecord(from, i);
    Value isCandidate = k.negate(isBeyond(record));
    k.ifThen(isCandidate, [&] { order.storeRecord(record, to, carried.front()); });
    return {k.select(isCandidate, k.add(carried.front(), one), carried.front())};
  });
  barrier();
  return total;
}

void OrderEmitter::emitDigits(ArrayRef<Value> outer, Value first, Value kept) {
  Value count = k.size(rows.length()), second = k.add(first, k.mul(count, k.fn.index(order.wordsOfRecord())));
  share(count, [&](Value i) { order.storeRecord(order.makeRecord(rows.load(outer, i), i), first, i); });
  auto takeSorted = [&](Value from, Value to, Value count) {
    Value sorted = sortRecords(from, to, count);
    share(k.min(kept, count), [&](Value rank) {
      Value position = order.loadRecord(sorted, rank).position;
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
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, k.fn.index(0));
    k.ifThen(isFirst, [&] {
      order.emitMerges(
          first, kept, [&](Value position) { return rows.load(outer, position); },
          [&](Value rank, Value value, Value position) { rows.store(outer, rank, value, position); });
    });
  });
}

cpu::EmittedKernel OrderEmitter::emit() {
  DimContext &dims = k.dims();
  thread = arith::IndexCastUIOp::create(b, b.getIndexType(), NVVM::ThreadIdXOp::create(b, b.getI32Type()));
  counts = sharedArray(k.fn, b.getI32Type(), std::max<int64_t>(kDigits * threads, cpu::kBounds));
  sums = sharedArray(k.fn, b.getI32Type(), threads);
  found = sharedArray(k.fn, b.getI32Type(), 1);
  DimExpr count = dims.product(rows.others), one = dims.constant(1);
  DimExpr words = dims.mul(dims.max(rows.length(), one), dims.constant(2 * order.wordsOfRecord()));
  DimExpr bytes = dims.mul(words, dims.constant(8));
  DimExpr blocks = dims.max(dims.floorDiv(dims.constant(kWorkspaceBytes), bytes), dims.constant(kEnoughBlocks));
  DimExpr least = dims.constant(k.fn.spec.schedule().getChunk());
  k.chunkRows(count, dims.max(dims.ceilDiv(count, blocks), least), [&](Value row, Value chunk) {
    emitRow(k.fn.delinearize(row, rows.others), k.mul(chunk, k.size(words)));
    barrier(); // before the next row writes to the workspace
  });
  k.workspaceBytes = dims.mul(k.chunks, bytes);
  return k.finish();
}

cpu::EmittedKernel cuda::emitBlockOrder(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  return OrderEmitter(spec, module, symbol).emit();
}
