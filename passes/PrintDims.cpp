// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Passes.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_PRINTDIMS
#include "passes/Passes.h.inc"
} // namespace sinter

static std::string printList(DimContext &context, ArrayRef<DimExpr> dims) {
  return "[" + llvm::join(llvm::map_range(dims, [&](DimExpr e) { return context.print(e); }), ", ") + "]";
}

namespace {

class PrintDims : public sinter::impl::PrintDimsBase<PrintDims> {
  void runOnOperation() override {
    DimContext context;
    ShapeAnalysis sizes(context);
    Builder b(&getContext());
    // All answers first: an analysis is stale once attributes appear.
    SmallVector<std::tuple<Operation *, StringRef, Attribute>> notes;
    getOperation()->walk([&](Operation *op) {
      SmallVector<Attribute> sizeLists, contentLists;
      bool dynamic = false, known = false;
      for (Value result : op->getResults()) {
        auto type = dyn_cast<RankedTensorType>(result.getType());
        if (!type)
          return;
        dynamic |= !type.hasStaticShape();
        sizeLists.push_back(b.getStringAttr(printList(context, sizes.dims(result))));
        std::optional<Dims> elements = sizes.contents(result);
        known |= elements.has_value();
        contentLists.push_back(b.getStringAttr(elements ? printList(context, *elements) : ""));
      }
      if (dynamic)
        notes.emplace_back(op, "sinter.sizes", b.getArrayAttr(sizeLists));
      if (known && !op->hasTrait<OpTrait::ConstantLike>())
        notes.emplace_back(op, "sinter.contents", b.getArrayAttr(contentLists));
    });
    for (auto [op, name, value] : notes)
      op->setAttr(name, value);
  }
};

} // namespace
