// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/reference/HostTensor.h"
#include "ir/Limits.h"
#include "ir/Shapes.h"
#include "ir/Storage.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"
#include <cmath>
#include <cstring>
#include <utility>

using namespace mlir;

namespace sinter {

/// How elements are stored, decided once per loop instead of once per element.
namespace {
enum class Form { F64, F32, F16, BF16, F8E4M3FN, F8E5M2, I1, I4, I8, I16, I32, I64, U4, U8, U16, U32, U64 };
} // namespace

static Form formOf(Type type) {
  if (type.isF64())
    return Form::F64;
  if (type.isF32())
    return Form::F32;
  if (type.isF16())
    return Form::F16;
  if (type.isBF16())
    return Form::BF16;
  if (isa<Float8E4M3FNType>(type))
    return Form::F8E4M3FN;
  if (isa<Float8E5M2Type>(type))
    return Form::F8E5M2;
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1)
    return Form::I1;
  bool wide = type.isUnsignedInteger();
  switch (width) {
  case 4:
    return wide ? Form::U4 : Form::I4;
  case 8:
    return wide ? Form::U8 : Form::I8;
  case 16:
    return wide ? Form::U16 : Form::I16;
  case 32:
    return wide ? Form::U32 : Form::I32;
  default:
    return wide ? Form::U64 : Form::I64;
  }
}

/// A float of 16 or 8 bits.
static double decodeSmall(uint16_t bits, const llvm::fltSemantics &semantics) {
  llvm::APFloat value(semantics, llvm::APInt(llvm::APFloat::getSizeInBits(semantics), bits));
  bool lost;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return value.convertToDouble();
}

static uint16_t encodeSmall(double value, const llvm::fltSemantics &semantics) {
  llvm::APFloat converted(value);
  bool lost;
  converted.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
  return static_cast<uint16_t>(converted.bitcastToAPInt().getZExtValue());
}

/// An f16.
static double decodeHalf(uint16_t bits) {
  uint64_t sign = uint64_t(bits >> 15) << 63, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31)
    return decodeSmall(bits, llvm::APFloat::IEEEhalf());
  double magnitude = exponent == 0 ? static_cast<double>(fraction) * 0x1p-24
                                   : llvm::bit_cast<double>((exponent - 15 + 1023) << 52 | fraction << 42);
  return llvm::bit_cast<double>(llvm::bit_cast<uint64_t>(magnitude) | sign);
}

/// A float of 16 bits, rounded to nearest even. The same as encodeSmall, by integers alone: constants have hundreds of
/// millions of elements.
static uint16_t encodeSixteen(double value, const llvm::fltSemantics &semantics) {
  int digits = static_cast<int>(llvm::APFloat::semanticsPrecision(semantics)) - 1; // behind the point
  int exponentBits = 15 - digits, bias = (1 << (exponentBits - 1)) - 1, surplus = 52 - digits;
  uint64_t infinity = uint64_t((1 << exponentBits) - 1) << digits;
  uint64_t bits = llvm::bit_cast<uint64_t>(value), fraction = bits & ((uint64_t(1) << 52) - 1);
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023 + bias;
  if (std::isnan(value))
    return encodeSmall(value, semantics);
  auto roundedBy = [](uint64_t number, int places) {
    return (number + ((uint64_t(1) << (places - 1)) - 1) + (number >> places & 1)) >> places;
  };
  uint64_t magnitude = 0;
  if (exponent > 0) // what rounding carries goes into the exponent
    magnitude = std::min(roundedBy(uint64_t(std::min(exponent, 0x7ff)) << 52 | fraction, surplus), infinity);
  else if (exponent >= -digits - 1) // denormal
    magnitude = roundedBy(uint64_t(1) << 52 | fraction, surplus + 1 - exponent);
  return static_cast<uint16_t>(bits >> 63 << 15 | magnitude);
}

/// Rounds to nearest even. What lies beyond the greatest number becomes an infinity (e5m2) or NaN (e4m3fn); NaN has one
/// form, and its sign.
static uint8_t encodeByte(double value, const llvm::fltSemantics &semantics) {
  if (std::isnan(value))
    return static_cast<uint8_t>((&semantics == &llvm::APFloat::Float8E5M2() ? 0x7e : 0x7f) |
                                (std::signbit(value) ? 0x80 : 0));
  return static_cast<uint8_t>(encodeSmall(value, semantics));
}

/// The low half of a byte as a number of -8 to 7.
static int8_t signedHalf(uint8_t byte) { return static_cast<int8_t>(static_cast<int8_t>(byte << 4) >> 4); }

