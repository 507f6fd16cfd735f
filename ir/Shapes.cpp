// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Shapes.h"

using namespace mlir;

namespace sinter {

bool agree(Type a, Type b) {
  if (a == b)
    return true;
  auto x = dyn_cast<RankedTensorType>(a), y = dyn_cast<RankedTensorType>(b);
  if (!x || !y || x.getElementType() != y.getElementType() || x.getRank() != y.getRank())
    return false;
  return llvm::all_of(llvm::zip(x.getShape(), y.getShape()),
                      [](auto sizes) { return meetSize(std::get<0>(sizes), std::get<1>(sizes)).has_value(); });
}

bool agree(TypeRange a, TypeRange b) {
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip(a, b), [](auto types) { return agree(std::get<0>(types), std::get<1>(types)); });
}

std::optional<int64_t> meetSize(int64_t a, int64_t b) {
  if (ShapedType::isDynamic(a))
    return b;
  if (ShapedType::isDynamic(b) || a == b)
    return a;
  return std::nullopt;
}

std::optional<SmallVector<int64_t>> meetShapes(TypeRange types) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(types.front()).getShape());
  for (Type type : types.drop_front()) {
    ArrayRef<int64_t> other = cast<RankedTensorType>(type).getShape();
    if (other.size() != shape.size())
      return std::nullopt;
    for (auto [size, otherSize] : llvm::zip(shape, other)) {
      std::optional<int64_t> met = meetSize(size, otherSize);
      if (!met)
        return std::nullopt;
      size = *met;
    }
  }
  return shape;
}

std::optional<SmallVector<int64_t>> joinShapes(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() != b.size())
    return std::nullopt;
  SmallVector<int64_t> shape;
  for (auto [x, y] : llvm::zip(a, b))
    shape.push_back(x == y ? x : ShapedType::kDynamic);
  return shape;
}

std::string printShape(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "rank 0";
  return llvm::join(
      llvm::map_range(
          shape, [](int64_t size) { return ShapedType::isDynamic(size) ? std::string("?") : std::to_string(size); }),
      "x");
}

int64_t byteWidth(Type elementType) { return std::max(1u, elementType.getIntOrFloatBitWidth() / 8); }

Type signless(Type elementType) {
  if (auto type = dyn_cast<IntegerType>(elementType); type && !type.isSignless())
    return IntegerType::get(type.getContext(), type.getWidth());
  return elementType;
}

bool isUnsigned(Type elementType) { return elementType.isUnsignedInteger() || elementType.isInteger(1); }

std::optional<int64_t> countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 0 || (size != 0 && __builtin_mul_overflow(count, size, &count)))
      return std::nullopt;
  return llvm::is_contained(shape, 0) ? 0 : count;
}

bool needsSizes(RankedTensorType type) {
  int64_t unknown = type.getNumDynamicDims();
  return unknown > 1 || (unknown == 1 && llvm::is_contained(type.getShape(), 0));
}

} // namespace sinter
