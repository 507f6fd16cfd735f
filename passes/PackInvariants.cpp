// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix that every trip of a loop multiplies with, as the recurrent weights of a cell are, is brought into panels
// once, before the loop:
//
//   w [n, k]  ->  p [n / c, k, c]       panel i holds columns i c to i c + c of w^T, c of them side by side
//
// So is one that is small beside the first factor of its product: all blocks of rows read it, each block all of it, and
// what comes in panels needs no strips that blocks would have to share.
//
// The kernel reads p and says in its body how w follows from it, so that any back end may read it; one
// whose register kernel walks panels finds them as it finds constants that were packed at compile time. Otherwise each
// trip transposes w by strips, or walks rows that are far apart.

#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Control.h"
#include "ir/ControlFlow.h"
#include "ir/Kernel.h"
#include "ir/Shape.h"
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
/// One row of a panel where the module has no target.
constexpr int64_t kPanelBytes = 128;
/// A loop of fewer trips does not repay the packing.
constexpr int64_t kMinTrips = 4;
/// A first factor that streams through the caches, beside a matrix that stays in one.
constexpr int64_t kStreamedBytes = 1 << 21, kCachedBytes = 1 << 20;

namespace {
struct Product {
  KernelOp kernel;
  DotGeneralOp dot;
  BlockArgument matrix; // of the kernel's body
  bool columnsFirst;    // before the axes of the sum
  int64_t columns, k;

  Value given() const { return KernelOp(kernel).getInputs()[BlockArgument(matrix).getArgNumber()]; }
};
} // namespace

static bool hasFewTrips(Operation *loop) {
  auto scan = dyn_cast<ScanOp>(loop);
  if (!scan || scan.getSequences().empty())
    return false;
  int64_t trips = tensorTypeOf(scan.getSequences()[0]).getDimSize(scan.getAxes()[0]);
  return !ShapedType::isDynamic(trips) && trips < kMinTrips;
}

/// The product that `kernel` is, if its second factor could come in panels of `panelBytes` a row.
static std::optional<Product> findProduct(KernelOp kernel, int64_t panelBytes) {
  if (kernel.getKernelTemplate() != KernelTemplate::contraction)
    return std::nullopt;
  auto dot = dyn_cast_or_null<DotGeneralOp>(kernel.getRoot());
  auto matrix = dot ? dyn_cast<BlockArgument>(dot.getRhs()) : BlockArgument();
  if (!matrix || !matrix.hasOneUse() || tensorTypeOf(dot.getLhs()).getRank() < 2)
    return std::nullopt;
  RankedTensorType type = tensorTypeOf(matrix), rows = tensorTypeOf(dot.getLhs());
  Type element = type.getElementType();
  if (!type.hasStaticShape() || type.getNumElements() < kMinElements || !dot.getRhsBatch().empty() ||
      !(element.isF32() || element.isF64()) || rows.getElementType() != element || dot.getElementType() != element)
    return std::nullopt;
  // One axis of columns, before or after those of the sum.
  ArrayRef<int64_t> contract = dot.getRhsContract();
  int64_t rank = type.getRank();
  bool isLast = llvm::equal(contract, llvm::seq<int64_t>(0, rank - 1));
  if (rank < 2 || (!isLast && !llvm::equal(contract, llvm::seq<int64_t>(1, rank))))
    return std::nullopt;
  int64_t columns = type.getDimSize(isLast ? rank - 1 : 0), k = type.getNumElements() / columns;
  int64_t panel = panelBytes * 8 / element.getIntOrFloatBitWidth();
  if (columns % panel != 0 || (rows.hasStaticShape() && rows.getNumElements() < kMinRows * k))
    return std::nullopt;
  return Product{kernel, dot, matrix, !isLast, columns, k};
}

/// True when the matrix is read so often that it should be in panels.
static bool repaysPacking(const Product &product) {
  if (Operation *loop = capturingLoop(product.given()))
    return !hasFewTrips(loop);
  if (product.given().getDefiningOp<ConstantOp>())
    return false; // packed at compile time
  auto bytes = [](Value value) {
    return tensorTypeOf(value).getNumElements() * tensorTypeOf(value).getElementTypeBitWidth() / 8;
  };
  Value rows = DotGeneralOp(product.dot).getLhs();
  return tensorTypeOf(rows).hasStaticShape() && bytes(rows) >= kStreamedBytes && bytes(product.matrix) <= kCachedBytes;
}

/// `matrix` in panels, where it is captured from outside of all loops that leave it as it is.
static Value packBefore(Operation *user, Value matrix, const Product &product, int64_t panel) {
  if (Operation *loop = capturingLoop(matrix)) {
    auto argument = cast<BlockArgument>(matrix);
    Control control = *controlOf(loop);
    Value outside = control.captures[argument.getArgNumber() - control.firstCapture];
    Value packed = packBefore(loop, outside, product, panel);
    return addCapture(loop, packed)[argument.getOwner()->getParent()->getRegionNumber()];
  }
  OpBuilder b(user);
  Location loc = matrix.getLoc();
  int64_t panels = product.columns / panel, k = product.k;
  SmallVector<int64_t> split{panels, panel, k}, order{0, 2, 1};
  if (!product.columnsFirst) {
    split = {k, panels, panel};
    order = {1, 0, 2};
  }
  RankedTensorType type = tensorTypeOf(matrix), splitType = type.clone(split);
  Value parts = ReshapeOp::create(b, loc, splitType, matrix, Value(), splitType);
  auto kernel = KernelOp::create(b, loc, type.clone({panels, k, panel}), parts, KernelTemplate::map, ScheduleAttr(),
                                 DenseI64ArrayAttr(), ArrayAttr(), /*in_place=*/false);
  Block &body = kernel.getBody().emplaceBlock();
  Value argument = body.addArgument(splitType, loc);
  b.setInsertionPointToStart(&body);
  YieldOp::create(b, loc, ValueRange{TransposeOp::create(b, loc, argument, order)});
  return kernel.getResult(0);
}

/// The kernel reads panels, from which its body makes the matrix with its columns first.
static void readPanels(Product product, Value panels) {
  RankedTensorType whole = tensorTypeOf(product.matrix);
  SmallVector<int64_t> shape{product.columns}, contract;
  for (int64_t axis : product.dot.getRhsContract()) {
    contract.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(whole.getDimSize(axis));
  }
  product.kernel.getInputsMutable()[product.matrix.getArgNumber()].assign(panels);
  OpBuilder b(product.dot);
  Location loc = product.matrix.getLoc();
  product.matrix.setType(panels.getType());
  Value columns = TransposeOp::create(b, loc, product.matrix, ArrayRef<int64_t>{0, 2, 1});
  RankedTensorType wanted = whole.clone(shape);
  product.dot.getRhsMutable().assign(ReshapeOp::create(b, loc, wanted, columns, Value(), wanted));
  product.dot.setRhsContract(contract);
}

namespace {

class PackInvariants : public sinter::impl::PackInvariantsBase<PackInvariants> {
  void runOnOperation() override {
    TargetAttr target = targetOf(getOperation());
    int64_t panelBytes = target ? target.getPanelBytes() : kPanelBytes;
    SmallVector<Product> products;
    getOperation()->walk([&](KernelOp kernel) {
      std::optional<Product> product = findProduct(kernel, panelBytes);
      if (product && repaysPacking(*product))
        products.push_back(*product);
    });
    for (const Product &product : products) {
      int64_t panel = panelBytes * 8 / tensorTypeOf(product.matrix).getElementTypeBitWidth();
      readPanels(product, packBefore(product.kernel, product.given(), product, panel));
    }
  }
};

} // namespace
