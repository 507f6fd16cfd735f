// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ops_index.hpp"
#include "Build.h"
#include "There.h"

namespace sinter::inline SINTER_HOST {

namespace detail {

/// A slice as start, step and number of elements.
struct Extent {
  int64_t start, step, count;
};
static Extent extentOf(const slice &range, int64_t size) {
  int64_t step = range.step.known(), low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  auto place = [&](const std::optional<SizeArgument> &at, int64_t otherwise) {
    return at ? std::clamp(at->known() < 0 ? at->known() + size : at->known(), low, high) : otherwise;
  };
  int64_t start = place(range.start, step > 0 ? low : high), stop = place(range.stop, step > 0 ? high : low);
  int64_t gap = step > 0 ? stop - start : start - stop, stride = step > 0 ? step : -step;
  return {start, step, gap > 0 ? (gap + stride - 1) / stride : 0};
}

/// A subscript without ellipsis, absent and new axes: one entry per axis of the tensor.
struct Places {
  std::vector<Subscript> entries;
  Shape newAxes; // of the result, when only slices and positions are left
};
static Places placesOf(Build &b, const Tensor &x, std::span<const Subscript> subscripts) {
  Places places;
  int named = 0;
  bool hasEllipsis = false;
  for (const Subscript &each : subscripts) {
    named += each.kind == Subscript::Kind::position || each.kind == Subscript::Kind::tensor ||
             each.kind == Subscript::Kind::slice;
    if (each.kind == Subscript::Kind::ellipsis && std::exchange(hasEllipsis, true))
      b.fail("one ellipsis at most, got two");
    if (each.kind == Subscript::Kind::slice && each.range.step.isKnown() && each.range.step.known() == 0)
      b.fail("slices with a step other than 0, got 0");
    if (each.kind == Subscript::Kind::tensor)
      b.in(each.positions);
  }
  if (named > x.rank())
    b.fail("at most " + std::to_string(x.rank()) + " subscripts for " + x.type().str() + ", got " +
           std::to_string(named));
  if (b.failed())
    return places;
  int axis = 0; // of the result
  for (const Subscript &each : subscripts) {
    switch (each.kind) {
    case Subscript::Kind::absent:
      break;
    case Subscript::Kind::newaxis:
      places.newAxes.push_back(axis++);
      break;
    case Subscript::Kind::ellipsis:
      for (int k = named; k < x.rank(); ++k, ++axis)
        places.entries.push_back(slice());
      break;
    case Subscript::Kind::tensor:
      places.entries.push_back(each);
      places.entries.back().positions = b.positions(each.positions);
      axis += each.positions.rank();
      break;
    default: {
      int64_t size = x.known_dim(int(places.entries.size()));
      if (each.kind == Subscript::Kind::position && size >= 0 && (each.position < -size || each.position >= size))
        b.fail("a position in [" + std::to_string(-size) + ", " + std::to_string(size) + ") of axis " +
               std::to_string(places.entries.size()) + ", got " + std::to_string(each.position));
      places.entries.push_back(each);
      if (each.kind == Subscript::Kind::slice)
        ++axis;
    }
    }
  }
  while (int(places.entries.size()) < x.rank())
    places.entries.push_back(slice());
  return places;
}

static bool isOne(const SizeArgument &step) { return step.isKnown() && step.known() == 1; }
static bool isAll(const slice &range) { return !range.start && !range.stop && isOne(range.step); }

/// x with the slices among `entries` taken; other axes stay.
static Tensor takeSlices(Build &b, Tensor x, std::span<const Subscript> entries) {
  Shape starts, limits, steps, reversed;
  bool changes = false, dynamic = false;
  for (int axis = 0; !b.failed() && axis < x.rank(); ++axis) {
    const slice &range = entries[size_t(axis)].range;
    bool isSlice = entries[size_t(axis)].kind == Subscript::Kind::slice && !isAll(range);
    int64_t size = x.known_dim(axis), start = 0, limit = size < 0 ? -1 : size, step = 1;
    if (isSlice && (size < 0 || !range.isKnown())) {
      start = range.start ? range.start->known() : 0;
      step = range.step.known();
      dynamic |= !range.isKnown() || range.stop.has_value() || start < 0 || step < 0;
    } else if (isSlice) {
      Extent extent = extentOf(range, size);
      start = extent.start;
      step = std::max(extent.step, -extent.step);
      if (extent.step < 0 && extent.count > 0) {
        start = extent.start - (extent.count - 1) * step; // from the other end, then reversed
        reversed.push_back(axis);
      }
      if (extent.count == 0)
        start = 0;
      limit = extent.count ? start + (extent.count - 1) * step + 1 : 0;
    }
    changes |= isSlice;
    starts.push_back(start);
    limits.push_back(limit);
    steps.push_back(step);
  }
  if (b.failed() || !changes)
    return b.failed() ? b.error() : x;
  if (!dynamic) {
    x = b.op("slice", {x}, {{"starts", starts}, {"limits", limits}, {"steps", steps}});
    return reversed.empty() ? x : b.op("reverse", {x}, {{"axes", reversed}});
  }
  Sizes from, to, by;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const slice &range = entries[size_t(axis)].range;
    bool isSlice = entries[size_t(axis)].kind == Subscript::Kind::slice;
    constexpr int64_t far = std::numeric_limits<int64_t>::max();
    by.list.push_back(isSlice ? Size(range.step) : Size(1));
    if (!by.list.back().isKnown() && (!range.start || !range.stop))
      return b.fail("a start and a stop beside a step that is known only at run time");
    bool forward = !by.list.back().isKnown() || by.list.back().known() > 0;
    from.list.push_back(isSlice && range.start ? Size(*range.start) : Size(forward ? 0 : far));
    to.list.push_back(isSlice && range.stop ? Size(*range.stop) : Size(forward ? far : -far));
  }
  return b.op("range_slice", {x, b.sizesTensor(from), b.sizesTensor(to), b.sizesTensor(by)});
}

/// x[i, j] of a tensor with elements, which lie side by side: a copy, without an op. Undefined for other subscripts.
static Tensor sideBySide(const Tensor &x, const Places &places, Where where) {
  const std::vector<Subscript> &entries = places.entries;
  if (!places.newAxes.empty() || !x.value() || x.value()->kind != Value::Kind::eager || deviceOf(x) ||
      Trace::current() || dtype_bytes(x.dtype()) == 0 || isRecorded(std::span(&x, 1)))
    return Tensor();
  size_t lead = 0;
  int64_t offset = 0, elements = 1;
  for (; lead < entries.size() && entries[lead].kind == Subscript::Kind::position; ++lead) {
    int64_t size = x.known_dim(int(lead)), at = entries[lead].position;
    offset = offset * size + (at < 0 ? at + size : at);
  }
  Shape shape;
  for (size_t axis = lead; axis < entries.size(); ++axis) {
    if (entries[axis].kind != Subscript::Kind::slice || !isAll(entries[axis].range))
      return Tensor();
    shape.push_back(x.known_dim(int(axis)));
    elements *= shape.back();
  }
  Tensor result = lead ? Tensor::empty(x.dtype(), shape, where) : Tensor();
  size_t bytes = size_t(elements * dtype_bytes(x.dtype()));
  if (lead && bytes && !result.error())
    std::memcpy(result.view().data, static_cast<const char *>(x.view().data) + size_t(offset) * bytes, bytes);
  return result;
}

Tensor subscript(const char *function, const Tensor &operand, std::span<const Subscript> subscripts) {
  Build b(function, subscripts.empty() ? operand.where() : subscripts[0].where);
  Tensor x = b.strong(operand);
  Places places = placesOf(b, x, subscripts);
  if (b.failed())
    return b.error();
  if (Tensor part = sideBySide(x, places, b.where); part.defined())
    return part;
  std::vector<Subscript> &entries = places.entries;
  x = takeSlices(b, x, entries);
  std::vector<int> lists; // axes that are indexed by tensors of rank 1 and more
  for (int axis = 0; axis < x.rank(); ++axis)
    if (entries[size_t(axis)].kind == Subscript::Kind::tensor && entries[size_t(axis)].positions.rank() > 0)
      lists.push_back(axis);
  // single positions: from the back, so that the axes before keep their numbers
  bool joins = lists.size() > 1;
  for (int axis = x.rank(); !b.failed() && axis-- > 0;) {
    const Subscript &entry = entries[size_t(axis)];
    if (entry.kind == Subscript::Kind::position && x.known_dim(axis) >= 0) {
      int64_t at = entry.position < 0 ? entry.position + x.known_dim(axis) : entry.position;
      x = b.squeeze(b.slice(x, axis, at, at + 1), Shape{axis});
    } else if (entry.kind == Subscript::Kind::position) {
      x = b.op("gather", {x, b.index(entry.position)}, {{"axis", axis}});
    } else if (entry.kind == Subscript::Kind::tensor && !(joins && entry.positions.rank() > 0)) {
      x = b.op("gather", {x, entry.positions}, {{"axis", axis}});
      continue;
    } else {
      continue;
    }
    for (int &list : lists)
      list -= list > axis;
    entries.erase(entries.begin() + axis);
  }
  if (b.failed() || !joins)
    return b.unsqueeze(x, places.newAxes);
  // several lists: their axes to the front, one tuple of positions per element, the result where the first list was
  // (in front, when the lists are not side by side)
  if (!places.newAxes.empty())
    return b.fail("no new axes beside several tensors of positions");
  std::vector<Tensor> tuples;
  std::vector<int64_t> remaining;
  Shape order;
  size_t next = 0;
  for (size_t axis = 0; axis < entries.size(); ++axis) {
    if (next < lists.size() && lists[next] == int(axis)) {
      tuples.push_back(b.astype(entries[axis].positions, DType::i64));
      order.push_back(int64_t(axis));
      ++next;
    } else {
      remaining.push_back(int64_t(axis));
    }
  }
  for (int64_t axis : remaining)
    order.push_back(axis);
  for (size_t round = 0; round < 2; ++round)
    for (size_t k = 1; k < tuples.size(); ++k)
      b.broadcast({&tuples[0], &tuples[k]});
  if (b.failed())
    return b.error();
  int rank = tuples[0].rank();
  for (Tensor &each : tuples)
    each = b.unsqueeze(each, Shape{rank});
  x = b.op("gather_nd", {b.transpose(x, order), b.concatenate(tuples, rank)}, {{"batch_axes", 0}});
  bool adjacent = lists.back() - lists.front() + 1 == int(lists.size());
  Shape back;
  for (int k = 0; k < x.rank(); ++k) {
    int before = adjacent ? lists.front() : 0;
    back.push_back(k < before ? k + rank : k < before + rank ? k - before : k);
  }
  return b.transpose(x, back);
}

/// operand[..., positions, ...] combined with updates; see Update.
static Tensor update(const char *function, const Tensor &operand, std::span<const Subscript> subscripts,
                     const Tensor &with, const char *combiner) {
  Build b(function, subscripts.empty() ? operand.where() : subscripts[0].where);
  Tensor x = b.strong(operand), value = with;
  b.agree({&x, &value});
  Places places = placesOf(b, x, subscripts);
  if (b.failed())
    return b.error();
  std::vector<Subscript> &entries = places.entries;
  bool isWindow = places.newAxes.empty();
  Shape sizes, dropped;
  std::vector<Tensor> starts;
  std::vector<Size> windows; // sizes, where they are not known
  Shape fixed;
  bool isFixed = true;
  for (int axis = 0; axis < x.rank() && isWindow; ++axis) {
    Subscript &entry = entries[size_t(axis)];
    int64_t size = x.known_dim(axis);
    if (entry.kind == Subscript::Kind::slice) {
      isWindow = isAll(entry.range) || (isOne(entry.range.step) && (size >= 0 || !entry.range.isKnown()));
      windows.push_back(b.size(x, axis));
      if (isWindow && !entry.range.isKnown()) { // Python's rules for bounds, in the graph
        Size whole = windows.back();
        auto place = [&](const std::optional<SizeArgument> &bound, const Size &otherwise) {
          if (!bound)
            return otherwise;
          Tensor at = b.sizeTensor(*bound), all = b.sizeTensor(whole), zero = b.index(0);
          at = b.select(b.compare("lt", at, zero), b.add(at, all), at);
          return Size(b.min(b.max(at, zero), all), b.where);
        };
        Size first = place(entry.range.start, Size(0)), last = place(entry.range.stop, whole);
        windows.back() = max(last - first, 0);
        sizes.push_back(-1);
        isFixed = false;
        fixed.push_back(0);
        starts.push_back(b.reshape(b.sizeTensor(first), Shape{1}));
        continue;
      }
      Extent extent = isWindow && size >= 0 ? extentOf(entry.range, size) : Extent{0, 1, size};
      sizes.push_back(extent.count);
      fixed.push_back(extent.count ? extent.start : 0);
      starts.push_back(b.ints({fixed.back()}));
      continue;
    }
    isWindow = entry.kind == Subscript::Kind::position ? size >= 0 : entry.positions.rank() == 0;
    sizes.push_back(1);
    windows.push_back(Size(1));
    dropped.push_back(axis);
    if (!isWindow)
      break;
    if (entry.kind == Subscript::Kind::position) {
      fixed.push_back(entry.position < 0 ? entry.position + size : entry.position);
      starts.push_back(b.ints({fixed.back()}));
    } else {
      isFixed = false;
      Tensor at = b.astype(entry.positions, DType::i64);
      Tensor wrapped = b.select(b.compare("lt", at, b.index(0)), b.add(at, b.sizeTensor(b.size(x, axis))), at);
      starts.push_back(b.reshape(wrapped, Shape{1}));
    }
  }
  if (isWindow) {
    // a box: the part that changes is read only where it is combined
    Shape result = sizes;
    for (int k = dropped.size(); k-- > 0;)
      result.erase(int(dropped[k]));
    if (b.failed() || sizes.elements() == 0)
      return b.failed() ? b.error() : x;
    int lead = result.size() - value.rank();
    for (int k = 0; k < value.rank(); ++k)
      if (lead < 0 || (value.known_dim(k) >= 0 && result[lead + k] >= 0 && value.known_dim(k) != 1 &&
                       value.known_dim(k) != result[lead + k]))
        return b.fail("an update that broadcasts to " + result.str() + ", got " + value.known_shape().str());
    Sizes wide;
    for (int k = 0; k < x.rank(); ++k)
      if (std::find(dropped.begin(), dropped.end(), k) == dropped.end())
        wide.list.push_back(sizes[k] >= 0 ? Size(sizes[k]) : windows[size_t(k)]);
    value = b.unsqueeze(b.spreadTo(value, wide), dropped);
    if (x.rank() == 0)
      return *combiner == 's' ? b.strong(value) : b.op(combiner, {x, value});
    Tensor at = isFixed ? b.ints(std::span(fixed.begin(), size_t(fixed.size()))) : b.concatenate(starts, 0);
    if (*combiner != 's') {
      if (!sizes.isStatic())
        return b.fail("known sizes of the axes of " + x.type().str() + " to combine into");
      value = b.op(combiner, {b.op("dynamic_slice", {x, at}, {{"sizes", sizes}}), value});
    }
    return b.op("dynamic_update_slice", {x, value, at});
  }
  // anything else: a tuple of positions for each element of the result's indexed part
  if (!places.newAxes.empty())
    return b.fail("no new axes in an update");
  std::vector<int> lists;
  int listRank = 0;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (entries[size_t(axis)].kind == Subscript::Kind::tensor) {
      lists.push_back(axis);
      listRank = std::max(listRank, entries[size_t(axis)].positions.rank());
    }
  bool adjacent = lists.empty() || lists.back() - lists.front() + 1 == int(lists.size());
  std::vector<int> where(entries.size(), -1); // first axis of the result that an entry makes
  int rank = 0;
  bool placed = false;
  if (!adjacent) {
    rank = listRank;
    placed = true;
  }
  for (size_t axis = 0; axis < entries.size(); ++axis) {
    if (entries[axis].kind == Subscript::Kind::slice) {
      where[axis] = rank++;
    } else if (entries[axis].kind == Subscript::Kind::tensor) {
      if (!std::exchange(placed, true))
        rank += listRank;
    }
  }
  int listStart = 0;
  if (adjacent && !lists.empty())
    for (int axis = 0; axis < lists.front(); ++axis)
      listStart += entries[size_t(axis)].kind == Subscript::Kind::slice;
  std::vector<Tensor> tuples;
  for (size_t axis = 0; axis < entries.size() && !b.failed(); ++axis) {
    Subscript &entry = entries[axis];
    Tensor at;
    int first = 0;
    if (entry.kind == Subscript::Kind::slice) {
      if (x.known_dim(int(axis)) < 0 || !entry.range.isKnown())
        return b.fail("a known size of axis " + std::to_string(axis) + " of " + x.type().str() +
                      ", and known bounds of its slice");
      Extent extent = extentOf(entry.range, x.known_dim(int(axis)));
      std::vector<int64_t> each;
      for (int64_t k = 0; k < extent.count; ++k)
        each.push_back(extent.start + k * extent.step);
      at = b.ints(each);
      first = where[axis];
    } else if (entry.kind == Subscript::Kind::position) {
      at = b.index(entry.position);
      first = rank;
    } else {
      at = b.astype(entry.positions, DType::i64);
      first = listStart + listRank - at.rank();
    }
    Shape trailing;
    for (int k = first + at.rank(); k < rank; ++k)
      trailing.push_back(k - first);
    tuples.push_back(b.unsqueeze(at, trailing));
  }
  for (size_t round = 0; round < 2; ++round)
    for (size_t k = 1; k < tuples.size(); ++k)
      b.broadcast({&tuples[0], &tuples[k]});
  if (b.failed())
    return b.error();
  Tensor like = tuples[0];
  int lead = like.rank() - value.rank();
  for (int k = 0; k < value.rank(); ++k)
    if (lead < 0 || (value.known_dim(k) >= 0 && like.known_dim(lead + k) >= 0 && value.known_dim(k) != 1 &&
                     value.known_dim(k) != like.known_dim(lead + k)))
      return b.fail("an update that broadcasts to " + like.known_shape().str() + ", got " + value.known_shape().str());
  value = b.spreadLike(value, like);
  for (Tensor &each : tuples)
    each = b.unsqueeze(each, Shape{each.rank()});
  return b.op("scatter_nd", {x, b.concatenate(tuples, like.rank()), value}, {{"combiner", combiner}});
}

} // namespace detail

