// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/gradient/BuildGradient.h"
#include "passes/gradient/CheckGradients.h"
#include "test/fuzz/programs/Check.h"

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
  }
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
