// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ops_reduce.hpp"
#include "Build.h"

namespace sinter::inline SINTER_HOST {

namespace detail {

static Tensor reduction(const char *function, const char *combiner, const Operand &x, const Axes &axes, bool keepdims) {
  Build b(function, x.where);
  Tensor value = b.strong(x.tensor);
  bool isSum = *combiner == 'a' && combiner[1] == 'd';
  if (!b.failed() && value.dtype() == DType::boolean && (isSum || combiner[1] == 'u'))
    value = b.astype(value, DType::i64);
  if (!b.failed() && value.dtype() == DType::boolean) // the greatest boolean: or
    combiner = std::string_view(combiner) == "max" ? "or" : std::string_view(combiner) == "min" ? "and" : combiner;
  return b.reduce(combiner, value, b.axes(axes, value.rank()), keepdims);
}
static Tensor argReduction(const char *function, const char *combiner, const Operand &x, std::optional<int> axis,
                           bool keepdims) {
  Build b(function, x.where);
  Tensor value = b.strong(x.tensor);
  int along = axis ? b.axis(*axis, value.rank()) : 0, rank = value.rank();
  if (!b.failed() && !axis && rank != 1)
    value = reshape(Operand(value, x.where), {-1});
  Tensor at = b.op("arg_reduce", {value}, {{"axis", along}, {"combiner", combiner}});
  if (!keepdims)
    return at;
  Shape ones;
  for (int k = 0; k < rank; ++k)
    if (!axis)
      ones.push_back(k);
  return b.unsqueeze(at, axis ? Shape{along} : ones);
}
static Tensor cumulative(const char *function, const char *combiner, const Operand &x, int axis) {
  Build b(function, x.where);
  Tensor value = b.strong(x.tensor);
  if (!b.failed() && value.dtype() == DType::boolean)
    value = b.astype(value, DType::i64);
  int along = b.axis(axis, value.rank());
  return b.op("cumulative", {value}, {{"axis", along}, {"combiner", combiner}});
}
static Tensor varianceOf(Build &b, const Tensor &x, const Shape &axes, int64_t ddof, bool keepdims) {
  Tensor gap = b.sub(x, b.mean(x, axes, true));
  return b.mean(b.mul(gap, gap), axes, keepdims, ddof);
}
/// A function that reduces floats: f16 and bf16 are computed in f32 and rounded once.
template <class F> Tensor reducing(const char *function, const Operand &x, const Axes &axes, F body) {
  return composed(function, x,
                  [&](Build &b, const Tensor &value) { return body(b, value, b.axes(axes, value.rank())); });
}

} // namespace detail

Tensor sum(const Operand &x, const Axes &axes, bool keepdims) {
  return detail::reduction("sum", "add", x, axes, keepdims);
}
Tensor prod(const Operand &x, const Axes &axes, bool keepdims) {
  return detail::reduction("prod", "mul", x, axes, keepdims);
}

Tensor max(const Operand &x, const Axes &axes, bool keepdims) {
  return detail::reduction("max", "max", x, axes, keepdims);
}

Tensor min(const Operand &x, const Axes &axes, bool keepdims) {
  return detail::reduction("min", "min", x, axes, keepdims);
}
Tensor any(const Operand &x, const Axes &axes, bool keepdims) {
  detail::Build b("any", x.where);
  Tensor value = detail::truth(b, x.tensor);
  return b.reduce("or", value, b.axes(axes, value.rank()), keepdims);
}
Tensor all(const Operand &x, const Axes &axes, bool keepdims) {
  detail::Build b("all", x.where);
  Tensor value = detail::truth(b, x.tensor);
  return b.reduce("and", value, b.axes(axes, value.rank()), keepdims);
}

Tensor argmax(const Operand &x, std::optional<int> axis, bool keepdims) {
  return detail::argReduction("argmax", "max", x, axis, keepdims);
}

Tensor argmin(const Operand &x, std::optional<int> axis, bool keepdims) {
  return detail::argReduction("argmin", "min", x, axis, keepdims);
}
Tensor mean(const Operand &x, const Axes &axes, bool keepdims) {
  return detail::reducing("mean", x, axes, [&](detail::Build &b, const Tensor &value, const Shape &along) {
    return b.mean(value, along, keepdims);
  });
}

Tensor var(const Operand &x, const Axes &axes, int64_t ddof, bool keepdims) {
  return detail::reducing("var", x, axes, [&](detail::Build &b, const Tensor &value, const Shape &along) {
    return detail::varianceOf(b, value, along, ddof, keepdims);
  });
}

namespace detail {

/// The root of a sum of squares. Where that is 0 the slope is 0, as in torch, and not 0 / 0.
static Tensor rootOfSquares(Build &b, const Tensor &total) {
  if (b.failed())
    return b.error();
  Tensor isZero = b.compare("eq", total, b.number(total.dtype(), 0));
  return b.select(isZero, total, b.unary("sqrt", b.select(isZero, b.number(total.dtype(), 1), total)));
}

} // namespace detail

Tensor stddev(const Operand &x, const Axes &axes, int64_t ddof, bool keepdims) {
  return detail::reducing("stddev", x, axes, [&](detail::Build &b, const Tensor &value, const Shape &along) {
    return detail::rootOfSquares(b, detail::varianceOf(b, value, along, ddof, keepdims));
  });
}

Tensor norm(const Operand &x, const Axes &axes, double order, bool keepdims) {
  return detail::reducing("norm", x, axes, [&](detail::Build &b, const Tensor &value, const Shape &along) {
    if (order == 2)
      return detail::rootOfSquares(b, b.reduce("add", b.mul(value, value), along, keepdims));
    Tensor size = b.unary("abs", value);
    if (order == std::numeric_limits<double>::infinity())
      return b.reduce("max", size, along, keepdims);
    if (order == 1)
      return b.reduce("add", size, along, keepdims);
    Tensor total = b.reduce("add", b.binary("pow", size, b.number(value.dtype(), order)), along, keepdims);
    return b.binary("pow", total, b.number(value.dtype(), 1 / order));
  });
}

Tensor logsumexp(const Operand &x, const Axes &axes, bool keepdims) {
  return detail::reducing("logsumexp", x, axes, [&](detail::Build &b, const Tensor &value, const Shape &along) {
    Tensor most = b.reduce("max", value, along, true);
    Tensor isFinite =
        b.compare("lt", b.unary("abs", most), b.number(value.dtype(), std::numeric_limits<double>::infinity()));
    most = b.select(isFinite, most, b.number(value.dtype(), 0)); // inf - inf
    Tensor total = b.reduce("add", b.unary("exp", b.sub(value, most)), along, keepdims);
    return b.add(b.unary("log", total), keepdims ? most : b.squeeze(most, along));
  });
}

Tensor cumsum(const Operand &x, int axis) { return detail::cumulative("cumsum", "add", x, axis); }
Tensor cumprod(const Operand &x, int axis) { return detail::cumulative("cumprod", "mul", x, axis); }
Tensor cummax(const Operand &x, int axis) { return detail::cumulative("cummax", "max", x, axis); }
Tensor cummin(const Operand &x, int axis) { return detail::cumulative("cummin", "min", x, axis); }

Tensor sort(const Operand &x, int axis, bool descending) {
  detail::Build b("sort", x.where);
  Tensor value = b.strong(x.tensor);
  int along = b.axis(axis, value.rank());
  return b.ops<2>("sort", {value}, {{"axis", along}, {"descending", descending}})[0];
}

Tensor argsort(const Operand &x, int axis, bool descending) {
  detail::Build b("argsort", x.where);
  Tensor value = b.strong(x.tensor);
  int along = b.axis(axis, value.rank());
  return b.ops<2>("sort", {value}, {{"axis", along}, {"descending", descending}})[1];
}

std::pair<Tensor, Tensor> top_k(const Operand &x, int64_t k, int axis, bool largest) {
  detail::Build b("top_k", x.where);
  Tensor value = b.strong(x.tensor);
  int along = b.axis(axis, value.rank());
  if (!b.failed() && (k < 0 || (value.known_dim(along) >= 0 && k > value.known_dim(along))))
    b.fail("k in [0, " + std::to_string(value.known_dim(along)) + "], got " + std::to_string(k));
  auto [values, positions] = b.ops<2>("top_k", {value, b.index(k)}, {{"axis", along}, {"largest", largest}});
  return {values, positions};
}

Tensor searchsorted(const Operand &sorted, const Tensor &values, bool right) {
  detail::Build b("searchsorted", sorted.where);
  Tensor list = b.strong(sorted.tensor), wanted = values;
  b.agree({&list, &wanted});
  if (!b.failed() && (list.rank() != 1 || list.known_dim(0) < 0))
    return b.fail("a sorted tensor of rank 1 and known size, got " + list.type().str());
  if (b.failed())
    return b.error();
  int64_t size = list.known_dim(0), step = 1;
  Tensor place = b.spreadLike(b.index(0), wanted);
  if (size == 0)
    return place;
  while (step * 2 <= size)
    step *= 2;
  for (; step > 0; step /= 2) { // the longest prefix of elements that lie before the value
    Tensor next = b.add(place, b.index(step));
    Tensor last = b.op("gather", {list, b.min(b.sub(next, b.index(1)), b.index(size - 1))}, {{"axis", 0}});
    Tensor isBefore = b.compare(right ? "le" : "lt", last, wanted);
    if (is_float(wanted.dtype())) { // NaN comes last, as sort puts it
      Tensor isLast = b.compare("ne", wanted, wanted);
      isBefore = b.either(isBefore, right ? isLast : b.both(isLast, b.compare("eq", last, last)));
    }
    place = b.select(b.both(isBefore, b.compare("le", next, b.index(size))), next, place);
  }
  return place;
}

} // namespace sinter::inline SINTER_HOST
