// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/BlockSort.h"
#include "backends/cuda/BlockWalk.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

constexpr int64_t kDigitBits = 4, kDigits = 1 << kDigitBits;

BlockSort::BlockSort(cpu::SingleKernel &k, cpu::Records records, int64_t threads)
    : threads(threads), thread(threadNumber(k.fn)),
      counts(sharedArray(k.fn, k.b.getI32Type(), std::max(kDigits * threads, cpu::kBounds))), k(k), b(k.b),
      records(records), sums(shared(threads)) {}

Value BlockSort::shared(int64_t count) { return sharedArray(k.fn, b.getI32Type(), count); }

void BlockSort::barrier() { NVVM::Barrier0Op::create(b); }

Value BlockSort::loadFrom(Value buffer, Value at) {
  return arith::IndexCastUIOp::create(b, b.getIndexType(), memref::LoadOp::create(b, buffer, ValueRange{at}));
}

void BlockSort::storeIn(Value buffer, Value value, Value at) {
  memref::StoreOp::create(b, arith::IndexCastUIOp::create(b, b.getI32Type(), value), buffer, ValueRange{at});
}

std::pair<Value, Value> BlockSort::stretch(Value count) {
  Value each = arith::CeilDivUIOp::create(b, count, k.fn.index(threads));
  Value low = k.min(k.mul(thread, each), count);
  return {low, k.min(k.add(low, each), count)};
}

std::pair<Value, Value> BlockSort::scan(Value value) {
  storeIn(sums, value, thread);
  barrier();
  Value zero = k.fn.index(0);
  SmallVector<Value> total =
      k.fn.loop(zero, k.fn.index(threads), 1, ValueRange{zero, zero}, [&](Value i, ValueRange carried) {
        Value here = loadFrom(sums, i);
        Value before = k.select(k.less(i, thread), k.add(carried[0], here), carried[0]);
        return SmallVector<Value>{before, k.add(carried[1], here)};
      });
  return {total[0], total[1]};
}

/// Moves the records in the order of the digits at `shift`. Counts are [digit][thread].
void BlockSort::move(Value shift, Value from, Value to, Value count) {
  Value zero = k.fn.index(0), one = k.fn.index(1), digits = k.fn.index(kDigits);
  auto [low, high] = stretch(count);
  auto place = [&](Value digit) { return k.add(k.mul(digit, k.fn.index(threads)), thread); };
  k.fn.loop(zero, digits, 1, [&](Value digit) { storeCount(zero, place(digit)); });
  k.fn.loop(low, high, 1, [&](Value i) {
    Value at = place(records.bitsFrom(records.load(from, i).key, shift, kDigitBits));
    storeCount(k.add(loadCount(at), one), at);
  });
  barrier();
  Value own = k.mul(thread, digits); // this thread sums so many counts that lie side by side
  Value sum = k.fn.loop(zero, digits, 1, ValueRange{zero},
                        [&](Value i, ValueRange carried) -> SmallVector<Value> {
                          return {k.add(carried.front(), loadCount(k.add(own, i)))};
                        })
                  .front();
  Value before = scan(sum).first;
  k.fn.loop(zero, digits, 1, ValueRange{before}, [&](Value i, ValueRange carried) -> SmallVector<Value> {
    Value at = k.add(own, i), here = loadCount(at);
    storeCount(carried.front(), at);
    return {k.add(carried.front(), here)};
  });
  barrier();
  k.fn.loop(low, high, 1, [&](Value i) {
    cpu::Records::Record record = records.load(from, i);
    Value at = place(records.bitsFrom(record.key, shift, kDigitBits)), target = loadCount(at);
    records.store(record, to, target);
    storeCount(k.add(target, one), at);
  });
  barrier();
}

Value BlockSort::sort(Value from, Value to, Value count, Value width) {
  return k.fn
      .loop(k.fn.index(0), width, kDigitBits, ValueRange{from, to},
            [&](Value shift, ValueRange carried) -> SmallVector<Value> {
              move(k.asInt64(shift), carried[0], carried[1], count);
              return {carried[1], carried[0]};
            })
      .front();
}

Value cuda::sortedPlace(cpu::SingleKernel &k, Value from, Value to, Value width) {
  Value passes = arith::CeilDivUIOp::create(k.b, width, k.fn.index(kDigitBits));
  Value isOdd = arith::RemUIOp::create(k.b, passes, k.fn.index(2));
  return k.select(arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, isOdd, k.fn.index(0)), from, to);
}
