// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors out of nothing, and conversions between sizes and tensors.

#ifndef SINTER_TRACE_OPS_CREATE_HPP
#define SINTER_TRACE_OPS_CREATE_HPP

#include "ops_elementwise.hpp"

namespace sinter::inline SINTER_HOST {
namespace detail {
Tensor arangeOf(const SizeArgument &first, const SizeArgument &last, const SizeArgument &by, DType dtype, Where where);
} // namespace detail

/// The size of an axis, for use in shapes: a number, or in a trace with named sizes a value of the graph.
Size size(const Operand &x, int axis);
/// Sizes of all axes.
Sizes sizes(const Operand &x);
/// A size as a rank-0 i64 tensor.
Tensor as_tensor(const SizeArgument &size, Where where = Where::current());

/// All elements are `value`, of rank 0. Without `dtype`, of its element type.
Tensor full(const Sizes &sizes, const Operand &value, std::optional<DType> dtype = {});
Tensor zeros(const Sizes &sizes, DType dtype = DType::f32, Where where = Where::current());
Tensor ones(const Sizes &sizes, DType dtype = DType::f32, Where where = Where::current());
/// `value` in the shape and element type of `x`.
Tensor full_like(const Operand &x, const Tensor &value);
Tensor zeros_like(const Operand &x);
Tensor ones_like(const Operand &x);

/// i[axis] at each place i.
Tensor iota(const Sizes &sizes, int axis = 0, DType dtype = DType::i64, Where where = Where::current());
/// start, start + step, ... before stop, counted on the host.
Tensor arange(double start, double stop, double step = 1, DType dtype = DType::i64, Where where = Where::current());
/// 0, 1, ... before `count`.
Tensor arange(const SizeArgument &count, DType dtype = DType::i64, Where where = Where::current());
/// start, start + step, ... before stop, where one of them is a size.
template <class Start, class Stop, class Step = int>
  requires(std::is_same_v<Start, Size> || std::is_same_v<Stop, Size> || std::is_same_v<Step, Size>)
Tensor arange(const Start &start, const Stop &stop, const Step &step = 1, DType dtype = DType::i64,
              Where where = Where::current()) {
  return detail::arangeOf(start, stop, step, dtype, where);
}
/// `count` numbers at equal distances, the first `start`, the last `stop` (not with `endpoint` false).
Tensor linspace(double start, double stop, const SizeArgument &number, bool endpoint = true, DType dtype = DType::f32,
                Where where = Where::current());
/// Ones where column - row is `diagonal`, else zeros.
Tensor eye(const SizeArgument &rows, std::optional<SizeArgument> columns = {}, int64_t diagonal = 0,
           DType dtype = DType::f32, Where where = Where::current());

} // namespace sinter::inline SINTER_HOST

#endif
