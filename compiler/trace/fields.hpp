// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fields of a plain struct, without registration: how many there are is found by trying to initialize it from
// objects that convert to anything, their references by structured bindings, their names from how the compiler spells a
// member's address.

#ifndef SINTER_TRACE_FIELDS_HPP
#define SINTER_TRACE_FIELDS_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace sinter::inline SINTER_HOST::detail {

struct Anything {
  template <class T> operator T &() const & noexcept;
  template <class T> operator T &&() const && noexcept;
};

template <class T, size_t... I>
concept BracedFrom = requires { T{(void(I), Anything{})...}; };

template <class T, size_t N> consteval bool bracedFrom() {
  return []<size_t... I>(std::index_sequence<I...>) { return BracedFrom<T, I...>; }(std::make_index_sequence<N>());
}

inline constexpr size_t kMaxFields = 16;

/// The most values that T is initialized from. From fewer it may not be (fields without a default), then from all up to
/// the number of its fields.
template <class T, size_t N = 0, bool Before = false> consteval size_t countFields() {
  if constexpr (N > kMaxFields + 1)
    return Before ? N - 1 : 0;
  else if constexpr (bracedFrom<T, N>())
    return countFields<T, N + 1, true>();
  else if constexpr (Before)
    return N - 1;
  else
    return countFields<T, N + 1, false>();
}

/// A tuple of references to the fields of `aggregate`.
template <class T> constexpr auto fieldsOf(T &aggregate) {
  constexpr size_t count = countFields<std::remove_const_t<T>>();
  static_assert(count <= kMaxFields, "sinter takes structs of at most 16 fields apart; group fields into structs");
  if constexpr (count == 0) {
    return std::tuple<>();
  } else if constexpr (count == 1) {
    auto &[a] = aggregate;
    return std::tie(a);
  } else if constexpr (count == 2) {
    auto &[a, b] = aggregate;
    return std::tie(a, b);
  } else if constexpr (count == 3) {
    auto &[a, b, c] = aggregate;
    return std::tie(a, b, c);
  } else if constexpr (count == 4) {
    auto &[a, b, c, d] = aggregate;
    return std::tie(a, b, c, d);
  } else if constexpr (count == 5) {
    auto &[a, b, c, d, e] = aggregate;
    return std::tie(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto &[a, b, c, d, e, f] = aggregate;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    auto &[a, b, c, d, e, f, g] = aggregate;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (count == 8) {
    auto &[a, b, c, d, e, f, g, h] = aggregate;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (count == 9) {
    auto &[a, b, c, d, e, f, g, h, i] = aggregate;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (count == 10) {
    auto &[a, b, c, d, e, f, g, h, i, j] = aggregate;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (count == 11) {
    auto &[a, b, c, d, e, f, g, h, i, j, k] = aggregate;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (count == 12) {
    auto &[a, b, c, d, e, f, g, h, i, j, k, l] = aggregate;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (count == 13) {
    auto &[a, b, c, d, e, f, g, h, i, j, k, l, m] = aggregate;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (count == 14) {
    auto &[a, b, c, d, e, f, g, h, i, j, k, l, m, n] = aggregate;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  } else if constexpr (count == 15) {
    auto &[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = aggregate;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  } else if constexpr (count == 16) {
    auto &[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = aggregate;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  }
}

template <class T> struct FieldProbe {
  T object;
};
/// Never defined: only addresses of its members are spelled.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
template <class T> extern const FieldProbe<T> fieldProbe;
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

template <class T> struct FieldAddress {
  const T *pointer;
};
template <class T> FieldAddress(const T *) -> FieldAddress<T>;

template <auto Address> constexpr const char *spelledAddress() { return __PRETTY_FUNCTION__; }

/// How the compiler spells the address of field I of T.
template <class T, size_t I> constexpr const char *spelledField() {
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
  return spelledAddress<FieldAddress{&std::get<I>(fieldsOf(fieldProbe<T>.object))}>();
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
}

} // namespace sinter::inline SINTER_HOST::detail

#endif