template <typename T> static T loadAs(const char *data, int64_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}
template <typename T> static void storeAs(char *data, int64_t i, T value) {
  std::memcpy(data + i * sizeof(T), &value, sizeof(T));
}

LLVM_ATTRIBUTE_ALWAYS_INLINE static double readFloat(Form form, const char *data, int64_t i) {
  switch (form) {
  case Form::F64:
    return loadAs<double>(data, i);
  case Form::F32:
    return loadAs<float>(data, i);
  case Form::F16:
    return decodeHalf(loadAs<uint16_t>(data, i));
  case Form::BF16:
    return llvm::bit_cast<float>(static_cast<uint32_t>(loadAs<uint16_t>(data, i)) << 16);
  case Form::F8E4M3FN:
    return decodeSmall(loadAs<uint8_t>(data, i), llvm::APFloat::Float8E4M3FN());
  case Form::F8E5M2:
    return decodeSmall(loadAs<uint8_t>(data, i), llvm::APFloat::Float8E5M2());
  case Form::I4:
    return signedHalf(loadAs<uint8_t>(data, i));
  case Form::I1:
  case Form::U4:
  case Form::U8:
    return loadAs<uint8_t>(data, i);
  case Form::I8:
    return loadAs<int8_t>(data, i);
  case Form::I16:
    return loadAs<int16_t>(data, i);
  case Form::I32:
    return loadAs<int32_t>(data, i);
  case Form::I64:
    return static_cast<double>(loadAs<int64_t>(data, i));
  case Form::U16:
    return loadAs<uint16_t>(data, i);
  case Form::U32:
    return loadAs<uint32_t>(data, i);
  case Form::U64:
    return static_cast<double>(loadAs<uint64_t>(data, i));
  }
  llvm_unreachable("all forms handled");
}

