// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which attentions stay whole (AttentionForm.h), and by how many rows and keys their kernels go (Attention.cpp).

#include "backends/cpu/emit/AttentionBlocks.h"
#include "backends/cpu/emit/AttentionForm.h"
#include "backends/cpu/emit/AttentionPlaces.h"
#include "ir/Attention.h"
#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/RowView.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// With fewer rows keys are turned in vain: two products and a softmax are faster.
constexpr int64_t kLeastRows = 16, kLeastKeys = 16;
/// Where keys are several blocks, scores of fewer take little memory, and two products and a softmax are faster.
constexpr int64_t kLeastBlockRows = 64, kLeastBlockKeys = 1024;
/// Of a band only the blocks that it crosses are computed, which products do not know.
constexpr int64_t kLeastBandKeys = 128;
/// Keys of one block of several.
constexpr int64_t kMostKeys = 256;
/// Keys of one block at most, where it holds all of them; keys and values of a head then stay in the second-level
/// cache.
constexpr int64_t kMostWholeKeys = 2048;

/// True when sums of logarithms have a reader that wants more than whether they are numbers: a gradient, which does
/// without shares that were kept.
static bool readsSums(AttentionOp attention) {
  Value sums = attention.getSums();
  return sums && llvm::any_of(sums.getUsers(), [&](Operation *user) {
           return !isa<SubOp>(user) || user->getOperand(0) != sums || user->getOperand(1) != sums;
         });
}

static bool hasBand(Operation *attention) { return attention->hasAttr("before") || attention->hasAttr("after"); }

/// Keys that one block holds at most on any host. Blocks that a band or a long mask leaves out are worth more.
static int64_t mostWholeKeys(AttentionOp attention) {
  if (hasBand(attention))
    return kMostKeys;
  return attention.getBias() ? kLeastBlockKeys - 1 : kMostWholeKeys;
}

bool sinter::cpu::hasAttentionTemplate(Operation *op) {
  if (!isa<AttentionOp, AttentionGradientOp>(op) || !isAttentionOfFloats(op))
    return false;
  Value queries = op->getOperand(0), keyMatrix = op->getOperand(1);
  RankedTensorType query = tensorTypeOf(queries), key = tensorTypeOf(keyMatrix);
  int64_t rows = query.getDimSize(query.getRank() - 2), keys = key.getDimSize(key.getRank() - 2);
  auto attention = dyn_cast<AttentionOp>(op);
  bool isOpen = !query.hasStaticShape() || !key.hasStaticShape();
  if (isOpen && (!attention || readsSums(attention) || !hasKnownRows(query) || !hasKnownRows(key)))
    return false;
  bool isOneBlock = attention && rows >= kLeastRows && keys >= kLeastKeys && keys <= mostWholeKeys(attention) &&
                    getElementTypeOrSelf(query).getIntOrFloatBitWidth() >= 32 && !readsSums(attention);
  int64_t leastKeys = hasBand(op) ? kLeastBandKeys : kLeastBlockKeys;
  if (!isOneBlock && (rows < kLeastBlockRows || keys < leastKeys))
    return false;
  // A kernel writes sums of logarithms beside the result only.
  if (attention && attention.getResult().use_empty())
    return false;
  if (llvm::any_of(op->getOperands().take_front(3),
                   [](Value operand) { return operand.getDefiningOp<ConstantOp>() != nullptr; }))
    return false;
  return llvm::none_of(queries.getUsers(), [&](Operation *user) {
    auto product = dyn_cast<DotGeneralOp>(user);
    return product && (product.getLhs() == keyMatrix || product.getRhs() == keyMatrix);
  });
}

/// Rows of a block, of equal ones where that many are known.
static int64_t evenRows(KernelSpec &spec, AttentionOp root, int64_t most) {
  DimExpr known = spec.dims.resolve(spec.sizes->dims(root.getQuery()).rbegin()[1]);
  most = std::max<int64_t>(most / 6 * 6, 6);
  if (!known.isConstant() || known.constant() <= most)
    return most;
  return llvm::alignTo(llvm::divideCeil(known.constant(), llvm::divideCeil(known.constant(), most)), 6);
}

