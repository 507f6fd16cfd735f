// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/OpImport.h"

using namespace mlir;

namespace sinter::onnx {

/// The loss of logarithms of probabilities `x` [N, C, d...] at the classes `target` [N, d...].
static LogicalResult negativeLogLikelihood(OpImport &n, Value x, Value target, Value weights) {
  StringRef reduction = n.stringAttr("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    return n.error("requires reduction mean, sum or none, found '" + reduction + "'");
  if (n.rank(x) < 2 || n.rank(target) != n.rank(x) - 1)
    return n.error("requires targets of rank " + Twine(n.rank(x) - 1) + ", found " + printShape(n.dims(target)));
  target = n.convert(target, n.b.getI64Type());
  Value ignored;
  if (n.attribute("ignore_index")) {
    ignored = n.compare(CompareKind::eq, target, double(n.intAttr("ignore_index", 0)));
    target = n.select(ignored, 0, target);
  }
  target = n.checked(target, x, 1);
  Value picked = n.squeeze(n.make<GatherElementsOp>(x, n.unsqueeze(target, {1}), int64_t(1)), {1});
  Value weight = weights ? n.gather(weights, target, 0) : Value();
  if (ignored)
    weight = n.select(ignored, 0, weight ? weight : n.full(picked, 1));
  Value loss = n.make<NegOp>(weight ? n.mul(picked, weight) : picked);
  if (ignored) // what is ignored may be infinite
    loss = n.select(ignored, 0, loss);
  if (n.failed() || reduction == "none")
    return n.out(loss);
  SmallVector<int64_t> axes = n.allAxes(loss);
  if (reduction == "mean" && !weight)
    return n.out(n.mean(loss, axes, false));
  if (reduction == "sum")
    return n.out(n.reduce(Combiner::add, loss, axes, false));
  return n.out(n.inWiderFloats(loss, [&](Value wide) {
    return n.div(n.reduce(Combiner::add, wide, axes, false),
                 n.reduce(Combiner::add, n.convert(weight, n.elem(wide)), axes, false));
  }));
}

static LogicalResult importNegativeLogLikelihood(OpImport &n) {
  return negativeLogLikelihood(n, n.in(0), n.in(1), n.in(2));
}

static LogicalResult importSoftmaxCrossEntropy(OpImport &n) {
  if (n.rank(n.in(0)) < 2)
    return n.error("requires scores of rank 2 at least, found " + printShape(n.dims(n.in(0))));
  Value logarithms = n.make<SoftmaxOp>(n.in(0), int64_t(1), true);
  if (n.failed() || failed(negativeLogLikelihood(n, logarithms, n.in(1), n.in(2))))
    return failure();
  return n.out(logarithms);
}

void registerLoss(Registry &r) {
  r.add("NegativeLogLikelihoodLoss", 12, 2, importNegativeLogLikelihood);
  r.add("SoftmaxCrossEntropyLoss", 12, 2, importSoftmaxCrossEntropy);
}

} // namespace sinter::onnx
