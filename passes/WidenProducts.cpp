// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of 16 bits are half the memory, but only some machines multiply them faster than f32. On others a product
// would convert its operands for each block of rows and columns, or at each step of its sums. They become f32 once:
//
//   a = convert x : bf16                            a = convert x : bf16       one kernel, often that of x
//   b = convert y : bf16                            c = convert a : f32
//   z = dot_general a, b : bf16, bf16 -> f32        z = dot_general c, d : f32, f32 -> f32
//
// Values are the same: each number of 16 bits is one of f32, and sums were f32. Constants that matrix products read
// stay in 16 bits, as memory is what few rows wait for and many rows hide what the conversion costs.

#include "ir/Contraction.h"
#include "ir/Kernel.h"
#include "ir/Schedules.h"
#include "passes/Devices.h"
#include "passes/Passes.h"
#include "passes/ProductOperands.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_WIDENPRODUCTS
#include "passes/Passes.h.inc"
} // namespace sinter

static bool isLow(Type type) {
  type = getElementTypeOrSelf(type);
  return type.isBF16() || type.isF16();
}

/// True where the target multiplies two numbers of `type` faster than two of f32.
static bool multipliesFast(TargetAttr target, Type type) {
  return type.isBF16() && (target.has("bfloat_dots") || target.has("bfloat_tiles"));
}

/// True where the target has instructions that convert `type` where a product reads it.
static bool convertsFast(TargetAttr target, Type type) { return type.isBF16() || target.has("half_conversion"); }

/// A constant that few rows read comes from memory, and many rows hide what its conversion costs.
static bool waitsForMemory(DotGeneralOp, Value operand) { return matchPattern(operand, m_Constant()); }
static bool waitsForMemory(ConvolutionOp, Value) { return false; }

namespace {

class WidenProducts : public sinter::impl::WidenProductsBase<WidenProducts> {
  using WidenProductsBase::WidenProductsBase;

  void runOnOperation() override {
    target = targetOf(getOperation());
    if (!target || hasDevices(getOperation()))
      return;
    SmallVector<OpOperand *> operands;
    auto collect = [&](auto op) {
      Type type = getElementTypeOrSelf(op->getOperand(0));
      bool isInKernel = op->template getParentOfType<KernelOp>() != nullptr; // these have their types
      if (isInKernel || !isLow(type) || type != getElementTypeOrSelf(op->getOperand(1)) || multipliesFast(target, type))
        return;
      for (OpOperand &operand : op->getOpOperands())
        if (shouldWiden(op, operand))
          operands.push_back(&operand);
    };
    getOperation().walk([&](DotGeneralOp op) { collect(op); });
    getOperation().walk([&](ConvolutionOp op) { collect(op); });
    OperandConversions conversions;
    for (OpOperand *operand : operands)
      operand->set(conversions.converted(operand->get(), Float32Type::get(&getContext())));
  }

  /// True where an operand is read often enough for each number that is converted.
  template <typename Op> bool shouldWiden(Op op, OpOperand &operand) {
    if (!convertsFast(target, getElementTypeOrSelf(operand.get())))
      return true;
    return !waitsForMemory(op, operand.get()) && isReadOften(readsOf(op, operand.getOperandNumber()));
  }

  TargetAttr target;
};

} // namespace
