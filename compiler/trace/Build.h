// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the functions of this folder are written with: agreement of element types, explicit broadcasting, axes, and the
// ops of the dialect. The first error of a function is kept; from then on all results are error tensors (with
// exceptions, that error was thrown), so that a function needs no checks between its steps.

#ifndef SINTER_TRACE_BUILD_H
#define SINTER_TRACE_BUILD_H

#include "Apply.h"
#include "There.h"
#include "axes.hpp"
#include "runtime/decimal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace sinter::inline SINTER_HOST {

namespace detail {

inline bool sameDim(int64_t a, int64_t b) { return a == b && a != kUnknownDim; }

/// The policy of this thread.
IndexPolicy &indexPolicy();

class Build {
public:
  Build(const char *function, Where where)
      : where(where), function(function), place(functionPlace()), placeBefore(place) {}
  ~Build() { place = placeBefore; }

  const Where where;

  //===--- errors ---===//

  bool failed() const { return problem.defined(); }
  /// Reports "FUNCTION requires MESSAGE".
  Tensor fail(const std::string &message) {
    if (!problem.defined())
      problem = detail::fail(where, std::string(function) + " requires " + message);
    return problem;
  }
  Tensor error() const { return problem; }
  /// Takes an operand in; an error tensor makes the function fail.
  const Tensor &in(const Tensor &tensor) {
    if (!tensor.defined())
      fail("a tensor, got none");
    else if (tensor.error() && !problem.defined())
      problem = tensor;
    notePlace(place, tensor);
    return tensor;
  }

  //===--- ops ---===//

  Tensor op(const char *name, std::span<const Tensor> operands, std::initializer_list<Attr> attrs = {}) {
    if (failed())
      return problem;
    FunctionScope scope(function);
    std::vector<Tensor> checked;
    if (indexPolicy() == IndexPolicy::error && checkPositions(name, operands, attrs, checked))
      operands = checked;
    if (failed())
      return problem;
    Tensor result = apply(name, operands, attrs, where);
    if (result.error())
      problem = result;
    return result;
  }
  Tensor op(const char *name, std::initializer_list<Tensor> operands, std::initializer_list<Attr> attrs = {}) {
    return op(name, std::span<const Tensor>(operands.begin(), operands.size()), attrs);
  }
  /// All results of an op that has N.
  template <size_t N>
  std::array<Tensor, N> ops(const char *name, std::initializer_list<Tensor> operands,
                            std::initializer_list<Attr> attrs) {
    std::array<Tensor, N> results;
    if (failed()) {
      results.fill(problem);
    } else {
      FunctionScope scope(function);
      results = apply_many<N>(name, operands, attrs, where);
    }
    if (results[0].error())
      problem = results[0];
    return results;
  }

  /// The operands of an op that reads or writes by position, its positions behind a check; false for other ops.
  bool checkPositions(std::string_view name, std::span<const Tensor> operands, std::initializer_list<Attr> attrs,
                      std::vector<Tensor> &checked) {
    bool tuples = name == "gather_nd" || name == "scatter_nd";
    if (!tuples && name != "gather" && name != "bag_sum" && name != "gather_elements" && name != "scatter_elements")
      return false;
    const Tensor &indexed = operands[0], &positions = operands[1];
    int64_t first = 0, count = tuples && positions.rank() > 0 ? positions.dim(positions.rank() - 1) : 1;
    for (const Attr &attr : attrs)
      if (std::string_view given = attr.lower().name; given == "axis" || given == "batch_axes")
        first = attr.lower().i64;
    if (count < 1 || first < 0 || first + count > indexed.rank())
      return false; // the op says what is wrong
    std::vector<int64_t> axes;
    std::vector<Tensor> with{positions};
    for (int64_t axis = first; axis < first + count; ++axis) {
      axes.push_back(axis);
      with.push_back(sizeTensor(size(indexed, int(axis))));
    }
    checked.assign(operands.begin(), operands.end());
    checked[1] = op("check_positions", with, {{"axes", axes}, {"tuples", tuples}, {"what", function}});
    return true;
  }

  //===--- element types ---===//

