// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that move elements without computing on them.

#ifndef SINTER_TRACE_OPS_SHAPE_HPP
#define SINTER_TRACE_OPS_SHAPE_HPP

#include "ops_create.hpp"

namespace sinter::inline SINTER_HOST {

/// The same elements, row-major, under other sizes; one of them may be -1 and follows from the others.
Tensor reshape(const Operand &x, const Sizes &sizes);
/// Row-major, one axis.
Tensor ravel(const Operand &x);
/// Axes [start, stop) made one; a stop of -1 means the last axis, included.
Tensor flatten(const Operand &x, int start = 0, int stop = -1);
/// Axis k of the result is axis axes[k]; without axes, the order is reversed.
Tensor transpose(const Operand &x, const std::vector<int64_t> &axes = {});
Tensor permute_dims(const Operand &x, const std::vector<int64_t> &axes);
Tensor swapaxes(const Operand &x, int first, int second);
/// Exchanges the last two axes.
Tensor matrix_transpose(const Operand &x);
Tensor moveaxis(const Operand &x, int from, int to);
/// Drops axes of size 1; by default all of them.
Tensor squeeze(const Operand &x, const Axes &axes = {});
/// Adds axes of size 1 at these positions of the result.
Tensor expand_dims(const Operand &x, const Axes &axes);
/// Repeats axes of size 1 and adds axes in front.
Tensor broadcast_to(const Operand &x, const Sizes &sizes);
/// All tensors in their common shape.
std::vector<Tensor> broadcast_arrays(const std::vector<Tensor> &tensors, Where where = Where::current());

/// One after the other along an axis.
Tensor concatenate(const std::vector<Tensor> &tensors, int axis = 0, Where where = Where::current());
/// Along a new axis.
Tensor stack(const std::vector<Tensor> &tensors, int axis = 0, Where where = Where::current());
/// Before each of the positions along an axis.
std::vector<Tensor> split_at(const Operand &x, const std::vector<int64_t> &positions, int axis = 0);
/// In `parts` equal parts.
std::vector<Tensor> split(const Operand &x, int64_t parts, int axis = 0);

/// The whole tensor repeats[k] times along axis k; fewer repeats than axes count for the last ones.
Tensor tile(const Operand &x, const Sizes &sizes);
/// Each slice of an axis `times` times.
Tensor repeat(const Operand &x, const SizeArgument &times, int axis = 0);
/// In reverse order along the axes.
Tensor flip(const Operand &x, const Axes &axes = {});
/// Moved by `shift` places along an axis; what leaves at the end enters at the start.
Tensor roll(const Operand &x, int64_t shift, int axis = 0);

/// x[k + 1] - x[k] along an axis, taken `order` times.
Tensor diff(const Operand &x, int order = 1, int axis = -1);

/// What `pad` puts outside.
enum class PadMode { constant, reflect, edge, wrap };

/// Elements to add at the start and the end of an axis; negative ones remove.
struct PadWidth {
  int64_t low = 0, high = 0;
};
/// One width per axis, or one for all.
Tensor pad(const Operand &x, const std::vector<PadWidth> &widths, const Tensor &value = Tensor(0),
           PadMode mode = PadMode::constant);

/// Elements on or below the diagonal of the last two axes, zeros above.
Tensor tril(const Operand &x, int64_t diagonal = 0);
/// Elements on or above the diagonal of the last two axes, zeros below.
Tensor triu(const Operand &x, int64_t diagonal = 0);
/// Rank 1 to a matrix with these elements on the diagonal, or the diagonal of the last two axes.
Tensor diag(const Operand &x);

} // namespace sinter::inline SINTER_HOST

#endif
