// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one entry for ops: computed at once outside of a trace, recorded inside.

#ifndef SINTER_TRACE_APPLY_HPP
#define SINTER_TRACE_APPLY_HPP

#include "trace.hpp"

namespace sinter::detail {

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
inline uint64_t hashOp(const char *op, std::span<const sinter_attr> attrs) {
  uint64_t hash = hashText(1469598103934665603ull, op);
  for (const sinter_attr &attr : attrs) {
    hash = hashText(hash, attr.name);
    switch (attr.kind) {
    case SINTER_ATTR_STRING:
      hash = hashText(hash, attr.string);
      break;
    case SINTER_ATTR_I64S:
    case SINTER_ATTR_F64S:
      hash = hashBytes(hash, attr.i64s, size_t(attr.count) * 8);
      break;
    case SINTER_ATTR_BOOLS:
      hash = hashBytes(hash, attr.bools, size_t(attr.count));
      break;
    case SINTER_ATTR_TYPE:
      hash = hashBytes(hash, attr.type->dims, size_t(attr.type->rank) * 8) * 31 + uint64_t(attr.type->dtype);
      break;
    default:
      hash = hashBytes(hash, &attr.i64, 8);
    }
  }
  return hash;
}

/// Results of an op that is computed now.
inline bool applyEager(const char *op, std::span<const Tensor> operands, std::span<const sinter_attr> attrs,
                       std::span<Tensor> results, int &count, Where where) {
  constexpr int room = 16;
  sinter_tensor inputs[room], outputs[room];
  std::vector<sinter_tensor> manyInputs;
  sinter_tensor *in = inputs;
  if (operands.size() > size_t(room)) {
    manyInputs.resize(operands.size());
    in = manyInputs.data();
  }
  for (size_t k = 0; k < operands.size(); ++k)
    in[k] = operands[k].defined() ? operands[k].view() : sinter_tensor{};
  int32_t given = 0;
  if (sinter_eager(op, int32_t(operands.size()), in, int32_t(attrs.size()), attrs.data(),
                   int32_t(std::min<size_t>(room, results.size())), outputs, &given)) {
    results[0] = fail(where, inFunction(sinter_last_error()));
    count = 1;
    return false;
  }
  count = given;
  for (int k = 0; k < given; ++k)
    results[size_t(k)] = adoptTensor(outputs[k], where);
  return true;
}

/// Fills `results` and `count`. An error becomes results[0] (or is thrown).
inline bool applyInto(const char *op, std::span<const Tensor> operands, std::span<const Attr> attrs,
                      std::span<Tensor> results, int &count, Where where) {
  count = 1;
  for (const Tensor &operand : operands)
    if (operand.error()) {
      results[0] = operand;
      return false;
    }
  constexpr size_t room = 16;
  sinter_attr lowered[room];
  if (attrs.size() > room) {
    results[0] = fail(where, std::string(op) + " requires at most 16 attributes, got " + std::to_string(attrs.size()));
    return false;
  }
  for (size_t k = 0; k < attrs.size(); ++k) {
    if (attrs[k].axes > SINTER_MAX_RANK) {
      results[0] = fail(where, inFunction(std::string(op) + " requires at most " + std::to_string(SINTER_MAX_RANK) +
                                          " axes, got " + std::to_string(attrs[k].axes)));
      return false;
    }
    lowered[k] = attrs[k].lower();
  }
  std::span<const sinter_attr> list(lowered, attrs.size());
  if (Trace *trace = Trace::current())
    return trace->record(op, operands, list, hashOp(op, list), results, count, where);
  for (const Tensor &operand : operands)
    if (operand.traced()) {
      results[0] = fail(where, leakMessage(operand));
      return false;
    }
  return applyEager(op, operands, list, results, count, where);
}

/// An op with one result. Operands agree in element type and shape; an absent optional operand is `Tensor()`.
inline Tensor apply(const char *op, std::span<const Tensor> operands, std::span<const Attr> attrs, Where where) {
  Tensor result;
  int count = 0;
  applyInto(op, operands, attrs, std::span(&result, 1), count, where);
  return result;
}
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
inline Tensor convert(const Tensor &tensor, DType dtype, Where where) {
  if (tensor.error() || tensor.dtype() == dtype)
    return tensor;
  if (!tensor.weak() || tensor.traced())
    return apply("convert", {tensor}, {Attr("element_type", dtype)}, where);
  Tensor result = visitDType(dtype, [&]<class To>(To) { return scalar(tensor.item<To>(), where); });
  result.value()->weak = true;
  return result;
}

} // namespace sinter::detail

#endif
