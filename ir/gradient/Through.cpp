// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/gradient/Through.h"
#include "ir/Shape.h"

using namespace mlir;

namespace sinter::gradient {

/// The ops that were built between the insertion point before and now, in order; composites without a rule are
/// decomposed.
static FailureOr<SmallVector<Operation *>> builtSince(OpBuilder &builder, Operation *before) {
  Block *block = builder.getInsertionBlock();
  auto end = builder.getInsertionPoint();
  SmallVector<Operation *> ops;
  for (auto at = before ? std::next(before->getIterator()) : block->begin(); at != end;) {
    Operation *op = &*at++;
    auto composite = dyn_cast<Decomposable>(op);
    if (!composite || isa<Differentiable>(op)) {
      ops.push_back(op);
      continue;
    }
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    FailureOr<SmallVector<Value>> values = composite.decompose(builder);
    if (failed(values))
      return failure();
    Operation *first = ops.empty() ? before : ops.back();
    op->replaceAllUsesWith(*values);
    op->erase();
    at = first ? std::next(first->getIterator()) : block->begin();
  }
  return ops;
}

namespace {
/// The restated op: results, and the ops that compute them.
struct Statement {
  SmallVector<Value> inputs, results;
  SmallVector<Operation *> ops;
};
} // namespace

static FailureOr<Statement> state(GradientBuilder &g, Restated restate) {
  Statement statement;
  Block *block = g.getInsertionBlock();
  auto point = g.getInsertionPoint();
  Operation *before = point == block->begin() ? nullptr : &*std::prev(point);
  statement.inputs = llvm::to_vector(g.operation()->getOperands());
  statement.results = restate(g, statement.inputs);
  FailureOr<SmallVector<Operation *>> ops = builtSince(g, before);
  if (failed(ops))
    return failure();
  statement.ops = *ops;
  return statement;
}

LogicalResult vjpThrough(VjpBuilder &g, Restated restate) {
  FailureOr<Statement> statement = state(g, restate);
  if (failed(statement))
    return failure();
  DenseMap<Value, Value> cotangents;
  DenseSet<Value> active;
  auto add = [&](Value value, Value cotangent) {
    Value &sum = cotangents[value];
    sum = g.sum(sum, cotangent);
  };
  for (auto [i, input] : llvm::enumerate(statement->inputs))
    if (g.wants(i))
      active.insert(input);
  for (Operation *op : statement->ops)
    if (llvm::any_of(op->getOperands(), [&](Value operand) { return active.contains(operand); }))
      for (Value result : op->getResults())
        if (isDifferentiable(result.getType()))
          active.insert(result);
  for (auto [i, result] : llvm::enumerate(statement->results))
    if (Value dy = i < g.operation()->getNumResults() ? g.cotangent(i) : Value(); dy && active.contains(result))
      add(result, dy);
  for (Operation *op : llvm::reverse(statement->ops)) {
    SmallVector<Value> dys = llvm::map_to_vector(op->getResults(), [&](Value v) { return cotangents.lookup(v); });
    llvm::BitVector wanted(op->getNumOperands());
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      wanted[i] = active.contains(operand);
    if (wanted.none() || llvm::none_of(dys, [](Value v) { return static_cast<bool>(v); }))
      continue;
    auto rule = dyn_cast<Differentiable>(op);
    if (!rule)
      return op->emitOpError("has no gradient");
    VjpBuilder inner(g, op, dys, wanted);
    if (failed(rule.vjp(inner)))
      return failure();
    for (auto [operand, given] : llvm::zip(op->getOperands(), inner.gradients()))
      if (given)
        add(operand, given);
  }
  llvm::SmallDenseSet<Value> given;
  for (auto [i, input] : llvm::enumerate(statement->inputs))
    if (g.wants(i) && given.insert(input).second)
      g.give(i, cotangents.lookup(input));
  return success();
}

LogicalResult jvpThrough(JvpBuilder &t, Restated restate) {
  FailureOr<Statement> statement = state(t, restate);
  if (failed(statement))
    return failure();
  DenseMap<Value, Value> tangents;
  for (auto [i, input] : llvm::enumerate(statement->inputs))
    if (Value tx = t.tangent(i))
      tangents[input] = tx;
  for (Operation *op : statement->ops) {
    SmallVector<Value> tx = llvm::map_to_vector(op->getOperands(), [&](Value v) { return tangents.lookup(v); });
    if (llvm::none_of(tx, [](Value v) { return static_cast<bool>(v); }) ||
        llvm::none_of(op->getResultTypes(), [](Type type) { return isDifferentiable(type); }))
      continue;
    auto rule = dyn_cast<Differentiable>(op);
    if (!rule)
      return op->emitOpError("has no gradient");
    JvpBuilder inner(t, op, tx);
    if (failed(rule.jvp(inner)))
      return failure();
    for (auto [result, ty] : llvm::zip(op->getResults(), inner.resultTangents()))
      if (ty)
        tangents[result] = ty;
  }
  for (unsigned i = 0; i < t.operation()->getNumResults(); ++i)
    t.set(i, tangents.lookup(statement->results[i]));
  return success();
}

} // namespace sinter::gradient
