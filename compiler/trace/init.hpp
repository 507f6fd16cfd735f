// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First values of weights, by key. The fan in of a weight [out, in, window...] is in times the window, the fan out is
// out times the window.

#ifndef SINTER_TRACE_INIT_HPP
#define SINTER_TRACE_INIT_HPP

#include "random.hpp"

namespace sinter::inline SINTER_HOST::nn {

/// Uniform within gain * sqrt(6 / (fan in + fan out)) (Glorot & Bengio 2010).
Tensor xavier_uniform(const Key &key, const Shape &shape, double gain = 1, DType dtype = DType::f32,
                      Where where = Where::current());
/// Normal with deviation gain * sqrt(2 / (fan in + fan out)).
Tensor xavier_normal(const Key &key, const Shape &shape, double gain = 1, DType dtype = DType::f32,
                     Where where = Where::current());
/// Uniform within gain * sqrt(3 / fan in) (He et al. 2015; the gain of relu is sqrt(2)).
Tensor he_uniform(const Key &key, const Shape &shape, double gain = 1.4142135623730951, DType dtype = DType::f32,
                  Where where = Where::current());
/// Normal with deviation gain / sqrt(fan in).
Tensor he_normal(const Key &key, const Shape &shape, double gain = 1.4142135623730951, DType dtype = DType::f32,
                 Where where = Where::current());
/// Normal with the given deviation, none further than two of them from 0.
Tensor truncated_normal(const Key &key, const Shape &shape, double deviation = 1, DType dtype = DType::f32,
                        Where where = Where::current());
/// Rows, or columns where there are fewer, of length `gain` and at right angles; all axes but the first count as
/// columns.
Tensor orthogonal(const Key &key, const Shape &shape, double gain = 1, DType dtype = DType::f32,
                  Where where = Where::current());

} // namespace sinter::inline SINTER_HOST::nn

#endif
