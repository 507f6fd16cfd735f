// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one entry for ops: computed at once outside of a trace, recorded inside.

#ifndef SINTER_TRACE_APPLY_H
#define SINTER_TRACE_APPLY_H

#include "Trace.h"

namespace sinter::inline SINTER_HOST::detail {

/// One attribute of an op. Holds views: use it within the expression that makes it.
struct Attr {
  Attr(const char *name, bool value) : Attr(name, SINTER_ATTR_BOOL, 0) { raw.i64 = value; }
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  Attr(const char *name, T value) : Attr(name, SINTER_ATTR_I64, 0) {
    raw.i64 = int64_t(value);
  }
  template <class T>
    requires std::is_floating_point_v<T>
  Attr(const char *name, T value) : Attr(name, SINTER_ATTR_F64, 0) {
    raw.f64 = double(value);
  }
  Attr(const char *name, const char *value) : Attr(name, SINTER_ATTR_STRING, 0) { raw.string = value; }
  Attr(const char *name, std::span<const int64_t> values) : Attr(name, SINTER_ATTR_I64S, int(values.size())) {
    raw.i64s = values.data();
  }
  Attr(const char *name, const std::vector<int64_t> &values) : Attr(name, std::span(values)) {}
  Attr(const char *name, const Shape &values) : Attr(name, std::span(values.data(), size_t(values.size()))) {
    axes = values.wanted();
  }
  Attr(const char *name, std::initializer_list<int64_t> values)
      : Attr(name, std::span(values.begin(), values.size())) {}
  Attr(const char *name, std::span<const double> values) : Attr(name, SINTER_ATTR_F64S, int(values.size())) {
    raw.f64s = values.data();
  }
  Attr(const char *name, std::span<const bool> values) : Attr(name, SINTER_ATTR_BOOLS, int(values.size())) {
    static_assert(sizeof(bool) == 1);
    raw.bools = reinterpret_cast<const uint8_t *>(values.data());
  }
  Attr(const char *name, DType type) : Attr(name, SINTER_ATTR_DTYPE, 0) { raw.i64 = int64_t(type); }
  Attr(const char *name, const TensorType &type) : Attr(name, SINTER_ATTR_TYPE, 0) {
    held = valueType(type);
    axes = type.shape.wanted();
  }

  /// For the C ABI, valid while this attribute stays where it is.
  sinter_attr lower() const {
    sinter_attr result = raw;
    if (raw.kind == SINTER_ATTR_TYPE)
      result.type = &held;
    return result;
  }
  int axes = 0; // of a shape, also where it had too many

private:
  Attr(const char *name, sinter_attr_kind kind, int count) {
    raw.name = name;
    raw.kind = kind;
    raw.count = count;
  }
  sinter_attr raw{};
  sinter_value_type held;
};

/// A hash of an op and its attributes, by which a replay knows its ops again.
uint64_t hashOp(const char *op, std::span<const sinter_attr> attrs);

/// Results of an op that is computed now.
bool applyEager(const char *op, std::span<const Tensor> operands, std::span<const sinter_attr> attrs,
                std::span<Tensor> results, int &count, Where where);

/// Fills `results` and `count`. An error becomes results[0] (or is thrown).
bool applyInto(const char *op, std::span<const Tensor> operands, std::span<const Attr> attrs, std::span<Tensor> results,
               int &count, Where where);

/// An op with one result. Operands agree in element type and shape; an absent optional operand is `Tensor()`.
Tensor apply(const char *op, std::span<const Tensor> operands, std::span<const Attr> attrs, Where where);
inline Tensor apply(const char *op, std::initializer_list<Tensor> operands, std::initializer_list<Attr> attrs,
                    Where where) {
  return apply(op, std::span(operands.begin(), operands.size()), std::span(attrs.begin(), attrs.size()), where);
}
inline Tensor apply(const char *op, std::span<const Tensor> operands, std::initializer_list<Attr> attrs, Where where) {
  return apply(op, operands, std::span(attrs.begin(), attrs.size()), where);
}

/// All results of an op that has `N`. After an error all of them carry it.
template <size_t N>
std::array<Tensor, N> apply_many(const char *op, std::initializer_list<Tensor> operands,
                                 std::initializer_list<Attr> attrs, Where where) {
  std::array<Tensor, N> results;
  int count = 0;
  if (!applyInto(op, std::span(operands.begin(), operands.size()), std::span(attrs.begin(), attrs.size()), results,
                 count, where))
    results.fill(Tensor(results[0]));
  return results;
}

/// `tensor` in another element type. A literal is converted here and now, and stays weak.
Tensor convert(const Tensor &tensor, DType dtype, Where where);

} // namespace sinter::inline SINTER_HOST::detail

#endif