Tensor Update::set(const Tensor &value) const { return detail::update("at.set", x, subscripts, value, "set"); }
Tensor Update::add(const Tensor &value) const { return detail::update("at.add", x, subscripts, value, "add"); }
Tensor Update::multiply(const Tensor &value) const {
  return detail::update("at.multiply", x, subscripts, value, "mul");
}
Tensor Update::max(const Tensor &value) const { return detail::update("at.max", x, subscripts, value, "max"); }
Tensor Update::min(const Tensor &value) const { return detail::update("at.min", x, subscripts, value, "min"); }

Tensor index(const Tensor &x, const std::vector<Subscript> &subscripts) {
  return detail::subscript("index", x, subscripts);
}

Update at(const Tensor &x, const std::vector<Subscript> &subscripts) { return Update(x, subscripts); }

Tensor Tensor::operator[](const Subscript &subscript) const {
  return detail::subscript("operator []", *this, std::span(&subscript, 1));
}

Tensor take(const Operand &x, const Tensor &positions, int axis) {
  detail::Build b("take", x.where);
  Tensor value = b.strong(x.tensor), at = b.positions(positions);
  int along = b.axis(axis, value.rank());
  return b.op("gather", {value, at}, {{"axis", along}});
}

Tensor take_along_axis(const Operand &x, const Tensor &positions, int axis) {
  detail::Build b("take_along_axis", x.where);
  Tensor value = b.strong(x.tensor), at = b.positions(positions);
  int along = b.axis(axis, value.rank());
  if (!b.failed() && at.rank() != value.rank())
    return b.fail("positions of rank " + std::to_string(value.rank()) + ", got " + at.type().str());
  return b.op("gather_elements", {value, at}, {{"axis", along}});
}

