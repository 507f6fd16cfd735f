// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value is an immutable tensor that shares its memory with what it was cut from. Two kinds go beyond sinter_tensor:
// strings (dtype Bytes), any bytes of any length, and ragged values: rows of different length as all values one behind
// the other and row splits, row i being values [splits[i], splits[i + 1]).

#ifndef SINTER_RUNTIME_DATA_VALUE_H
#define SINTER_RUNTIME_DATA_VALUE_H

#include "Error.h"
#include <array>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace sinter::data {

/// The dtype of strings, beside those of sinter_dtype.
inline constexpr int32_t Bytes = 64;

/// The name of a dtype: "f32", "bytes".
const char *dtypeName(int32_t dtype);

/// Sizes of a tensor.
class Dims {
public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> sizes) : Dims(std::span<const int64_t>(sizes.begin(), sizes.size())) {}
  /// Throws for more than SINTER_MAX_RANK sizes and for negative ones.
  explicit Dims(std::span<const int64_t> sizes);

  int32_t rank() const { return numSizes; }
  int64_t operator[](int32_t i) const { return sizes[static_cast<size_t>(i)]; }
  void set(int32_t i, int64_t size) { sizes[static_cast<size_t>(i)] = size; }
  std::span<const int64_t> all() const { return {sizes.data(), static_cast<size_t>(numSizes)}; }
  /// Elements. Throws when they do not fit in an int64_t.
  int64_t count() const;
  Dims withFront(int64_t size) const; // one more size at the front
  Dims withoutFront() const;
  bool operator==(const Dims &other) const;
  std::string text() const; // "2x3", "scalar"

private:
  int32_t numSizes = 0;
  std::array<int64_t, SINTER_MAX_RANK> sizes;
};

/// The sinter_dtype of a C++ type.
template <typename T> constexpr int32_t dtypeOf();
template <> constexpr int32_t dtypeOf<double>() { return SINTER_F64; }
template <> constexpr int32_t dtypeOf<float>() { return SINTER_F32; }
template <> constexpr int32_t dtypeOf<bool>() { return SINTER_I1; }
template <> constexpr int32_t dtypeOf<int8_t>() { return SINTER_I8; }
template <> constexpr int32_t dtypeOf<int16_t>() { return SINTER_I16; }
template <> constexpr int32_t dtypeOf<int32_t>() { return SINTER_I32; }
template <> constexpr int32_t dtypeOf<int64_t>() { return SINTER_I64; }
template <> constexpr int32_t dtypeOf<uint8_t>() { return SINTER_U8; }
template <> constexpr int32_t dtypeOf<uint16_t>() { return SINTER_U16; }
template <> constexpr int32_t dtypeOf<uint32_t>() { return SINTER_U32; }
template <> constexpr int32_t dtypeOf<uint64_t>() { return SINTER_U64; }

/// Memory for `bytes`, aligned to 64 bytes so that a session reads it in place. Up to 64 MiB of large pieces that were
/// given back are kept for the next who asks, as pages that the kernel clears anew cost more than what is read into
/// them.
std::shared_ptr<char> allocate(int64_t bytes);
/// The same without a count of who holds it: what is taken is given back with the size that was asked for.
void *takePiece(size_t bytes);
void givePiece(void *piece, size_t bytes);

/// For vectors in such memory.
template <typename T> struct PieceAllocator {
  using value_type = T;
  PieceAllocator() = default;
  template <typename U> PieceAllocator(const PieceAllocator<U> &) {}
  T *allocate(size_t count) { return static_cast<T *>(takePiece(count * sizeof(T))); }
  void deallocate(T *piece, size_t count) { givePiece(piece, count * sizeof(T)); }
  bool operator==(const PieceAllocator &) const { return true; }
};

/// A string that lies anywhere. Memory up to `limit` may be read, at the end of the string or behind it.
struct Span {
  const char *data;
  int64_t size;
  const char *limit;
};

class Value {
public:
  /// A scalar f32 without memory; only to be assigned to.
  Value() = default;
  /// A dense tensor over memory that is shared.
  Value(int32_t dtype, const Dims &dims, std::shared_ptr<const char> data);

