// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looking for mistakes in functions that are compiled.

#ifndef SINTER_TRACE_DEBUG_HPP
#define SINTER_TRACE_DEBUG_HPP

#include "tensor.hpp"

namespace sinter::inline SINTER_HOST {

/// Text that remembers the line where it was given.
struct DebugFormat {
  const char *text;
  Where where;
  DebugFormat(const char *text, Where where = Where::current()) : text(text), where(where) {}
};

namespace detail {
void debugPrint(DebugFormat format, std::initializer_list<Tensor> tensors);
} // namespace detail

/// Prints `format`, each {} of which stands for a tensor, whenever the program reaches it: in traced functions when the
/// compiled code does, in loops once a trip, in a gradient with the forward part (and again where that is computed
/// again). Prints of a call keep their order. They go to the function of sinter_log_to, at first to standard error. In
/// code compiled with `strip_debug` there are none.
template <class... T>
  requires(std::is_convertible_v<const T &, Tensor> && ...)
void debug_print(DebugFormat format, const T &...tensors) {
  detail::debugPrint(format, {Tensor(tensors)...});
}

/// `x`; the call fails, with `name` and the first place, when an element is infinite or NaN, and states stay what they
/// were. Use what it returns: where nobody reads that, nothing is checked. Its gradient is that of `x` and is not
/// checked: check_finite of it does that.
Tensor check_finite(const Operand &x, const char *name);

} // namespace sinter::inline SINTER_HOST

#endif
