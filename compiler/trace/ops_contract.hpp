// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that sum over shared axes, convolutions and pooling.

#ifndef SINTER_TRACE_OPS_CONTRACT_HPP
#define SINTER_TRACE_OPS_CONTRACT_HPP

#include "ops_reduce.hpp"

namespace sinter::inline SINTER_HOST {

/// Rank 1 is a row on the left and a column on the right; axes before the last two broadcast.
Tensor matmul(const Operand &x, const Tensor &y);

/// Sums over pairs of axes.
Tensor tensordot(const Operand &x, const Tensor &y, const std::vector<int64_t> &x_axes,
                 const std::vector<int64_t> &y_axes);
/// Sums over the last `axes` axes of the one and the first of the other.
Tensor tensordot(const Operand &x, const Tensor &y, int axes = 2);
/// NumPy's dot: a product when one side has rank 0, else a sum over the last axis of x and the second last (or only)
/// one of y.
Tensor dot(const Operand &x, const Tensor &y);
/// The sum of the products of all elements.
Tensor vdot(const Operand &x, const Tensor &y);
/// Sum over the last axis of both.
Tensor inner(const Operand &x, const Tensor &y);
/// x[i] y[j], of all elements row-major.
Tensor outer(const Operand &x, const Tensor &y);

/// NumPy's einsum: einsum("bij,bjk->bik", {x, y}). Operands are joined from left to right.
Tensor einsum(const std::string &subscripts, const std::vector<Tensor> &tensors, Where where = Where::current());

//===--- convolution and pooling ----------------------------------------------------------------------------------===//

/// Order of the axes of a convolution's operands and result.
enum class ConvLayout { channels_first, channels_last };

/// Entries are per spatial axis; empty means 1 (0 for paddings).
struct ConvOptions {
  std::vector<int64_t> strides = {};
  std::vector<int64_t> padding = {}; // before, and after unless padding_end says otherwise
  std::vector<int64_t> padding_end = {};
  std::vector<int64_t> dilation = {};
  std::vector<int64_t> output_padding = {}; // conv_transpose only: makes the result longer at the end
  int64_t groups = 1;
  ConvLayout layout = ConvLayout::channels_first;
};
/// Entries are per spatial axis; empty means 1 (the window for strides, 0 for paddings).
struct PoolOptions {
  std::vector<int64_t> strides = {};
  std::vector<int64_t> padding = {}; // at both ends
  bool count_padding = true;         // avg_pool: padded places count as zeros, else they do not count
};

/// Cross-correlation of x [N, C, spatial...] with filters [O, C / groups, spatial...] (channels_last: [N, spatial...,
/// C] and [O, spatial..., C / groups]).
Tensor conv(const Operand &x, const Tensor &filter, const ConvOptions &options = {});
/// The transpose of `conv` as a linear map, by which strides make the result larger: x [N, C, spatial...], filters
/// [C, O / groups, spatial...]; channels_first only.
Tensor conv_transpose(const Operand &x, const Tensor &filter, const ConvOptions &options = {});

/// The greatest element under a window that slides over the spatial axes of x [N, C, spatial...].
Tensor max_pool(const Operand &x, const std::vector<int64_t> &window, const PoolOptions &options = {});
/// The mean under a window that slides over the spatial axes of x [N, C, spatial...].
Tensor avg_pool(const Operand &x, const std::vector<int64_t> &window, const PoolOptions &options = {});

} // namespace sinter::inline SINTER_HOST

#endif
