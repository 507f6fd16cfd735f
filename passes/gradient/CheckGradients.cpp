// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/gradient/CheckGradients.h"
#include "ir/Composer.h"
#include "ir/Dialect.h"
#include "ir/gradient/Differentiable.h"
#include "passes/Passes.h"
#include "passes/gradient/BuildGradient.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include <random>

using namespace mlir;
using namespace sinter;

//===- f64 -----------------------------------------------------------------------------------===//

static Type widened(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return RankedTensorType::get(tensor.getShape(), widened(tensor.getElementType()));
  return isa<FloatType>(type) ? Type(Float64Type::get(type.getContext())) : type;
}

static HostTensor widened(const HostTensor &tensor) {
  if (!tensor.isFloat() || tensor.elementType().isF64())
    return tensor;
  HostTensor wide(Float64Type::get(tensor.elementType().getContext()), tensor.shape());
  wide.assignFloats(tensor.toFloats());
  return wide;
}

/// Operands that have no f64 form, as the scales of a resize, stay what they were in `before`.
static void narrowOperands(func::FuncOp wide, func::FuncOp before) {
  SmallVector<Operation *> ops, originals;
  wide.walk([&](Operation *op) { ops.push_back(op); });
  before.walk([&](Operation *op) { originals.push_back(op); });
  ScopedDiagnosticHandler quiet(wide.getContext(), [](Diagnostic &) { return success(); });
  for (auto [op, original] : llvm::zip(ops, originals)) {
    auto verifies = [op = op] { return succeeded(op->getName().verifyInvariants(op)); };
    if (op == wide || verifies())
      continue;
    OpBuilder b(op);
    SmallVector<Value> given(op->getOperands()), narrow(given);
    for (auto [value, old] : llvm::zip(narrow, original->getOperands())) {
      if (value.getType() == old.getType())
        continue;
      Operation *constant = old.getDefiningOp();
      value = constant && constant->hasTrait<OpTrait::ConstantLike>()
                  ? b.clone(*constant)->getResult(0)
                  : Composer(op->getLoc(), b).convert(value, elementTypeOf(old));
    }
    // One operand if that suffices, else all.
    bool isDone = false;
    for (size_t k = 0; k < narrow.size() && !isDone; ++k) {
      op->setOperand(k, narrow[k]);
      isDone = verifies();
      if (!isDone)
        op->setOperand(k, given[k]);
    }
    if (!isDone)
      op->setOperands(narrow);
  }
}

FailureOr<OwningOpRef<ModuleOp>> sinter::inFloat64(func::FuncOp function) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
  func::FuncOp copy = function.clone();
  module->push_back(copy);
  copy.walk([](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(widened(argument.getType()));
    for (Value result : op->getResults())
      result.setType(widened(result.getType()));
    SmallVector<NamedAttribute> attributes;
    for (NamedAttribute attribute : op->getAttrs()) {
      if (auto type = dyn_cast<TypeAttr>(attribute.getValue()); type && !isa<FunctionType>(type.getValue()))
        attributes.emplace_back(attribute.getName(), TypeAttr::get(widened(type.getValue())));
      else if (auto elements = dyn_cast<ElementsAttr>(attribute.getValue()))
        if (FailureOr<HostTensor> tensor = HostTensor::fromAttr(elements); succeeded(tensor))
          attributes.emplace_back(attribute.getName(), widened(*tensor).toAttr());
    }
    for (NamedAttribute attribute : attributes)
      op->setAttr(attribute.getName(), attribute.getValue());
  });
  SmallVector<Type> results(copy.getBody().front().getTerminator()->getOperandTypes());
  copy.setType(FunctionType::get(copy.getContext(), copy.getBody().getArgumentTypes(), results));
  narrowOperands(copy, function);
  if (failed(verify(*module)))
    return copy.emitError("a check of gradients requires ops that have an f64 form"), failure();
  return module;
}

//===- differences ---------------------------------------------------------------------------===//

