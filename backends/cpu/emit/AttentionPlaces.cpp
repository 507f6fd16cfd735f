// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/AttentionPlaces.h"
#include "backends/cpu/emit/Emitter.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/TakenForms.h"
#include "ir/Attention.h"
#include "ir/RowView.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

std::optional<AttentionPlace> cpu::placeOfInput(KernelSpec &spec, Value value) {
  DimContext &dims = spec.dims;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return AttentionPlace{argument.getArgNumber(), dims.constant(0), dims.strides(spec.sizes->dims(value)), false};
  std::optional<RowView> view = RowView::of(value);
  auto base = view ? dyn_cast<BlockArgument>(view->base) : BlockArgument();
  if (!base)
    return std::nullopt;
  AttentionPlace place{base.getArgNumber(), dims.constant(view->first), {}, true};
  for (int64_t stride : view->strides)
    place.strides.push_back(dims.constant(stride));
  return place;
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
  AttentionPlace place{number, spec.dims.constant(0), spec.dims.strides(spec.sizes->dims(value)), false};
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
