// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many elements to one, running combinations, and orders. Reductions go over all axes unless some are named; `keepdims`
// keeps them with size 1. Sums and products have the element type of their operand (booleans count in i64).

#ifndef SINTER_TRACE_OPS_REDUCE_HPP
#define SINTER_TRACE_OPS_REDUCE_HPP

#include "ops_index.hpp"

namespace sinter::inline SINTER_HOST {

Tensor sum(const Operand &x, const Axes &axes = {}, bool keepdims = false);
Tensor prod(const Operand &x, const Axes &axes = {}, bool keepdims = false);
/// NaN propagates. Of nothing: the least value.
Tensor max(const Operand &x, const Axes &axes = {}, bool keepdims = false);
/// NaN propagates. Of nothing: the greatest value.
Tensor min(const Operand &x, const Axes &axes = {}, bool keepdims = false);
Tensor any(const Operand &x, const Axes &axes = {}, bool keepdims = false);
Tensor all(const Operand &x, const Axes &axes = {}, bool keepdims = false);
/// The position (i64) of the greatest element along an axis, or row-major in all; the first of equals, NaN counts as
/// greatest.
Tensor argmax(const Operand &x, std::optional<int> axis = {}, bool keepdims = false);
/// The position (i64) of the least element; the first of equals, NaN counts as least.
Tensor argmin(const Operand &x, std::optional<int> axis = {}, bool keepdims = false);
Tensor mean(const Operand &x, const Axes &axes = {}, bool keepdims = false);
/// Mean of the squared distance to the mean, over count - ddof.
Tensor var(const Operand &x, const Axes &axes = {}, int64_t ddof = 0, bool keepdims = false);

/// Square root of `var`. (Named `stddev` because `std` is C++'s own.)
Tensor stddev(const Operand &x, const Axes &axes = {}, int64_t ddof = 0, bool keepdims = false);
/// (sum |x|^order)^(1 / order); order infinity is the greatest size.
Tensor norm(const Operand &x, const Axes &axes = {}, double order = 2, bool keepdims = false);
/// log(sum e^x) without overflow.
Tensor logsumexp(const Operand &x, const Axes &axes = {}, bool keepdims = false);

Tensor cumsum(const Operand &x, int axis = 0);
Tensor cumprod(const Operand &x, int axis = 0);
Tensor cummax(const Operand &x, int axis = 0);
Tensor cummin(const Operand &x, int axis = 0);

/// In a stable order; NaN is last in both directions.
Tensor sort(const Operand &x, int axis = -1, bool descending = false);
/// The positions (i64) that sort an axis.
Tensor argsort(const Operand &x, int axis = -1, bool descending = false);
/// The k greatest (or least) elements of an axis in order, and their positions (i64); of equals the first.
std::pair<Tensor, Tensor> top_k(const Operand &x, int64_t k, int axis = -1, bool largest = true);
/// Where each value would be inserted into the sorted rank-1 tensor `sorted` (i64): before its equals, or behind them
/// if `right`.
Tensor searchsorted(const Operand &sorted, const Tensor &values, bool right = false);

} // namespace sinter::inline SINTER_HOST

#endif