  /// Brings all to one element type. Literals take that of the tensors, which must have the same one.
  DType agree(std::initializer_list<Tensor *> tensors) {
    const Tensor *leader = nullptr;
    for (Tensor *tensor : tensors) {
      in(*tensor);
      if (failed())
        return DType::f32;
      if (tensor->weak())
        continue;
      if (leader && leader->dtype() != tensor->dtype()) {
        fail("operands of one dtype, got " + std::string(dtype_name(leader->dtype())) + " and " +
             dtype_name(tensor->dtype()) + " (convert one with astype)");
        return DType::f32;
      }
      leader = leader ? leader : tensor;
    }
    for (Tensor *tensor : tensors) // literals only: the first float, else the first
      if (!leader || (leader->weak() && !is_float(leader->dtype()) && is_float(tensor->dtype())))
        leader = tensor;
    DType dtype = leader->dtype();
    for (Tensor *tensor : tensors)
      if (tensor->weak())
        *tensor = literal(*tensor, dtype);
    return dtype;
  }
  /// A literal in the element type `dtype`, which must be able to hold it.
  Tensor literal(const Tensor &number, DType dtype) {
    if (failed())
      return problem;
    DType own = number.dtype();
    bool fits = is_float(dtype) ? own != DType::boolean : dtype == DType::boolean ? own == dtype : is_integer(own);
    if (is_storage(dtype) && own != DType::boolean) {
      bool isFloat = dtype_bytes(dtype) != 0;
      int64_t least = dtype == DType::i4 ? -8 : 0, value = isFloat || number.traced() ? 0 : number.item<int64_t>();
      fits = isFloat || (is_integer(own) && value >= least && value < least + 16);
    }
    if (fits && is_integer(dtype) && !number.traced()) { // a traced one is a loop's carry that began as a literal
      bool isNegative = is_signed_integer(own) && number.item<int64_t>() < 0;
      fits = visitDType(dtype, [&]<class T>(T) {
        if constexpr (std::is_integral_v<T>)
          return isNegative ? std::is_signed_v<T> && number.item<int64_t>() >= int64_t(std::numeric_limits<T>::min())
                            : number.item<uint64_t>() <= uint64_t(std::numeric_limits<T>::max());
        else
          return true;
      });
    }
    if (!fits)
      return fail("a number that " + std::string(dtype_name(dtype)) + " holds, got " +
                  (own == DType::boolean ? std::string("a boolean") : text(number)) +
                  " (convert the tensor with astype)");
    return convert(number, dtype, where);
  }
  static std::string text(const Tensor &number) {
    if (number.traced())
      return dtype_name(number.dtype());
    return is_float(number.dtype()) ? decimal(number.item<double>()) : std::to_string(number.item<int64_t>());
  }
  /// A tensor that is used on its own: a literal gets its C++ type for good.
  Tensor strong(const Tensor &tensor) {
    in(tensor);
    if (failed() || !tensor.weak() || tensor.traced())
      return tensor;
    return visitDType(tensor.dtype(), [&]<class T>(T) { return scalar(tensor.item<T>(), where); });
  }
  Tensor astype(const Tensor &tensor, DType dtype) {
    return failed() ? problem : strong(convert(tensor, dtype, where));
  }
  /// The operand of a function over floats.
  Tensor floats(const Tensor &tensor) {
    Tensor result = strong(tensor);
    if (!failed() && !is_float(result.dtype()))
      return fail("a float dtype, got " + std::string(dtype_name(result.dtype())) + " (convert with astype)");
    return result;
  }
  Tensor numbers(const Tensor &tensor) {
    Tensor result = strong(tensor);
    if (!failed() && result.dtype() == DType::boolean)
      return fail("a number dtype, got bool (convert with astype)");
    return result;
  }
  Tensor integers(const Tensor &tensor, bool allowBool = false) {
    Tensor result = strong(tensor);
    if (!failed() && !is_integer(result.dtype()) && !(allowBool && result.dtype() == DType::boolean))
      return fail("an integer dtype, got " + std::string(dtype_name(result.dtype())) + " (convert with astype)");
    return result;
  }
  Tensor booleans(const Tensor &tensor) {
    Tensor result = strong(tensor);
    if (!failed() && result.dtype() != DType::boolean)
      return fail("booleans, got " + std::string(dtype_name(result.dtype())) + " (compare with 0)");
    return result;
  }
  /// Positions in an axis: integers other than i32 and i64 become i64.
  Tensor positions(const Tensor &tensor) {
    if (tensor.dtype() == DType::boolean)
      return fail("positions, got booleans (use compress, nonzero or where)");
    Tensor result = integers(tensor);
    bool keeps = tensor.dtype() == DType::i32 || tensor.dtype() == DType::i64;
    return failed() || keeps ? result : convert(result, DType::i64, where);
  }

