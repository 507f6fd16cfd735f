// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scatters whose updates are sorted by where they go: a block makes a record of each and sorts them (BlockSort.h),
// while others copy the operand if that is asked for. In a second kernel the first record of each place combines all of
// that place with what is there, in the order of the updates; some threads side by side have a record, each some
// columns of its slice. So places are independent of each other, and each sum has one order.

#include "backends/cuda/BlockScatter.h"
#include "backends/cpu/emit/RunningTotal.h"
#include "backends/cpu/emit/ScatterForm.h"
#include "backends/cuda/BlockForms.h"
#include "backends/cuda/BlockSort.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

constexpr int64_t kThreads = kJoinThreads;
/// Fewer elements are combined by one thread.
constexpr int64_t kFewElements = 64;
/// Elements of a copied operand for each thread, and the most blocks for it.
constexpr int64_t kCopiedElements = 4, kCopyingBlocks = 2048;
/// Numbers that half of a word tells apart.
constexpr int64_t kNarrow = int64_t(1) << 32;

std::string cuda::planBlockScatter(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  Operation *root = cpu::singleRoot(spec);
  if (!cpu::ScatterForm::isRoot(root))
    return "it is no scatter alone";
  DimExpr elements = spec.dims.resolve(spec.dims.product(spec.sizes->dims(root->getOperand(2))));
  if (elements.isConstant() && elements.constant() <= kFewElements)
    return "it has few updates";
  return takeOnly(spec, name, kThreads, schedule);
}

namespace {
/// What both kernels of a scatter share.
class SortedUpdates {
public:
  SortedUpdates(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol)
      : k(spec, module, symbol, cpu::singleRoot(spec), {.workspace = true}), form(k),
        updates(k.dims().resolve(k.dims().product(form.indices))),
        places(k.dims().resolve(k.dims().product(form.chosen))),
        columns(k.dims().resolve(k.dims().product(form.slice))), records(k, isNarrow(updates) && isNarrow(places)) {}

  /// Threads that have a record together, a power of two.
  int64_t threadsOfRecord() const {
    if (!columns.isConstant())
      return kThreads;
    return static_cast<int64_t>(
        llvm::PowerOf2Ceil(static_cast<uint64_t>(std::clamp<int64_t>(columns.constant(), 1, kThreads))));
  }
  int64_t recordsOfBlock() const { return kThreads / threadsOfRecord(); }
  /// Bits of a key, an index: those of the number of places, which updates have that go nowhere.
  Value keyWidth();
  Value first() { return k.fn.index(0); }
  Value second() { return k.mul(k.size(updates), k.fn.index(records.words)); }

  cpu::SingleKernel k;
  cpu::ScatterForm form;
  const DimExpr updates, places, columns; // columns: elements of an update's slice
  cpu::Records records;

private:
  static bool isNarrow(DimExpr size) { return size.isConstant() && size.constant() < kNarrow - 1; }
};

class Sorter : SortedUpdates {
public:
  Sorter(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol)
      : SortedUpdates(spec, module, symbol), block(k, records, kThreads) {}
  cpu::EmittedKernel emit(bool copies);

private:
  void sortUpdates();
  void copyPart(Value chunk);
  BlockSort block;
};

class PlaceCombiner : SortedUpdates {
public:
  using SortedUpdates::SortedUpdates;
  void emit();

private:
  void combinePlace(Value record, Value key, Value column);
  Value updateOf(Value record, ArrayRef<Value> rest);
  /// Whether record number `record` is there and has that key.
  Value hasKey(Value record, Value key);
  Value sorted;
};
} // namespace

Value SortedUpdates::keyWidth() {
  if (places.isConstant())
    return k.fn.index(static_cast<int64_t>(llvm::Log2_64_Ceil(static_cast<uint64_t>(places.constant()) + 1)));
  Value zeros = math::CountLeadingZerosOp::create(k.b, k.asInt64(k.size(places)));
  return k.sub(k.fn.index(64), arith::IndexCastOp::create(k.b, k.b.getIndexType(), zeros));
}

//===- sorting -------------------------------------------------------------------------------===//

void Sorter::sortUpdates() {
  Value count = k.size(updates);
  block.share(count, [&](Value i) {
    Value inside = form.truth();
    SmallVector<Value> place = form.placeOf(k.fn.delinearize(i, form.indices), /*isKnownInside=*/false, inside);
    Value key = k.select(inside, k.fn.offset(place, form.chosen), k.size(places));
    records.store({k.asInt64(key), i}, first(), i);
  });
  block.barrier();
  block.sort(first(), second(), count, keyWidth());
}

void Sorter::copyPart(Value chunk) {
  DimContext &dims = k.dims();
  DimExpr all = dims.product(form.sizes), each = dims.ceilDiv(all, k.chunks);
  Value low = k.mul(chunk, k.size(each)), high = k.min(k.add(low, k.size(each)), k.size(all));
  k.fn.loop(k.add(low, block.thread), high, kThreads,
            [&](Value flat) { k.store(0, k.element(form.operand, k.fn.delinearize(flat, form.sizes)), flat); });
}

