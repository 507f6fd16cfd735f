// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/Panels.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

//===- pairs ---------------------------------------------------------------------------------===//

/// Products with unsigned bytes of two elements that add up to so much at most add up in 16 bits.
constexpr int kMostOfPair = 128;

/// Whether that holds of two elements in each of `columns` columns.
static bool fits(const int8_t *x, const int8_t *y, int64_t columns) {
  bool fit = true;
  for (int64_t n = 0; n < columns; ++n)
    fit &= std::abs(x[n] + y[n]) <= kMostOfPair;
  return fit;
}

namespace {
/// Pairs the elements of a group, [element][column], so that few pairs do not fit.
class Matching {
public:
  Matching(const int8_t *rows, int64_t size, int64_t columns) : rows(rows), size(size), columns(columns) {}

  /// The elements, those of a pair side by side.
  SmallVector<uint8_t> find() {
    bool isWhole = pairInTurn();
    if (!isWhole)
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

private:
  bool fit(int64_t i, int64_t j) const { return fits(rows + i * columns, rows + j * columns, columns); }

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
  int64_t size, columns;
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

Panels::Ordered Panels::order(const char *first, int64_t begin) const {
  Ordered panel{bytesOf(first, begin), {}, {}, {}, {}};
  int64_t count = inside(begin), end = words() * form.kPack;
  for (int64_t k = 0; k < end; k += form.group) {
    int8_t *group = panel.bytes.data() + k * count;
    SmallVector<uint8_t> order = Matching(group, form.group, count).find();
    size_t taken = 0;
    for (size_t i = 0; i < order.size(); i += 2) {
      const int8_t *x = group + order[i] * count;
      int8_t *y = group + order[i + 1] * count;
      if (fits(x, y, count))
        continue;
      if (taken++ % 2 == 0) {
        panel.begins.push_back(static_cast<int32_t>(k));
        panel.sources.insert(panel.sources.end(), 2, kNoElement);
        panel.taken.insert(panel.taken.end(), 2 * count, 0);
      }
      panel.sources.end()[taken % 2 ? -2 : -1] = order[i + 1];
      int8_t *more = &*(panel.taken.end() - (taken % 2 ? 2 : 1) * count);
      for (int64_t n = 0; n < count; ++n) {
        int sum = x[n] + y[n], beyond = sum - std::clamp(sum, -kMostOfPair, kMostOfPair);
        more[n] = static_cast<int8_t>(beyond);
        y[n] = static_cast<int8_t>(y[n] - beyond);
      }
    }
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

bool Panels::hasPairs(const char *from) const {
  return forEachPanel([&](int64_t batch, int64_t begin) {
    int64_t count = inside(begin);
    std::vector<int8_t> bytes = bytesOf(from + batch, begin);
    bool fit = true;
    for (int64_t k = 0; fit && k < words() * form.kPack; k += 2)
      fit = fits(bytes.data() + k * count, bytes.data() + (k + 1) * count, count);
    return fit;
  });
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
  int64_t count = inside(begin), pack = form.kPack, end = words() * pack;
  assert(static_cast<int64_t>(panel.begins.size()) <= form.extras && "whoever chose the form counted them");
  char *orders = to, *begins = orders + end + form.extras * pack;
  llvm::copy(panel.order, orders);
  std::memset(orders + end, kNoElement, static_cast<size_t>(form.extras * pack));
  to += (form.headers(words(), columns) - form.flips) * columns * pack;
  for (int64_t k = 0; k < end; ++k) {
    const int8_t *row = panel.bytes.data() + (k / form.group * form.group + panel.order[k]) * count;
    for (int64_t n = 0; n < count; ++n)
      to[(k / pack * columns + n) * pack + k % pack] = static_cast<char>(row[n]);
  }
  to += end * columns;
  for (size_t extra = 0; extra < panel.begins.size(); ++extra) {
    std::memcpy(begins + extra * sizeof(int32_t), &panel.begins[extra], sizeof(int32_t));
    for (size_t which : {0, 1}) { // one in each pair of the word
      orders[end + static_cast<int64_t>(extra) * pack + static_cast<int64_t>(which) * 2] =
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
