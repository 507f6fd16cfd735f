// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/gradient/Snapshots.h"
#include "ir/Regions.h"

using namespace mlir;
using namespace sinter;

SmallVector<Value> Snapshots::values() const {
  SmallVector<Value> all(buffers);
  all.append({places, count});
  return all;
}

Snapshots Snapshots::of(ValueRange values) {
  size_t n = values.size() - 2;
  return {SmallVector<Value>(values.take_front(n)), values[n], values[n + 1]};
}

Snapshots Snapshots::keep(StepBuilder &b, ValueRange carries, Value trip) const {
  Snapshots more;
  for (auto [buffer, carry] : llvm::zip(buffers, carries))
    more.buffers.push_back(b.store(buffer, carry, count));
  more.places = b.store(places, trip, count);
  more.count = b.add(count, 1);
  return more;
}

Snapshots Snapshots::thin(StepBuilder &b, int64_t slots) const {
  SmallVector<int64_t> even;
  for (int64_t k = 0; k < slots; ++k)
    even.push_back(std::min(2 * k, slots - 1));
  Value rows = b.make<ConstantOp>(HostTensor::ofInts(b.getI64Type(), even).toAttr());
  return {load(b, rows), b.load(places, rows), b.number((slots + 1) / 2)};
}

SmallVector<Value> Snapshots::load(StepBuilder &b, Value k) const {
  SmallVector<Value> carries;
  for (Value buffer : buffers)
    carries.push_back(b.load(buffer, k));
  return carries;
}

Value sinter::nextPlace(StepBuilder &b, Value from, Value to, Value free) {
  Value way = b.sub(to, from), one = b.number(1);
  Value hasRoom = b.compare(CompareKind::gt, free, b.number(0));
  Value trips = b.pick(hasRoom, b.add(way, 1), one);
  // Carries: r, C(s + r - 1, r - 1), C(s + r, r).
  WhileOp search = buildWhile(
      b, b.getLoc(), {b.number(0), one, one}, {b.add(free, 1), trips},
      [](OpBuilder &inner, Location loc, ValueRange a) -> SmallVector<Value> {
        return {StepBuilder(loc, inner).compare(CompareKind::lt, a[2], a[4])};
      },
      [](OpBuilder &inner, Location loc, ValueRange a) -> SmallVector<Value> {
        StepBuilder c(loc, inner);
        Value r = c.add(a[0], 1);
        return {r, a[2], c.make<DivOp>(c.make<MulOp>(a[2], c.add(a[3], r)), r)};
      });
  Value part = search.getCarries()[1];
  part = b.pick(b.compare(CompareKind::lt, part, way), part, way);
  return b.pick(hasRoom, b.add(from, part), to);
}
