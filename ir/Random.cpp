// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Random.h"
#include "ir/Constants.h"
#include "ir/Limits.h"
#include "ir/Lists.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Random.cpp.inc"

void SinterDialect::registerRandom() {
  addOperations<
#define GET_OP_LIST
#include "ir/Random.cpp.inc"
      >();
}

// Philox 4x32-10 of Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.4.
constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

//===- shape -------------------------------------------------------------------------------------------------===//

LogicalResult RandomBitsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  auto key = cast<RankedTensorType>(adaptor.getKey().getType());
  if (!isListOf(key, 4))
    return emitOptionalError(location, "random_bits requires a key of 4 words, got ", printShape(key.getShape()));
  RankedTensorType type = adaptor.getType();
  if (!adaptor.getShape()) {
    if (!type.hasStaticShape())
      return emitOptionalError(location, "random_bits requires a static type or a shape operand, got ", type);
    types.push_back(type);
    return success();
  }
  auto shape = cast<RankedTensorType>(adaptor.getShape().getType());
  if (!isListOf(shape, type.getRank()))
    return emitOptionalError(location, "random_bits requires one size per axis of its type, got ",
                             printShape(shape.getShape()), " and rank ", type.getRank());
  SmallVector<int64_t> sizes(type.getShape());
  if (std::optional<SmallVector<int64_t>> known = constantInts(adaptor.getShape()))
    for (auto [size, value] : llvm::zip(sizes, *known)) {
      if (value < 0 || !meetSize(size, value))
        return emitOptionalError(location, "random_bits requires sizes that agree with ", type, ", got ",
                                 printShape(*known));
      size = value;
    }
  types.push_back(RankedTensorType::get(sizes, type.getElementType()));
  return success();
}

//===- sizes -------------------------------------------------------------------------------------------------===//

SmallVector<Dims> RandomBitsOp::resultDims(ShapeQuery &shapes) {
  auto type = cast<RankedTensorType>(getResult().getType());
  std::optional<Dims> contents;
  if (getShape() && !type.hasStaticShape())
    contents = shapes.contents(getShape());
  Dims dims;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    if (!type.isDynamicDim(axis))
      dims.push_back(shapes.context().constant(type.getDimSize(axis)));
    else if (contents)
      dims.push_back((*contents)[axis]);
    else
      dims.push_back(shapes.context().symbol({SymbolSource::Kind::Content, getShape(), axis}));
  }
  return {dims};
}

//===- evaluate ----------------------------------------------------------------------------------------------===//

static std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    uint64_t product0 = uint64_t(kMultiplier0) * counter[0], product1 = uint64_t(kMultiplier1) * counter[2];
    counter = {uint32_t(product1 >> 32) ^ counter[1] ^ key[0], uint32_t(product1),
               uint32_t(product0 >> 32) ^ counter[3] ^ key[1], uint32_t(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

FailureOr<SmallVector<HostTensor>> RandomBitsOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  std::vector<int64_t> key = operands[0].toInts();
  if (key.size() != 4)
    return emitOpError("requires a key of 4 words, got ") << key.size(), failure();
  SmallVector<int64_t> sizes(getType().getShape());
  if (operands.size() > 1)
    sizes = llvm::to_vector(operands[1].toInts());
  if (failed(requireRoom(*this, evaluator, getElementTypeOrSelf(getResult().getType()), sizes)))
    return failure();
  HostTensor result(getElementTypeOrSelf(getResult().getType()), sizes);
  std::vector<int64_t> words(result.numElements());
  for (int64_t i = 0; i < result.numElements(); i += 4) {
    uint64_t block = uint64_t(i) / 4;
    std::array<uint32_t, 4> random =
        philox({uint32_t(block), uint32_t(block >> 32), uint32_t(key[2]), uint32_t(key[3])},
               {uint32_t(key[0]), uint32_t(key[1])});
    for (int64_t word = 0; word < 4 && i + word < result.numElements(); ++word)
      words[i + word] = random[word];
  }
  result.assignInts(words);
  return SmallVector<HostTensor>{result};
}

//===- element -----------------------------------------------------------------------------------------------===//

Value RandomBitsOp::buildElement(ElementBuilder &elements, unsigned, ArrayRef<LaneIndex> index) {
  OpBuilder &b = elements.b;
  Location loc = elements.loc;
  auto type = cast<RankedTensorType>(getResult().getType());
  auto sizeOf = [&](int64_t axis) -> Value {
    if (!type.isDynamicDim(axis))
      return arith::ConstantIndexOp::create(b, loc, type.getDimSize(axis));
    Value size = elements.load(getShape(), {elements.constant(axis)});
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), size);
  };
  LaneIndex position = elements.constant(0);
  for (auto [axis, i] : llvm::enumerate(index))
    position = elements.add(elements.mul(position, sizeOf(axis)), i);

  SmallVector<Value> values{elements.toValue(position)};
  for (int64_t word = 0; word < 4; ++word)
    values.push_back(elements.load(getKey(), {elements.constant(word)}));
  elements.unify(values);
  auto like = [&](unsigned width) -> Type {
    Type element = b.getIntegerType(width);
    auto vector = dyn_cast<VectorType>(values[0].getType());
    return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
  };
  Type narrow = like(32), wide = like(64);
  auto constant = [&](Type type, uint32_t value) { return buildConstant(b, loc, type, int64_t(value)); };
  auto truncate = [&](Value value) -> Value { return arith::TruncIOp::create(b, loc, narrow, value); };
  auto shift = [&](Value value, unsigned bits) -> Value {
    return arith::ShRUIOp::create(b, loc, value, constant(wide, bits));
  };
  auto exclusive = [&](Value x, Value y) -> Value { return arith::XOrIOp::create(b, loc, x, y); };

  Value flat = arith::IndexCastOp::create(b, loc, wide, values[0]);
  Value block = shift(flat, 2), word = truncate(arith::AndIOp::create(b, loc, flat, constant(wide, 3)));
  SmallVector<Value> counter{truncate(block), truncate(shift(block, 32)), values[3], values[4]};
  Value key0 = values[1], key1 = values[2];
  for (int round = 0; round < kRounds; ++round) {
    auto multiply = [&](Value x, uint32_t factor) -> Value {
      return arith::MulIOp::create(b, loc, arith::ExtUIOp::create(b, loc, wide, x), constant(wide, factor));
    };
    Value product0 = multiply(counter[0], kMultiplier0), product1 = multiply(counter[2], kMultiplier1);
    counter = {exclusive(exclusive(truncate(shift(product1, 32)), counter[1]), key0), truncate(product1),
               exclusive(exclusive(truncate(shift(product0, 32)), counter[3]), key1), truncate(product0)};
    key0 = arith::AddIOp::create(b, loc, key0, constant(narrow, kWeyl0));
    key1 = arith::AddIOp::create(b, loc, key1, constant(narrow, kWeyl1));
  }
  Value result = counter[3];
  for (int i = 2; i >= 0; --i) {
    Value isWord = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, word, constant(narrow, i));
    result = arith::SelectOp::create(b, loc, isWord, counter[i], result);
  }
  return result;
}
