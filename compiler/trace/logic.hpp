// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// && and || of tensors. C++ evaluates both sides of operators that are overloaded: these are logical_and and
// logical_or, not branches of the host.

#ifndef SINTER_TRACE_LOGIC_HPP
#define SINTER_TRACE_LOGIC_HPP

#include "ops_elementwise.hpp"

namespace sinter::inline SINTER_HOST {

namespace detail {
template <class T>
concept IsTensor = std::is_same_v<T, Tensor>;
/// What may stand beside a tensor in && and ||.
template <class T>
concept Truth = Number<T> || std::is_same_v<T, Size> || std::is_same_v<T, SizeComparison>;
Tensor logical(const char *function, const char *op, const Operand &lhs, const Operand &rhs);
} // namespace detail

// (Of tensors as they are: beside a conversion to bool, what converts to tensors would be ambiguous.)
/// logical_and and logical_or, element by element, in a trace and outside. Both sides are computed: what stands on the
/// right cannot rely on what is on the left.
template <detail::IsTensor X, detail::IsTensor Y> Tensor operator&&(const X &x, const Y &y) {
  return detail::logical("operator &&", "and", Operand(x, x.where()), Operand(y, y.where()));
}
template <detail::IsTensor X, detail::Truth T> Tensor operator&&(const X &x, const T &y) { return x && Tensor(y); }
template <detail::Truth T, detail::IsTensor X> Tensor operator&&(const T &x, const X &y) { return y && Tensor(x); }
template <detail::IsTensor X, detail::IsTensor Y> Tensor operator||(const X &x, const Y &y) {
  return detail::logical("operator ||", "or", Operand(x, x.where()), Operand(y, y.where()));
}
template <detail::IsTensor X, detail::Truth T> Tensor operator||(const X &x, const T &y) { return x || Tensor(y); }
template <detail::Truth T, detail::IsTensor X> Tensor operator||(const T &x, const X &y) { return y || Tensor(x); }

} // namespace sinter::inline SINTER_HOST

#endif