namespace {
using Tensors = SmallVector<HostTensor>;

class Checker {
public:
  Checker(func::FuncOp function, ArrayRef<unsigned> wrt, ArrayRef<HostTensor> inputs,
          const GradientCheckOptions &options)
      : function(function), wrt(wrt), options(options), random(options.seed) {
    for (const HostTensor &input : inputs)
      this->inputs.push_back(widened(input));
  }

  FailureOr<GradientCheck> check() {
    FailureOr<func::FuncOp> vjp =
        buildGradient(function, wrt, {.mode = GradientMode::Vjp, .name = {}, .memory = options.memory});
    if (failed(vjp))
      return failure();
    if (options.expand && failed(expandCheckpoints(*vjp)))
      return failure();
    FailureOr<Tensors> values = evaluate(function, inputs);
    if (failed(values))
      return failure();
    Tensors arguments(inputs);
    for (const HostTensor &value : *values)
      if (value.isFloat()) {
        cotangents.push_back(noise(value));
        arguments.push_back(cotangents.back());
      }
    FailureOr<Tensors> reversed = evaluate(*vjp, arguments);
    if (failed(reversed))
      return failure();
    GradientCheck result;
    result.gradients.assign(reversed->end() - wrt.size(), reversed->end());
    for (const HostTensor &value : *values)
      if (value.isFloat() && !llvm::all_of(value.toFloats(), [](double x) { return std::isfinite(x); }))
        result.isFinite = false;
    for (const HostTensor &gradient : result.gradients)
      for (double element : gradient.toFloats()) {
        result.isFinite &= std::isfinite(element);
        if (std::isfinite(element))
          scale = std::max(scale, std::abs(element));
      }

    for (size_t k = 0; k < wrt.size(); ++k) {
      FailureOr<double> error = checkElements(wrt[k], result.gradients[k].toFloats());
      if (failed(error))
        return failure();
      result.elements.push_back(*error);
    }

    Tensors tangents;
    double reverse = 0;
    for (size_t k = 0; k < wrt.size(); ++k) {
      tangents.push_back(noise(inputs[wrt[k]]));
      reverse += dot(result.gradients[k], tangents.back());
    }
    FailureOr<double> direction = errorOf(reverse, [&](double step) { return along(tangents, step); });
    if (failed(direction))
      return failure();
    result.direction = *direction;

    if (options.forwardMode) {
      FailureOr<func::FuncOp> jvp = buildGradient(function, wrt, {.mode = GradientMode::Jvp});
      if (failed(jvp))
        return failure();
      Tensors moved(inputs);
      moved.append(tangents);
      FailureOr<Tensors> pushed = evaluate(*jvp, moved);
      if (failed(pushed))
        return failure();
      double forward = 0;
      for (auto [k, cotangent] : llvm::enumerate(cotangents))
        forward += dot((*pushed)[values->size() + k], cotangent);
      result.transpose = relative(forward, reverse);
    }
    result.passed = result.direction <= options.tolerance && result.transpose <= options.tolerance &&
                    llvm::all_of(result.elements, [&](double error) { return error <= options.tolerance; });
    return result;
  }

private:
  static LogicalResult expandCheckpoints(func::FuncOp which) {
    PassManager pm(which.getContext(), func::FuncOp::getOperationName());
    pm.addPass(createExpandCheckpoints());
    return pm.run(which);
  }

  FailureOr<Tensors> evaluate(func::FuncOp which, const Tensors &arguments) {
    return Evaluator().run(which.getBody(), arguments);
  }

  /// Uniform in [-1, 1).
  HostTensor noise(const HostTensor &like) {
    HostTensor tensor(like.elementType(), like.shape());
    std::vector<double> values(tensor.numElements());
    for (double &value : values)
      value = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    tensor.assignFloats(values);
    return tensor;
  }

  static double dot(const HostTensor &a, const HostTensor &b) {
    std::vector<double> x = a.toFloats(), y = b.toFloats();
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i)
      sum += x[i] * y[i];
    return sum;
  }