/// Truncates, saturates, NaN to 0.
template <typename T> static T saturate(double value) {
  if (std::isnan(value))
    return 0;
  // The limits as doubles: the upper one of 64-bit types rounds up to 2^63 or 2^64, hence >=.
  if (value >= static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

LLVM_ATTRIBUTE_ALWAYS_INLINE static int64_t readInt(Form form, const char *data, int64_t i) {
  switch (form) {
  case Form::I4:
    return signedHalf(loadAs<uint8_t>(data, i));
  case Form::I1:
  case Form::U4:
  case Form::U8:
    return loadAs<uint8_t>(data, i);
  case Form::I8:
    return loadAs<int8_t>(data, i);
  case Form::I16:
    return loadAs<int16_t>(data, i);
  case Form::I32:
    return loadAs<int32_t>(data, i);
  case Form::I64:
  case Form::U64:
    return loadAs<int64_t>(data, i);
  case Form::U16:
    return loadAs<uint16_t>(data, i);
  case Form::U32:
    return loadAs<uint32_t>(data, i);
  default:
    return saturate<int64_t>(readFloat(form, data, i));
  }
}

LLVM_ATTRIBUTE_ALWAYS_INLINE static void writeFloat(Form form, char *data, int64_t i, double value) {
  switch (form) {
  case Form::F64:
    return storeAs(data, i, value);
  case Form::F32:
    return storeAs(data, i, static_cast<float>(value));
  case Form::F16:
    return storeAs(data, i, encodeSixteen(value, llvm::APFloat::IEEEhalf()));
  case Form::BF16:
    return storeAs(data, i, encodeSixteen(value, llvm::APFloat::BFloat()));
  case Form::F8E4M3FN:
    return storeAs(data, i, encodeByte(value, llvm::APFloat::Float8E4M3FN()));
  case Form::F8E5M2:
    return storeAs(data, i, encodeByte(value, llvm::APFloat::Float8E5M2()));
  case Form::I4:
    return storeAs<uint8_t>(data, i, saturate<int8_t>(std::clamp(value, -8.0, 7.0)) & 15);
  case Form::U4:
    return storeAs(data, i, saturate<uint8_t>(std::min(value, 15.0)));
  case Form::I1:
    return storeAs<uint8_t>(data, i, value != 0);
  case Form::I8:
    return storeAs(data, i, saturate<int8_t>(value));
  case Form::I16:
    return storeAs(data, i, saturate<int16_t>(value));
  case Form::I32:
    return storeAs(data, i, saturate<int32_t>(value));
  case Form::I64:
    return storeAs(data, i, saturate<int64_t>(value));
  case Form::U8:
    return storeAs(data, i, saturate<uint8_t>(value));
  case Form::U16:
    return storeAs(data, i, saturate<uint16_t>(value));
  case Form::U32:
    return storeAs(data, i, saturate<uint32_t>(value));
  case Form::U64:
    return storeAs(data, i, saturate<uint64_t>(value));
  }
}

LLVM_ATTRIBUTE_ALWAYS_INLINE static void writeInt(Form form, char *data, int64_t i, int64_t value) {
  switch (form) {
  case Form::I4:
  case Form::U4:
    return storeAs<uint8_t>(data, i, value & 15);
  case Form::I1:
    return storeAs<uint8_t>(data, i, value != 0);
  case Form::I8:
  case Form::U8:
    return storeAs(data, i, static_cast<uint8_t>(value));
  case Form::I16:
  case Form::U16:
    return storeAs(data, i, static_cast<uint16_t>(value));
  case Form::I32:
  case Form::U32:
    return storeAs(data, i, static_cast<uint32_t>(value));
  case Form::I64:
  case Form::U64:
    return storeAs(data, i, value);
  default:
    return writeFloat(form, data, i, static_cast<double>(value));
  }
}

/// What others call true may be any byte but 0; here it is 1. Of 4-bit elements only the low half counts.
static void copyContent(std::vector<char> &to, Type elementType, ArrayRef<char> content) {
  if (isPacked(elementType)) {
    llvm::transform(content, to.begin(), [](char byte) { return static_cast<char>(byte & 15); });
    return;
  }
  if (elementType.isInteger(1))
    llvm::transform(content, to.begin(), [](char byte) { return static_cast<char>(byte != 0); });
  else if (!content.empty())
    std::memcpy(to.data(), content.data(), content.size());
}

HostTensor::HostTensor(Type elementType, ArrayRef<int64_t> shape) : type(RankedTensorType::get(shape, elementType)) {
  std::optional<int64_t> size = countBytes(elementType, shape);
  if (!size) // callers have asked before: writing to less than the shape says would be worse
    llvm::report_bad_alloc_error("a host tensor requires a shape whose size fits in 63 bits");
  count = *size / byteWidth(elementType);
  bytes = std::make_shared<std::vector<char>>(*size);
}

HostTensor::HostTensor(Type elementType, ArrayRef<int64_t> shape, ArrayRef<char> content)
    : HostTensor(elementType, shape) {
  assert(static_cast<int64_t>(content.size()) == numBytes() && "bytes and shape agree");
  copyContent(*bytes, elementType, content);
}

FailureOr<HostTensor> HostTensor::fromAttr(ElementsAttr attr) {
  auto type = dyn_cast<RankedTensorType>(attr.getType());
  if (!type || !type.hasStaticShape())
    return failure();
  HostTensor tensor(type.getElementType(), type.getShape());
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || static_cast<int64_t>(blob->getData().size()) != tensor.numBytes())
      return failure();
    copyContent(*tensor.bytes, type.getElementType(), blob->getData());
    return tensor;
  }
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  if (!dense)
    return failure();
  char *data = tensor.bytes->data();
  if (type.getElementType().isInteger(1)) {
    for (auto [i, value] : llvm::enumerate(dense.getValues<bool>()))
      data[i] = value;
    return tensor;
  }
  ArrayRef<char> raw = dense.getRawData();
  if (!dense.isSplat()) {
    if (!raw.empty())
      std::memcpy(data, raw.data(), raw.size());
    return tensor;
  }
  int64_t width = byteWidth(type.getElementType());
  for (int64_t i = 0; i < tensor.count; ++i)
    std::memcpy(data + i * width, raw.data(), width);
  return tensor;
}

ElementsAttr HostTensor::toAttr(StringRef nameHint) const {
  constexpr int64_t inlineBytes = 1024;
  if (numBytes() > inlineBytes) {
    // The blob shares this tensor's memory; `data()` of a sharing tensor copies before it writes.
    std::shared_ptr<std::vector<char>> owner = bytes;
    AsmResourceBlob blob(
        ArrayRef<char>(owner->data(), owner->size()), byteWidth(elementType()),
        [owner](void *, size_t, size_t) mutable { owner.reset(); }, /*dataIsMutable=*/false);
    return DenseResourceElementsAttr::get(type, nameHint, std::move(blob));
  }
  if (elementType().isInteger(1)) {
    SmallVector<bool> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back((*bytes)[i] != 0);
    return DenseElementsAttr::get(type, ArrayRef<bool>(values));
  }
  return DenseElementsAttr::getFromRawBuffer(type, ArrayRef<char>(bytes->data(), bytes->size()));
}

HostTensor HostTensor::scalar(Type elementType, double value) {
  HostTensor tensor(elementType, {});
  tensor.setFloat(0, value);
  return tensor;
}

