// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Optimizer steps of ai.onnx.preview.training. Inputs: rate R, step T, then the tensors x..., their gradients, their
// states.

#include "compiler/onnx/OpImport.h"
#include "compiler/train/Moves.h"

using namespace mlir;

namespace sinter::onnx {

static constexpr llvm::StringLiteral kTraining = "ai.onnx.preview.training";

/// Splits the inputs after R and T into `groups` lists of equal length; 0 after an error.
static unsigned countTensors(OpImport &n, unsigned groups) {
  unsigned rest = n.numInputs() - 2;
  if (rest == 0 || rest % groups != 0) {
    (void)n.error("requires " + Twine(groups) + " inputs for each tensor, found " + Twine(rest));
    return 0;
  }
  return rest / groups;
}

namespace {
/// Numbers of formulas (compiler/train/Moves.h) as values of an import, which broadcasts and keeps its first error.
struct NodeNumber {
  OpImport *n;
  Value value;
};
NodeNumber operator+(NodeNumber a, NodeNumber b) { return {a.n, a.n->add(a.value, b.value)}; }
NodeNumber operator-(NodeNumber a, NodeNumber b) { return {a.n, a.n->sub(a.value, b.value)}; }
NodeNumber operator*(NodeNumber a, NodeNumber b) { return {a.n, a.n->mul(a.value, b.value)}; }
NodeNumber operator/(NodeNumber a, NodeNumber b) { return {a.n, a.n->div(a.value, b.value)}; }
NodeNumber operator+(NodeNumber a, double k) { return {a.n, a.n->add(a.value, k)}; }
NodeNumber operator*(double k, NodeNumber a) { return {a.n, a.n->mul(a.value, k)}; }
NodeNumber squareRoot(NodeNumber a) { return {a.n, a.n->make<SqrtOp>(a.value)}; }
} // namespace

static LogicalResult importAdagrad(OpImport &n) {
  unsigned count = countTensors(n, 3);
  if (!count)
    return failure();
  double decay = n.floatAttr("decay_factor", 0), epsilon = n.floatAttr("epsilon", 1e-6f);
  double norm = n.floatAttr("norm_coefficient", 0);
  SmallVector<Value> xs, states;
  for (unsigned k = 0; k < count; ++k) {
    NodeNumber x{&n, n.in(2 + k)}, state{&n, n.in(2 + 2 * count + k)};
    NodeNumber gradient = formulas::decayed(NodeNumber{&n, n.in(2 + count + k)}, norm, x);
    // R / (1 + T * decay)
    Value rate =
        n.div(n.reshape(n.in(0), {}), n.add(n.mul(n.convert(n.reshape(n.in(1), {}), n.elem(n.in(0))), decay), 1));
    state = state + gradient * gradient;
    NodeNumber scaled = gradient * NodeNumber{&n, n.convert(rate, n.elem(x.value))};
    xs.push_back((x - formulas::scaledByRoot(scaled, state, epsilon)).value);
    states.push_back(state.value);
  }
  xs.append(states);
  for (Value value : xs)
    (void)n.out(value);
  return success(!n.failed());
}

static LogicalResult importMomentum(OpImport &n) {
  unsigned count = countTensors(n, 3);
  if (!count)
    return failure();
  double alpha = n.floatAttr("alpha", 0), beta = n.floatAttr("beta", 0), norm = n.floatAttr("norm_coefficient", 0);
  bool nesterov = n.stringAttr("mode", "standard") == "nesterov";
  SmallVector<Value> xs, states;
  for (unsigned k = 0; k < count; ++k) {
    NodeNumber x{&n, n.in(2 + k)}, state{&n, n.in(2 + 2 * count + k)};
    NodeNumber gradient = formulas::decayed(NodeNumber{&n, n.in(2 + count + k)}, norm, x);
    Type type = n.elem(x.value);
    // beta is 1 in the first step
    Value first = n.compare(CompareKind::gt, n.reshape(n.in(1), {}), 0);
    NodeNumber share{&n, n.select(first, n.scalar(type, beta), n.scalar(type, 1))};
    state = alpha * state + gradient * share;
    NodeNumber step = nesterov ? gradient + alpha * state : state;
    xs.push_back((x - step * NodeNumber{&n, n.convert(n.reshape(n.in(0), {}), type)}).value);
    states.push_back(state.value);
  }
  xs.append(states);
  for (Value value : xs)
    (void)n.out(value);
  return success(!n.failed());
}

static LogicalResult importAdam(OpImport &n) {
  unsigned count = countTensors(n, 4);
  if (!count)
    return failure();
  double alpha = n.floatAttr("alpha", 0.9f), beta = n.floatAttr("beta", 0.999f),
         epsilon = n.floatAttr("epsilon", 1e-6f);
  double norm = n.floatAttr("norm_coefficient", 0), normAfter = n.floatAttr("norm_coefficient_post", 0);
  SmallVector<Value> xs, means, squares;
  for (unsigned k = 0; k < count; ++k) {
    NodeNumber x{&n, n.in(2 + k)}, mean{&n, n.in(2 + 2 * count + k)}, square{&n, n.in(2 + 3 * count + k)};
    NodeNumber gradient = formulas::decayed(NodeNumber{&n, n.in(2 + count + k)}, norm, x);
    Type type = n.elem(x.value);
    Value rate = n.convert(n.reshape(n.in(0), {}), type), step = n.reshape(n.in(1), {});
    mean = formulas::averaged(alpha, mean, gradient);
    square = formulas::averaged(beta, square, gradient * gradient);
    // the bias correction starts with the second step
    Value steps = n.convert(step, type);
    Value corrected = n.div(n.mul(rate, n.make<SqrtOp>(n.sub(1, n.binary<PowOp>(n.scalar(type, beta), steps)))),
                            n.sub(1, n.binary<PowOp>(n.scalar(type, alpha), steps)));
    rate = n.select(n.compare(CompareKind::gt, step, 0), corrected, rate);
    NodeNumber moved = x - formulas::scaledByRoot(mean * NodeNumber{&n, rate}, square, epsilon);
    xs.push_back(n.mul(moved.value, 1 - normAfter));
    means.push_back(mean.value);
    squares.push_back(square.value);
  }
  xs.append(means);
  xs.append(squares);
  for (Value value : xs)
    (void)n.out(value);
  return success(!n.failed());
}

void registerTraining(Registry &r) {
  r.addIn(kTraining, "Gradient", 1, 1, nullptr); // Gradient.h, by the walk
  r.addIn(kTraining, "Adagrad", 1, 5, importAdagrad);
  r.addIn(kTraining, "Momentum", 1, 5, importMomentum);
  r.addIn(kTraining, "Adam", 1, 6, importAdam);
}

} // namespace sinter::onnx
