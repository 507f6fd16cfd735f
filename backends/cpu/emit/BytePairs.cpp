// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/BytePairs.h"
#include "backends/cpu/emit/ContractionPlan.h"
#include "backends/cpu/emit/Convolution.h"
#include "backends/cpu/emit/Packing.h"
#include "ir/Constants.h"
#include "ir/Shape.h"
#include <limits>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// The form of `op` with such pairs, if its operands are bytes and the target has no better instruction.
static std::optional<ProductForm> formOf(KernelSpec &spec, Operation *op, BytePairs pairs) {
  std::string refusal;
  auto typeOf = [&](Value value) { return getElementTypeOrSelf(value); };
  std::optional<ProductForm> form = productFormOf(spec.target(), typeOf(op->getOperand(0)), typeOf(op->getOperand(1)),
                                                  typeOf(op->getResult(0)), refusal, pairs);
  return form && form->step == ProductForm::Step::byte_pairs ? form : std::nullopt;
}

static Panels panelsOfOp(KernelSpec &spec, Operation *op, Value constant, BytePairs pairs) {
  auto source = cast<RankedTensorType>(constant.getType());
  ProductForm form = *formOf(spec, op, pairs);
  if (auto dot = dyn_cast<DotGeneralOp>(op))
    return panelsOf(spec, dot, source, form);
  return panelsOf(spec, cast<ConvolutionOp>(op), source, form);
}

/// The largest group of which whole ones fill what is summed side by side.
static int64_t groupOf(Operation *op, Value constant) {
  constexpr int64_t most = 16, pack = 4; // bytes that one order reaches, and those of a word
  ArrayRef<int64_t> sizes = cast<RankedTensorType>(constant.getType()).getShape();
  int64_t run = sizes.back(), group = most;
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    run = 1;
    for (int64_t axis : dot.getRhsContract())
      run *= sizes[axis];
  }
  while (group > pack && llvm::alignTo(run, pack) % group != 0)
    group /= 2;
  return group;
}

static std::optional<BytePairs> pairsOfConstant(KernelSpec &spec, Operation *op, Value constant) {
  std::optional<HostTensor> tensor = constantTensor(constant);
  if (!tensor || tensor->numBytes() == 0)
    return std::nullopt;
  // Unsigned bytes are multiplied as signed ones.
  bool isUnsigned = getElementTypeOrSelf(constant).isUnsignedInteger();
  ArrayRef<int8_t> bytes(reinterpret_cast<const int8_t *>(tensor->data()), static_cast<size_t>(tensor->numBytes()));
  if (isUnsigned && llvm::any_of(bytes, [](int8_t byte) { return byte < 0; }))
    return std::nullopt;
  struct Way {
    int64_t joined;
    bool inOrder;
    double time; // of a word
  };
  const CostModel::PairTimes &times = spec.costs().pairTimes;
  const Way ways[] = {
      {2, false, times.joined}, {2, true, times.joinedInOrder}, {1, false, times.asTheyLie}, {1, true, times.inOrder}};
  constexpr int64_t word = 4;
  int64_t group = groupOf(op, constant);
  std::optional<BytePairs> best;
  double least = std::numeric_limits<double>::infinity();
  for (const Way &way : ways) {
    if (way.joined * word > group)
      continue;
    Panels panels = panelsOfOp(spec, op, constant, {way.joined, group, way.inOrder, 0});
    auto words = static_cast<double>(panels.words());
    double left = std::min(least, times.shorts * words) - way.time * words;
    if (left <= 0)
      continue;
    auto most = static_cast<int64_t>(std::max((left - times.extras) / times.extra, 0.0));
    if (std::optional<int64_t> extras = panels.countExtras(tensor->data(), most)) {
      best = BytePairs{way.joined, way.inOrder || *extras ? group : 0, way.inOrder, *extras};
      least = way.time * words + (*extras ? times.extras + times.extra * static_cast<double>(*extras) : 0);
    }
  }
  return best;
}

/// The constant that the right operand of `op` is packed from, or null.
static Value packedConstant(KernelSpec &spec, Operation *op) {
  auto argument = dyn_cast<BlockArgument>(op->getOperand(1));
  auto convolution = dyn_cast<ConvolutionOp>(op);
  bool hasTiles = !convolution || (convolution.getLayout() == ConvLayout::channels_last && !isDepthwise(convolution));
  bool isPacked = argument && hasTiles && canBePacked(spec, argument);
  return isPacked ? spec.kernel.getInputs()[argument.getArgNumber()] : Value();
}

void sinter::cpu::choosePairs(KernelSpec &spec) {
  for (Operation &op : spec.body().without_terminator()) {
    if (!isa<DotGeneralOp, ConvolutionOp>(op))
      continue;
    Value constant = packedConstant(spec, &op);
    if (constant && !constant.getDefiningOp<ConstantOp>())
      continue; // a kernel by itself
    bool mayHave = constant && formOf(spec, &op, {});
    std::optional<BytePairs> pairs = mayHave ? pairsOfConstant(spec, &op, constant) : std::nullopt;
    op.removeAttr(kPairsAttr);
    if (pairs)
      op.setAttr(kPairsAttr,
                 DenseI64ArrayAttr::get(op.getContext(), {pairs->joined, pairs->group, pairs->inOrder, pairs->extras}));
  }
}
