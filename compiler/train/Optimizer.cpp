// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/train/Optimizer.h"
#include "compiler/train/Formulas.h"
#include "compiler/train/TermNumber.h"
#include "ir/Indexing.h"
#include "ir/Sparse.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::formulas;
using sinter::gradient::Term;

namespace {
/// States of the function that is built.
class Store {
public:
  Store(Composer &c, States &states) : c(c), states(states) {}

  TermNumber get(StringRef name, const TermNumber &like) { return Term{c, states.add(name, tensorTypeOf(like.term))}; }
  void put(StringRef name, const TermNumber &value) { states.replace(name, value.term); }
  TermNumber number(double value) { return Term{c, c.scalar(c.getF64Type(), value)}; }
  TermNumber counter(StringRef name) {
    Value count = states.find(name);
    return Term{c, count ? count : states.add(name, RankedTensorType::get({}, c.getI64Type()))};
  }
  TermNumber start(StringRef name, double value) {
    Value number = states.find(name);
    return Term{c, number ? number : states.addNumber(name, c.getF32Type(), value)};
  }
  TermNumber rateInput() {
    if (!rate)
      rate = c.convert(states.addInput("lr", RankedTensorType::get({}, c.getF32Type())), c.getF64Type());
    return Term{c, rate};
  }
  TermNumber readRows(const TermNumber &table, const TermNumber &rows) {
    return Term{c, c.make<GatherOp>(table.term, rows.term, int64_t(0))};
  }
  TermNumber writeRows(const TermNumber &table, const TermNumber &rows, const TermNumber &values) {
    auto type = RankedTensorType::get({tensorTypeOf(rows.term).getDimSize(0), 1}, c.getI64Type());
    return Term{c, c.make<ScatterNdOp>(table.term, c.reshape(rows.term, type), values.term, Combiner::set)};
  }
  TermNumber list(StringRef name, const TermNumber &like, int64_t batches, int64_t first) {
    RankedTensorType type = tensorTypeOf(like.term);
    SmallVector<int64_t> shape(type.getShape());
    assert(!ShapedType::isDynamic(shape[0]) && "a step whose batches have unknown sizes is refused before");
    shape[0] *= batches;
    type = RankedTensorType::get(shape, type.getElementType());
    return Term{c, states.add(name, type, first ? DenseElementsAttr::get(type, first) : ElementsAttr())};
  }
  std::pair<TermNumber, TermNumber> sumRows(const TermNumber &rows, const TermNumber &values, int64_t size) {
    auto groups = GroupRowsOp::create(c, rows.term, size);
    Value sums = c.make<BagSumOp>(values.term, groups.getOrder(), groups.getSplits(), Value());
    return {Term{c, groups.getRows()}, Term{c, sums}};
  }
  bool matches(StringRef pattern, StringRef name) { return llvm::Regex(pattern).match(name); }

private:
  Composer &c;
  States &states;
  Value rate;
};
} // namespace

Value sinter::addOptimizer(Composer &composer, const OptimizerSpec &spec, States &states, ArrayRef<Weight> weights,
                           Value loss) {
  Store store(composer, states);
  std::vector<Moved<TermNumber>> moved;
  for (const Weight &weight : weights) {
    moved.push_back({weight.name, Term{composer, weight.value}, Term{composer, weight.gradient}});
    if (weight.rows)
      moved.back().rows = Term{composer, weight.rows};
  }
  TermNumber seen = Term{composer, loss};
  std::optional<TermNumber> counts = formulas::Optimizer<TermNumber, Store>(spec, store).run(std::move(moved), &seen);
  return counts ? counts->term.v() : Value();
}
