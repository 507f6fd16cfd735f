// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/Panels.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

//===- pairs ---------------------------------------------------------------------------------===//

/// Products with unsigned bytes of elements of one sign that add up to so much at most add up in 16 bits.
constexpr int kMostOfPair = 128;

constexpr int64_t kWord = 4; // elements

/// The elements that are added up in 16 bits with the one at `first`: two neighbours of each joined word.
static SmallVector<int64_t, 4> setOf(int64_t first, int64_t joined) {
  SmallVector<int64_t, 4> places;
  for (int64_t word = 0; word < joined; ++word)
    places.append({first + word * kWord, first + word * kWord + 1});
  return places;
}

/// Where such sets of `size` elements begin.
static SmallVector<int64_t> setsOf(int64_t size, int64_t joined) {
  SmallVector<int64_t> firsts;
  for (int64_t word = 0; word < size; word += kWord * joined)
    firsts.append({word, word + 2});
  return firsts;
}

namespace {
/// What the elements of such a set add up to in each column: those above zero, and those below.
class Sums {
public:
  explicit Sums(int64_t columns) : above(columns), below(columns) {}

  /// The greatest sum, of either sign.
  int most() const {
    int most = 0;
    for (size_t n = 0; n < above.size(); ++n)
      most = std::max(most, std::max(above[n], below[n]));
    return most;
  }

  /// The same with `row`.
  int with(const int8_t *row) const {
    int most = 0;
    for (size_t n = 0; n < above.size(); ++n)
      most = std::max(most, std::max(above[n] + std::max<int>(row[n], 0), below[n] + std::max<int>(-row[n], 0)));
    return most;
  }

  void add(const int8_t *row) {
    for (size_t n = 0; n < above.size(); ++n) {
      above[n] += std::max<int>(row[n], 0);
      below[n] += std::max<int>(-row[n], 0);
    }
  }

  /// What of `value` in column `n` is beyond what fits.
  int beyond(size_t n, int value) const {
    return value > 0 ? std::max(above[n] + value - kMostOfPair, 0) : std::min(kMostOfPair - below[n] + value, 0);
  }

private:
  SmallVector<int, 64> above, below;
};

/// Puts the elements of a group, [element][column], into an order in which few sets do not fit.
class Arrangement {
public:
  Arrangement(const int8_t *rows, int64_t size, int64_t columns, int64_t joined)
      : rows(rows), size(size), columns(columns), joined(joined) {}

  SmallVector<uint8_t> find() { return joined == 1 ? pairs() : sets(); }

private:
  const int8_t *row(int64_t i) const { return rows + i * columns; }

  /// Elements of sets of more than two: the greatest first, each to the fullest set that it fits into.
  SmallVector<uint8_t> sets() {
    SmallVector<std::pair<int, int64_t>> greatestFirst;
    for (int64_t i = 0; i < size; ++i)
      greatestFirst.emplace_back(-Sums(columns).with(row(i)), i);
    llvm::sort(greatestFirst);
    SmallVector<std::pair<Sums, SmallVector<uint8_t, 4>>, 4> sets(size / (2 * joined), {Sums(columns), {}});
    SmallVector<uint8_t> order(size), left;
    for (auto [magnitude, i] : greatestFirst) {
      int most = -1;
      std::pair<Sums, SmallVector<uint8_t, 4>> *fullest = nullptr;
      for (auto &set : sets) {
        int sum = static_cast<int64_t>(set.second.size()) < 2 * joined ? set.first.with(row(i)) : kMostOfPair + 1;
        if (sum <= kMostOfPair && sum > most) {
          most = sum;
          fullest = &set;
        }
      }
      if (!fullest) {
        left.push_back(static_cast<uint8_t>(i));
        continue;
      }
      fullest->first.add(row(i));
      fullest->second.push_back(static_cast<uint8_t>(i));
    }
    for (auto [first, set] : llvm::zip(setsOf(size, joined), sets))
      for (auto [i, place] : llvm::enumerate(setOf(first, joined))) {
        if (i == set.second.size())
          set.second.push_back(left.pop_back_val());
        order[place] = set.second[i];
      }
    return order;
  }

  /// Elements of sets of two, those of a pair side by side.
  SmallVector<uint8_t> pairs() {
    if (!pairInTurn())
      pairRarestFirst();
    SmallVector<uint8_t> order, left;
    for (int64_t i = 0; i < size; ++i) {
      if (partners[i] < 0)
        left.push_back(static_cast<uint8_t>(i));
      else if (partners[i] > i)
        order.append({static_cast<uint8_t>(i), static_cast<uint8_t>(partners[i])});
    }
    order.append(left.begin(), left.end());
    return order;
  }