HostTensor HostTensor::ofInts(Type elementType, ArrayRef<int64_t> values) {
  HostTensor tensor(elementType, {static_cast<int64_t>(values.size())});
  tensor.assignInts(values);
  return tensor;
}

char *HostTensor::data() {
  if (bytes && bytes.use_count() > 1)
    bytes = std::make_shared<std::vector<char>>(*bytes);
  return bytes ? bytes->data() : nullptr;
}

double HostTensor::getFloat(int64_t i) const { return readFloat(formOf(elementType()), bytes->data(), i); }
int64_t HostTensor::getInt(int64_t i) const { return readInt(formOf(elementType()), bytes->data(), i); }
void HostTensor::setFloat(int64_t i, double value) { writeFloat(formOf(elementType()), data(), i, value); }
void HostTensor::setInt(int64_t i, int64_t value) { writeInt(formOf(elementType()), data(), i, value); }

template <typename Visit, size_t... places>
static void withForm(Form form, Visit visit, std::index_sequence<places...>) {
  (void)((form == static_cast<Form>(places) &&
          (visit(std::integral_constant<Form, static_cast<Form>(places)>()), true)) ||
         ...);
}

/// Calls `visit` with `form` as a constant, so that a loop over elements asks once what they are.
template <typename Visit> static void withForm(Form form, Visit visit) {
  withForm(form, visit, std::make_index_sequence<static_cast<size_t>(Form::U64) + 1>());
}

void HostTensor::read(int64_t first, MutableArrayRef<double> values) const {
  withForm(formOf(elementType()), [&](auto form) {
    const char *source = bytes->data();
    for (auto [i, value] : llvm::enumerate(values))
      value = readFloat(form, source, first + static_cast<int64_t>(i));
  });
}

void HostTensor::read(int64_t first, MutableArrayRef<int64_t> values) const {
  withForm(formOf(elementType()), [&](auto form) {
    const char *source = bytes->data();
    for (auto [i, value] : llvm::enumerate(values))
      value = readInt(form, source, first + static_cast<int64_t>(i));
  });
}

void HostTensor::assign(int64_t first, ArrayRef<double> values) {
  char *target = data();
  withForm(formOf(elementType()), [&](auto form) {
    for (auto [i, value] : llvm::enumerate(values))
      writeFloat(form, target, first + static_cast<int64_t>(i), value);
  });
}

void HostTensor::assign(int64_t first, ArrayRef<int64_t> values) {
  char *target = data();
  withForm(formOf(elementType()), [&](auto form) {
    for (auto [i, value] : llvm::enumerate(values))
      writeInt(form, target, first + static_cast<int64_t>(i), value);
  });
}

std::vector<double> HostTensor::toFloats() const {
  std::vector<double> values(count);
  read(0, MutableArrayRef<double>(values));
  return values;
}

std::vector<int64_t> HostTensor::toInts() const {
  std::vector<int64_t> values(count);
  read(0, MutableArrayRef<int64_t>(values));
  return values;
}

void HostTensor::assignFloats(ArrayRef<double> values) {
  assert(static_cast<int64_t>(values.size()) == count && "one value per element");
  assign(0, values);
}

void HostTensor::assignInts(ArrayRef<int64_t> values) {
  assert(static_cast<int64_t>(values.size()) == count && "one value per element");
  assign(0, values);
}

HostTensor HostTensor::reshaped(ArrayRef<int64_t> shape) const {
  assert(countElements(shape) == count && "a reshape keeps the number of elements");
  HostTensor tensor = *this;
  tensor.type = RankedTensorType::get(shape, elementType());
  return tensor;
}

SmallVector<int64_t> HostTensor::strides() const {
  SmallVector<int64_t> strides(rank(), 1);
  for (int64_t k = rank() - 2; k >= 0; --k)
    strides[k] = strides[k + 1] * size(k + 1);
  return strides;
}

void forEachIndex(ArrayRef<int64_t> shape, llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<int64_t> index(shape.size(), 0);
  while (true) {
    visit(index);
    int64_t axis = static_cast<int64_t>(shape.size()) - 1;
    for (; axis >= 0 && ++index[axis] == shape[axis]; --axis)
      index[axis] = 0;
    if (axis < 0)
      return;
  }
}

int64_t linearIndex(ArrayRef<int64_t> index, ArrayRef<int64_t> strides) {
  int64_t offset = 0;
  for (auto [i, stride] : llvm::zip(index, strides))
    offset += i * stride;
  return offset;
}

} // namespace sinter
