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
#include <sinter/dtypes.h>
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
  u64 = SINTER_U64,
  // Tensors are kept in these but not computed in: functions that move elements and astype take them. Two elements of 4
  // bits lie in a byte, in row-major order, the first in the low half.
  f8E4M3FN = SINTER_F8E4M3FN,
  f8E5M2 = SINTER_F8E5M2,
  i4 = SINTER_I4,
  u4 = SINTER_U4
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

/// The 8-bit float of `fraction` bits and exponents from 1 - `bias` on that is nearest, ties to even. What is greater
/// than any number, infinity too, is `greatest`.
constexpr uint8_t roundToFloat8(float value, int fraction, int bias, uint8_t greatest, uint8_t nan) {
  uint32_t word = std::bit_cast<uint32_t>(value), magnitude = word & 0x7fffffffu;
  auto sign = uint8_t(word >> 24 & 0x80u);
  if (magnitude > 0x7f800000u)
    return uint8_t(sign | nan);
  uint32_t code;
  if (magnitude < uint32_t(128 - bias) << 23) { // below the least normal: counted in its units by a float addition
    uint32_t units = uint32_t(127 + 23 + 1 - bias - fraction) << 23;
    code = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(units)) - units;
  } else {
    int dropped = 23 - fraction;
    uint32_t half = (uint32_t(1) << (dropped - 1)) - 1;
    code = ((magnitude + half + (magnitude >> dropped & 1u)) >> dropped) - (uint32_t(127 - bias) << fraction);
  }
  return uint8_t(sign | (code < greatest ? code : greatest));
}

} // namespace detail

/// 4 bits of exponent, 3 of fraction, as stored: numbers up to 448, NaN, no infinities.
struct float8_e4m3fn {
  uint8_t bits = 0;
  float8_e4m3fn() = default;
  /// Rounds to nearest, ties to even; beyond 448 to 448.
  explicit float8_e4m3fn(float value) : bits(detail::roundToFloat8(value, 3, 7, 0x7e, 0x7f)) {}
  explicit operator float() const {
    uint32_t sign = uint32_t(bits & 0x80u) << 24, exponent = bits >> 3 & 15u, fraction = bits & 7u;
    if ((bits & 0x7fu) == 0x7fu)
      return std::bit_cast<float>(sign | 0x7fc00000u);
    float small = float(fraction) * 0x1p-9f;
    return exponent ? std::bit_cast<float>(sign | (exponent + 120) << 23 | fraction << 20) : sign ? -small : small;
  }
  friend bool operator==(float8_e4m3fn a, float8_e4m3fn b) { return float(a) == float(b); }
};

/// The upper half of a float16, as stored.
struct float8_e5m2 {
  uint8_t bits = 0;
  float8_e5m2() = default;
  /// Rounds to nearest, ties to even; beyond 57344, the greatest number, to that.
  explicit float8_e5m2(float value) : bits(detail::roundToFloat8(value, 2, 15, 0x7b, 0x7e)) {}
  explicit operator float() const {
    float16 half;
    half.bits = uint16_t(bits << 8);
    return float(half);
  }
  friend bool operator==(float8_e5m2 a, float8_e5m2 b) { return float(a) == float(b); }
};

namespace detail {

/// Floats that C++ has no numbers of.
template <class T>
inline constexpr bool isSmallFloat = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16> ||
                                     std::is_same_v<T, float8_e4m3fn> || std::is_same_v<T, float8_e5m2>;

template <class T> consteval int dtypeCode() {
  if constexpr (std::is_same_v<T, double>)
    return SINTER_F64;
  else if constexpr (std::is_same_v<T, float>)
    return SINTER_F32;
  else if constexpr (std::is_same_v<T, float16>)
    return SINTER_F16;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return SINTER_BF16;
  else if constexpr (std::is_same_v<T, float8_e4m3fn>)
    return SINTER_F8E4M3FN;
  else if constexpr (std::is_same_v<T, float8_e5m2>)
    return SINTER_F8E5M2;
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

/// What kind of numbers a dtype has; booleans and what is not computed in are none of these.
constexpr bool is_float(DType type) { return int(type) >= SINTER_F64 && int(type) <= SINTER_BF16; }
constexpr bool is_signed_integer(DType type) { return int(type) >= SINTER_I8 && int(type) <= SINTER_I64; }
constexpr bool is_unsigned_integer(DType type) { return int(type) >= SINTER_U8 && int(type) <= SINTER_U64; }
constexpr bool is_integer(DType type) { return is_signed_integer(type) || is_unsigned_integer(type); }

/// True for dtypes that tensors are only kept in.
constexpr bool is_storage(DType type) { return int(type) >= SINTER_F8E4M3FN && int(type) <= SINTER_U4; }

/// Bytes of one element; 0 for elements of 4 bits.
constexpr int64_t dtype_bytes(DType type) {
  switch (type) {
  case DType::i4:
  case DType::u4:
    return 0;
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

/// Bytes of `count` elements, which has room for those of 4 bits rounded up.
constexpr int64_t dtype_bytes(DType type, int64_t count) {
  return dtype_bytes(type) ? count * dtype_bytes(type) : count / 2 + count % 2;
}

/// "f32", "bool", "u8" ...
constexpr const char *dtype_name(DType type) {
  constexpr const char *names[] = {"none", "f64", "f32", "f16", "bf16", "bool",     "i8",     "i16", "i32",
                                   "i64",  "u8",  "u16", "u32", "u64",  "f8E4M3FN", "f8E5M2", "i4",  "u4"};
  return int(type) >= 0 && int(type) <= SINTER_U4 ? names[int(type)] : "none";
}

namespace detail {

/// Calls `visitor` with a zero of the C++ type of `type` (bytes 0 or 1 for booleans, as bool; numbers of 4 bits are in
/// int8_t and uint8_t once they are unpacked).
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
  case DType::f8E4M3FN:
    return visitor(float8_e4m3fn());
  case DType::f8E5M2:
    return visitor(float8_e5m2());
  case DType::i4:
  case DType::i8:
    return visitor(int8_t());
  case DType::i16:
    return visitor(int16_t());
  case DType::i32:
    return visitor(int32_t());
  case DType::i64:
    return visitor(int64_t());
  case DType::u4:
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
  if constexpr (isSmallFloat<From>) {
    if constexpr (std::is_same_v<To, From>)
      return from;
    else
      return convertNumber<To>(float(from));
  } else if constexpr (std::is_same_v<To, bool>) {
    return from != From(0);
  } else if constexpr (isSmallFloat<To> && std::is_same_v<From, double>) {
    // To odd first, so that the second rounding is the only one.
    auto near = float(from);
    if (double(near) == from || from != from)
      return To(near);
    uint32_t word = std::bit_cast<uint32_t>(near), beyond = (from < 0 ? -double(near) > -from : double(near) > from);
    return To(std::bit_cast<float>((word - beyond) | 1u));
  } else if constexpr (isSmallFloat<To>) {
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
