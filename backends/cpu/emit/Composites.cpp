// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/Composites.h"
#include "backends/cpu/emit/AttentionForm.h"
#include "backends/cpu/emit/BlockDotForm.h"
#include "backends/cpu/emit/Convolution.h"
#include "backends/cpu/emit/RecurrentForm.h"
#include "backends/cpu/emit/RowForm.h"
#include "ir/Recurrent.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;

/// Recurrent weights are packed at compile time.
static bool hasConstantRecurrence(Operation *op) {
  if (auto lstm = dyn_cast<LstmOp>(op))
    return lstm.getR().getDefiningOp<ConstantOp>() != nullptr;
  if (auto gru = dyn_cast<GruOp>(op))
    return gru.getR().getDefiningOp<ConstantOp>() != nullptr;
  return false;
}

/// Filters are packed at compile time.
static bool hasDepthTemplate(Operation *op) {
  auto convolution = dyn_cast<ConvolutionOp>(op);
  return convolution && convolution.getFilter().getDefiningOp<ConstantOp>() && cpu::walksDepth(convolution);
}

bool sinter::cpu::keepsComposite(Operation *op) {
  return hasRowTemplate(op) || (hasRecurrentTemplate(op) && hasConstantRecurrence(op)) || hasAttentionTemplate(op) ||
         hasBlockDotTemplate(op) || hasDepthTemplate(op);
}
