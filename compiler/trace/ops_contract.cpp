// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ops_contract.hpp"
#include "Build.h"

namespace sinter::inline SINTER_HOST {

namespace detail {

static Tensor dotGeneral(Build &b, const Tensor &lhs, const Tensor &rhs, const Shape &lhsBatch, const Shape &rhsBatch,
                         const Shape &lhsContract, const Shape &rhsContract) {
  return b.op("dot_general", {lhs, rhs},
              {{"lhs_batch", lhsBatch},
               {"rhs_batch", rhsBatch},
               {"lhs_contract", lhsContract},
               {"rhs_contract", rhsContract},
               {"element_type", lhs.dtype()}});
}
/// Both operands, of one element type of numbers.
static void numbers(Build &b, Tensor &lhs, Tensor &rhs) {
  if (b.agree({&lhs, &rhs}) == DType::boolean)
    b.fail("a dtype of numbers, got bool");
  lhs = b.strong(lhs);
  rhs = b.strong(rhs);
}

} // namespace detail

Tensor matmul(const Operand &x, const Tensor &y) {
  detail::Build b("matmul", x.where);
  Tensor lhs = x.tensor, rhs = y;
  detail::numbers(b, lhs, rhs);
  if (!b.failed() && (lhs.rank() == 0 || rhs.rank() == 0))
    return b.fail("rank 1 at least, got " + lhs.type().str() + " and " + rhs.type().str());
  if (b.failed())
    return b.error();
  int64_t inner = lhs.known_dim(-1), other = rhs.known_dim(rhs.rank() == 1 ? 0 : -2);
  if (inner >= 0 && other >= 0 && inner != other)
    return b.fail("equal inner sizes, got " + std::to_string(inner) + " and " + std::to_string(other) + " of " +
                  lhs.known_shape().str() + " and " + rhs.known_shape().str());
  if (rhs.rank() <= 2) // one product: the rows of all matrices
    return detail::dotGeneral(b, lhs, rhs, {}, {}, {lhs.rank() - 1}, {0});
  bool isRow = lhs.rank() == 1;
  if (isRow)
    lhs = b.unsqueeze(lhs, {0});
  // leading axes broadcast as those of two tensors without the last two axes
  int batch = std::max(lhs.rank(), rhs.rank()) - 2;
  auto lead = [&](const Tensor &tensor) {
    Shape front;
    for (int k = 0; k < batch + 2 - tensor.rank(); ++k)
      front.push_back(k);
    return b.unsqueeze(tensor, front);
  };
  lhs = lead(lhs);
  rhs = lead(rhs);
  auto stretch = [&](const Tensor &tensor, const Tensor &other) {
    Sizes sizes = b.sizes(tensor);
    Shape known = tensor.known_shape();
    bool changes = false;
    for (int k = 0; k < batch && !b.failed(); ++k) {
      int64_t own = tensor.known_dim(k), theirs = other.known_dim(k);
      if (theirs == 1 || detail::sameDim(own, theirs))
        continue;
      if (own != 1) {
        b.fail("leading sizes that broadcast, got " + lhs.known_shape().str() + " and " + rhs.known_shape().str());
        break;
      }
      sizes.list[size_t(k)] = b.size(other, k);
      known[k] = theirs;
      changes = true;
    }
    return !changes || b.failed()
               ? tensor
               : b.spread(tensor, known, known.isStatic() ? Tensor() : b.sizesTensor(sizes), Tensor());
  };
  Tensor wide = stretch(lhs, rhs);
  rhs = stretch(rhs, lhs);
  Shape leading;
  for (int k = 0; k < batch; ++k)
    leading.push_back(k);
  Tensor product = detail::dotGeneral(b, wide, rhs, leading, leading, {batch + 1}, {batch});
  return isRow ? b.squeeze(product, {batch}) : product;
}

namespace detail {

/// Sums over pairs of axes.
static Tensor sumProducts(Build &b, Tensor lhs, Tensor rhs, const std::vector<int64_t> &left,
                          const std::vector<int64_t> &right) {
  numbers(b, lhs, rhs);
  if (left.size() != right.size())
    return b.fail("as many axes of one operand as of the other, got " + std::to_string(left.size()) + " and " +
                  std::to_string(right.size()));
  Shape x, y;
  for (size_t k = 0; k < left.size(); ++k) {
    x.push_back(b.axis(left[k], lhs.rank()));
    y.push_back(b.axis(right[k], rhs.rank()));
    int64_t size = b.failed() ? -1 : lhs.known_dim(int(x[int(k)])),
            other = b.failed() ? -1 : rhs.known_dim(int(y[int(k)]));
    if (size >= 0 && other >= 0 && size != other)
      return b.fail("equal sizes of the axes that are summed over, got " + std::to_string(size) + " and " +
                    std::to_string(other) + " of " + lhs.known_shape().str() + " and " + rhs.known_shape().str());
  }
  return dotGeneral(b, lhs, rhs, {}, {}, x, y);
}

} // namespace detail

Tensor tensordot(const Operand &x, const Tensor &y, const std::vector<int64_t> &x_axes,
                 const std::vector<int64_t> &y_axes) {
  detail::Build b("tensordot", x.where);
  return detail::sumProducts(b, x.tensor, y, x_axes, y_axes);
}

Tensor tensordot(const Operand &x, const Tensor &y, int axes) {
  detail::Build b("tensordot", x.where);
  if (axes < 0 || axes > x.tensor.rank() || axes > y.rank())
    return b.fail("at most as many axes as the ranks, got " + std::to_string(axes) + " of " +
                  x.tensor.known_shape().str() + " and " + y.known_shape().str());
  std::vector<int64_t> first, last;
  for (int k = 0; k < axes; ++k) {
    first.push_back(k);
    last.push_back(x.tensor.rank() - axes + k);
  }
  return detail::sumProducts(b, x.tensor, y, last, first);
}

Tensor dot(const Operand &x, const Tensor &y) {
  if (x.tensor.rank() == 0 || y.rank() == 0)
    return multiply(x, Operand(y, x.where));
  detail::Build b("dot", x.where);
  return detail::sumProducts(b, x.tensor, y, {-1}, {y.rank() == 1 ? -1 : -2});
}

Tensor vdot(const Operand &x, const Tensor &y) {
  if (x.tensor.known_size() >= 0 && y.known_size() >= 0 && x.tensor.known_size() != y.known_size())
    return detail::Build("vdot", x.where)
        .fail("as many elements of one operand as of the other, got " + x.tensor.known_shape().str() + " and " +
              y.known_shape().str());
  return tensordot(Operand(reshape(x, {-1}), x.where), reshape(Operand(y, x.where), {-1}), 1);
}

Tensor inner(const Operand &x, const Tensor &y) {
  if (x.tensor.rank() == 0 || y.rank() == 0)
    return multiply(x, Operand(y, x.where));
  detail::Build b("inner", x.where);
  return detail::sumProducts(b, x.tensor, y, {-1}, {-1});
}

Tensor outer(const Operand &x, const Tensor &y) {
  return tensordot(Operand(reshape(x, {-1}), x.where), reshape(Operand(y, x.where), {-1}), 0);
}

namespace detail {

/// A tensor whose axes have letters. Axes of an ellipsis have the letters 1, 2, ..., the last axis first.
struct Lettered {
  Tensor tensor;
  std::string letters;
};

static bool has(const std::string &letters, char letter) { return letters.find(letter) != std::string::npos; }

/// "ij, jk -> ik" as letters of the operands and of the result. False after an error.
static bool parseEinsum(Build &b, const std::string &subscripts, const std::vector<Tensor> &tensors,
                        std::vector<Lettered> &operands, std::string &result) {
  std::string text;
  for (char c : subscripts)
    if (c != ' ')
      text += c;
  auto refuse = [&](const std::string &message) {
    b.fail(message + " in '" + subscripts + "'");
    return false;
  };
  size_t arrow = text.find("->"), begin = 0, most = 0;
  std::string left = text.substr(0, arrow);
  auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (size_t k = 0; k < tensors.size(); ++k) {
    size_t comma = left.find(',', begin);
    if ((comma == std::string::npos) != (k + 1 == tensors.size()))
      return refuse("as many terms as operands, got " + std::to_string(tensors.size()) + " operands");
    std::string term = left.substr(begin, comma == std::string::npos ? comma : comma - begin), letters;
    begin = comma + 1;
    size_t dots = term.find("..."), named = dots == std::string::npos ? term.size() : term.size() - 3;
    int rank = tensors[k].rank();
    if (dots == std::string::npos ? int(named) != rank : int(named) > rank)
      return refuse("one letter per axis, got '" + term + "' for " + tensors[k].type().str());
    for (size_t c = 0; c < term.size(); ++c) {
      if (c == dots) {
        size_t hidden = size_t(rank) - named;
        most = std::max(most, hidden);
        for (size_t h = hidden; h > 0; --h)
          letters += char(h);
        c += 2;
      } else if (!isLetter(term[c])) {
        return refuse("letters");
      } else {
        letters += term[c];
      }
    }
    operands.push_back({b.strong(tensors[k]), letters});
  }
  std::string hidden;
  for (size_t h = most; h > 0; --h)
    hidden += char(h);
  if (arrow == std::string::npos) { // letters that occur once, in alphabetical order
    std::string all, once;
    for (const Lettered &each : operands)
      all += each.letters;
    std::sort(all.begin(), all.end());
    for (char c : all)
      if (isLetter(c) && std::count(all.begin(), all.end(), c) == 1)
        once += c;
    result = hidden + once;
    return true;
  }
  std::string right = text.substr(arrow + 2);
  if (size_t dots = right.find("..."); dots != std::string::npos)
    right.replace(dots, 3, hidden);
  for (size_t c = 0; c < right.size(); ++c) {
    bool known = false;
    for (const Lettered &each : operands)
      known |= has(each.letters, right[c]);
    if (!known || right.find(right[c], c + 1) != std::string::npos)
      return refuse("result letters that occur in the operands, each once,");
  }
  result = right;
  return true;
}

/// The diagonal of axes with equal letters.
static void takeDiagonals(Build &b, Lettered &x) {
  for (size_t first = 0; first < x.letters.size() && !b.failed(); ++first) {
    size_t second = x.letters.find(x.letters[first], first + 1);
    if (second == std::string::npos)
      continue;
    if (!sameDim(x.tensor.known_dim(int(first)), x.tensor.known_dim(int(second)))) {
      b.fail("equal sizes of axes with one letter, got " + x.tensor.known_shape().str());
      return;
    }
    Tensor isDiagonal =
        b.compare("eq", b.iota(DType::i64, x.tensor, int(first)), b.iota(DType::i64, x.tensor, int(second)));
    x.tensor = b.reduce("add", b.select(isDiagonal, x.tensor, b.number(x.tensor.dtype(), 0)), {int64_t(second)}, false);
    x.letters.erase(second, 1);
    --first;
  }
}
/// Sums over axes whose letters nobody needs any more.
static void sumOut(Build &b, Lettered &x, const std::string &needed) {
  Shape axes;
  std::string kept;
  for (size_t k = 0; k < x.letters.size(); ++k)
    if (has(needed, x.letters[k]))
      kept += x.letters[k];
    else
      axes.push_back(int64_t(k));
  x.tensor = b.reduce("add", x.tensor, axes, false);
  x.letters = kept;
}
/// Two operands made one; letters that `needed` lacks are summed over.
static Lettered contract(Build &b, Lettered lhs, Lettered rhs, const std::string &needed) {
  sumOut(b, lhs, needed + rhs.letters);
  sumOut(b, rhs, needed + lhs.letters);
  Shape leftDropped, rightDropped; // axes of size 1 that the other operand has in full
  for (size_t k = 0; k < lhs.letters.size() && !b.failed(); ++k) {
    size_t other = rhs.letters.find(lhs.letters[k]);
    if (other == std::string::npos)
      continue;
    int64_t own = lhs.tensor.known_dim(int(k)), theirs = rhs.tensor.known_dim(int(other));
    if (own == 1 && theirs != 1)
      leftDropped.push_back(int64_t(k));
    else if (theirs == 1 && own != 1)
      rightDropped.push_back(int64_t(other));
    else if (own >= 0 && theirs >= 0 && own != theirs)
      b.fail("one size per letter, got " + std::to_string(own) + " and " + std::to_string(theirs));
  }
  auto drop = [&](Lettered &x, Shape axes) {
    std::sort(axes.begin(), axes.end());
    x.tensor = b.squeeze(x.tensor, axes);
    for (int k = axes.size(); k-- > 0;)
      x.letters.erase(size_t(axes[k]), 1);
  };
  drop(lhs, leftDropped);
  drop(rhs, rightDropped);
  sumOut(b, lhs, needed + rhs.letters);
  sumOut(b, rhs, needed + lhs.letters);
  Shape leftBatch, rightBatch, leftContract, rightContract;
  std::string batch, free;
  for (size_t k = 0; k < lhs.letters.size(); ++k) {
    size_t other = rhs.letters.find(lhs.letters[k]);
    if (other == std::string::npos) {
      free += lhs.letters[k];
    } else if (has(needed, lhs.letters[k])) {
      leftBatch.push_back(int64_t(k));
      rightBatch.push_back(int64_t(other));
      batch += lhs.letters[k];
    } else {
      leftContract.push_back(int64_t(k));
      rightContract.push_back(int64_t(other));
    }
  }
  for (char c : rhs.letters)
    if (!has(lhs.letters, c))
      free += c;
  return {dotGeneral(b, lhs.tensor, rhs.tensor, leftBatch, rightBatch, leftContract, rightContract), batch + free};
}

} // namespace detail

Tensor einsum(const std::string &subscripts, const std::vector<Tensor> &tensors, Where where) {
  detail::Build b("einsum", where);
  if (tensors.empty())
    return b.fail("an operand at least, got none");
  for (const Tensor &each : tensors) {
    b.in(each);
    if (!b.failed() && (each.dtype() != tensors[0].dtype() || each.dtype() == DType::boolean))
      return b.fail("operands of one dtype of numbers, got " + tensors[0].type().str() + " and " + each.type().str());
  }
  std::vector<detail::Lettered> operands;
  std::string result;
  if (b.failed() || !detail::parseEinsum(b, subscripts, tensors, operands, result))
    return b.error();
  for (detail::Lettered &each : operands)
    detail::takeDiagonals(b, each);
  detail::Lettered joined = operands[0];
  for (size_t k = 1; k < operands.size() && !b.failed(); ++k) {
    std::string needed = result;
    for (size_t later = k + 1; later < operands.size(); ++later)
      needed += operands[later].letters;
    joined = detail::contract(b, joined, operands[k], needed);
  }
  if (b.failed())
    return b.error();
  detail::sumOut(b, joined, result);
  Shape permutation;
  for (char c : result)
    permutation.push_back(int64_t(joined.letters.find(c)));
  return b.transpose(joined.tensor, permutation);
}

namespace detail {

static Shape perSpatial(Build &b, const char *what, const std::vector<int64_t> &values, int spatial,
                        int64_t otherwise) {
  if (values.empty())
    return Shape(std::vector<int64_t>(size_t(spatial), otherwise));
  if (int(values.size()) != spatial)
    b.fail("one of " + std::string(what) + " per spatial axis, got " + std::to_string(values.size()) + " for " +
           std::to_string(spatial));
  for (int64_t value : values)
    if (otherwise == 1 && value < 1)
      b.fail(std::string(what) + " of at least 1, got " + std::to_string(value));
  return Shape(values);
}
static int spatialOf(Build &b, const Tensor &x, const Tensor &filter) {
  if (!b.failed() && (x.rank() != filter.rank() || x.rank() < 3 || x.rank() > 5))
    b.fail("an input and a filter of one rank in 3 to 5, got " + x.type().str() + " and " + filter.type().str());
  return b.failed() ? 1 : x.rank() - 2;
}

} // namespace detail

Tensor conv(const Operand &x, const Tensor &filter, const ConvOptions &options) {
  detail::Build b("conv", x.where);
  Tensor input = x.tensor, weights = filter;
  detail::numbers(b, input, weights);
  int spatial = detail::spatialOf(b, input, weights);
  Shape low = detail::perSpatial(b, "padding", options.padding, spatial, 0);
  return b.op(
      "convolution", {input, weights},
      {{"strides", detail::perSpatial(b, "strides", options.strides, spatial, 1)},
       {"low", low},
       {"high",
        options.padding_end.empty() ? low : detail::perSpatial(b, "padding_end", options.padding_end, spatial, 0)},
       {"input_dilation", detail::perSpatial(b, "", {}, spatial, 1)},
       {"dilation", detail::perSpatial(b, "dilation", options.dilation, spatial, 1)},
       {"groups", options.groups},
       {"layout", options.layout == ConvLayout::channels_first ? "channels_first" : "channels_last"},
       {"element_type", input.dtype()}});
}

Tensor conv_transpose(const Operand &x, const Tensor &filter, const ConvOptions &options) {
  detail::Build b("conv_transpose", x.where);
  Tensor input = x.tensor, weights = filter;
  detail::numbers(b, input, weights);
  int spatial = detail::spatialOf(b, input, weights);
  if (options.layout != ConvLayout::channels_first)
    return b.fail("channels_first, got channels_last");
  if (!b.failed() &&
      (!weights.known_shape().isStatic() || options.groups < 1 || weights.known_dim(0) % options.groups != 0))
    return b.fail("a filter of known sizes whose first size is a multiple of groups, got " + weights.type().str());
  Shape strides = detail::perSpatial(b, "strides", options.strides, spatial, 1);
  Shape dilation = detail::perSpatial(b, "dilation", options.dilation, spatial, 1);
  Shape begin = detail::perSpatial(b, "padding", options.padding, spatial, 0);
  Shape end =
      options.padding_end.empty() ? begin : detail::perSpatial(b, "padding_end", options.padding_end, spatial, 0);
  Shape extra = detail::perSpatial(b, "output_padding", options.output_padding, spatial, 0);
  if (b.failed())
    return b.error();
  // a convolution of the input with zeros between its elements, by the mirrored filter with its inputs and outputs
  // exchanged
  int64_t groups = options.groups, in = weights.known_dim(0), out = weights.known_dim(1);
  Shape split{groups, in / groups, out}, exchanged{0, 2, 1}, joined{groups * out, in / groups}, mirrored, low, high;
  for (int k = 0; k < spatial; ++k) {
    int64_t size = weights.known_dim(k + 2), reach = (size - 1) * dilation[k];
    split.push_back(size);
    joined.push_back(size);
    exchanged.push_back(k + 3);
    mirrored.push_back(k + 2);
    low.push_back(reach - begin[k]);
    high.push_back(reach - end[k] + extra[k]);
  }
  weights =
      b.op("reverse", {b.reshape(b.transpose(b.reshape(weights, split), exchanged), joined)}, {{"axes", mirrored}});
  return b.op("convolution", {input, weights},
              {{"strides", detail::perSpatial(b, "", {}, spatial, 1)},
               {"low", low},
               {"high", high},
               {"input_dilation", strides},
               {"dilation", dilation},
               {"groups", groups},
               {"layout", "channels_first"},
               {"element_type", input.dtype()}});
}

namespace detail {

static Tensor reduceWindow(Build &b, const char *combiner, const Tensor &x, const std::vector<int64_t> &window,
                           const PoolOptions &options) {
  int spatial = int(window.size());
  if (!b.failed() && (x.rank() != spatial + 2 || spatial == 0))
    return b.fail("one window size per spatial axis of [N, C, spatial...], got " + std::to_string(spatial) + " for " +
                  x.type().str());
  Shape sizes{1, 1}, steps{1, 1}, pads{0, 0}, ones{1, 1};
  Shape inner = perSpatial(b, "window", window, spatial, 1),
        padding = perSpatial(b, "padding", options.padding, spatial, 0);
  Shape strides = options.strides.empty() ? inner : perSpatial(b, "strides", options.strides, spatial, 1);
  for (int k = 0; k < spatial && !b.failed(); ++k) {
    // A window that lies in padding alone has no greatest element.
    if (2 * padding[k] > inner[k])
      b.fail("padding of at most half of the window, got " + std::to_string(padding[k]) + " for " +
             std::to_string(inner[k]));
    if (int64_t size = x.known_dim(k + 2); size >= 0 && size + 2 * padding[k] < inner[k])
      b.fail("a padded x of at least the window, got " + std::to_string(size + 2 * padding[k]) + " for " +
             std::to_string(inner[k]) + " along axis " + std::to_string(k + 2) + " of " + x.type().str());
    sizes.push_back(inner[k]);
    steps.push_back(strides[k]);
    pads.push_back(padding[k]);
    ones.push_back(1);
  }
  return b.op("reduce_window", {x},
              {{"combiner", combiner},
               {"window", sizes},
               {"strides", steps},
               {"low", pads},
               {"high", pads},
               {"dilations", ones}});
}

} // namespace detail

Tensor max_pool(const Operand &x, const std::vector<int64_t> &window, const PoolOptions &options) {
  detail::Build b("max_pool", x.where);
  return detail::reduceWindow(b, "max", b.numbers(x.tensor), window, options);
}

Tensor avg_pool(const Operand &x, const std::vector<int64_t> &window, const PoolOptions &options) {
  return detail::composed("avg_pool", x, [&](detail::Build &b, const Tensor &value) {
    Tensor total = detail::reduceWindow(b, "add", value, window, options);
    int64_t area = std::accumulate(window.begin(), window.end(), int64_t(1), std::multiplies<>());
    if (options.count_padding || options.padding.empty())
      return b.div(total, b.number(value.dtype(), double(area)));
    Tensor count = detail::reduceWindow(b, "add", b.full(value, 1), window, options);
    return b.div(total, count);
  });
}

} // namespace sinter::inline SINTER_HOST
