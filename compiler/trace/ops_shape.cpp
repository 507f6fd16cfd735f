// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ops_shape.hpp"
#include "Build.h"

namespace sinter::inline SINTER_HOST {

Tensor reshape(const Operand &x, const Sizes &sizes) {
  detail::Build b("reshape", x.where);
  Tensor value = b.strong(x.tensor);
  Shape known;
  int open = -1, unknown = 0;
  int64_t product = 1;
  for (const Size &size : sizes.list) {
    bool isOpen = size.isKnown() && size.known() == -1;
    if ((isOpen && open >= 0) || (size.isKnown() && size.known() < -1))
      return b.fail("sizes of at least 0 and one -1 at most, got another negative size");
    if (isOpen)
      open = known.size();
    unknown += isOpen || !size.isKnown();
    product *= size.isKnown() && !isOpen ? size.known() : 1;
    known.push_back(size.isKnown() && !isOpen ? size.known() : kUnknownDim);
  }
  if (b.failed())
    return b.error();
  int64_t total = value.known_size();
  if (unknown == 1 && open >= 0 && total >= 0 && product > 0 && total % product == 0) {
    known[open] = total / product;
    return b.reshape(value, known);
  }
  if (total >= 0 && (unknown == 0 ? product != total : product == 0 || total % product != 0))
    return b.fail("sizes for " + std::to_string(total) + " elements, got " + known.str());
  if (unknown == 0 || (unknown == 1 && product > 0))
    return b.reshape(value, known);
  Sizes all = sizes;
  if (open >= 0) { // the number of elements over the product of the others
    Shape axes;
    for (int k = 0; k < value.rank(); ++k)
      axes.push_back(k);
    Tensor rest = b.sizeTensor(b.count(value, axes));
    for (int k = 0; k < known.size(); ++k)
      if (k != open)
        rest = b.div(rest, b.sizeTensor(sizes.list[size_t(k)]));
    all.list[size_t(open)] = Size(rest, b.where);
  }
  return b.reshapeTo(value, all, known);
}

Tensor ravel(const Operand &x) { return reshape(x, {-1}); }

Tensor flatten(const Operand &x, int start, int stop) {
  detail::Build b("flatten", x.where);
  b.in(x.tensor);
  int rank = x.tensor.rank(), first = rank ? b.axis(start, rank) : 0, last = rank ? b.axis(stop, rank) : -1;
  if (b.failed() || rank == 0)
    return reshape(x, {-1});
  Sizes sizes;
  for (int k = 0; k < first; ++k)
    sizes.list.push_back(b.size(x.tensor, k));
  sizes.list.push_back(Size(-1));
  for (int k = last + 1; k < rank; ++k)
    sizes.list.push_back(b.size(x.tensor, k));
  return reshape(x, sizes);
}

Tensor transpose(const Operand &x, const std::vector<int64_t> &axes) {
  detail::Build b("transpose", x.where);
  Tensor value = b.strong(x.tensor);
  int rank = value.rank();
  Shape permutation;
  uint64_t seen = 0;
  for (int k = 0; k < rank && axes.empty(); ++k)
    permutation.push_back(rank - 1 - k);
  for (int64_t axis : axes) {
    permutation.push_back(b.axis(axis, rank));
    seen |= uint64_t(1) << permutation.back();
  }
  if (!axes.empty() && (int(axes.size()) != rank || seen != (uint64_t(1) << rank) - 1))
    return b.fail("each of " + std::to_string(rank) + " axes once, got " + Shape(axes).str());
  return b.transpose(value, permutation);
}
Tensor permute_dims(const Operand &x, const std::vector<int64_t> &axes) { return transpose(x, axes); }
Tensor swapaxes(const Operand &x, int first, int second) {
  detail::Build b("swapaxes", x.where);
  Tensor value = b.strong(x.tensor);
  int one = b.axis(first, value.rank()), other = b.axis(second, value.rank());
  Shape permutation;
  for (int k = 0; k < value.rank(); ++k)
    permutation.push_back(k == one ? other : k == other ? one : k);
  return b.transpose(value, permutation);
}

Tensor matrix_transpose(const Operand &x) { return swapaxes(x, -2, -1); }
Tensor moveaxis(const Operand &x, int from, int to) {
  detail::Build b("moveaxis", x.where);
  Tensor value = b.strong(x.tensor);
  int source = b.axis(from, value.rank()), target = b.axis(to, value.rank());
  Shape permutation;
  for (int k = 0; k < value.rank(); ++k)
    if (k != source)
      permutation.push_back(k);
  if (!b.failed())
    permutation.insert(target, source);
  return b.transpose(value, permutation);
}

Tensor squeeze(const Operand &x, const Axes &axes) {
  detail::Build b("squeeze", x.where);
  Tensor value = b.strong(x.tensor);
  Shape dropped = b.axes(axes, value.rank());
  for (int k = dropped.size(); axes.all && k-- > 0;)
    if (value.known_dim(k) != 1)
      dropped.erase(k);
  return b.squeeze(value, dropped);
}

Tensor expand_dims(const Operand &x, const Axes &axes) {
  detail::Build b("expand_dims", x.where);
  Tensor value = b.strong(x.tensor);
  return b.unsqueeze(value, b.axes(axes, value.rank() + int(axes.axes.size())));
}

Tensor broadcast_to(const Operand &x, const Sizes &sizes) {
  detail::Build b("broadcast_to", x.where);
  Tensor value = b.strong(x.tensor);
  Shape known = b.shapeOf(sizes);
  int lead = known.size() - value.rank();
  bool fits = lead >= 0;
  for (int k = 0; fits && k < value.rank(); ++k)
    fits = value.known_dim(k) == 1 || value.known_dim(k) == known[lead + k] || value.known_dim(k) < 0 ||
           known[lead + k] < 0;
  if (!b.failed() && !fits)
    return b.fail("sizes that " + value.known_shape().str() + " broadcasts to, got " + known.str());
  return b.spreadTo(value, sizes);
}

std::vector<Tensor> broadcast_arrays(const std::vector<Tensor> &tensors, Where where) {
  detail::Build b("broadcast_arrays", where);
  std::vector<Tensor> results = tensors;
  for (Tensor &each : results)
    each = b.strong(each);
  for (size_t k = 1; k < results.size(); ++k) // the first learns the common shape, then gives it
    b.broadcast({&results[0], &results[k]});
  for (size_t k = 1; k < results.size(); ++k)
    b.broadcast({&results[0], &results[k]});
  return results;
}

Tensor concatenate(const std::vector<Tensor> &tensors, int axis, Where where) {
  detail::Build b("concatenate", where);
  if (tensors.empty())
    return b.fail("a tensor at least, got none");
  for (const Tensor &each : tensors) {
    b.in(each);
    if (!b.failed() && (each.dtype() != tensors[0].dtype() || each.rank() != tensors[0].rank()))
      return b.fail("tensors of one dtype and rank, got " + tensors[0].type().str() + " and " + each.type().str());
  }
  int along = b.axis(axis, tensors[0].rank());
  for (const Tensor &each : tensors)
    for (int k = 0; !b.failed() && k < each.rank(); ++k)
      if (k != along && each.known_dim(k) >= 0 && tensors[0].known_dim(k) >= 0 &&
          each.known_dim(k) != tensors[0].known_dim(k))
        return b.fail("equal sizes except along axis " + std::to_string(along) + ", got " +
                      tensors[0].known_shape().str() + " and " + each.known_shape().str());
  return b.failed() ? b.error() : b.concatenate(tensors, along);
}

Tensor stack(const std::vector<Tensor> &tensors, int axis, Where where) {
  detail::Build b("stack", where);
  if (tensors.empty())
    return b.fail("a tensor at least, got none");
  std::vector<Tensor> slices;
  int along = b.axis(axis, tensors[0].rank() + 1);
  for (const Tensor &each : tensors) {
    Tensor value = b.strong(each);
    if (!b.failed() && each.type() != tensors[0].type())
      return b.fail("tensors of one type, got " + tensors[0].type().str() + " and " + each.type().str());
    slices.push_back(b.unsqueeze(value, Shape{along}));
  }
  return b.failed() ? b.error() : b.concatenate(slices, along);
}

std::vector<Tensor> split_at(const Operand &x, const std::vector<int64_t> &positions, int axis) {
  detail::Build b("split_at", x.where);
  Tensor value = b.strong(x.tensor);
  int along = b.axis(axis, value.rank());
  int64_t size = b.failed() ? 0 : value.known_dim(along), start = 0;
  if (size < 0)
    b.fail("an axis of a known size");
  std::vector<Tensor> parts;
  for (size_t k = 0; k <= positions.size(); ++k) {
    int64_t stop = k < positions.size() ? positions[k] : size;
    if (!b.failed() && (stop < start || stop > size))
      b.fail("ascending positions in [0, " + std::to_string(size) + "], got " + Shape(positions).str());
    parts.push_back(b.failed() ? b.error() : b.slice(value, along, start, stop));
    start = stop;
  }
  return parts;
}

std::vector<Tensor> split(const Operand &x, int64_t parts, int axis) {
  detail::Build b("split", x.where);
  b.in(x.tensor);
  int along = b.axis(axis, x.tensor.rank());
  int64_t size = b.failed() ? 0 : x.tensor.known_dim(along);
  if (!b.failed() && size < 0)
    b.fail("an axis of a known size");
  if (!b.failed() && (parts < 1 || size % parts != 0))
    b.fail("a size that " + std::to_string(parts) + " divides, got " + std::to_string(size));
  if (b.failed())
    return std::vector<Tensor>(size_t(std::max<int64_t>(parts, 1)), b.error());
  std::vector<int64_t> positions;
  for (int64_t k = 1; k < parts; ++k)
    positions.push_back(k * (size / parts));
  return split_at(x, positions, axis);
}

Tensor tile(const Operand &x, const Sizes &sizes) {
  detail::Build b("tile", x.where);
  Tensor value = b.strong(x.tensor);
  Shape front;
  const std::vector<Size> &repeats = sizes.list;
  for (int k = value.rank(); k < int(repeats.size()); ++k)
    front.push_back(int64_t(k) - value.rank());
  value = b.unsqueeze(value, front);
  std::vector<Size> all(size_t(std::max<int>(value.rank() - int(repeats.size()), 0)), Size(1));
  all.insert(all.end(), repeats.begin(), repeats.end());
  bool changes = false;
  for (const Size &times : all) {
    changes |= !times.isKnown() || times.known() != 1;
    if (times.known() < 0)
      b.fail("repeats of at least 0, got " + std::to_string(times.known()));
  }
  return changes ? b.op("tile", {value, b.sizesTensor(all)}) : b.failed() ? b.error() : value;
}

Tensor repeat(const Operand &x, const SizeArgument &times, int axis) {
  detail::Build b("repeat", x.where);
  Tensor value = b.strong(x.tensor);
  int along = b.axis(axis, value.rank());
  if (times.known() < 0)
    b.fail("a number of at least 0, got " + std::to_string(times.known()));
  if (b.failed())
    return b.error();
  Tensor spaced = b.unsqueeze(value, Shape{along + 1});
  Sizes wide = b.sizes(spaced), sizes = b.sizes(value);
  wide.list[size_t(along) + 1] = times;
  sizes.list[size_t(along)] *= times;
  Shape known = b.shapeOf(sizes);
  return b.reshapeTo(b.spreadTo(spaced, wide), sizes, known);
}

Tensor flip(const Operand &x, const Axes &axes) {
  detail::Build b("flip", x.where);
  Tensor value = b.strong(x.tensor);
  Shape reversed = b.axes(axes, value.rank());
  return reversed.empty() || b.failed() ? value : b.op("reverse", {value}, {{"axes", reversed}});
}

Tensor roll(const Operand &x, int64_t shift, int axis) {
  detail::Build b("roll", x.where);
  Tensor value = b.strong(x.tensor);
  int along = b.axis(axis, value.rank());
  int64_t size = b.failed() ? 0 : value.known_dim(along);
  if (size < 0)
    return b.fail("an axis of a known size");
  int64_t tail = size ? ((shift % size) + size) % size : 0;
  if (b.failed() || tail == 0)
    return b.failed() ? b.error() : value;
  return b.concatenate({b.slice(value, along, size - tail, size), b.slice(value, along, 0, size - tail)}, along);
}

Tensor diff(const Operand &x, int order, int axis) {
  detail::Build b("diff", x.where);
  Tensor value = b.strong(x.tensor);
  int along = b.axis(axis, value.rank());
  if (order < 0)
    b.fail("an order of at least 0, got " + std::to_string(order));
  for (; order > 0 && !b.failed(); --order) {
    int64_t size = value.known_dim(along);
    if (size < 0)
      return b.fail("an axis of a known size");
    int64_t last = std::max<int64_t>(size - 1, 0);
    Tensor before = b.slice(value, along, 0, last), after = b.slice(value, along, size - last, size);
    value = value.dtype() == DType::boolean ? b.compare("ne", after, before) : b.sub(after, before);
  }
  return b.failed() ? b.error() : value;
}

Tensor pad(const Operand &x, const std::vector<PadWidth> &widths, const Tensor &value, PadMode mode) {
  detail::Build b("pad", x.where);
  Tensor operand = b.strong(x.tensor), fill = value;
  b.agree({&operand, &fill});
  int rank = operand.rank();
  if (!b.failed() && int(widths.size()) != rank && widths.size() != 1)
    return b.fail("one width per axis, got " + std::to_string(widths.size()) + " and rank " + std::to_string(rank));
  if (b.failed() || rank == 0)
    return b.failed() ? b.error() : operand;
  Shape low, high, interior;
  for (int k = 0; k < rank; ++k) {
    const PadWidth &width = widths.size() == 1 ? widths[0] : widths[size_t(k)];
    low.push_back(width.low);
    high.push_back(width.high);
    interior.push_back(0);
    int64_t size = operand.known_dim(k),
            limit = mode == PadMode::reflect ? size - 1 : std::numeric_limits<int64_t>::max();
    if (mode != PadMode::constant &&
        (width.low < 0 || width.high < 0 || (size >= 0 && std::max(width.low, width.high) > limit)))
      return b.fail("widths of at least 0 (and below the size to reflect), got " + std::to_string(width.low) + " and " +
                    std::to_string(width.high) + " for size " + std::to_string(size));
  }
  static constexpr const char *names[] = {"constant", "reflect", "edge", "wrap"};
  return b.op("pad", {operand, b.strong(fill)},
              {{"low", low}, {"high", high}, {"interior", interior}, {"mode", names[int(mode)]}});
}

Tensor tril(const Operand &x, int64_t diagonal) {
  detail::Build b("tril", x.where);
  Tensor value = b.strong(x.tensor);
  if (!b.failed() && value.rank() < 2)
    return b.fail("rank 2 at least, got " + value.type().str());
  Tensor row = b.iota(DType::i64, value, value.rank() - 2), column = b.iota(DType::i64, value, value.rank() - 1);
  return b.select(b.compare("le", column, b.add(row, b.index(diagonal))), value, b.number(value.dtype(), 0));
}

Tensor triu(const Operand &x, int64_t diagonal) {
  detail::Build b("triu", x.where);
  Tensor value = b.strong(x.tensor);
  if (!b.failed() && value.rank() < 2)
    return b.fail("rank 2 at least, got " + value.type().str());
  Tensor row = b.iota(DType::i64, value, value.rank() - 2), column = b.iota(DType::i64, value, value.rank() - 1);
  return b.select(b.compare("ge", column, b.add(row, b.index(diagonal))), value, b.number(value.dtype(), 0));
}

Tensor diag(const Operand &x) {
  detail::Build b("diag", x.where);
  Tensor value = b.strong(x.tensor);
  if (b.failed() || value.rank() == 0)
    return b.failed() ? b.error() : b.fail("rank 1 at least, got " + value.type().str());
  if (value.rank() == 1) {
    Size size = b.size(value, 0);
    Tensor rows = b.spreadTo(b.unsqueeze(value, Shape{1}), Sizes{size, size});
    Tensor isDiagonal = b.compare("eq", b.iota(DType::i64, rows, 0), b.iota(DType::i64, rows, 1));
    return b.select(isDiagonal, rows, b.number(value.dtype(), 0));
  }
  int last = value.rank() - 1;
  int64_t rows = value.known_dim(last - 1), columns = value.known_dim(last);
  if (rows < 0 || columns < 0)
    return b.fail("matrices of known sizes");
  int64_t length = std::min(rows, columns); // of the elements in a row-major line, each (columns + 1)-th
  Sizes lines = b.sizes(value);
  lines.list.pop_back();
  lines.list[size_t(last) - 1] = rows * columns;
  Shape known = b.shapeOf(lines);
  Tensor line = b.reshapeTo(value, lines, known);
  return length ? b.slice(line, last - 1, 0, (length - 1) * (columns + 1) + 1, columns + 1)
                : b.slice(line, last - 1, 0, 0);
}

} // namespace sinter::inline SINTER_HOST
