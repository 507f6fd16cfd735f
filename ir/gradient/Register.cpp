// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recurrent cells have no rule of their own: they are differentiated through their decomposition, a scan.

#include "ir/Random.h"
#include "ir/gradient/Rules.h"

using namespace mlir;
using namespace sinter;

StringRef sinter::explain(Discrete why) {
  switch (why) {
  case Discrete::Values:
    return "its result is an integer or a boolean";
  case Discrete::Positions:
    return "its result is a position";
  case Discrete::Sizes:
    return "sizes do not depend on values";
  case Discrete::Bits:
    return "the bits of a number are no smooth function of it";
  case Discrete::Fixed:
    return "it depends on no values";
  }
  llvm_unreachable("all reasons handled");
}

void sinter::attachRandomGradients(MLIRContext &context) { attachNoGradient<Discrete::Values, RandomBitsOp>(context); }

void sinter::registerGradients(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, SinterDialect *) {
    attachElementwiseGradients(*context);
    attachShapeGradients(*context);
    attachIndexingGradients(*context);
    attachReductionGradients(*context);
    attachContractionGradients(*context);
    attachNormalizationGradients(*context);
    attachResamplingGradients(*context);
    attachRandomGradients(*context);
  });
}
