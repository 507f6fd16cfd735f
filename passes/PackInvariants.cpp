// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix that every trip of a loop multiplies with, as the recurrent weights of a cell are, is brought into panels
// once, before the loop:
//
//   w [n, k]  ->  p [n / c, k, c]       panel i holds columns i c to i c + c of w^T, c of them side by side
//
// The kernel in the loop reads p and says in its body how w follows from it, so that any back end may read it; one
// whose register kernel walks panels finds them as it finds constants that were packed at compile time. Otherwise each
// trip transposes w by strips, or walks rows that are far apart.

#include "ir/Contraction.h"
#include "ir/Control.h"
#include "ir/Kernel.h"
#include "ir/Shape.h"
#include "passes/Captures.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_PACKINVARIANTS
#include "passes/Passes.h.inc"
} // namespace sinter

/// Products of fewer rows read the matrix at the speed of memory in any order.
constexpr int64_t kMinRows = 4;
/// Smaller matrices stay in the first cache, and products with them in the loop's own function.
constexpr int64_t kMinElements = 1 << 12;
/// A loop of fewer trips does not repay the packing.
constexpr int64_t kMinTrips = 4;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {
struct Product {
  KernelOp kernel;
  DotGeneralOp dot;
  BlockArgument matrix; // of the kernel's body
};
} // namespace

/// The loop whose capture `value` is, or null.
static Operation *capturingLoop(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *loop = argument ? argument.getOwner()->getParentOp() : nullptr;
  if (!isa_and_nonnull<WhileOp, ForOp, ScanOp>(loop))
    return nullptr;
  return argument.getArgNumber() >= capturesOf(loop)->firstArgument ? loop : nullptr;
}

static bool hasFewTrips(Operation *loop) {
  auto scan = dyn_cast<ScanOp>(loop);
  if (!scan || scan.getSequences().empty())
    return false;
  int64_t trips = typeOf(scan.getSequences()[0]).getDimSize(scan.getAxes()[0]);
  return !ShapedType::isDynamic(trips) && trips < kMinTrips;
}

/// The product that `kernel` is, if its second factor should come in panels of `panelBytes` a row.
static std::optional<Product> findProduct(KernelOp kernel, int64_t panelBytes) {
  if (kernel.getKernelTemplate() != KernelTemplate::contraction)
    return std::nullopt;
  auto dot = dyn_cast_or_null<DotGeneralOp>(kernel.getRoot());
  auto matrix = dot ? dyn_cast<BlockArgument>(dot.getRhs()) : BlockArgument();
  if (!matrix || !matrix.hasOneUse() || dot.getLhs().getType().getRank() < 2)
    return std::nullopt;
  RankedTensorType type = typeOf(matrix), rows = typeOf(dot.getLhs());
  Type element = type.getElementType();
  if (type.getRank() != 2 || !type.hasStaticShape() || type.getNumElements() < kMinElements ||
      !dot.getRhsBatch().empty() || dot.getRhsContract().size() != 1 || !(element.isF32() || element.isF64()) ||
      rows.getElementType() != element || dot.getElementType() != element)
    return std::nullopt;
  int64_t k = type.getDimSize(dot.getRhsContract()[0]);
  if (rows.hasStaticShape() && rows.getNumElements() < kMinRows * k)
    return std::nullopt;
  int64_t columns = type.getNumElements() / k, panel = panelBytes * 8 / element.getIntOrFloatBitWidth();
  if (columns % panel != 0)
    return std::nullopt;
  Operation *loop = capturingLoop(kernel.getInputs()[matrix.getArgNumber()]);
  if (!loop || hasFewTrips(loop))
    return std::nullopt;
  return Product{kernel, dot, matrix};
}

/// `matrix` in panels, where it is captured from outside of all loops that leave it as it is.
static Value packBefore(Operation *user, Value matrix, bool columnsFirst, int64_t panel) {
  if (Operation *loop = capturingLoop(matrix)) {
    auto argument = cast<BlockArgument>(matrix);
    Captures captures = *capturesOf(loop);
    Value outside = captures.values[argument.getArgNumber() - captures.firstArgument];
    Value packed = packBefore(loop, outside, columnsFirst, panel);
    return addCapture(loop, packed)[argument.getOwner()->getParent()->getRegionNumber()];
  }
  OpBuilder b(user);
  Location loc = matrix.getLoc();
  RankedTensorType type = typeOf(matrix);
  int64_t columns = type.getDimSize(columnsFirst ? 0 : 1), k = type.getDimSize(columnsFirst ? 1 : 0);
  SmallVector<int64_t> split =
      columnsFirst ? SmallVector<int64_t>{columns / panel, panel, k} : SmallVector<int64_t>{k, columns / panel, panel};
  RankedTensorType splitType = type.clone(split);
  Value parts = ReshapeOp::create(b, loc, splitType, matrix, Value(), splitType);
  auto kernel =
      KernelOp::create(b, loc, type.clone({columns / panel, k, panel}), parts, KernelTemplate::map, DictionaryAttr());
  Block &body = kernel.getBody().emplaceBlock();
  Value argument = body.addArgument(splitType, loc);
  b.setInsertionPointToStart(&body);
  SmallVector<int64_t> order = columnsFirst ? SmallVector<int64_t>{0, 2, 1} : SmallVector<int64_t>{1, 0, 2};
  YieldOp::create(b, loc, ValueRange{TransposeOp::create(b, loc, argument, order)});
  return kernel.getResult(0);
}

/// The kernel reads panels, from which its body makes the matrix [columns, k].
static void readPanels(const Product &product, Value panels) {
  auto [kernel, dot, matrix] = product;
  RankedTensorType type = typeOf(panels), whole = typeOf(matrix);
  int64_t k = type.getDimSize(1);
  kernel.getInputsMutable()[matrix.getArgNumber()].assign(panels);
  OpBuilder b(dot);
  Location loc = matrix.getLoc();
  matrix.setType(type);
  Value columns = TransposeOp::create(b, loc, matrix, ArrayRef<int64_t>{0, 2, 1});
  RankedTensorType wanted = whole.clone({whole.getNumElements() / k, k});
  dot.getRhsMutable().assign(ReshapeOp::create(b, loc, wanted, columns, Value(), wanted));
  dot.setRhsContract({1});
}

namespace {

class PackInvariants : public sinter::impl::PackInvariantsBase<PackInvariants> {
  using PackInvariantsBase::PackInvariantsBase;

  void runOnOperation() override {
    SmallVector<Product> products;
    getOperation()->walk([&](KernelOp kernel) {
      if (std::optional<Product> product = findProduct(kernel, panelBytes))
        products.push_back(*product);
    });
    for (const Product &product : products) {
      int64_t panel = panelBytes * 8 / typeOf(product.matrix).getElementTypeBitWidth();
      KernelOp kernel = product.kernel;
      Value matrix = kernel.getInputs()[product.matrix.getArgNumber()];
      bool columnsFirst = DotGeneralOp(product.dot).getRhsContract()[0] == 1;
      readPanels(product, packBefore(kernel, matrix, columnsFirst, panel));
    }
  }
};

} // namespace
