// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "size.hpp"
#include "Build.h"

namespace sinter::inline SINTER_HOST {

namespace detail {

/// Another handle on a value of a trace, which takes the element type of what it meets, as a literal does.
static Tensor weakly(const Tensor &tensor) {
  if (!tensor.traced()) { // of its own: the element may be the user's
    if (tensor.error())
      return tensor;
    Tensor result = scalar(tensor.item<int64_t>(), tensor.where());
    result.value()->weak = true;
    return result;
  }
  const Value *from = tensor.value();
  Value *value = Value::create(0);
  value->kind = from->kind;
  value->tensor = from->tensor;
  value->id = from->id;
  value->depth = from->depth;
  value->region = from->region;
  value->where = from->where;
  value->weak = true;
  return Tensor::adopt(value);
}

Size combine(SizeOp op, const Size &x, const Size &y) {
  Where where = x.isKnown() && !y.isKnown() ? y.where() : x.where();
  bool both = x.isKnown() && y.isKnown();
  int64_t a = x.known(), b = y.known();
  auto wrapped = [](uint64_t value) { return int64_t(value); };
  // What is plain without running the program.
  bool same = !both && x.symbol() != 0 && x.symbol() == y.symbol() && x.symbol() != kUnknownDim;
  auto is = [](const Size &size, int64_t number) { return size.isKnown() && size.known() == number; };
  switch (op) {
  case SizeOp::add:
    if (both)
      return Size(wrapped(uint64_t(a) + uint64_t(b)), where);
    if (is(x, 0) || is(y, 0))
      return is(x, 0) ? y : x;
    break;
  case SizeOp::sub:
    if (both)
      return Size(wrapped(uint64_t(a) - uint64_t(b)), where);
    if (same)
      return Size(0, where);
    if (is(y, 0))
      return x;
    break;
  case SizeOp::mul:
    if (both)
      return Size(wrapped(uint64_t(a) * uint64_t(b)), where);
    if (is(x, 1) || is(y, 1))
      return is(x, 1) ? y : x;
    if (is(x, 0) || is(y, 0))
      return Size(0, where);
    break;
  case SizeOp::div:
  case SizeOp::rem:
    if (is(y, 0)) {
      hostError(Error("a size requires a divisor other than 0, got 0", where));
      return Size(0, where);
    }
    if (both && b == -1) // also of the smallest number
      return Size(op == SizeOp::div ? wrapped(-uint64_t(a)) : 0, where);
    if (both)
      return Size(op == SizeOp::div ? a / b : a % b, where);
    if (is(y, 1))
      return op == SizeOp::div ? x : Size(0, where);
    break;
  case SizeOp::min:
  case SizeOp::max:
    if (both)
      return Size(op == SizeOp::min ? std::min(a, b) : std::max(a, b), where);
    if (same)
      return x;
    break;
  }
  static constexpr const char *ops[] = {"add", "sub", "mul", "div", "rem", "min", "max"};
  Build build("a size", where);
  Tensor result = build.op(ops[int(op)], {x.tensor(where), y.tensor(where)});
  return Size(result, where);
}

} // namespace detail

Tensor Size::tensor(Where where) const {
  if (isKnown())
    return scalar(number, where);
  if (source.error())
    return source;
  if (axis >= 0)
    return detail::apply("dim", {source}, {detail::Attr("axis", axis)}, where);
  detail::Build b("a size", where);
  return b.astype(b.integers(source), DType::i64);
}

void Size::demand() const {
  if (source.error()) {
    detail::hostError(*source.error());
    return;
  }
  if (!source.traced() && axis < 0) { // its element is here
    detail::hostError(Error("a number requires a size of C++, got a tensor; read it with item", at));
    return;
  }
  std::string what = "a size that is computed";
  if (axis >= 0) {
    what = "axis " + std::to_string(axis) + " of " + source.type().str();
    detail::Trace *trace = detail::Trace::current();
    const char *name = trace ? sinter_graph_dim_text(trace->handle(), source.known_dim(axis)) : nullptr;
    if (name)
      what += ", which is '" + std::string(name) + "'";
  }
  Error error("a C++ number requires a size that is known while the function is traced, got " + what +
                  "; keep it as a sinter::Size (in arithmetic, shapes, slices and loops) or take it as a tensor "
                  "(as_tensor)",
              at);
#if !SINTER_HAS_EXCEPTIONS
  if (detail::Trace *trace = detail::Trace::current())
    return trace->note(error);
#endif
  detail::hostError(error);
}

int SizeComparison::decide() const {
  std::string_view k = kind;
  auto outcome = [&](int order) { // of lhs to rhs
    return k == "eq"   ? order == 0
           : k == "ne" ? order != 0
           : k == "lt" ? order < 0
           : k == "le" ? order <= 0
           : k == "gt" ? order > 0
                       : order >= 0;
  };
  if (lhs.isKnown() && rhs.isKnown())
    return outcome(lhs.known() < rhs.known() ? -1 : lhs.known() > rhs.known());
  if (lhs.symbol() != 0 && lhs.symbol() == rhs.symbol() && lhs.symbol() != kUnknownDim)
    return outcome(0);
  // The size of an axis is not negative.
  if (lhs.symbol() != 0 && rhs.isKnown() && rhs.known() < 0)
    return outcome(1);
  if (rhs.symbol() != 0 && lhs.isKnown() && lhs.known() < 0)
    return outcome(-1);
  if (lhs.symbol() != 0 && rhs.isKnown() && rhs.known() == 0 && (k == "ge" || k == "lt"))
    return k == "ge";
  if (rhs.symbol() != 0 && lhs.isKnown() && lhs.known() == 0 && (k == "le" || k == "gt"))
    return k == "le";
  return -1;
}

Tensor SizeComparison::tensor(Where where) const {
  if (int known = decide(); known >= 0)
    return scalar(known == 1, where);
  return detail::Build("a size", where).op("compare", {lhs.tensor(where), rhs.tensor(where)}, {{"kind", kind}});
}

SizeComparison::operator bool() const {
  if (int known = decide(); known >= 0)
    return known;
  return bool(tensor(where()));
}

SizeComparison SizeComparison::join(const SizeComparison &x, const SizeComparison &y, bool both) {
  if (int known = x.decide(); known >= 0)
    return bool(known) == both ? y : x;
  if (int known = y.decide(); known >= 0)
    return bool(known) == both ? x : y;
  detail::Build b("a size", x.where()); // as numbers, which are compared with 0
  Tensor result = b.binary(both ? "and" : "or", x.tensor(b.where), y.tensor(b.where));
  return {"ne", Size(b.astype(result, DType::i64), b.where), Size(0, b.where)};
}

Tensor::Tensor(const Size &size) : Tensor(detail::weakly(size.tensor(size.where()))) {}
Tensor::Tensor(const SizeComparison &comparison) : Tensor(comparison.tensor(Where::current())) {}
Operand::Operand(const Size &size, Where where) : tensor(detail::weakly(size.tensor(where))), where(where) {}
Operand::Operand(const SizeComparison &comparison, Where where) : tensor(comparison.tensor(where)), where(where) {}

} // namespace sinter::inline SINTER_HOST