  //===--- constants ---===//

  /// A rank-0 tensor of that element type.
  Tensor number(DType dtype, double value) { return failed() ? problem : strong(convert(Tensor(value), dtype, where)); }
  Tensor ints(std::span<const int64_t> values) { return failed() ? problem : constantOf(values, where); }
  Tensor ints(std::initializer_list<int64_t> values) { return ints(std::span(values.begin(), values.size())); }
  Tensor index(int64_t value) { return failed() ? problem : scalar(value, where); }

  //===--- broadcasting ---===//

  /// Brings all to their common shape by NumPy's rules.
  void broadcast(std::initializer_list<Tensor *> tensors) {
    if (failed())
      return;
    int rank = 0;
    bool equal = true;
    const Tensor &first = **tensors.begin();
    for (Tensor *tensor : tensors) {
      rank = std::max(rank, tensor->rank());
      equal = equal && tensor->rank() == first.rank();
      for (int k = 0; equal && k < rank; ++k)
        equal = sameDim(tensor->known_dim(k), first.known_dim(k));
    }
    if (equal)
      return;
    Shape sizes;
    bool ambiguous = false; // dynamic sizes that may differ: each may turn out 1
    for (int axis = 0; axis < rank; ++axis) {
      int64_t size = 1;
      for (Tensor *tensor : tensors) {
        int own = axis - (rank - tensor->rank());
        int64_t dim = own < 0 ? 1 : tensor->known_dim(own);
        if (dim == 1 || sameDim(dim, size))
          continue;
        if (size == 1 || (size < 0 && dim >= 0)) {
          size = dim;
        } else if (dim >= 0) {
          std::string shapes;
          for (Tensor *each : tensors)
            shapes += (shapes.empty() ? "" : " and ") + each->known_shape().str();
          fail("shapes that broadcast, got " + shapes);
          return;
        } else if (size < 0) {
          ambiguous = true;
          size = kUnknownDim;
        }
      }
      sizes.push_back(size);
    }
    Tensor like, shape;
    if (!sizes.isStatic()) {
      for (Tensor *tensor : tensors) {
        bool lends = !ambiguous && tensor->rank() == rank;
        for (int k = 0; lends && k < rank; ++k)
          lends = sizes[k] >= 0 || sameDim(sizes[k], tensor->known_dim(k));
        if (lends)
          like = *tensor;
      }
      if (!like.defined())
        for (Tensor *tensor : tensors) {
          Tensor own = shapeOf(*tensor);
          if (int missing = rank - tensor->rank(); missing > 0)
            own = op("concatenate", {ints(std::vector<int64_t>(size_t(missing), 1)), own}, {{"axis", int64_t(0)}});
          shape = shape.defined() ? select(compare("eq", shape, int64_t(1)), own, shape) : own;
        }
    }
    for (Tensor *tensor : tensors)
      *tensor = spread(*tensor, sizes, shape, like);
  }

  /// `tensor`, whose axes are the last ones of `sizes` (or `axes`), repeated. The negative `sizes` are those of `shape`
  /// or `like`.
  Tensor spread(const Tensor &tensor, const Shape &sizes, const Tensor &shape, const Tensor &like,
                const Shape *axes = nullptr) {
    if (failed())
      return problem;
    bool same = tensor.rank() == sizes.size() && !shape.defined();
    for (int k = 0; same && k < sizes.size(); ++k)
      same = sameDim(tensor.known_dim(k), sizes[k]);
    if (same)
      return tensor;
    Shape trailing;
    for (int k = 0; k < tensor.rank(); ++k)
      trailing.push_back(sizes.size() - tensor.rank() + k);
    TensorType type{tensor.dtype(), sizes};
    Attr places{"axes", axes ? *axes : static_cast<const Shape &>(trailing)}, into{"type", type};
    if (sizes.isStatic())
      return op("broadcast", {tensor}, {places, into, {"operandSegmentSizes", Shape{1, 0, 0}}});
    if (shape.defined())
      return op("broadcast", {tensor, shape}, {places, into, {"operandSegmentSizes", Shape{1, 1, 0}}});
    return op("broadcast", {tensor, like}, {places, into, {"operandSegmentSizes", Shape{1, 0, 1}}});
  }
  /// `tensor` in the shape of `like`; `axes[k]` is the axis of `like` that axis k is, the last ones by default.
  Tensor spreadLike(const Tensor &tensor, const Tensor &like, const Shape *axes = nullptr) {
    return failed() ? problem : spread(tensor, like.known_shape(), Tensor(), like, axes);
  }
  Tensor spreadTo(const Tensor &tensor, const Sizes &sizes) {
    Shape known = shapeOf(sizes);
    return spread(tensor, known, known.isStatic() ? Tensor() : sizesTensor(sizes), Tensor());
  }
  Tensor full(const Tensor &like, double value) { return spreadLike(number(like.dtype(), value), like); }

