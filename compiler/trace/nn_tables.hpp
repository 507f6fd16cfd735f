// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many tables that one lookup reads, as a recommender has one for each field.
//
//   nn::EmbeddingBags tables = nn::embedding_bags(key, {1000, 40, 200}, 16);
//   sn::Tensor x = tables(fields); // i64 [bags, 3] to f32 [bags, 48]

#ifndef SINTER_TRACE_NN_TABLES_HPP
#define SINTER_TRACE_NN_TABLES_HPP

#include "nn.hpp"

namespace sinter::inline SINTER_HOST::nn {

/// Tables of `counts` rows and one width, one behind the other in the weight [sum of counts, width], which one kernel
/// looks up and whose gradient is one list of rows (`Optimizer::sparse`). Of each bag the results of all tables stand
/// side by side, [bags, tables * width], as if concatenate had put those of an EmbeddingBag each together. Positions
/// count within their table; those outside of it are outside of the weight, too.
struct EmbeddingBags {
  Tensor weight;
  std::vector<int64_t> counts;
  Bag combine = Bag::sum;
  /// Positions [bags, tables] or, for bags of n rows, [bags, tables, n], of known sizes.
  Tensor operator()(const Operand &positions) const;
  /// Ragged bags: of each table positions, `splits` [bags + 1] and, if there are any, weights, as EmbeddingBag takes
  /// them, of known sizes.
  Tensor operator()(const std::vector<Tensor> &positions, const std::vector<Tensor> &splits,
                    const std::vector<Tensor> &weights = {}, Where where = Where::current()) const;
};
EmbeddingBags embedding_bags(const Key &key, const std::vector<int64_t> &counts, int64_t width, Bag combine = Bag::sum,
                             DType dtype = DType::f32, Where where = Where::current());

} // namespace sinter::inline SINTER_HOST::nn

#endif
