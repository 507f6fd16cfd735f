// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/AttentionPlaces.h"
#include "backends/cpu/emit/Emitter.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/TakenForms.h"
#include "ir/Attention.h"
#include "ir/Indexing.h"
#include "ir/Shape.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// The place of what `op` moves, where what it reads is at `from`.
static AttentionPlace move(DimContext &dims, Operation *op, AttentionPlace from) {
  from.isMoved = true;
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    Dims strides;
    for (int64_t axis : transpose.getPermutation())
      strides.push_back(from.strides[axis]);
    from.strides = strides;
    return from;
  }
  auto goOn = [&](int64_t axis, int64_t count) {
    from.first = dims.add(from.first, dims.mul(from.strides[axis], dims.constant(count)));
  };
  if (auto gather = dyn_cast<GatherOp>(op)) {
    DenseElementsAttr position;
    matchPattern(gather.getPositions(), m_Constant(&position));
    auto axis = static_cast<int64_t>(gather.getAxis());
    goOn(axis, position.getSplatValue<APInt>().getSExtValue());
    from.strides.erase(from.strides.begin() + axis);
    return from;
  }
  auto slice = cast<SliceOp>(op);
  for (auto [axis, start, step] : llvm::enumerate(slice.getStarts(), slice.getSteps())) {
    goOn(static_cast<int64_t>(axis), start);
    from.strides[axis] = dims.mul(from.strides[axis], dims.constant(step));
  }
  return from;
}

std::optional<AttentionPlace> cpu::placeOfInput(KernelSpec &spec, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return AttentionPlace{argument.getArgNumber(), spec.dims.constant(0), stridesOf(spec.dims, spec.sizes->dims(value)),
                          false};
  Operation *op = value.getDefiningOp();
  if (!movesWholeRows(op))
    return std::nullopt;
  std::optional<AttentionPlace> from = placeOfInput(spec, op->getOperand(0));
  if (from)
    from = move(spec.dims, op, *from);
  return from;
}

OpResult cpu::rootResult(KernelSpec &spec, Operation *root, unsigned number) {
  Value value = spec.yielded(number);
  while (auto transpose = value.getDefiningOp<TransposeOp>()) {
    if (!movesWholeRows(transpose))
      return {};
    value = transpose.getOperand();
  }
  auto result = dyn_cast<OpResult>(value);
  return result && result.getOwner() == root ? result : OpResult();
}

AttentionPlace cpu::placeOfResult(KernelSpec &spec, OpResult result) {
  unsigned number = 0;
  while (rootResult(spec, result.getOwner(), number) != result)
    ++number;
  Value value = spec.yielded(number);
  AttentionPlace place{number, spec.dims.constant(0), stridesOf(spec.dims, spec.sizes->dims(value)), false};
  // An axis of what is transposed lies where the transpose puts it.
  for (; value != result; value = value.getDefiningOp()->getOperand(0)) {
    Dims strides(place.strides.size());
    for (auto [k, axis] : llvm::enumerate(value.getDefiningOp<TransposeOp>().getPermutation()))
      strides[axis] = place.strides[k];
    place.strides = strides;
    place.isMoved = true;
  }
  return place;
}

Operation *cpu::attentionRoot(KernelSpec &spec) {
  bool several = false;
  Operation *root = findRoot(spec, several);
  if (several || !isa_and_nonnull<AttentionOp>(root))
    return nullptr;
  for (Operation &op : spec.body().without_terminator())
    if (&op != root && !isa<ConstantOp>(op) && !movesWholeRows(&op))
      return nullptr;
  for (auto [k, operand] : llvm::enumerate(root->getOperands()))
    if (k < 3 ? !placeOfInput(spec, operand) : !isa<BlockArgument>(operand))
      return nullptr;
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i) {
    OpResult result = rootResult(spec, root, i);
    if (!result || (result.getResultNumber() > 0 && spec.yielded(i) != result))
      return nullptr;
  }
  return root;
}

bool cpu::isAttentionKernel(KernelSpec &spec) { return attentionRoot(spec) != nullptr; }
