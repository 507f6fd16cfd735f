// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/CachePages.h"
#include "ir/Attention.h"
#include "ir/Composer.h"
#include "ir/Elementwise.h"
#include "ir/Indexing.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;

/// The gather whose pages `op` puts one behind the other; null where it does something else.
static GatherOp pagesOf(ReshapeOp op) {
  auto gather = op.getOperand().getDefiningOp<GatherOp>();
  if (!gather || gather.getAxis() != 0)
    return {};
  RankedTensorType cache = tensorTypeOf(gather.getOperand()), table = tensorTypeOf(gather.getPositions()),
                   rows = op.getType();
  int64_t leading = table.getRank() - 1;
  if (!cache.hasStaticShape() || cache.getRank() < 3 || leading < 0 ||
      rows.getRank() + 2 != cache.getRank() + table.getRank())
    return {};
  // Of sizes that may differ there is the merged one alone, which the number of elements tells.
  SmallVector<int64_t> expected(table.getShape().drop_back());
  expected.push_back(rows.getDimSize(leading));
  llvm::append_range(expected, cache.getShape().drop_front(2));
  bool areKnown = llvm::none_of(expected, [&](int64_t size) { return size == 0; }) &&
                  llvm::none_of(table.getShape().drop_back(), ShapedType::isDynamic);
  return areKnown && llvm::equal(expected, rows.getShape()) ? gather : GatherOp();
}

/// Numbers of all rows of the pages in `table`: [..., n] becomes [..., n * rows].
static Value rowsOf(Composer &c, Value table, int64_t pages, int64_t rows) {
  RankedTensorType type = tensorTypeOf(table);
  Type i64 = c.getI64Type();
  // Positions from the end and beyond either end are the page's, so all of its rows are.
  table = c.convert(table, i64);
  table =
      c.make<ClampOp>(c.fill(static_cast<double>(-pages), table), table, c.fill(static_cast<double>(pages - 1), table));
  Value first = c.make<MulOp>(table, c.fill(static_cast<double>(rows), table));
  SmallVector<int64_t> shape(type.getShape()), axes(llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
  shape.push_back(rows);
  auto wide = RankedTensorType::get(shape, i64);
  Value each = c.make<BroadcastOp>(first, Value(), ValueRange(), axes, wide);
  Value within = c.make<IotaOp>(Value(), int64_t(0), RankedTensorType::get({rows}, i64));
  Value all = c.make<AddOp>(each, c.spread(within, each, {type.getRank()}));
  shape.pop_back();
  shape.back() = ShapedType::isDynamic(shape.back()) ? shape.back() : shape.back() * rows;
  return c.reshape(all, RankedTensorType::get(shape, i64));
}

static void gatherRows(ReshapeOp op, GatherOp gather) {
  OpBuilder b(op);
  Composer c(op.getLoc(), b);
  RankedTensorType cache = tensorTypeOf(gather.getOperand());
  int64_t pages = cache.getDimSize(0), rows = cache.getDimSize(1);
  SmallVector<int64_t> flat(cache.getShape().drop_front());
  flat.front() = pages * rows;
  Value memory = c.reshape(gather.getOperand(), RankedTensorType::get(flat, cache.getElementType()));
  Value gathered = c.make<GatherOp>(memory, rowsOf(c, gather.getPositions(), pages, rows), int64_t(0));
  op.getResult().replaceAllUsesWith(c.retype(gathered, op.getType()));
  op.erase();
  if (gather->use_empty())
    gather->erase();
}

void sinter::gatherRowsOfPages(Block &block) {
  for (auto attention : llvm::to_vector(block.getOps<AttentionOp>()))
    for (Value rows : {attention.getKey(), attention.getValue()}) {
      auto transpose = rows.getDefiningOp<TransposeOp>();
      auto reshape = (transpose ? transpose.getOperand() : rows).getDefiningOp<ReshapeOp>();
      if (GatherOp gather = reshape ? pagesOf(reshape) : GatherOp())
        gatherRows(reshape, gather);
    }
}