Tensor gather(const Operand &x, const Tensor &positions, int batch_axes) {
  detail::Build b("gather", x.where);
  return b.op("gather_nd", {b.strong(x.tensor), b.positions(positions)}, {{"batch_axes", batch_axes}});
}

Tensor scatter(const Operand &x, const Tensor &positions, const Tensor &updates, Combine combine) {
  detail::Build b("scatter", x.where);
  Tensor value = b.strong(x.tensor), with = updates;
  b.agree({&value, &with});
  static constexpr const char *names[] = {"set", "add", "mul", "max", "min"};
  return b.op("scatter_nd", {value, b.positions(positions), b.strong(with)}, {{"combiner", names[int(combine)]}});
}

Tensor put_along_axis(const Operand &x, const Tensor &positions, const Tensor &updates, int axis, Combine combine) {
  detail::Build b("put_along_axis", x.where);
  Tensor value = b.strong(x.tensor), at = b.positions(positions), with = updates;
  b.agree({&value, &with});
  int along = b.axis(axis, value.rank());
  static constexpr const char *names[] = {"set", "add", "mul", "max", "min"};
  return b.op("scatter_elements", {value, at, b.spreadLike(with, at)},
              {{"axis", along}, {"combiner", names[int(combine)]}});
}

Tensor dynamic_slice(const Operand &x, const std::vector<Tensor> &starts, const std::vector<int64_t> &sizes) {
  detail::Build b("dynamic_slice", x.where);
  Tensor value = b.strong(x.tensor);
  if (!b.failed() && (int(starts.size()) != value.rank() || int(sizes.size()) != value.rank()))
    return b.fail("one start and one size per axis of " + value.type().str() + ", got " +
                  std::to_string(starts.size()) + " and " + std::to_string(sizes.size()));
  if (b.failed() || value.rank() == 0)
    return b.failed() ? b.error() : value;
  return b.op("dynamic_slice", {value, b.sizesTensor(std::vector<Size>(starts.begin(), starts.end()))},
              {{"sizes", sizes}});
}