  //===--- sizes ---===//

  Shape shapeOf(const Sizes &sizes) {
    Shape shape;
    for (const Size &size : sizes.list) {
      if (size.isKnown() && size.known() < 0)
        fail("sizes of at least 0, got " + std::to_string(size.known()) + " (sizes known at run time come from dim)");
      shape.push_back(size.isKnown() ? size.known() : kUnknownDim);
    }
    if (sizes.list.size() > SINTER_MAX_RANK)
      fail("at most " + std::to_string(SINTER_MAX_RANK) + " axes, got " + std::to_string(sizes.list.size()));
    return shape;
  }
  /// A rank-1 i64 tensor.
  Tensor sizesTensor(const Sizes &sizes) {
    std::vector<Tensor> parts;
    std::vector<int64_t> numbers; // of all, in one constant, by which shapes are known
    for (const Size &size : sizes.list)
      if (size.isKnown())
        numbers.push_back(size.known());
    if (numbers.size() == sizes.list.size())
      return ints(numbers);
    for (const Size &size : sizes.list)
      parts.push_back(size.isKnown() ? ints({size.known()}) : reshape(sizeTensor(size), Shape{1}));
    if (parts.empty())
      return ints(std::span<const int64_t>());
    return concatenate(parts, 0);
  }
  Tensor shapeOf(const Tensor &tensor) {
    return !failed() && tensor.known_shape().isStatic()
               ? ints(std::span(tensor.known_shape().begin(), size_t(tensor.rank())))
               : op("shape", {tensor});
  }
  Size size(const Tensor &tensor, int axis) {
    if (failed() || axis < 0 || axis >= tensor.rank())
      return Size(1, where);
    return tensor.dim(axis, where);
  }
  Sizes sizes(const Tensor &tensor) {
    Sizes sizes;
    for (int axis = 0; axis < tensor.rank(); ++axis)
      sizes.list.push_back(size(tensor, axis));
    return sizes;
  }
  Tensor sizeTensor(const Size &size) { return failed() ? problem : size.tensor(where); }
  /// Product of the sizes of the axes.
  Size count(const Tensor &tensor, const Shape &axes) {
    Size product(1, where);
    for (int64_t axis : axes)
      product *= size(tensor, int(axis));
    return product;
  }

  //===--- axes ---===//

  /// An axis in [0, rank), 0 after an error.
  int axis(int64_t axis, int rank, const char *what = "an axis") {
    if (failed())
      return 0;
    if (rank == 0) {
      fail("rank 1 at least, got rank 0");
      return 0;
    }
    if (axis < -rank || axis >= rank) {
      fail(std::string(what) + " in [-" + std::to_string(rank) + ", " + std::to_string(rank) + "), got " +
           std::to_string(axis));
      return 0;
    }
    return int(axis < 0 ? axis + rank : axis);
  }
  /// Distinct axes in ascending order.
  Shape axes(const Axes &axes, int rank) {
    std::vector<int64_t> list;
    for (int64_t each : axes.axes)
      list.push_back(axis(each, rank));
    if (axes.all)
      for (int k = 0; k < rank; ++k)
        list.push_back(k);
    std::sort(list.begin(), list.end());
    if (std::adjacent_find(list.begin(), list.end()) != list.end() && !failed())
      fail("distinct axes, got an axis twice");
    return failed() ? Shape() : Shape(list);
  }

  //===--- moving ---===//

