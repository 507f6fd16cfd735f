// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/reference/Evaluator.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/gradient/BuildGradient.h"
#include "passes/gradient/CheckGradients.h"
#include "test/fuzz/programs/Check.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

/// Float arguments of `function`.
static SmallVector<unsigned> floatArguments(func::FuncOp function) {
  SmallVector<unsigned> wrt;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (isa<FloatType>(cast<RankedTensorType>(type).getElementType()))
      wrt.push_back(i);
  return wrt;
}

/// The sum of all float results, each with a weight of its own; nothing if it cannot be evaluated.
static std::optional<double> weightedSum(func::FuncOp function, ArrayRef<HostTensor> inputs) {
  auto results = Evaluator().run(function.getBody(), inputs);
  if (failed(results))
    return std::nullopt;
  double sum = 0, weight = 1;
  for (const HostTensor &result : *results)
    if (result.isFloat())
      for (double x : result.toFloats())
        sum += x * (weight = 1.5 - weight * 0.7);
  return sum;
}

/// Whether differences come to rest as their step shrinks, in one direction. In a loop that multiplies a step by ten a
/// trip and has kinks they may not: the smallest that is above rounding still crosses some.
static bool hasSlope(func::FuncOp main, ArrayRef<unsigned> wrt, ArrayRef<HostTensor> inputs) {
  double last = NAN;
  int inARow = 0;
  for (double step = 1e-4; step > 1e-9; step /= 4) {
    double sides[2];
    for (int side : {0, 1}) {
      SmallVector<HostTensor> moved(inputs);
      double way = side ? step : -step;
      for (unsigned argument : wrt)
        for (int64_t i = 0; i < moved[argument].numElements(); ++i)
          moved[argument].setFloat(i, moved[argument].getFloat(i) + way * (1 + 0.3 * static_cast<double>(i % 7)));
      std::optional<double> sum = weightedSum(main, moved);
      if (!sum)
        return true;
      sides[side] = *sum;
    }
    double slope = (sides[1] - sides[0]) / (2 * step);
    inARow = std::abs(slope - last) <= 1e-3 * std::max(1.0, std::abs(slope)) ? inARow + 1 : 0;
    if (inARow == 3)
      return true;
    last = slope;
  }
  return false;
}

/// Against differences; three attempts with other steps, directions and weights.
static std::optional<std::string> checkDerivatives(func::FuncOp main, ArrayRef<unsigned> wrt,
                                                   ArrayRef<HostTensor> inputs) {
  std::string text;
  for (uint64_t attempt = 0; attempt < 3; ++attempt) {
    GradientCheckOptions options;
    options.seed = attempt;
    options.elements = 4;
    options.step = attempt == 0 ? 1e-5 : attempt == 1 ? 1e-6 : 2e-5;
    options.tolerance = 1e-5;
    FailureOr<GradientCheck> checked = checkGradients(main, wrt, inputs, options);
    if (failed(checked))
      return "no gradient: ";
    if (checked->passed)
      return std::nullopt;
    double worst = 0;
    for (double error : checked->elements)
      worst = std::max(worst, error);
    text = "gradient differs from differences by " + std::to_string(worst) + ", in a direction by " +
           std::to_string(checked->direction) + ", reverse from forward mode by " + std::to_string(checked->transpose);
    if (checked->transpose > options.tolerance)
      return text;
  }
  if (!hasSlope(main, wrt, inputs))
    return std::nullopt;
  return text;
}

std::optional<std::string> sinter::test::checkProgramGradients(ModuleOp module, ArrayRef<HostTensor> inputs) {
  std::string messages;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    messages += diagnostic.str() + "; ";
    return success();
  });
  OwningOpRef<ModuleOp> copy = module.clone();
  auto main = copy->lookupSymbol<func::FuncOp>("main");
  SmallVector<unsigned> wrt = floatArguments(main);
  if (std::optional<std::string> text = checkDerivatives(main, wrt, inputs))
    return *text + messages;

  // The gradient alone, as a program like any other.
  GradientOptions options;
  options.name = "gradient";
  FailureOr<func::FuncOp> gradient = buildGradient(main, wrt, options);
  if (failed(gradient))
    return "no gradient: " + messages;
  SmallVector<HostTensor> arguments(inputs);
  for (Type type : gradient->getArgumentTypes().drop_front(inputs.size())) {
    auto tensor = cast<RankedTensorType>(type);
    HostTensor cotangent(tensor.getElementType(), tensor.getShape());
    for (int64_t i = 0; i < cotangent.numElements(); ++i)
      cotangent.setFloat(i, static_cast<double>(i % 5) / 4 - 0.4);
    arguments.push_back(cotangent);
  }
  main.erase();
  gradient->setName("main");
  if (std::optional<std::string> text = checkValues(*copy, arguments))
    return "its gradient: " + *text;
  return std::nullopt;
}