Tensor dynamic_update_slice(const Operand &x, const Tensor &update, const std::vector<Tensor> &starts) {
  detail::Build b("dynamic_update_slice", x.where);
  Tensor value = b.strong(x.tensor), with = update;
  b.agree({&value, &with});
  if (!b.failed() && (int(starts.size()) != value.rank() || with.rank() != value.rank()))
    return b.fail("one start per axis and an update of the rank of " + value.type().str() + ", got " +
                  std::to_string(starts.size()) + " and " + with.type().str());
  if (b.failed() || value.rank() == 0)
    return b.failed() ? b.error() : b.strong(with);
  return b.op("dynamic_update_slice", {value, with, b.sizesTensor(std::vector<Size>(starts.begin(), starts.end()))});
}

Tensor bag_sum(const Operand &x, const Tensor &positions, const Tensor &splits, const Tensor &weights) {
  detail::Build b("bag_sum", x.where);
  Tensor value = b.floats(x.tensor), at = b.positions(positions), parts = b.astype(b.positions(splits), DType::i64);
  for (const Tensor *list : {&at, &parts})
    if (!b.failed() && list->rank() != 1)
      return b.fail("positions and splits of rank 1, got " + at.type().str() + " and " + parts.type().str());
  if (!weights.defined())
    return b.op("bag_sum", {value, at, parts});
  Tensor factors = b.floats(weights);
  return b.op("bag_sum", {value, at, parts, b.failed() ? factors : b.astype(factors, value.dtype())});
}

Tensor nonzero(const Operand &x) {
  detail::Build b("nonzero", x.where);
  return b.op("nonzero", {b.strong(x.tensor)});
}

Tensor compress(const Operand &x, const Tensor &mask, int axis) {
  detail::Build b("compress", x.where);
  Tensor value = b.strong(x.tensor), keep = b.booleans(mask);
  int along = b.axis(axis, value.rank());
  return b.op("compress", {value, keep}, {{"axis", along}});
}

Tensor one_hot(const Operand &positions, int64_t classes, DType dtype) {
  detail::Build b("one_hot", positions.where);
  Tensor at = b.positions(positions.tensor);
  Tensor each = b.astype(iota({classes}, 0, DType::i64, b.where), b.failed() ? DType::i64 : at.dtype());
  return b.astype(b.compare("eq", b.unsqueeze(at, Shape{at.rank()}), each), dtype);
}

} // namespace sinter::inline SINTER_HOST
