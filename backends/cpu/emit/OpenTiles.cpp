// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/OpenTiles.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Sums that hide the latency of additions: with fewer the units wait for results, so that a smaller tile takes as
/// long.
constexpr int64_t kFewestSums = 8;

int64_t cpu::lowerTiles(int64_t size, int64_t high, int64_t vectors) {
  if (size <= high)
    return 0;
  int64_t tiles = llvm::divideCeil(size, high), lower = tiles * high - size;
  constexpr int64_t fewest = 50; // in so many places one that is computed twice is less than other code for lower tiles
  return lower * fewest >= size && lower < tiles && (high - 1) * vectors >= kFewestSums ? lower : 0;
}

int64_t cpu::lowerTilesOfBlocks(int64_t size, int64_t high, int64_t vectors, int64_t length) {
  int64_t lower = lowerTiles(size, high, vectors), lastBlock = (llvm::divideCeil(size, length) - 1) * length;
  return beginOfLower(size, high, lower) >= lastBlock ? lower : 0;
}

void cpu::forKnownTiles(KernelFunction &fn, int64_t high, int64_t lower, int64_t size, Value begin, Value end,
                        function_ref<void(int64_t, Value)> body) {
  ImplicitLocOpBuilder &b = fn.b;
  if (lower == 0) {
    Value lastStart = fn.index(size - high);
    fn.loop(begin, end, high, [&](Value at) { body(high, arith::MinSIOp::create(b, at, lastStart)); });
    return;
  }
  Value middle = fn.index(beginOfLower(size, high, lower));
  fn.loop(begin, b.createOrFold<arith::MinSIOp>(end, middle), high, [&](Value at) { body(high, at); });
  fn.loop(b.createOrFold<arith::MaxSIOp>(begin, middle), end, high - 1, [&](Value at) { body(high - 1, at); });
}

void cpu::forOpenTiles(KernelFunction &fn, int64_t wide, int64_t vectors, Value size, Value begin, Value end,
                       function_ref<void(int64_t, Value, Value)> body) {
  ImplicitLocOpBuilder &b = fn.b;
  int64_t fewest = llvm::divideCeil(kFewestSums, vectors);
  SmallVector<int64_t> lengths{wide};
  llvm::copy_if(ArrayRef<int64_t>{8, 4, 2, 1}, std::back_inserter(lengths),
                [&](int64_t length) { return length < wide; });
  auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, x, y); };
  Value x = begin, number = fn.index(0);
  for (auto [i, length] : llvm::enumerate(lengths)) {
    Value left = arith::SubIOp::create(b, end, x), tile = fn.index(length);
    Value count = arith::DivUIOp::create(b, left, tile);
    if (length > 1) {
      Value rest = arith::RemUIOp::create(b, left, tile), least = fn.index(length <= fewest ? 0 : lengths[i + 1]);
      Value reaches = arith::AndIOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, rest, least),
                                            arith::CmpIOp::create(b, arith::CmpIPredicate::sge, size, tile));
      count = add(count, arith::SelectOp::create(b, reaches, fn.index(1), fn.index(0)));
    }
    Value lastStart = arith::SubIOp::create(b, size, tile);
    fn.loop(fn.index(0), count, 1, [&, x = x, number = number, length = length](Value k) {
      Value place = add(x, arith::MulIOp::create(b, k, tile));
      body(length, arith::MinSIOp::create(b, place, lastStart), add(number, k));
    });
    x = arith::MinSIOp::create(b, end, add(x, arith::MulIOp::create(b, count, tile)));
    number = add(number, count);
  }
}
