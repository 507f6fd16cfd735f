// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ops_create.hpp"
#include "Build.h"
#include "runtime/decimal.h"

namespace sinter::inline SINTER_HOST {

Size size(const Operand &x, int axis) {
  detail::Build b("size", x.where);
  b.in(x.tensor);
  return b.size(x.tensor, b.axis(axis, x.tensor.rank()));
}

Sizes sizes(const Operand &x) {
  detail::Build b("sizes", x.where);
  return b.sizes(b.in(x.tensor));
}

Tensor as_tensor(const SizeArgument &size, Where where) { return detail::Build("as_tensor", where).sizeTensor(size); }

Tensor full(const Sizes &sizes, const Operand &value, std::optional<DType> dtype) {
  detail::Build b("full", value.where);
  Tensor number = dtype && value.tensor.weak() ? b.strong(b.literal(value.tensor, *dtype)) : b.strong(value.tensor);
  return b.spreadTo(dtype ? b.astype(number, *dtype) : number, sizes);
}
Tensor zeros(const Sizes &sizes, DType dtype, Where where) {
  detail::Build b("zeros", where);
  return b.spreadTo(b.number(dtype, 0), sizes);
}
Tensor ones(const Sizes &sizes, DType dtype, Where where) {
  detail::Build b("ones", where);
  return b.spreadTo(b.number(dtype, 1), sizes);
}

Tensor full_like(const Operand &x, const Tensor &value) {
  detail::Build b("full_like", x.where);
  Tensor like = b.strong(x.tensor), number = value;
  b.agree({&like, &number});
  return b.spreadLike(b.strong(number), like);
}
Tensor zeros_like(const Operand &x) {
  detail::Build b("zeros_like", x.where);
  return b.full(b.strong(x.tensor), 0);
}
Tensor ones_like(const Operand &x) {
  detail::Build b("ones_like", x.where);
  return b.full(b.strong(x.tensor), 1);
}

Tensor iota(const Sizes &sizes, int axis, DType dtype, Where where) {
  detail::Build b("iota", where);
  Shape known = b.shapeOf(sizes);
  int along = b.axis(axis, known.size());
  if (dtype == DType::boolean)
    return b.fail("a dtype of numbers, got bool");
  TensorType type{dtype, known};
  if (b.failed() || known.isStatic())
    return b.op("iota", {}, {{"axis", int64_t(along)}, {"type", type}});
  return b.op("iota", {b.sizesTensor(sizes)}, {{"axis", int64_t(along)}, {"type", type}});
}

Tensor arange(double start, double stop, double step, DType dtype, Where where) {
  detail::Build b("arange", where);
  double count = (stop - start) / step;
  if (!(step != 0) || !(count < 1e15))
    return b.fail("a step other than 0 that reaches the end, got " + decimal(step));
  auto whole = int64_t(count);
  int64_t number = count <= 0 ? 0 : whole + (double(whole) < count);
  Tensor steps = iota({number}, 0, dtype, where);
  if (step != 1)
    steps = b.mul(steps, b.number(dtype, step));
  return start == 0 ? steps : b.add(steps, b.number(dtype, start));
}

Tensor arange(const SizeArgument &count, DType dtype, Where where) { return iota({count}, 0, dtype, where); }

Tensor detail::arangeOf(const SizeArgument &first, const SizeArgument &last, const SizeArgument &by, DType dtype,
                        Where where) {
  detail::Build b("arange", where);
  if (by.isKnown() && by.known() == 0)
    return b.fail("a step other than 0, got 0");
  Size gap = last - first;
  if (by.isKnown()) { // rounded away from 0
    gap = (gap + (by.known() - (by.known() > 0 ? 1 : -1))) / by;
  } else {
    Tensor whole = b.sizeTensor(gap), stride = b.sizeTensor(by), rest = b.op("rem", {whole, stride});
    Tensor more = b.compare("gt", b.mul(rest, stride), b.index(0));
    gap = Size(b.add(b.div(whole, stride), b.astype(more, DType::i64)), where);
  }
  Tensor steps = iota({max(gap, 0)}, 0, DType::i64, where);
  if (!by.isKnown() || by.known() != 1)
    steps = b.mul(steps, b.sizeTensor(by));
  if (!first.isKnown() || first.known() != 0)
    steps = b.add(steps, b.sizeTensor(first));
  return b.astype(steps, dtype);
}

Tensor linspace(double start, double stop, const SizeArgument &number, bool endpoint, DType dtype, Where where) {
  detail::Build b("linspace", where);
  int64_t count = number.known();
  if (count < 0 || !is_float(dtype))
    return b.fail("a count of at least 0 and a float dtype, got " + std::to_string(count) + " and " +
                  dtype_name(dtype));
  Tensor place = iota({number}, 0, DType::f64, where);
  if (!number.isKnown()) {
    Tensor gaps = b.astype(b.sizeTensor(max(number - int(endpoint), 1)), DType::f64);
    Tensor values = b.add(b.mul(place, b.div(b.number(DType::f64, stop - start), gaps)), b.number(DType::f64, start));
    if (endpoint) // of one number the first is not the last
      values = b.select(b.both(b.compare("eq", place, gaps), b.compare("gt", place, b.number(DType::f64, 0))),
                        b.number(DType::f64, stop), values);
    return b.astype(values, dtype);
  }
  double gaps = double(endpoint ? count - 1 : count);
  Tensor values =
      b.add(b.mul(place, b.number(DType::f64, gaps > 0 ? (stop - start) / gaps : 0)), b.number(DType::f64, start));
  if (endpoint && count > 1) // not start + (stop - start)
    values = b.select(b.compare("eq", place, b.number(DType::f64, gaps)), b.number(DType::f64, stop), values);
  return b.astype(values, dtype);
}

Tensor eye(const SizeArgument &rows, std::optional<SizeArgument> columns, int64_t diagonal, DType dtype, Where where) {
  detail::Build b("eye", where);
  Sizes shape{rows, columns.value_or(rows)};
  Tensor row = iota(shape, 0, DType::i64, where), column = iota(shape, 1, DType::i64, where);
  return b.astype(b.compare("eq", column, b.add(row, b.index(diagonal))), dtype);
}

} // namespace sinter::inline SINTER_HOST
