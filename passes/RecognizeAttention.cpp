// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exports write attention as two products around a softmax. It is one op where a back end has a form for it; elsewhere
// everything stays as it was written.

#include "ir/Attention.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_RECOGNIZEATTENTION
#include "passes/Passes.h.inc"
} // namespace sinter

namespace {
class RecognizeAttention : public sinter::impl::RecognizeAttentionBase<RecognizeAttention> {
public:
  using RecognizeAttentionBase::RecognizeAttentionBase;
  RecognizeAttention(const RecognizeAttentionOptions &options, CompositeFilter filter)
      : RecognizeAttentionBase(options), filter(std::move(filter)) {}

private:
  void runOnOperation() override {
    AttentionMatching matching{areConstantsKnown, straightens};
    // What an attention replaces comes before it.
    getOperation()->walk([&](Operation *op) {
      if (filter)
        recognizeAttention(op, filter, matching);
      else
        recognizeAttention(op, nullptr, matching);
    });
  }

  CompositeFilter filter;
};
} // namespace

std::unique_ptr<Pass> sinter::createRecognizeAttention(const RecognizeAttentionOptions &options, CompositeFilter keep) {
  return std::make_unique<RecognizeAttention>(options, std::move(keep));
}
