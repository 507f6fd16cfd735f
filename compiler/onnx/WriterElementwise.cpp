// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic, math, comparisons and conversions, out to ONNX.

#include "compiler/onnx/OpExport.h"
#include "ir/Constants.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace sinter::onnx {

static bool isBool(Value value) { return OpExport::elem(value).isInteger(1); }

/// One node for booleans, another for the rest.
template <typename OpT, const char *const *names> static LogicalResult byKind(OpT op, OpExport &n) {
  const char *name = names[isBool(op->getOperand(0)) ? 1 : 0];
  SmallVector<std::string> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(n.of(operand));
  return n.out(name, inputs);
}
static constexpr const char *kNot[] = {"BitwiseNot", "Not"}, *kAnd[] = {"BitwiseAnd", "And"},
                            *kOr[] = {"BitwiseOr", "Or"}, *kXor[] = {"BitwiseXor", "Xor"}, *kMax[] = {"Max", "Or"},
                            *kMin[] = {"Min", "And"};

static LogicalResult writeNeg(NegOp op, OpExport &n) {
  if (isUnsigned(n.elem(op.getOperand())))
    return n.out("Sub", {n.scalar(n.elem(op.getOperand()), 0), n.in(0)});
  return n.out("Neg", {n.in(0)});
}

template <typename OpT> static LogicalResult writeShift(OpT op, OpExport &n) {
  if (!isUnsigned(n.elem(op.getLhs())))
    return n.reject("BitShift requires unsigned integers");
  return n.out("BitShift", {n.in(0), n.in(1)}, {{"direction", std::is_same_v<OpT, ShiftLeftOp> ? "LEFT" : "RIGHT"}});
}

static LogicalResult writeCompare(CompareOp op, OpExport &n) {
  CompareKind kind = op.getKind();
  if (kind == CompareKind::eq)
    return n.out("Equal", {n.in(0), n.in(1)});
  if (kind == CompareKind::ne)
    return n.out("Not", {n.emit("Equal", {n.in(0), n.in(1)})});
  std::string lhs = n.in(0), rhs = n.in(1);
  if (isBool(op.getLhs())) { // ONNX orders numbers only
    Type byte = IntegerType::get(op.getContext(), 32);
    lhs = n.cast(lhs, byte);
    rhs = n.cast(rhs, byte);
  }
  const char *name = kind == CompareKind::lt   ? "Less"
                     : kind == CompareKind::le ? "LessOrEqual"
                     : kind == CompareKind::gt ? "Greater"
                                               : "GreaterOrEqual";
  return n.out(name, {lhs, rhs});
}

/// Relu and Clip where the bounds are numbers: by them a reader knows what the gradient is at a tie.
static LogicalResult writeClamp(ClampOp op, OpExport &n) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Type type = n.elem(op.getOperand());
  std::optional<double> low = uniformValue(op.getLow()), high = uniformValue(op.getHigh());
  if (isa<FloatType>(type) && low == 0.0 && !std::signbit(*low) && high == infinity)
    return n.out("Relu", {n.of(op.getOperand())});
  if (isa<FloatType>(type) && low && high)
    return n.out("Clip", {n.of(op.getOperand()), *low == -infinity ? "" : n.scalar(type, *low),
                          *high == infinity ? "" : n.scalar(type, *high)});
  return n.out("Min", {n.emit("Max", {n.of(op.getOperand()), n.of(op.getLow())}), n.of(op.getHigh())});
}

static LogicalResult writeConvert(ConvertOp op, OpExport &n) {
  return n.out("Cast", {n.in(0)}, {{"to", int64_t(onnxType(n.elem(op.getResult())))}});
}

void exportElementwise(ExportTable &t) {
#define GET_POINTWISE_WRITERS
#include "ir/Pointwise.inc"
  t.add<NegOp>(writeNeg);
  t.add<NotOp>(byKind<NotOp, kNot>);
  t.add<AndOp>(byKind<AndOp, kAnd>);
  t.add<OrOp>(byKind<OrOp, kOr>);
  t.add<XorOp>(byKind<XorOp, kXor>);
  t.add<MaxOp>(byKind<MaxOp, kMax>);
  t.add<MinOp>(byKind<MinOp, kMin>);
  t.add<ShiftLeftOp>(writeShift<ShiftLeftOp>);
  t.add<ShiftRightOp>(writeShift<ShiftRightOp>);
  t.add<CompareOp>(writeCompare);
  t.addNode<SelectOp>("Where");
  t.add<ClampOp>(writeClamp);
  t.add<ConvertOp>(writeConvert);
  t.addNode<StopGradientOp>("Identity");
}

} // namespace sinter::onnx
