// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/ProductOperands.h"
#include "ir/Composer.h"
#include "ir/ControlFlow.h"
#include "ir/ElementMoves.h"
#include "ir/Elementwise.h"
#include "ir/Float8.h"
#include "ir/Shape.h"
#include "ir/reference/HostTensor.h"
#include "passes/Devices.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sinter;

/// A conversion reads and writes an element; products that read it as often as this gain more than that.
static constexpr int64_t kLeastReads = 16;

/// The product of `sizes`, dynamic where one of them is.
static int64_t countOf(ArrayRef<int64_t> sizes) {
  return llvm::any_of(sizes, ShapedType::isDynamic) ? ShapedType::kDynamic : ShapedType::getNumElements(sizes);
}

static int64_t countFree(Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  SmallVector<int64_t> taken(batch), sizes;
  llvm::append_range(taken, contract);
  for (int64_t axis : otherAxes(tensorTypeOf(value).getRank(), taken))
    sizes.push_back(tensorTypeOf(value).getDimSize(axis));
  return countOf(sizes);
}

int64_t sinter::readsOf(DotGeneralOp product, unsigned operand) {
  return operand == 0 ? countFree(product.getRhs(), product.getRhsBatch(), product.getRhsContract())
                      : countFree(product.getLhs(), product.getLhsBatch(), product.getLhsContract());
}

int64_t sinter::readsOf(ConvolutionOp product, unsigned operand) {
  if (operand == 0)
    return tensorTypeOf(product.getFilter()).getDimSize(0);
  ArrayRef<int64_t> result = tensorTypeOf(product.getResult()).getShape();
  bool isFirst = product.getLayout() == ConvLayout::channels_first;
  int64_t images = result.front(), pixels = countOf(isFirst ? result.drop_front(2) : result.drop_front().drop_back());
  return countOf({images, pixels});
}

bool sinter::isReadOften(int64_t reads) { return ShapedType::isDynamic(reads) || reads >= kLeastReads; }

/// True when `op` moves elements and its result has a good part of its operand's.
static bool movesMost(Operation *op) {
  constexpr int64_t kLargestRest = 8;
  if (!movesElements(op))
    return false;
  RankedTensorType from = tensorTypeOf(op->getOperand(0)), to = tensorTypeOf(op->getResult(0));
  return from.hasStaticShape() && to.hasStaticShape() && from.getNumElements() <= kLargestRest * to.getNumElements();
}

/// Whether products alone read `value`, or others of its elements that products alone read: then nobody needs it in its
/// own type.
static bool isOfProducts(Value value, int depth = 4) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return isa<DotGeneralOp, ConvolutionOp>(user) ||
           (depth > 0 && (keepsOrder(user) || movesElements(user)) && isOfProducts(user->getResult(0), depth - 1));
  });
}

/// `elements` in f32, which holds all numbers of 16 bits; null where they are not at hand.
static Value widenedConstant(Composer &c, ElementsAttr elements) {
  if (elements.isSplat()) {
    double number = elements.getSplatValue<APFloat>().convertToDouble();
    return c.make<ConstantOp>(
        DenseElementsAttr::get(cast<ShapedType>(elements.getType()).clone(c.getF32Type()), static_cast<float>(number)));
  }
  FailureOr<HostTensor> narrow = HostTensor::fromAttr(elements);
  if (failed(narrow))
    return {};
  HostTensor wide(c.getF32Type(), narrow->shape());
  for (int64_t i = 0; i < wide.numElements(); ++i)
    wide.setFloat(i, narrow->getFloat(i));
  return c.make<ConstantOp>(wide.toAttr());
}

Value OperandConversions::converted(Value value, Type type) {
  if (Value result = known.lookup({value, type}))
    return result;
  Operation *loop = capturingLoop(value);
  Value result = loop ? captured(loop, cast<BlockArgument>(value), type) : make(value, type);
  known[{value, type}] = result;
  return result;
}

/// In each region of the loop, the capture of what `argument` captures, converted.
Value OperandConversions::captured(Operation *loop, BlockArgument argument, Type type) {
  unsigned place = argument.getArgNumber();
  Control control = *controlOf(loop);
  SmallVector<BlockArgument> inside = addCapture(loop, converted(control.captures[place - control.firstCapture], type));
  for (auto [region, capture] : llvm::zip(loop->getRegions(), inside))
    known[{region.getArgument(place), type}] = capture;
  return known.lookup({argument, type});
}

Value OperandConversions::make(Value value, Type type) {
  Operation *op = value.getDefiningOp();
  Value moved = op && movesMost(op) ? converted(op->getOperand(0), type) : Value();
  SmallVector<Value> rounded;
  if (op && keepsOrder(op) && !hasDevices(op) && isOfProducts(value))
    for (Value operand : op->getOperands())
      rounded.push_back(converted(operand, type));
  OpBuilder b(type.getContext());
  b.setInsertionPointAfterValue(value);
  Composer c(value.getLoc(), b);
  if (moved)
    return moveAgain(c, op, moved);
  if (!rounded.empty()) {
    Operation *again = c.clone(*op);
    again->setOperands(rounded);
    again->getResult(0).setType(tensorTypeOf(value).clone(type));
    return again->getResult(0);
  }
  if (auto decode = dyn_cast_if_present<DecodeFloat8Op>(op))
    return c.make<DecodeFloat8Op>(decode.getOperand(), decode.getFormat(), type);
  ElementsAttr elements;
  if (type.isF32() && matchPattern(value, m_Constant(&elements)))
    if (Value constant = widenedConstant(c, elements))
      return constant;
  return c.convert(value, type);
}
