// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Optimizer steps of ai.onnx.preview.training. Inputs: rate R, step T, then the tensors x..., their gradients, their
// states.

#include "compiler/onnx/OpImport.h"

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

static LogicalResult importAdagrad(OpImport &n) {
  unsigned count = countTensors(n, 3);
  if (!count)
    return failure();
  double decay = n.floatAttr("decay_factor", 0), epsilon = n.floatAttr("epsilon", 1e-6f);
  double norm = n.floatAttr("norm_coefficient", 0);
  SmallVector<Value> xs, states;
  for (unsigned k = 0; k < count; ++k) {
    Value x = n.in(2 + k), gradient = n.in(2 + count + k), state = n.in(2 + 2 * count + k);
    // R / (1 + T * decay)
    Value rate =
        n.div(n.reshape(n.in(0), {}), n.add(n.mul(n.convert(n.reshape(n.in(1), {}), n.elem(n.in(0))), decay), 1));
    gradient = n.add(n.mul(x, norm), gradient);
    state = n.add(state, n.mul(gradient, gradient));
    xs.push_back(n.sub(x, n.div(n.mul(gradient, n.convert(rate, n.elem(x))), n.add(n.make<SqrtOp>(state), epsilon))));
    states.push_back(state);
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
    Value x = n.in(2 + k), gradient = n.in(2 + count + k), state = n.in(2 + 2 * count + k);
    Type type = n.elem(x);
    Value rate = n.convert(n.reshape(n.in(0), {}), type);
    gradient = n.add(n.mul(x, norm), gradient);
    // beta is 1 in the first step
    Value first = n.compare(CompareKind::gt, n.reshape(n.in(1), {}), 0);
    Value share = n.select(first, n.scalar(type, beta), n.scalar(type, 1));
    state = n.add(n.mul(state, alpha), n.mul(gradient, share));
    Value step = nesterov ? n.add(gradient, n.mul(state, alpha)) : state;
    xs.push_back(n.sub(x, n.mul(step, rate)));
    states.push_back(state);
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
    Value x = n.in(2 + k), gradient = n.in(2 + count + k), mean = n.in(2 + 2 * count + k),
          square = n.in(2 + 3 * count + k);
    Type type = n.elem(x);
    Value rate = n.convert(n.reshape(n.in(0), {}), type), step = n.reshape(n.in(1), {});
    gradient = n.add(n.mul(x, norm), gradient);
    mean = n.add(n.mul(mean, alpha), n.mul(gradient, 1 - alpha));
    square = n.add(n.mul(square, beta), n.mul(n.mul(gradient, gradient), 1 - beta));
    // the bias correction starts with the second step
    Value steps = n.convert(step, type);
    Value corrected = n.div(n.mul(rate, n.make<SqrtOp>(n.sub(1, n.binary<PowOp>(n.scalar(type, beta), steps)))),
                            n.sub(1, n.binary<PowOp>(n.scalar(type, alpha), steps)));
    rate = n.select(n.compare(CompareKind::gt, step, 0), corrected, rate);
    Value moved = n.sub(x, n.div(n.mul(mean, rate), n.add(n.make<SqrtOp>(square), epsilon)));
    xs.push_back(n.mul(moved, 1 - normAfter));
    means.push_back(mean);
    squares.push_back(square);
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
