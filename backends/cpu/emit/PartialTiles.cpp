// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/PartialTiles.h"
#include "backends/cpu/emit/BlockSums.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

PartialTiles::PartialTiles(KernelFunction &fn, const RegisterTile &tile, VectorType vectorType)
    : fn(fn), b(fn.b), vectorType(vectorType), tileElements(tile.rows * tile.vectors * vectorType.getNumElements()) {
  auto type = MemRefType::get({kHuge}, vectorType.getElementType());
  memory = memref::ViewOp::create(b, type, fn.workspace(), fn.index(0), ValueRange{});
}

void PartialTiles::enter(Value block, int64_t count) {
  hasBefore = arith::MinUIOp::create(b, block, fn.index(1));
  isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, block, fn.index(count - 1));
}

Value PartialTiles::at(Value tile, size_t accumulator) {
  Value begin = arith::MulIOp::create(b, tile, fn.index(tileElements));
  return arith::AddIOp::create(b, begin, fn.index(static_cast<int64_t>(accumulator) * vectorType.getNumElements()));
}

SmallVector<Value> PartialTiles::add(ValueRange sums, Value tile) {
  return fn.loop(fn.index(0), hasBefore, 1, sums, [&](Value, ValueRange values) {
    SmallVector<Value> all;
    for (auto [i, value] : llvm::enumerate(values)) {
      Value before = vector::LoadOp::create(b, vectorType, memory, ValueRange{at(tile, i)});
      all.push_back(joinFloats(b, before, value));
    }
    return all;
  });
}

void PartialTiles::finishOrKeep(ValueRange sums, Value tile, llvm::function_ref<void()> finish) {
  fn.branch(isLast, finish, [&] {
    for (auto [i, sum] : llvm::enumerate(sums))
      vector::StoreOp::create(b, sum, memory, ValueRange{at(tile, i)});
  });
}