  bool fit(int64_t i, int64_t j) const {
    const int8_t *x = row(i), *y = row(j);
    bool fit = true;
    for (int64_t n = 0; n < columns; ++n)
      fit &= std::abs(x[n] + y[n]) <= kMostOfPair;
    return fit;
  }

  void join(int64_t i, int64_t j) {
    partners[i] = j;
    partners[j] = i;
  }

  /// Each with the next one that fits, which mostly does for all.
  bool pairInTurn() {
    partners.assign(size, -1);
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = i + 1; partners[i] < 0 && j < size; ++j)
        if (partners[j] < 0 && fit(i, j))
          join(i, j);
      if (partners[i] < 0)
        return false;
    }
    return true;
  }

  /// The element with the fewest partners left with that of these that has the fewest.
  void pairRarestFirst() {
    SmallVector<uint32_t> others(size, 0); // sets of those that fit
    for (int64_t i = 0; i < size; ++i)
      for (int64_t j = i + 1; j < size; ++j)
        if (fit(i, j)) {
          others[i] |= 1U << j;
          others[j] |= 1U << i;
        }
    partners.assign(size, -1);
    uint32_t left = (1U << size) - 1;
    auto rarest = [&](uint32_t among) {
      int64_t best = -1;
      for (int64_t i = 0; i < size; ++i)
        if (int count = llvm::popcount(others[i] & left);
            (among >> i & 1) && count > 0 && (best < 0 || count < llvm::popcount(others[best] & left)))
          best = i;
      return best;
    };
    for (int64_t i = rarest(left); i >= 0; i = rarest(left)) {
      int64_t j = rarest(others[i] & left);
      join(i, j);
      left &= ~(1U << i | 1U << j);
    }
  }

  const int8_t *rows;
  int64_t size, columns, joined;
  SmallVector<int64_t> partners;
};
} // namespace

/// A panel in its order.
struct Panels::Ordered {
  std::vector<int8_t> bytes;    // [k][column], less what is in `taken`
  std::vector<uint8_t> order;   // for each element of k its place in its group
  std::vector<int8_t> taken;    // [extra word][of two elements][column]
  std::vector<uint8_t> sources; // [extra word][two elements]
  std::vector<int32_t> begins;  // [extra word], of its group
};

std::vector<int8_t> Panels::bytesOf(const char *first, int64_t begin) const {
  int64_t count = inside(begin);
  std::vector<int8_t> bytes(static_cast<size_t>(words() * form.kPack * count));
  for (auto [k, place] : llvm::enumerate(ks))
    for (int64_t n = 0; place != kNone && n < count; ++n)
      bytes[k * count + n] = static_cast<int8_t>(first[place + places[begin + n]]);
  return bytes;
}

/// Takes off the elements of `group`, which begins at `k`, what their sets do not hold.
void Panels::takeExtras(int64_t k, int8_t *group, ArrayRef<uint8_t> order, int64_t count, Ordered &panel) const {
  size_t taken = 0;
  for (int64_t place : setsOf(static_cast<int64_t>(order.size()), form.joined)) {
    auto elements = llvm::map_to_vector<4>(setOf(place, form.joined), [&](int64_t at) { return order[at]; });
    Sums all(count), sums(count);
    for (uint8_t element : elements)
      all.add(group + element * count);
    if (all.most() <= kMostOfPair)
      continue;
    // The greatest last, so that few are too great.
    auto magnitude = [&](uint8_t element) { return std::pair(Sums(count).with(group + element * count), element); };
    if (elements.size() > 2)
      llvm::sort(elements, [&](uint8_t x, uint8_t y) { return magnitude(x) < magnitude(y); });
    for (uint8_t element : elements) {
      int8_t *row = group + element * count;
      if (sums.with(row) > kMostOfPair) {
        if (taken++ % 2 == 0) {
          panel.begins.push_back(static_cast<int32_t>(k));
          panel.sources.insert(panel.sources.end(), 2, kNoElement);
          panel.taken.insert(panel.taken.end(), 2 * count, 0);
        }
        panel.sources.end()[taken % 2 ? -2 : -1] = element;
        int8_t *more = &*(panel.taken.end() - (taken % 2 ? 2 : 1) * count);
        for (int64_t n = 0; n < count; ++n) {
          int beyond = sums.beyond(n, row[n]);
          more[n] = static_cast<int8_t>(beyond);
          row[n] = static_cast<int8_t>(row[n] - beyond);
        }
      }
      sums.add(row);
    }
  }
}