  /// NaN on both sides agrees: the gradient is not defined where the function is not.
  double relative(double a, double b) const {
    if ((std::isnan(a) && std::isnan(b)) || a == b)
      return 0;
    double error = std::abs(a - b) / std::max(scale, std::max(std::abs(a), std::abs(b)));
    return std::isnan(error) ? INFINITY : error;
  }

  /// sum(v * results) at `arguments`.
  FailureOr<double> loss(const Tensors &arguments) {
    FailureOr<Tensors> values = evaluate(function, arguments);
    if (failed(values))
      return failure();
    double sum = 0;
    size_t next = 0;
    for (const HostTensor &value : *values)
      if (value.isFloat()) {
        if (value.numElements() != cotangents[next].numElements())
          return function.emitError("a check of gradients requires results whose sizes do not depend on values"),
                 failure();
        sum += dot(value, cotangents[next++]);
      }
    return sum;
  }

  FailureOr<double> difference(Tensors &below, Tensors &above, double distance) {
    FailureOr<double> low = loss(below), high = loss(above);
    if (failed(low) || failed(high))
      return failure();
    return (*high - *low) / distance;
  }

  /// The error of `gradient` against the slope that `slopeAt` finds with a step, or with shorter ones where that
  /// disagrees: within reach of a kink, as relu and max have, differences are no derivative, and of thousands of
  /// elements one is within reach of the first step.
  FailureOr<double> errorOf(double gradient, llvm::function_ref<FailureOr<double>(double)> slopeAt) {
    double least = INFINITY;
    for (double step : {options.step, options.step / 30, options.step / 1000}) {
      FailureOr<double> slope = slopeAt(step);
      if (failed(slope))
        return failure();
      least = std::min(least, relative(*slope, gradient));
      if (least <= options.tolerance)
        break;
    }
    return least;
  }

  FailureOr<double> checkElements(unsigned argument, const std::vector<double> &gradient) {
    auto count = static_cast<int64_t>(gradient.size());
    int64_t tries = std::min(count, options.elements);
    double worst = 0;
    for (int64_t n = 0; n < tries; ++n) {
      int64_t i = n * count / tries;
      FailureOr<double> error = errorOf(gradient[i], [&](double step) {
        Tensors below(inputs), above(inputs);
        double x = inputs[argument].getFloat(i), h = step * std::max(1.0, std::abs(x));
        below[argument].setFloat(i, x - h);
        above[argument].setFloat(i, x + h);
        return difference(below, above, above[argument].getFloat(i) - below[argument].getFloat(i));
      });
      if (failed(error))
        return failure();
      worst = std::max(worst, *error);
    }
    return worst;
  }

  FailureOr<double> along(const Tensors &tangents, double step) {
    Tensors below(inputs), above(inputs);
    for (auto [k, tangent] : llvm::zip(wrt, tangents)) {
      std::vector<double> x = inputs[k].toFloats(), t = tangent.toFloats(), low(x), high(x);
      for (size_t i = 0; i < x.size(); ++i) {
        low[i] -= step * t[i];
        high[i] += step * t[i];
      }
      below[k].assignFloats(low);
      above[k].assignFloats(high);
    }
    return difference(below, above, 2 * step);
  }

  func::FuncOp function;
  ArrayRef<unsigned> wrt;
  const GradientCheckOptions &options;
  std::mt19937_64 random;
  Tensors inputs, cotangents;
  double scale = 1;
};
} // namespace

FailureOr<GradientCheck> sinter::checkGradients(func::FuncOp function, ArrayRef<unsigned> wrt,
                                                ArrayRef<HostTensor> inputs, const GradientCheckOptions &options) {
  FailureOr<OwningOpRef<ModuleOp>> module = inFloat64(function);
  if (failed(module))
    return failure();
  return Checker(*(*module)->getOps<func::FuncOp>().begin(), wrt, inputs, options).check();
}