/// Keys that one block holds at most beyond those whose scores fit into registers: with their values, three quarters of
/// the second-level cache.
static int64_t wholeKeys(KernelSpec &spec, AttentionOp root, const ProductForm &form) {
  RankedTensorType key = tensorTypeOf(root.getKey()), value = tensorTypeOf(root.getValue());
  int64_t depth = key.getDimSize(key.getRank() - 1), width = value.getDimSize(value.getRank() - 1);
  if (form.a != form.sum || ShapedType::isDynamic(depth) || ShapedType::isDynamic(width))
    return 0;
  int64_t bytes = std::max<int64_t>((depth + width) * widthOf(form.sum), 1);
  return std::min(spec.target().l2Bytes * 3 / 4 / bytes, mostWholeKeys(root));
}

/// Rows of a block, for which keys are transposed once. Without a bias, whose blocks may hide keys from all rows, they
/// are as many as fill a quarter of the second-level cache with queries, or results, if enough blocks remain.
static int64_t mostRowsOfBlock(KernelSpec &spec, AttentionOp root, const ProductForm &form, int64_t keys) {
  const CostModel &costs = spec.costs();
  bool isShort = form.a != form.sum;
  int64_t bytes = widthOf(form.sum), fast = spec.target().l2Bytes / 4;
  int64_t rows = std::min(isShort ? costs.shortAttentionRows : costs.attentionRows, fast / (keys * bytes));
  RankedTensorType query = tensorTypeOf(root.getQuery()), value = tensorTypeOf(root.getValue());
  if (isShort || root.getBias() || !query.hasStaticShape() || ShapedType::isDynamic(value.getShape().back()))
    return rows;
  int64_t widest = std::max(query.getShape().back(), value.getShape().back());
  int64_t all = ShapedType::getNumElements(query.getShape().drop_back());
  return std::max(rows, std::min({costs.longAttentionRows, fast / std::max<int64_t>(widest * bytes, 1),
                                  all / costs.attentionBlocks}));
}

Plan sinter::cpu::planAttention(KernelSpec &spec, ScheduleAttr) {
  auto root = cast_or_null<AttentionOp>(attentionRoot(spec));
  if (!root || !isAttentionOfFloats(root))
    return Plan::refuse("it is no attention of floats alone, of what the kernel is given by rows");
  auto yields = [&](unsigned result) {
    return llvm::count_if(llvm::seq(spec.kernel.getNumResults()),
                          [&](unsigned i) { return rootResult(spec, root, i).getResultNumber() == result; });
  };
  if (yields(0) != 1 || yields(1) > 1)
    return Plan::refuse("its result is not yielded once");
  Plan plan;
  ProductForm form = attentionForm(spec, root);
  planAttentionTile(spec, plan, form);
  int64_t lanes = plan.lanes.chosen, panel = plan.tile[1].chosen * lanes;
  int64_t keys = kMostKeys;
  DimExpr known = spec.dims.resolve(spec.sizes->dims(root.getKey()).rbegin()[1]);
  if (known.isConstant()) {
    int64_t all = llvm::alignTo(std::max<int64_t>(known.constant(), 1), panel);
    keys = all <= wholeKeys(spec, root, form) ? all : std::min(keys, all);
  }
  plan.addTile(std::max(keys, panel), kMostWholeKeys);
  plan.tile.back().least = plan.tile.back().multiple = panel;
  if (form.isTiled())
    plan.setChunk(spec.costs().tiledAttentionRows, plan.tile[0].chosen);
  else
    plan.setChunk(evenRows(spec, root, mostRowsOfBlock(spec, root, form, kMostKeys)));
  return plan;
}
