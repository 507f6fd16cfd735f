// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape rules and folds. What references and bodies need beyond Elementwise.td is in ElementwiseEvaluate.cpp and
// ElementwiseBodies.cpp.

#include "ir/Elementwise.h"
#include "ir/Constants.h"
#include "ir/Shape.h"
#include "ir/Storage.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Elementwise.cpp.inc"

void SinterDialect::registerElementwise() {
  addOperations<
#define GET_OP_LIST
#include "ir/Elementwise.cpp.inc"
      >();
}

//===- shape -------------------------------------------------------------------------------------------------===//

/// The shape that all operands agree on.
static FailureOr<SmallVector<int64_t>> meetOperands(StringRef name, std::optional<Location> location, TypeRange types) {
  if (std::optional<SmallVector<int64_t>> shape = meetShapes(types))
    return *shape;
  std::string shapes = llvm::join(
      llvm::map_range(types, [](Type type) { return printShape(cast<RankedTensorType>(type).getShape()); }), " and ");
  return emitOptionalError(location, name, " requires operands of one shape, got ", shapes);
}

/// Operands of one shape and of one element type.
static FailureOr<RankedTensorType> inferUniform(StringRef name, std::optional<Location> location, TypeRange types) {
  Type elementType = getElementTypeOrSelf(types.front());
  for (Type type : types.drop_front())
    if (getElementTypeOrSelf(type) != elementType)
      return emitOptionalError(location, name, " requires operands of one element type, got ", elementType, " and ",
                               getElementTypeOrSelf(type));
  FailureOr<SmallVector<int64_t>> shape = meetOperands(name, location, types);
  if (failed(shape))
    return failure();
  return RankedTensorType::get(*shape, elementType);
}

template <typename OpT> static StringRef nameOf() { return OpT::getOperationName().split('.').second; }

/// The common rule; `elementType` replaces that of the operands.
template <typename OpT>
static LogicalResult inferPointwise(std::optional<Location> location, ValueRange operands, SmallVectorImpl<Type> &types,
                                    Type elementType = {}) {
  FailureOr<RankedTensorType> type = inferUniform(nameOf<OpT>(), location, operands.getTypes());
  if (failed(type))
    return failure();
  types.push_back(elementType ? RankedTensorType::get(type->getShape(), elementType) : *type);
  return success();
}

#define SAME_TYPE(OP)                                                                                                  \
  LogicalResult OP::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,                 \
                                     SmallVectorImpl<Type> &types) {                                                   \
    return inferPointwise<OP>(location, adaptor.getOperands(), types);                                                 \
  }
#define GET_POINTWISE_TYPES
#include "ir/Pointwise.inc"
SAME_TYPE(ClampOp)
#undef SAME_TYPE

#define BOOLEAN_TYPE(OP)                                                                                               \
  LogicalResult OP::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor adaptor,          \
                                     SmallVectorImpl<Type> &types) {                                                   \
    return inferPointwise<OP>(location, adaptor.getOperands(), types, IntegerType::get(context, 1));                   \
  }
BOOLEAN_TYPE(IsNanOp)
BOOLEAN_TYPE(IsInfOp)
BOOLEAN_TYPE(CompareOp)
#undef BOOLEAN_TYPE

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> sides = inferUniform("select", location, adaptor.getOperands().drop_front().getTypes());
  if (failed(sides))
    return failure();
  FailureOr<SmallVector<int64_t>> shape = meetOperands("select", location, adaptor.getOperands().getTypes());
  if (failed(shape))
    return failure();
  types.push_back(RankedTensorType::get(*shape, sides->getElementType()));
  return success();
}

LogicalResult ConvertOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  return inferPointwise<ConvertOp>(location, adaptor.getOperands(), types, adaptor.getElementType());
}

LogicalResult BitcastOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  Type from = getElementTypeOrSelf(adaptor.getOperand().getType()), to = adaptor.getElementType();
  if (!to.isIntOrFloat() || from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return emitOptionalError(location, "bitcast requires an element type of the operand's width, got ", from, " and ",
                             to);
  return inferPointwise<BitcastOp>(location, adaptor.getOperands(), types, to);
}

LogicalResult DecodeFloat8Op::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  Type format = adaptor.getFormat(), to = adaptor.getElementType();
  if (!isFloat8(format) || !(to.isF32() || to.isF16() || to.isBF16()))
    return emitOptionalError(location, "decode_float8 requires one of f8E4M3FN, f8E5M2 and one of f32, f16, bf16, got ",
                             format, " and ", to);
  return inferPointwise<DecodeFloat8Op>(location, adaptor.getOperands(), types, to);
}

//===- fold --------------------------------------------------------------------------------------------------===//
//
// Identities only. An op on constants is folded by a pass that asks the evaluator.

/// `value` where it can stand for the result: a value of a less precise type would lose sizes.
static OpFoldResult replaceWith(Operation *op, Value value) {
  return value.getType() == op->getResult(0).getType() ? OpFoldResult(value) : OpFoldResult();
}

static bool isUniform(Value value, double wanted) {
  std::optional<double> found = uniformValue(value);
  return found && *found == wanted && std::signbit(*found) == std::signbit(wanted);
}

static bool isFloat(Value value) { return isa<FloatType>(getElementTypeOrSelf(value.getType())); }

OpFoldResult AddOp::fold(FoldAdaptor) {
  // x + -0.0 is x for every float; x + 0.0 turns -0.0 into 0.0.
  return isUniform(getRhs(), isFloat(getRhs()) ? -0.0 : 0.0) ? replaceWith(*this, getLhs()) : OpFoldResult();
}

OpFoldResult SubOp::fold(FoldAdaptor) {
  return isUniform(getRhs(), 0.0) ? replaceWith(*this, getLhs()) : OpFoldResult();
}