Panels::Ordered Panels::order(const char *first, int64_t begin) const {
  Ordered panel{bytesOf(first, begin), {}, {}, {}, {}};
  int64_t count = inside(begin), end = words() * form.kPack, size = groupSize();
  for (int64_t k = 0; k < end; k += size) {
    int8_t *group = panel.bytes.data() + k * count;
    SmallVector<uint8_t> order;
    if (form.inOrder)
      order = Arrangement(group, size, count, form.joined).find();
    else
      llvm::append_range(order, llvm::seq<uint8_t>(0, static_cast<uint8_t>(size)));
    takeExtras(k, group, order, count, panel);
    panel.order.insert(panel.order.end(), order.begin(), order.end());
  }
  return panel;
}

bool Panels::forEachPanel(function_ref<bool(int64_t, int64_t)> use) const {
  for (int64_t batch : batches)
    for (int64_t begin = 0; begin < static_cast<int64_t>(places.size()); begin += columns)
      if (!use(batch, begin))
        return false;
  return true;
}

std::optional<int64_t> Panels::countExtras(const char *from, int64_t most) const {
  int64_t count = 0;
  bool areFew = forEachPanel([&](int64_t batch, int64_t begin) {
    count = std::max(count, static_cast<int64_t>(order(from + batch, begin).begins.size()));
    return count <= most;
  });
  return areFew ? std::optional(count) : std::nullopt;
}

//===- packing -------------------------------------------------------------------------------===//

int64_t Panels::bytes() const {
  int64_t rows = form.headers(words(), columns) + words() + form.extras;
  return static_cast<int64_t>(batches.size() * llvm::divideCeil(places.size(), columns)) * rows * columns * form.kPack *
         width;
}

/// Orders, places of extra words, words and extra words.
void Panels::writeOrdered(const char *first, int64_t begin, char *to) const {
  Ordered panel = order(first, begin);
  int64_t count = inside(begin), pack = form.kPack, end = words() * pack, size = groupSize();
  assert(static_cast<int64_t>(panel.begins.size()) <= form.extras && "whoever chose the form counted them");
  char *orders = to;
  if (form.inOrder)
    orders = llvm::copy(panel.order, orders);
  char *begins = orders + form.extras * pack;
  std::memset(orders, kNoElement, static_cast<size_t>(form.extras * pack));
  to += (form.headers(words(), columns) - form.flips) * columns * pack;
  for (int64_t k = 0; k < end; ++k) {
    const int8_t *row = panel.bytes.data() + (k / size * size + panel.order[k]) * count;
    for (int64_t n = 0; n < count; ++n)
      to[(k / pack * columns + n) * pack + k % pack] = static_cast<char>(row[n]);
  }
  to += end * columns;
  for (size_t extra = 0; extra < panel.begins.size(); ++extra) {
    std::memcpy(begins + extra * sizeof(int32_t), &panel.begins[extra], sizeof(int32_t));
    for (size_t which : {0, 1}) { // one in each pair of the word
      orders[static_cast<int64_t>(extra) * pack + static_cast<int64_t>(which) * 2] =
          static_cast<char>(panel.sources[extra * 2 + which]);
      for (int64_t n = 0; n < count; ++n)
        to[(static_cast<int64_t>(extra) * columns + n) * pack + static_cast<int64_t>(which) * 2] =
            static_cast<char>(panel.taken[(extra * 2 + which) * count + n]);
    }
  }
}

void Panels::write(const char *from, char *to) const {
  int64_t row = columns * form.kPack * width, pack = form.kPack;
  forEachPanel([&](int64_t batch, int64_t begin) {
    const char *first = from + batch * width;
    int64_t count = inside(begin);
    if (form.flips) {
      for (int64_t n = 0; n < count; ++n) {
        uint32_t sum = columnStart(form, ks, first + places[begin + n]);
        std::memcpy(to + n * sizeof sum, &sum, sizeof sum);
      }
      to += row;
    }
    if (form.group) {
      writeOrdered(first, begin, to);
      to += (form.headers(words(), columns) - form.flips + words() + form.extras) * row;
      return true;
    }
    for (int64_t k = 0, end = words() * pack; k < end; ++k) {
      if (k < static_cast<int64_t>(ks.size()) && ks[k] != kNone)
        for (int64_t n = 0; n < count; ++n)
          std::memcpy(to + (n * pack + k % pack) * width, first + (ks[k] + places[begin + n]) * width, width);
      if ((k + 1) % pack == 0)
        to += row;
    }
    return true;
  });
}

schedule::PackedForm Panels::packed() const {
  return {bytes(), [all = *this](const char *from, char *to) { all.write(from, to); }};
}