cpu::EmittedKernel Sorter::emit(bool copies) {
  DimContext &dims = k.dims();
  k.chunks = dims.max(dims.ceilDiv(updates, dims.constant(recordsOfBlock())), dims.constant(1));
  if (copies) {
    DimExpr blocks = dims.ceilDiv(dims.product(form.sizes), dims.constant(kThreads * kCopiedElements));
    k.chunks = dims.max(k.chunks, dims.min(blocks, dims.constant(kCopyingBlocks)));
  }
  k.fn.loop(k.fn.begin(), k.fn.end(), 1, [&](Value chunk) {
    Value isFirst = arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, chunk, k.fn.index(0));
    k.ifThen(isFirst, [&] { sortUpdates(); });
    if (copies)
      copyPart(chunk);
  });
  k.workspaceBytes = dims.mul(dims.max(updates, dims.constant(1)), dims.constant(16 * records.words));
  return k.finish();
}

//===- combining -----------------------------------------------------------------------------===//

Value PlaceCombiner::hasKey(Value record, Value key) {
  Value last = k.sub(k.size(updates), k.fn.index(1));
  Value other = records.load(sorted, k.min(record, last)).key;
  return k.both(k.less(record, k.size(updates)), arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, other, key));
}

Value PlaceCombiner::updateOf(Value record, ArrayRef<Value> rest) {
  SmallVector<Value> at = k.fn.delinearize(records.load(sorted, record).position, form.indices);
  llvm::append_range(at, rest);
  return k.element(form.updates, at);
}

/// The element `column` of the place of which `record` is the first one.
void PlaceCombiner::combinePlace(Value record, Value key, Value column) {
  Value one = k.fn.index(1);
  SmallVector<Value> rest = k.fn.delinearize(column, form.slice);
  SmallVector<Value> place = k.fn.delinearize(arith::IndexCastOp::create(k.b, k.b.getIndexType(), key), form.chosen);
  llvm::append_range(place, rest);
  Value to = k.fn.offset(place, form.sizes);
  if (form.combiner() == Combiner::set) {
    Value last = k.whileLoop(
                      {record}, [&](ValueRange carried) { return hasKey(k.add(carried[0], one), key); },
                      [&](ValueRange carried) -> SmallVector<Value> { return {k.add(carried[0], one)}; })
                     .front();
    return k.store(0, updateOf(last, rest), to);
  }
  cpu::RunningTotal total(k.fn, form.combiner(), form.type);
  SmallVector<Value> start{record};
  llvm::append_range(start, total.next(total.start, k.loadResult(0, to)));
  SmallVector<Value> all = k.whileLoop(
      start, [&](ValueRange carried) { return hasKey(carried[0], key); },
      [&](ValueRange carried) {
        SmallVector<Value> next{k.add(carried[0], one)};
        llvm::append_range(next, total.next(carried.drop_front(), updateOf(carried[0], rest)));
        return next;
      });
  k.store(0, total.value(ValueRange(all).drop_front()), to);
}

void PlaceCombiner::emit() {
  Value one = k.fn.index(1), side = k.fn.index(threadsOfRecord()), thread = threadNumber(k.fn);
  sorted = sortedPlace(k, first(), second(), keyWidth());
  Value ownRecord = arith::DivUIOp::create(k.b, thread, side), ownColumn = arith::RemUIOp::create(k.b, thread, side);
  k.fn.loop(k.fn.begin(), k.fn.end(), 1, [&](Value chunk) {
    Value record = k.add(k.mul(chunk, k.fn.index(recordsOfBlock())), ownRecord);
    k.ifThen(k.less(record, k.size(updates)), [&] {
      Value key = records.load(sorted, record).key;
      Value isInside = arith::CmpIOp::create(k.b, arith::CmpIPredicate::ult, key, k.asInt64(k.size(places)));
      Value before = records.load(sorted, k.max(k.sub(record, one), k.fn.index(0))).key;
      Value isFirst = k.either(k.less(record, one), arith::CmpIOp::create(k.b, arith::CmpIPredicate::ne, before, key));
      k.ifThen(k.both(isInside, isFirst), [&] {
        k.fn.loop(ownColumn, k.size(columns), threadsOfRecord(),
                  [&](Value column) { combinePlace(record, key, column); });
      });
    });
  });
  k.fn.finish();
}

cpu::EmittedKernel cuda::emitBlockScatter(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  Operation *root = cpu::singleRoot(spec);
  // An input that nothing else reads is left to the schedule, which may give it and the result one buffer.
  auto operand = dyn_cast<BlockArgument>(root->getOperand(0));
  bool copies = spec.options.optLevel == 0 || !operand || !operand.hasOneUse() || spec.kernel.getNumResults() != 1;
  PlaceCombiner(spec, module, (symbol + kJoinSuffix).str()).emit();
  cpu::EmittedKernel emitted = Sorter(spec, module, symbol).emit(copies);
  if (!copies)
    emitted.updates = static_cast<int64_t>(operand.getArgNumber());
  return emitted;
}
