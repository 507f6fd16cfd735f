// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/train/ImportStates.h"
#include "compiler/NamePattern.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace sinter;

bool TrainedNames::parse(llvm::StringRef trained, llvm::StringRef left, llvm::StringRef before, std::string &error) {
  trainableText = trained.str();
  frozenText = left.str();
  prefix = before.str();
  trainable = compilePattern(prefix + "trainable", trainableText, error);
  if (error.empty())
    frozen = compilePattern(prefix + "frozen", frozenText, error);
  return error.empty();
}

std::string TrainedNames::problem(llvm::ArrayRef<std::string> seen) const {
  if (seen.empty())
    return "";
  auto none = [&](const std::shared_ptr<llvm::Regex> &pattern) {
    return pattern && llvm::none_of(seen, [&](const std::string &name) { return pattern->match(name); });
  };
  std::string theyAre = "'; they are " + listed(seen);
  if (none(trainable))
    return prefix + "trainable requires the name of a weight, none matches '" + trainableText + theyAre;
  if (none(frozen))
    return prefix + "frozen requires the name of a weight, none matches '" + frozenText + theyAre;
  if (llvm::none_of(seen, [&](const std::string &name) { return has(name); }))
    return prefix + "frozen requires that a weight is left, none is by '" + frozenText + theyAre;
  return "";
}

void TrainedNames::adjust(onnx::OnnxImportOptions &options, bool forInference, int64_t batch,
                          std::vector<std::string> &seen) const {
  options.forInference = forInference;
  if (!forInference)
    options.batch = batch;
  options.isState = [&seen, trained = *this](const onnx::OnnxInitializer &initializer) {
    if (initializer.isStatistic)
      return true;
    if (initializer.isSetting)
      return false;
    seen.push_back(initializer.name.str());
    if (!trained.has(initializer.name))
      return false;
    // a formula's number is no weight
    return trained.isNamed() || initializer.isNamedByTorch || initializer.type.getRank() > 0;
  };
}
