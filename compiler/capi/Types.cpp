// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/capi/Types.h"
#include "backends/schedule/Signature.h"
#include "ir/Shapes.h"
#include "ir/Storage.h"
#include "ir/reference/Loops.h"
#include "mlir/IR/Builders.h"
#include "runtime/dtypes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;

sinter_status_code capi::fail(sinter_status_code code, const Twine &message) {
  return sinter_set_error(code, message.str().c_str());
}

Type capi::elementTypeOf(MLIRContext *context, int32_t dtype) {
  Builder b(context);
  switch (dtype) {
  case SINTER_F64:
    return b.getF64Type();
  case SINTER_F32:
    return b.getF32Type();
  case SINTER_F16:
    return b.getF16Type();
  case SINTER_BF16:
    return b.getBF16Type();
  case SINTER_F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case SINTER_F8E5M2:
    return Float8E5M2Type::get(context);
  case SINTER_I4:
    return b.getIntegerType(4);
  case SINTER_U4:
    return b.getIntegerType(4, /*isSigned=*/false);
  case SINTER_I1:
    return b.getI1Type();
  case SINTER_I8:
  case SINTER_I16:
  case SINTER_I32:
  case SINTER_I64:
    return b.getIntegerType(static_cast<unsigned>(8 * sinter_dtype_bytes(dtype)));
  case SINTER_U8:
  case SINTER_U16:
  case SINTER_U32:
  case SINTER_U64:
    return b.getIntegerType(static_cast<unsigned>(8 * sinter_dtype_bytes(dtype)), /*isSigned=*/false);
  default:
    return {};
  }
}

static sinter_status_code checkForm(int32_t dtype, int32_t rank, const Twine &what) {
  if (sinter_dtype_bits(dtype) == 0)
    return invalid(what + " requires a dtype, got " + Twine(dtype));
  if (rank < 0 || rank > SINTER_MAX_RANK)
    return invalid(what + " requires a rank of at most " + Twine(SINTER_MAX_RANK) + ", got " + Twine(rank));
  return SINTER_OK;
}

/// The product of the known sizes and the element size, which must fit; a size of 0 makes a tensor empty whatever the
/// others are.
static sinter_status_code checkBytes(int32_t dtype, ArrayRef<int64_t> dims, const Twine &what,
                                     int64_t *count = nullptr) {
  int64_t width = std::max<int64_t>(sinter_dtype_bytes(dtype), 1), bytes = width; // of 4 bits, at most
  bool empty = llvm::is_contained(dims, 0);
  for (int64_t size : dims)
    if (size > 0 && __builtin_mul_overflow(bytes, size, &bytes))
      return invalid(what + " requires fewer than 2^63 bytes, got " + printShape(dims));
  if (count)
    *count = empty ? 0 : bytes / width;
  return SINTER_OK;
}

sinter_status_code capi::checkType(const sinter_value_type *type, const Twine &what, size_t numSymbols) {
  if (!type)
    return invalid(what + " requires a type, got null");
  if (sinter_status_code status = checkForm(type->dtype, type->rank, what))
    return status;
  for (int32_t axis = 0; axis < type->rank; ++axis)
    if (int64_t dim = type->dims[axis];
        dim < 0 && dim != SINTER_DIM_UNKNOWN && static_cast<size_t>(-1 - dim) >= numSymbols)
      return invalid(what + " requires a size, a symbol of the graph or SINTER_DIM_UNKNOWN in dim " + Twine(axis) +
                     ", got " + Twine(dim));
  return checkBytes(type->dtype, ArrayRef(type->dims, type->rank), what);
}

sinter_status_code capi::checkTensor(const sinter_tensor *tensor, const Twine &what) {
  if (!tensor)
    return invalid(what + " requires a tensor, got null");
  if (sinter_status_code status = checkForm(tensor->dtype, tensor->rank, what))
    return status;
  ArrayRef<int64_t> dims(tensor->dims, tensor->rank);
  for (auto [axis, size] : llvm::enumerate(dims))
    if (size < 0)
      return invalid(what + " requires sizes of at least 0, got " + Twine(size) + " in dim " + Twine(axis));
  int64_t count;
  if (sinter_status_code status = checkBytes(tensor->dtype, dims, what, &count))
    return status;
  if (count != 0 && !tensor->data)
    return invalid(what + " requires data for " + printShape(dims) + ", got null");
  if (tensor->strides && sinter_dtype_bytes(tensor->dtype) == 0)
    return invalid(what + " of " + sinter_dtype_name(tensor->dtype) +
                   " requires row-major elements without gaps, got strides");
  return SINTER_OK;
}

RankedTensorType capi::tensorTypeOf(MLIRContext *context, const sinter_value_type &type) {
  SmallVector<int64_t> shape;
  for (int64_t size : ArrayRef(type.dims, type.rank))
    shape.push_back(size >= 0 ? size : ShapedType::kDynamic);
  return RankedTensorType::get(shape, elementTypeOf(context, type.dtype));
}

HostTensor capi::hostTensorOf(MLIRContext *context, const sinter_tensor &tensor) {
  Type element = elementTypeOf(context, tensor.dtype);
  ArrayRef<int64_t> shape(tensor.dims, tensor.rank);
  int64_t width = sinter_dtype_bytes(tensor.dtype), count = countElements(shape).value_or(0);
  if (llvm::is_contained(shape, 0))
    count = 0;
  const char *data = static_cast<const char *>(tensor.data);
  HostTensor result;
  if (!tensor.strides) {
    result = fromStored(element, shape, ArrayRef(data, sinter::storedBytes(element, count)));
  } else {
    result = HostTensor(element, shape);
    char *target = result.data();
    forEachOffset(shape, ArrayRef(tensor.strides, tensor.rank), [&](int64_t offset) {
      std::memcpy(target, data + offset * width, width);
      target += width;
    });
  }
  if (tensor.dtype == SINTER_I1) // bytes 0 or 1
    for (char &byte : llvm::MutableArrayRef(result.data(), count))
      byte = byte != 0;
  return result;
}

bool capi::copyOut(const HostTensor &tensor, sinter_tensor &result) {
  size_t bytes = static_cast<size_t>(sinter::storedBytes(tensor.elementType(), tensor.numElements()));
  result = {};
  result.data = std::aligned_alloc(64, std::max<size_t>((bytes + 63) / 64 * 64, 64));
  if (!result.data)
    return false;
  if (isPacked(tensor.elementType()))
    llvm::copy(toStored(tensor), static_cast<char *>(result.data));
  else if (bytes)
    std::memcpy(result.data, tensor.data(), bytes);
  result.dtype = schedule::dtypeOf(tensor.elementType());
  result.rank = static_cast<int32_t>(tensor.rank());
  llvm::copy(tensor.shape(), result.dims);
  return true;
}

std::string capi::describe(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  std::string text;
  llvm::raw_string_ostream os(text);
  os << tensor.getElementType() << '[';
  llvm::interleaveComma(tensor.getShape(), os, [&](int64_t size) {
    if (ShapedType::isDynamic(size))
      os << '?';
    else
      os << size;
  });
  os << ']';
  return text;
}