  template <typename T> static Value scalar(T element) {
    auto memory = allocate(sizeof element);
    std::memcpy(memory.get(), &element, sizeof element);
    return Value(dtypeOf<T>(), {}, std::move(memory));
  }
  /// Copies `elements`, as many as `dims` say; without dims a vector.
  template <typename T> static Value of(std::span<const T> elements, const Dims &dims) {
    auto memory = allocate(static_cast<int64_t>(elements.size_bytes()));
    if (!elements.empty())
      std::memcpy(memory.get(), elements.data(), elements.size_bytes());
    return Value(dtypeOf<T>(), dims, std::move(memory));
  }
  template <typename T> static Value of(const std::vector<T> &elements) {
    return of(std::span<const T>(elements), {static_cast<int64_t>(elements.size())});
  }
  static Value string(std::string_view text);
  static Value strings(std::span<const std::string> texts, const Dims &dims);
  static Value strings(const std::vector<std::string> &texts) {
    return strings(std::span(texts), {static_cast<int64_t>(texts.size())});
  }
  /// Strings over shared memory: string i is bytes [offsets[i], offsets[i + 1]) of `data`.
  static Value strings(const Dims &dims, std::shared_ptr<const char> data, std::shared_ptr<const int64_t> offsets);
  /// Strings that lie apart; `spans` also keeps their memory.
  static Value strings(const Dims &dims, std::shared_ptr<const Span> spans);
  /// `values` has the rows one behind the other along its first dim. Throws unless splits begin with 0, do not fall and
  /// end with that dim.
  static Value ragged(const Value &values, std::span<const int64_t> splits);
  /// Copies a tensor, which may be strided.
  static Value copyOf(const sinter_tensor &tensor);
  /// Takes the memory of a tensor that a read function of sinter.h filled.
  static Value take(sinter_tensor &tensor);

  int32_t dtype() const { return elementType; }
  /// Of a ragged value: of all values together.
  const Dims &dims() const { return sizes; }
  int64_t count() const { return numElements; }
  bool isRagged() const { return rowSplits != nullptr; }
  /// Rows of a ragged value, else the first dim. 0 for scalars.
  int64_t rows() const { return rowSplits ? numRows : sizes.rank() ? sizes[0] : 0; }
  std::span<const int64_t> splits() const {
    return {rowSplits.get(), rowSplits ? static_cast<size_t>(numRows) + 1 : 0};
  }

  const char *data() const { return memory.get(); }
  /// The elements. Throws when T is not their type.
  template <typename T> std::span<const T> as() const {
    require(dtypeOf<T>());
    return {reinterpret_cast<const T *>(memory.get()), static_cast<size_t>(numElements)};
  }
  std::string_view bytes(int64_t i = 0) const {
    require(Bytes);
    if (stringSpans)
      return {stringSpans.get()[i].data, static_cast<size_t>(stringSpans.get()[i].size)};
    const int64_t *at = stringOffsets.get() + i;
    return {memory.get() + at[0], static_cast<size_t>(at[1] - at[0])};
  }
  Span span(int64_t i) const {
    if (stringSpans)
      return stringSpans.get()[i];
    std::string_view text = bytes(i);
    return {text.data(), static_cast<int64_t>(text.size()), memory.get() + stringOffsets.get()[numElements]};
  }
  /// Bytes that the elements take, of strings with their offsets.
  int64_t memoryBytes() const;

  /// Row `i` of the first dim or of a ragged value, sharing memory.
  Value row(int64_t i) const { return slice(i, i + 1, true); }
  /// Rows [begin, end); of a ragged value again a ragged one.
  Value slice(int64_t begin, int64_t end) const { return slice(begin, end, false); }
  Value reshaped(const Dims &dims) const;

  /// A view for sinter.h, valid as long as this value. Throws for strings. Of a ragged value: all values.
  sinter_tensor tensor() const;

  /// Equal in dtype, sizes, splits and bytes.
  bool operator==(const Value &other) const;

private:
  void require(int32_t dtype) const;
  Value slice(int64_t begin, int64_t end, bool dropFront) const;

  int32_t elementType = SINTER_F32;
  Dims sizes;
  int64_t numElements = 0, numRows = 0;
  std::shared_ptr<const char> memory;
  std::shared_ptr<const int64_t> stringOffsets, rowSplits;
  std::shared_ptr<const Span> stringSpans; // instead of memory and offsets
};

} // namespace sinter::data

#endif
