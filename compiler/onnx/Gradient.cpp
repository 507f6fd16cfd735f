// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradient of ai.onnx.preview.training: the derivative of a tensor of the graph by others, at values that the node's
// inputs give. What computes y from the xs becomes a function, its gradient another, and the ops of that are copied to
// the node's place.

#include "compiler/onnx/Gradient.h"
#include "mlir/IR/IRMapping.h"
#include "passes/gradient/BuildGradient.h"
#include "passes/gradient/Dependencies.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace sinter::onnx {

namespace {
/// The ops between `xs` and `y` as a function of the xs and of what else they read.
struct Between {
  SmallVector<Operation *> ops; // in order
  SmallVector<Value> arguments; // the xs first
};
} // namespace

/// Ops of the block of `y` that it depends on, back to `xs`.
static Between findBetween(Value y, ArrayRef<Value> xs) {
  Between between;
  between.arguments.assign(xs.begin(), xs.end());
  llvm::SetVector<Operation *> ops;
  for (Value value : dependenciesOf(y, xs)) {
    if (llvm::is_contained(xs, value))
      continue;
    if (Operation *op = value.getDefiningOp())
      ops.insert(op);
    else
      between.arguments.push_back(value);
  }
  between.ops = ops.takeVector();
  llvm::sort(between.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return between;
}

static func::FuncOp makeFunction(OpImport &n, ModuleOp module, const Between &between, Value y) {
  OpBuilder b(module.getBodyRegion());
  auto function = func::FuncOp::create(b, n.loc, "between",
                                       b.getFunctionType(ValueRange(between.arguments).getTypes(), y.getType()));
  Block *body = function.addEntryBlock();
  b.setInsertionPointToEnd(body);
  IRMapping map;
  map.map(between.arguments, body->getArguments());
  for (Operation *op : between.ops)
    b.clone(*op, map);
  func::ReturnOp::create(b, n.loc, map.lookupOrDefault(y));
  return function;
}

LogicalResult importGradient(OpImport &n, const llvm::StringMap<Value> &tensors) {
  SmallVector<StringRef> names = n.stringsAttr("xs"), fixed = n.stringsAttr("zs");
  StringRef yName = n.stringAttr("y", "");
  names.append(fixed.begin(), fixed.end());
  if (names.size() != n.numInputs() || names.size() == fixed.size())
    return n.error("requires an input for each name in xs and zs, found " + Twine(n.numInputs()) + " inputs and " +
                   Twine(names.size()) + " names");
  Value y = tensors.lookup(yName);
  SmallVector<Value> xs;
  for (StringRef name : names) {
    xs.push_back(tensors.lookup(name));
    if (!xs.back())
      return n.error("requires a tensor that is computed before, found no '" + name + "'");
  }
  if (!y)
    return n.error("requires a tensor that is computed before, found no '" + yName + "'");
  for (auto [x, given] : llvm::zip(xs, n.ins()))
    if (x.getType() != given.getType())
      return n.error("requires inputs of the types of xs and zs");
  Between between = findBetween(y, xs);
  OwningOpRef<ModuleOp> module = ModuleOp::create(n.loc);
  func::FuncOp function = makeFunction(n, *module, between, y);
  SmallVector<unsigned> wrt = llvm::to_vector(llvm::seq<unsigned>(0, unsigned(names.size() - fixed.size())));
  FailureOr<func::FuncOp> gradient = buildGradient(function, wrt);
  if (failed(gradient))
    return failure();

  // The arguments of the gradient are those of the function and the cotangent of y: the derivative of the sum of its
  // elements.
  IRMapping map;
  SmallVector<Value> values(n.ins());
  llvm::append_range(values, ArrayRef(between.arguments).drop_front(xs.size()));
  values.push_back(n.full(y, 1));
  if (n.failed())
    return failure();
  Block &body = gradient->getBody().front();
  map.map(body.getArguments(), values);
  for (Operation &op : body.without_terminator())
    n.b.clone(op, map);
  for (Value result : body.getTerminator()->getOperands().drop_front())
    (void)n.out(map.lookupOrDefault(result));
  return success();
}

} // namespace sinter::onnx