  /// `sizes` has one negative entry at most, which follows from the number of elements, or agrees with the tensor's
  /// size of the same axis.
  Tensor reshape(const Tensor &tensor, const Shape &sizes) {
    if (failed() || (tensor.known_shape() == sizes && sizes.isStatic()))
      return failed() ? problem : tensor;
    return op("reshape", {tensor}, {{"type", TensorType{tensor.dtype(), sizes}}});
  }
  /// Adds axes of size 1; `axes` are positions in the result, ascending.
  Tensor unsqueeze(const Tensor &tensor, const Shape &axes) {
    if (failed() || axes.empty())
      return failed() ? problem : tensor;
    Shape sizes = tensor.known_shape(), kept;
    for (int64_t axis : axes)
      sizes.insert(int(axis), 1);
    for (int k = 0; k < sizes.size(); ++k)
      if (std::find(axes.begin(), axes.end(), k) == axes.end())
        kept.push_back(k);
    if (std::count_if(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; }) <= 1)
      return reshape(tensor, sizes);
    return op("broadcast", {tensor},
              {{"axes", kept}, {"type", TensorType{tensor.dtype(), sizes}}, {"operandSegmentSizes", Shape{1, 0, 0}}});
  }
  /// Drops axes of size 1, ascending.
  Tensor squeeze(const Tensor &tensor, const Shape &axes) {
    if (failed() || axes.empty())
      return failed() ? problem : tensor;
    Sizes kept;
    Shape known;
    bool isSure = true;
    for (int k = 0; k < tensor.rank(); ++k) {
      if (std::find(axes.begin(), axes.end(), k) == axes.end()) {
        kept.list.push_back(size(tensor, k));
        known.push_back(tensor.known_dim(k));
      } else if (tensor.known_dim(k) >= 0 && tensor.known_dim(k) != 1) {
        return fail("axes of size 1, got " + std::to_string(tensor.known_dim(k)) + " at axis " + std::to_string(k));
      } else {
        isSure = isSure && tensor.known_dim(k) == 1;
      }
    }
    if (isSure || failed())
      return reshapeTo(tensor, kept, known);
    // A size that turns out not to be 1 is an error then.
    Shape ones = tensor.known_shape(), all;
    for (int k = 0; k < tensor.rank(); ++k) {
      all.push_back(k);
      if (std::find(axes.begin(), axes.end(), k) != axes.end())
        ones[k] = 1;
    }
    Tensor narrow =
        op("broadcast", {tensor},
           {{"axes", all}, {"type", TensorType{tensor.dtype(), ones}}, {"operandSegmentSizes", Shape{1, 0, 0}}});
    return reshapeTo(narrow, kept, known);
  }
  /// `known` says what is known of `sizes`.
  Tensor reshapeTo(const Tensor &tensor, const Sizes &sizes, const Shape &known) {
    bool hasZero = std::find(known.begin(), known.end(), 0) != known.end();
    auto open = std::count_if(known.begin(), known.end(), [](int64_t size) { return size < 0; });
    if (open == 0 || (open == 1 && !hasZero))
      return reshape(tensor, known);
    return op("reshape", {tensor, sizesTensor(sizes)}, {{"type", TensorType{tensor.dtype(), known}}});
  }
  Tensor transpose(const Tensor &tensor, const Shape &permutation) {
    bool moves = false;
    for (int k = 0; k < permutation.size(); ++k)
      moves |= permutation[k] != k;
    return failed() ? problem : moves ? op("transpose", {tensor}, {{"permutation", permutation}}) : tensor;
  }
  /// [start, limit) of one axis; a limit of -1 means its size.
  Tensor slice(const Tensor &tensor, int axis, int64_t start, int64_t limit, int64_t step = 1) {
    if (failed())
      return problem;
    Shape starts, limits, steps;
    for (int k = 0; k < tensor.rank(); ++k) {
      starts.push_back(k == axis ? start : 0);
      limits.push_back(k == axis && limit != -1 ? limit : tensor.known_dim(k) < 0 ? -1 : tensor.known_dim(k));
      steps.push_back(k == axis ? step : 1);
    }
    if (start == 0 && limits[axis] == tensor.known_dim(axis) && step == 1)
      return tensor;
    return op("slice", {tensor}, {{"starts", starts}, {"limits", limits}, {"steps", steps}});
  }
  Tensor concatenate(const std::vector<Tensor> &tensors, int axis) {
    return tensors.size() == 1 ? tensors[0] : op("concatenate", tensors, {{"axis", int64_t(axis)}});
  }
  /// 0, 1, ... along `axis`, in the shape of `like`.
  Tensor iota(DType dtype, const Tensor &like, int axis) {
    if (failed())
      return problem;
    TensorType type{dtype, like.known_shape()};
    if (type.shape.isStatic())
      return op("iota", {}, {{"axis", int64_t(axis)}, {"type", type}});
    return op("iota", {shapeOf(like)}, {{"axis", int64_t(axis)}, {"type", type}});
  }

