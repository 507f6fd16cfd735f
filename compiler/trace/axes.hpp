// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What functions over axes and positions take.

#ifndef SINTER_TRACE_AXES_HPP
#define SINTER_TRACE_AXES_HPP

#include "size.hpp"
#include <optional>

namespace sinter::inline SINTER_HOST {

/// Axes of a tensor; negative ones count from the end. By default all of them.
struct Axes {
  Axes() = default;
  Axes(int axis) : Axes(int64_t(axis)) {}
  Axes(int64_t axis) : axes{axis}, all(false) {}
  Axes(std::initializer_list<int64_t> axes) : axes(axes), all(false) {}
  Axes(const std::vector<int64_t> &axes) : axes(axes), all(false) {}
  std::vector<int64_t> axes;
  bool all = true;
};

/// What becomes of positions outside of an axis: reads clamp and writes skip them, or the call fails.
enum class IndexPolicy { clamp, error };

/// The policy of all that this thread computes or traces while the object lives: subscripts, take, gather, scatter and
/// their like. A function keeps the policy that it was traced under. Without one, positions are clamped.
class IndexPolicyScope {
public:
  explicit IndexPolicyScope(IndexPolicy policy);
  IndexPolicyScope(const IndexPolicyScope &) = delete;
  ~IndexPolicyScope();

private:
  IndexPolicy before;
};

} // namespace sinter::inline SINTER_HOST

#endif
