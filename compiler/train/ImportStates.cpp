// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/train/ImportStates.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace sinter;

void TrainedInitializers::adjust(onnx::OnnxImportOptions &options, bool forInference, int64_t batch,
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
    if (trained.isTrained && !trained.isTrained(initializer.name))
      return false;
    // a formula's number is no weight
    return trained.isNamed || initializer.isNamedByTorch || initializer.type.getRank() > 0;
  };
}
