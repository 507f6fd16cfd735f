// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and writing at positions: x(1, slice(0, 3)), x[i], take, gather, scatter and x.at. Positions that are C++
// numbers are checked; those in tensors count from the end when negative, and one that is still outside is clamped by
// reads and skipped by writes (by writes at a rank-0 position it is clamped, too).

#ifndef SINTER_TRACE_OPS_INDEX_HPP
#define SINTER_TRACE_OPS_INDEX_HPP

#include "ops_shape.hpp"

namespace sinter::inline SINTER_HOST {

/// Elements start, start + step, ... before stop, by Python's rules.
struct slice {
  slice() = default;
  explicit slice(const SizeArgument &stop) : stop(stop) {}
  slice(std::optional<SizeArgument> start, std::optional<SizeArgument> stop, const SizeArgument &step = 1)
      : start(start), stop(stop), step(step) {}
  /// Whether all three are numbers here and now.
  bool isKnown() const { return (!start || start->isKnown()) && (!stop || stop->isKnown()) && step.isKnown(); }
  std::optional<SizeArgument> start, stop;
  SizeArgument step = 1;
};
struct NewAxis {};
struct Ellipsis {};
/// In a subscript: a new axis of size 1, and all axes that are not named.
inline constexpr NewAxis newaxis;
inline constexpr Ellipsis ellipsis;

/// One entry of a subscript: a position, a tensor of positions, a slice, `newaxis` or `ellipsis`.
struct Subscript {
  enum class Kind { absent, position, tensor, slice, newaxis, ellipsis };
  Subscript() = default;
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  Subscript(T position, Where where = Where::current())
      : kind(Kind::position), position(int64_t(position)), where(where) {}
  Subscript(const Tensor &positions, Where where = Where::current())
      : kind(Kind::tensor), positions(positions), where(where) {}
  Subscript(const Size &position, Where where = Where::current()) : kind(Kind::position), where(where) {
    if (position.isKnown()) {
      this->position = position.known();
    } else {
      kind = Kind::tensor;
      positions = position.tensor(where);
    }
  }
  Subscript(const slice &range, Where where = Where::current()) : kind(Kind::slice), range(range), where(where) {}
  Subscript(NewAxis, Where where = Where::current()) : kind(Kind::newaxis), where(where) {}
  Subscript(Ellipsis, Where where = Where::current()) : kind(Kind::ellipsis), where(where) {}
  Kind kind = Kind::absent;
  int64_t position = 0;
  Tensor positions;
  slice range;
  Where where;
};

namespace detail {
Tensor subscript(const char *function, const Tensor &operand, std::span<const Subscript> subscripts);
} // namespace detail

/// x.at(...): `x` with the elements at a subscript replaced or combined. Where positions repeat, updates apply in
/// order. Positions that only running tells: one of rank 0 is clamped, as that of dynamic_update_slice; of lists, those
/// outside are left out.
class Update {
public:
  Update(const Tensor &x, std::vector<Subscript> subscripts) : x(x), subscripts(std::move(subscripts)) {}
  [[nodiscard]] Tensor set(const Tensor &value) const;
  [[nodiscard]] Tensor add(const Tensor &value) const;
  [[nodiscard]] Tensor multiply(const Tensor &value) const;
  [[nodiscard]] Tensor max(const Tensor &value) const;
  [[nodiscard]] Tensor min(const Tensor &value) const;

private:
  Tensor x;
  std::vector<Subscript> subscripts;
};

/// x(subscripts...), for any number of them.
Tensor index(const Tensor &x, const std::vector<Subscript> &subscripts);
/// x.at(subscripts...), for any number of them.
Update at(const Tensor &x, const std::vector<Subscript> &subscripts);
template <class... Rest> Tensor Tensor::operator()(const Subscript &first, const Rest &...rest) const {
  const Subscript all[] = {first, Subscript(rest)...};
  return detail::subscript("operator ()", *this, all);
}
template <class... Rest> Update Tensor::at(const Subscript &first, const Rest &...rest) const {
  return Update(*this, {first, Subscript(rest)...});
}

/// Slices of an axis, by position: result[a..., i..., b...] = x[a..., positions[i...], b...].
Tensor take(const Operand &x, const Tensor &positions, int axis = 0);
/// One element per position: result[i] = x[i with i[axis] := positions[i]].
Tensor take_along_axis(const Operand &x, const Tensor &positions, int axis);
/// Slices by tuples of positions: the last axis of `positions` indexes the axes of x after the first `batch_axes`,
/// which both share.
Tensor gather(const Operand &x, const Tensor &positions, int batch_axes = 0);

/// Sums of bags of slices of the first axis: result[b] = sum of weights[i] * x[positions[i]] over i in [splits[b],
/// splits[b + 1]). `splits` ascends, one element more than there are bags; without `weights` they are 1.
Tensor bag_sum(const Operand &x, const Tensor &positions, const Tensor &splits, const Tensor &weights = {});

/// How `scatter` joins an update with what was there.
enum class Combine { set, add, multiply, max, min };

/// x with updates combined at tuples of positions, in index order.
Tensor scatter(const Operand &x, const Tensor &positions, const Tensor &updates, Combine combine = Combine::set);
/// x with updates[i] combined into element i with i[axis] := positions[i], in index order.
Tensor put_along_axis(const Operand &x, const Tensor &positions, const Tensor &updates, int axis,
                      Combine combine = Combine::set);

/// A window of fixed sizes at a start that is computed; each start is clamped so that the window fits.
Tensor dynamic_slice(const Operand &x, const std::vector<Tensor> &starts, const std::vector<int64_t> &sizes);
/// x with a window replaced; each start is clamped so that `update` fits.
Tensor dynamic_update_slice(const Operand &x, const Tensor &update, const std::vector<Tensor> &starts);

/// Positions of the elements that are not 0: [rank, count].
Tensor nonzero(const Operand &x);
/// Slices of an axis where `mask` is true.
Tensor compress(const Operand &x, const Tensor &mask, int axis = 0);
/// A new last axis of size `classes` with a one at each position; positions outside give zeros.
Tensor one_hot(const Operand &positions, int64_t classes, DType dtype = DType::f32);

} // namespace sinter::inline SINTER_HOST

#endif