OpFoldResult MulOp::fold(FoldAdaptor) {
  if (isUniform(getRhs(), 1.0))
    return replaceWith(*this, getLhs());
  if (!isFloat(getRhs()) && isUniform(getRhs(), 0.0))
    return replaceWith(*this, getRhs());
  return {};
}

OpFoldResult DivOp::fold(FoldAdaptor) {
  return isUniform(getRhs(), 1.0) ? replaceWith(*this, getLhs()) : OpFoldResult();
}

OpFoldResult MaxOp::fold(FoldAdaptor) { return getLhs() == getRhs() ? replaceWith(*this, getLhs()) : OpFoldResult(); }
OpFoldResult MinOp::fold(FoldAdaptor) { return getLhs() == getRhs() ? replaceWith(*this, getLhs()) : OpFoldResult(); }

/// All bits set: true, -1, or the greatest unsigned number.
static bool isAllOnes(Value value) {
  auto type = cast<IntegerType>(getElementTypeOrSelf(value.getType()));
  double ones = isUnsigned(type) ? std::ldexp(1.0, type.getWidth()) - 1 : -1.0;
  return type.getWidth() < 64 || !isUnsigned(type) ? isUniform(value, ones) : false;
}

OpFoldResult AndOp::fold(FoldAdaptor) {
  if (getLhs() == getRhs() || isAllOnes(getRhs()))
    return replaceWith(*this, getLhs());
  return isUniform(getRhs(), 0.0) ? replaceWith(*this, getRhs()) : OpFoldResult();
}

OpFoldResult OrOp::fold(FoldAdaptor) {
  if (getLhs() == getRhs() || isUniform(getRhs(), 0.0))
    return replaceWith(*this, getLhs());
  return isAllOnes(getRhs()) ? replaceWith(*this, getRhs()) : OpFoldResult();
}

OpFoldResult SelectOp::fold(FoldAdaptor) {
  if (getOnTrue() == getOnFalse())
    return replaceWith(*this, getOnTrue());
  if (std::optional<double> pred = uniformValue(getPred()))
    return replaceWith(*this, *pred != 0 ? getOnTrue() : getOnFalse());
  return {};
}

OpFoldResult ConvertOp::fold(FoldAdaptor) { return replaceWith(*this, getOperand()); }

/// `value` in every element; nothing when a size is not static.
static Value buildUniform(OpBuilder &builder, Location loc, RankedTensorType type, double value) {
  if (!type.hasStaticShape())
    return {};
  HostTensor scalar = HostTensor::scalar(type.getElementType(), value);
  auto elements = cast<DenseElementsAttr>(scalar.toAttr());
  return ConstantOp::create(builder, loc, DenseElementsAttr::get(type, elements.getSplatValue<Attribute>()));
}

/// Powers that are cheaper as something else and give the same values, bit for bit or closer:
/// x^1 = x, x^2 = x * x, x^-1 = 1 / x, and x^0.5 = sqrt(x + 0.0), except that (-inf)^0.5 is inf.
static LogicalResult simplifyPow(PowOp op, PatternRewriter &rewriter) {
  std::optional<double> exponent = uniformValue(op.getRhs());
  if (!exponent)
    return rewriter.notifyMatchFailure(op, "the exponent is not one constant");
  Value x = op.getLhs();
  auto type = cast<RankedTensorType>(x.getType());
  if (type != op.getType())
    return rewriter.notifyMatchFailure(op, "the result's type is more precise than that of lhs");
  if (*exponent == 1) {
    rewriter.replaceOp(op, x);
    return success();
  }
  if (*exponent == 2) {
    rewriter.replaceOpWithNewOp<MulOp>(op, x, x);
    return success();
  }
  if (!isFloat(x) || (*exponent != -1 && *exponent != 0.5) || !type.hasStaticShape())
    return rewriter.notifyMatchFailure(op, "no cheaper form");
  if (*exponent == -1) {
    rewriter.replaceOpWithNewOp<DivOp>(op, buildUniform(rewriter, op.getLoc(), type, 1.0), x);
    return success();
  }
  double inf = std::numeric_limits<double>::infinity();
  // x + 0.0 turns -0.0 into 0.0, as the power does.
  Value positive = AddOp::create(rewriter, op.getLoc(), x, buildUniform(rewriter, op.getLoc(), type, 0.0));
  Value root = SqrtOp::create(rewriter, op.getLoc(), positive);
  Value isLeast =
      CompareOp::create(rewriter, op.getLoc(), x, buildUniform(rewriter, op.getLoc(), type, -inf), CompareKind::eq);
  rewriter.replaceOpWithNewOp<SelectOp>(op, isLeast, buildUniform(rewriter, op.getLoc(), type, inf), root);
  return success();
}

void PowOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add(simplifyPow);
}

bool sinter::keepsOrderOfBytes(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<ConvertOp>(op)) {
    Type from = getElementTypeOrSelf(op->getOperand(0)), to = getElementTypeOrSelf(value);
    bool isWider = from.isInteger(8) && to.isInteger(32) && !to.isUnsignedInteger();
    bool isReal = isa<FloatType>(to) && (from.isInteger(8) || (from.isInteger(32) && !from.isUnsignedInteger()));
    return isWider || isReal;
  }
  if (!isa_and_nonnull<AddOp, SubOp, MulOp>(op) || !(isFloat(value) || getElementTypeOrSelf(value).isInteger(32)))
    return false;                  // a sum of bytes wraps
  constexpr double most = 1 << 20; // with a byte in 32 bits nothing wraps
  std::optional<double> number = uniformValue(op->getOperand(1));
  return number && std::abs(*number) < most && (!isa<MulOp>(op) || (*number > 0 && isFloat(value)));
}