  //===--- computing ---===//

  Tensor unary(const char *name, const Tensor &x) { return op(name, {x}); }
  /// Operands agree and broadcast.
  Tensor binary(const char *name, Tensor lhs, Tensor rhs) {
    agree({&lhs, &rhs});
    broadcast({&lhs, &rhs});
    return op(name, {lhs, rhs});
  }
  Tensor add(const Tensor &x, const Tensor &y) { return binary("add", x, y); }
  Tensor sub(const Tensor &x, const Tensor &y) { return binary("sub", x, y); }
  Tensor mul(const Tensor &x, const Tensor &y) { return binary("mul", x, y); }
  Tensor div(const Tensor &x, const Tensor &y) { return binary("div", x, y); }
  Tensor max(const Tensor &x, const Tensor &y) { return binary("max", x, y); }
  Tensor min(const Tensor &x, const Tensor &y) { return binary("min", x, y); }
  Tensor both(const Tensor &x, const Tensor &y) { return binary("and", x, y); }
  Tensor either(const Tensor &x, const Tensor &y) { return binary("or", x, y); }
  Tensor compare(const char *kind, Tensor lhs, Tensor rhs) {
    agree({&lhs, &rhs});
    broadcast({&lhs, &rhs});
    return op("compare", {lhs, rhs}, {{"kind", kind}});
  }
  Tensor select(Tensor pred, Tensor onTrue, Tensor onFalse) {
    agree({&onTrue, &onFalse});
    broadcast({&pred, &onTrue, &onFalse});
    return op("select", {pred, onTrue, onFalse});
  }
  /// c[0] + c[1] x + c[2] x^2 ...
  Tensor polynomial(const Tensor &x, std::span<const double> coefficients) {
    Tensor result = number(x.dtype(), coefficients.back());
    for (size_t k = coefficients.size() - 1; k-- > 0;)
      result = add(mul(result, x), number(x.dtype(), coefficients[k]));
    return result;
  }
  /// `axes` are in range and ascending.
  Tensor reduce(const char *combiner, const Tensor &x, const Shape &axes, bool keepdims) {
    if (failed() || axes.empty())
      return failed() ? problem : x;
    Tensor result = op("reduce", {x}, {{"axes", axes}, {"combiner", combiner}});
    return keepdims ? unsqueeze(result, axes) : result;
  }
  Tensor mean(const Tensor &x, const Shape &axes, bool keepdims, int64_t less = 0) {
    Tensor sum = reduce("add", x, axes, keepdims);
    Size number = count(x, axes);
    if (number.isKnown())
      return div(sum, this->number(x.dtype(), double(number.known() - less)));
    return div(sum, astype(sub(sizeTensor(number), less), x.dtype()));
  }

private:
  const char *function;
  FunctionPlace &place;      // of this thread
  FunctionPlace placeBefore; // of the function that calls this one
  Tensor problem;
};

/// A function of several ops over floats: f16 and bf16 are computed in f32 and rounded once.
template <class F> Tensor composed(const char *function, const Operand &x, F body) {
  Build b(function, x.where);
  Tensor operand = b.floats(x.tensor);
  if (b.failed())
    return b.error();
  DType dtype = operand.dtype();
  bool isNarrow = dtype == DType::f16 || dtype == DType::bf16;
  Tensor result = body(b, isNarrow ? b.astype(operand, DType::f32) : operand);
  return isNarrow ? b.astype(result, dtype) : result;
}
/// Nonzero elements.
inline Tensor truth(Build &b, const Tensor &x) {
  Tensor value = b.strong(x);
  if (b.failed() || value.dtype() == DType::boolean)
    return b.failed() ? b.error() : value;
  return b.compare("ne", value, b.number(value.dtype(), 0));
}

} // namespace detail
} // namespace sinter::inline SINTER_HOST

#endif
