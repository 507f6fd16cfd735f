// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types, and the C++ types that hold them.

#ifndef SINTER_TRACE_DTYPE_HPP
#define SINTER_TRACE_DTYPE_HPP

#include "host.hpp"
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <sinter/sinter.h>
#include <type_traits>

namespace sinter::inline SINTER_HOST {

/// An element type of a tensor; the values are those of the C ABI.
enum class DType : int32_t {
  f64 = SINTER_F64,
  f32 = SINTER_F32,
  f16 = SINTER_F16,
  bf16 = SINTER_BF16,
  boolean = SINTER_I1,
  i8 = SINTER_I8,
  i16 = SINTER_I16,
  i32 = SINTER_I32,
  i64 = SINTER_I64,
  u8 = SINTER_U8,
  u16 = SINTER_U16,
  u32 = SINTER_U32,
  u64 = SINTER_U64
};

/// Half precision (IEEE binary16), as stored.
struct float16 {
  uint16_t bits = 0;
  float16() = default;
  /// Rounds to nearest, ties to even.
  explicit float16(float value) : bits(round(value)) {}
  explicit operator float() const {
    uint32_t sign = uint32_t(bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, fraction = bits & 1023u;
    if (exponent == 31)
      return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
    if (exponent)
      return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    float small = float(fraction) * 0x1p-24f;
    return sign ? -small : small;
  }
  friend bool operator==(float16 a, float16 b) { return float(a) == float(b); }

private:
  static uint16_t round(float value) {
    uint32_t word = std::bit_cast<uint32_t>(value), magnitude = word & 0x7fffffffu;
    auto sign = uint16_t(word >> 16 & 0x8000u);
    if (magnitude > 0x7f800000u)
      return uint16_t(sign | 0x7e00u); // NaN
    if (magnitude >= 0x477ff000u)
      return uint16_t(sign | 0x7c00u); // rounds beyond 65504
    if (magnitude < 0x38800000u)       // below the least normal: counted in units of 2^-24 by a float addition
      return uint16_t(sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u));
    uint32_t rounded = (magnitude + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    return uint16_t(sign | (rounded - (112u << 10)));
  }
};

/// The upper half of a float, as stored.
struct bfloat16 {
  uint16_t bits = 0;
  bfloat16() = default;
  /// Rounds to nearest, ties to even.
  explicit bfloat16(float value) {
    uint32_t word = std::bit_cast<uint32_t>(value);
    bits = (word & 0x7fffffffu) > 0x7f800000u ? uint16_t(word >> 16 | 0x40u)
                                              : uint16_t((word + 0x7fffu + (word >> 16 & 1u)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
  friend bool operator==(bfloat16 a, bfloat16 b) { return float(a) == float(b); }
};

namespace detail {

template <class T> consteval int dtypeCode() {
  if constexpr (std::is_same_v<T, double>)
    return SINTER_F64;
  else if constexpr (std::is_same_v<T, float>)
    return SINTER_F32;
  else if constexpr (std::is_same_v<T, float16>)
    return SINTER_F16;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return SINTER_BF16;
  else if constexpr (std::is_same_v<T, bool>)
    return SINTER_I1;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return sizeof(T) == 1 ? SINTER_I8 : sizeof(T) == 2 ? SINTER_I16 : sizeof(T) == 4 ? SINTER_I32 : SINTER_I64;
  else if constexpr (std::is_integral_v<T>)
    return sizeof(T) == 1 ? SINTER_U8 : sizeof(T) == 2 ? SINTER_U16 : sizeof(T) == 4 ? SINTER_U32 : SINTER_U64;
  else
    return 0;
}

} // namespace detail

/// A C++ type that a tensor's element may have.
template <class T>
concept Element = detail::dtypeCode<std::remove_cv_t<T>>() != 0;

/// A C++ number that may stand for a rank-0 tensor.
template <class T>
concept Number = std::is_arithmetic_v<T> && Element<T>;

template <Element T> inline constexpr DType dtype_of = DType(detail::dtypeCode<std::remove_cv_t<T>>());

/// What kind of numbers a dtype has; booleans are none of these.
constexpr bool is_float(DType type) { return int(type) >= SINTER_F64 && int(type) <= SINTER_BF16; }
constexpr bool is_signed_integer(DType type) { return int(type) >= SINTER_I8 && int(type) <= SINTER_I64; }
constexpr bool is_unsigned_integer(DType type) { return int(type) >= SINTER_U8 && int(type) <= SINTER_U64; }
constexpr bool is_integer(DType type) { return is_signed_integer(type) || is_unsigned_integer(type); }

/// Bytes of one element.
constexpr int64_t dtype_bytes(DType type) {
  switch (type) {
  case DType::f64:
  case DType::i64:
  case DType::u64:
    return 8;
  case DType::f32:
  case DType::i32:
  case DType::u32:
    return 4;
  case DType::f16:
  case DType::bf16:
  case DType::i16:
  case DType::u16:
    return 2;
  default:
    return 1;
  }
}

/// "f32", "bool", "u8" ...
constexpr const char *dtype_name(DType type) {
  constexpr const char *names[] = {"none", "f64", "f32", "f16", "bf16", "bool", "i8",
                                   "i16",  "i32", "i64", "u8",  "u16",  "u32",  "u64"};
  return int(type) >= 0 && int(type) <= SINTER_U64 ? names[int(type)] : "none";
}

namespace detail {

/// Calls `visitor` with a zero of the C++ type of `type` (bytes 0 or 1 for booleans, as bool).
template <class Visitor> auto visitDType(DType type, Visitor &&visitor) {
  switch (type) {
  case DType::f64:
    return visitor(double());
  case DType::f32:
    return visitor(float());
  case DType::f16:
    return visitor(float16());
  case DType::bf16:
    return visitor(bfloat16());
  case DType::boolean:
    return visitor(bool());
  case DType::i8:
    return visitor(int8_t());
  case DType::i16:
    return visitor(int16_t());
  case DType::i32:
    return visitor(int32_t());
  case DType::i64:
    return visitor(int64_t());
  case DType::u8:
    return visitor(uint8_t());
  case DType::u16:
    return visitor(uint16_t());
  case DType::u32:
    return visitor(uint32_t());
  default:
    return visitor(uint64_t());
  }
}

/// A number in another element type by the rules of the op `convert`: saturates from floats to integers, NaN is 0
/// there.
template <class To, class From> To convertNumber(From from) {
  if constexpr (std::is_same_v<From, float16> || std::is_same_v<From, bfloat16>) {
    if constexpr (std::is_same_v<To, From>)
      return from;
    else
      return convertNumber<To>(float(from));
  } else if constexpr (std::is_same_v<To, bool>) {
    return from != From(0);
  } else if constexpr (std::is_same_v<To, float16> || std::is_same_v<To, bfloat16>) {
    return To(float(from));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr bool isSigned = std::is_signed_v<To>;
    constexpr To most = To(~std::make_unsigned_t<To>(0)) < To(0)
                            ? To(std::make_unsigned_t<To>(~std::make_unsigned_t<To>(0)) >> 1)
                            : To(~std::make_unsigned_t<To>(0));
    constexpr To least = isSigned ? To(-most - 1) : To(0);
    if (from != from)
      return To(0);
    if (from >= From(most))
      return most;
    return from <= From(least) ? least : To(from);
  } else {
    return To(from);
  }
}

} // namespace detail
} // namespace sinter::inline SINTER_HOST

#endif
