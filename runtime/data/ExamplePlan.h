// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tf.Examples of one writer repeat what stands between their elements. A Front is what stands before the elements of
// one feature, of which each record may have another number. A Plan is a whole record: features whose size has been the
// same in all records so far stand in one run of bytes with what is before the next feature of another size, and few
// comparisons tell where all elements are. Of {"label": [1], "word": "w", "bag": [7, 8, 9]}, where words and bags have
// any size, two runs are compared (`..` are elements, which are not, and ++ sizes that follow from the last of a run):
//
//   10 14 10 5 label 18 5 26 3 10 1 .. 10 ++ 10 4 word 18 ++ 10 ++      and      10 ++ 10 3 bag 18 ++ 26 ++

#ifndef SINTER_RUNTIME_DATA_EXAMPLEPLAN_H
#define SINTER_RUNTIME_DATA_EXAMPLEPLAN_H

#include "ExampleColumn.h"

namespace sinter::data::wire {

/// Bytes of a record, compared at once.
using Vector [[gnu::vector_size(16)]] = unsigned char;
inline constexpr size_t vectorBytes = sizeof(Vector);

[[gnu::always_inline]] inline Vector splat(unsigned char x) {
  return Vector{x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}
[[gnu::always_inline]] inline bool isZero(Vector vector) {
  uint64_t words[2];
  std::memcpy(words, &vector, sizeof words);
  return !(words[0] | words[1]);
}

/// What is expected of a byte: a constant or, of a size, a constant and the last size.
struct Expected {
  unsigned char constant;
  bool isSize;
};

/// What is expected of some bytes, `offset` behind the place that is looked at; nothing of the others.
class Pattern {
public:
  int64_t offset = 0;

  void set(size_t i, Expected byte) {
    at(expected, i) = byte.constant;
    at(cared, i) = 255;
    at(sized, i) = byte.isSize ? 255 : 0;
  }
  /// Not zero where bytes differ from what is expected when the last size is `last`, in all bytes.
  [[gnu::always_inline]] Vector differs(const char *place, Vector last) const {
    Vector found;
    std::memcpy(&found, place + offset, sizeof found);
    return (found ^ (expected + (last & sized))) & cared;
  }

  /// Whether the last size does not matter.
  bool isConstant() const { return isZero(sized); }

private:
  static unsigned char &at(Vector &vector, size_t i) { return reinterpret_cast<unsigned char *>(&vector)[i]; }
  Vector expected = {}, cared = {}, sized = {};
};

/// What bytes before elements end in: the size of the elements, of numbers with a key and a size of their own.
struct Ending {
  int64_t size = 1, most = -1; // of what stands before the elements, without the last two before numbers; of these
  bool isNumbers = false;

  /// The elements, which `last` bytes of a message hold. Nowhere where they do not fit.
  [[gnu::always_inline]] Piece elements(const char *at, const char *end, unsigned char last, Vector differs) const {
    uint16_t packed;
    std::memcpy(&packed, at + size, sizeof packed);
    bool isPacked = isNumbers & (last != 0), differsThere = isPacked & (packed != (10 | (last - 2) << 8));
    if (!isZero(differs) || differsThere || last > most || end - at < size + last) [[unlikely]]
      return {};
    int64_t front = isPacked ? 2 : 0;
    return {at + size + front, last - front};
  }
};

/// What stands before the elements of a feature, as writers make it: keys, the name, and sizes of messages that hold
/// each other and end together, so that all follow from the last. While each is a byte, one comparison tells.
///
///   10 size 10 size name 18 size kind size [10 size] elements       the last two before numbers
///   10 size 10 size name 18 size elements                           of what nobody wants, where `kind` is 0
class Front {
public:
  /// Of the entry of no feature: fits nowhere.
  Front() = default;
  static const Front &none() {
    static const Front none;
    return none;
  }
  Front(std::string_view name, uint64_t kind) {
    size_t n = name.size();
    if (n + 8 > std::size(patterns) * vectorBytes)
      return;
    bytes = {{10, false}, {static_cast<unsigned char>(n + (kind ? 6 : 4)), true}, {10, false}};
    bytes.push_back({static_cast<unsigned char>(n), false});
    for (char c : name)
      bytes.push_back({static_cast<unsigned char>(c), false});
    bytes.push_back({18, false});
    if (kind) {
      bytes.push_back({2, true});
      bytes.push_back({static_cast<unsigned char>(kind << 3 | 2), false});
    }
    bytes.push_back({0, true});
    ending = {static_cast<int64_t>(bytes.size()), 127 - bytes[1].constant, kind > 1};
    patterns[1].offset = vectorBytes;
    for (size_t i = 0; i < bytes.size(); ++i)
      patterns[i / vectorBytes].set(i % vectorBytes, bytes[i]);
  }

  /// The elements of an entry at `at`, which end with it. Nowhere where the entry begins otherwise. `read` bytes of
  /// memory from `at` on may be read.
  static constexpr int64_t read = 40;
  [[gnu::always_inline]] Piece elements(const char *at, const char *end) const {
    auto last = static_cast<unsigned char>(at[ending.size - 1]);
    Vector all = splat(last), differs = patterns[0].differs(at, all);
    if (ending.size > static_cast<int64_t>(vectorBytes))
      differs |= patterns[1].differs(at, all);
    return ending.elements(at, end, last, differs);
  }

private:
  friend class Plan;
  Ending ending;
  Pattern patterns[2];
  std::vector<Expected> bytes;
};

/// An entry of a record, which began at `begin`.
struct Entry {
  static constexpr size_t unwanted = SIZE_MAX; // a feature that is none of the columns
  size_t feature = unwanted;
  const Front *front = nullptr; // fits it; null where none does
  bool varies = false;          // records before had elements of another size
  const char *begin = nullptr;
  Piece elements{};
};

class Plan {
public:
  /// Elements of one size in every record, `offset` behind where a run begins.
  struct Fixed {
    size_t feature, run;
    int64_t offset, size;
  };

  /// For records like the one that has these entries. Null where there is none.
  static std::shared_ptr<const Plan> of(std::span<const Entry> entries, size_t numFeatures) {
    auto plan = std::make_shared<Plan>();
    plan->isThere.resize(numFeatures);
    for (const Entry &entry : entries)
      if (entry.feature != Entry::unwanted)
        plan->isThere[entry.feature] = true;
    std::vector<std::pair<Expected, bool>> bytes; // whether anything is expected
    for (const Entry &entry : entries) {
      if (entry.varies) {
        if (!entry.front)
          return nullptr;
        for (Expected byte : entry.front->bytes)
          bytes.push_back({byte, true});
        plan->endRun(bytes, entry.front->ending, entry.feature);
        continue;
      }
      for (const char *at = entry.begin; at < entry.elements.data; ++at)
        bytes.push_back({{static_cast<unsigned char>(*at), false}, true});
      if (entry.feature != Entry::unwanted)
        plan->fixed.push_back(
            {entry.feature, plan->runs.size(), static_cast<int64_t>(bytes.size()), entry.elements.size});
      bytes.resize(bytes.size() + static_cast<size_t>(entry.elements.size));
    }
    if (!bytes.empty())
      plan->endRun(bytes, {.most = 0}, Entry::unwanted);
    return plan;
  }

  /// Finds the elements of records up to the first that is another, and returns how many: `starts(r)` has room for
  /// where run r begins in each of them, `elements(f)` for the elements of a feature, which may be unwanted. Bytes up
  /// to `read` behind a record may be read.
  template <typename Starts, typename Elements>
  size_t locate(std::span<const Span> records, Starts starts, Elements elements) const {
    size_t count = records.size(), last = runs.size();
    for (size_t i = 0; i < count; ++i) {
      const Span &record = records[i];
      const char *end = record.data + record.size, *at = onlyField(record.data, end, 10);
      if (!at || record.limit - end < read) [[unlikely]]
        count = i;
      starts(0)[i] = at;
    }
    for (size_t r = 0; r < last; ++r)
      count = follow(runs[r], records.first(count), starts(r), starts(r + 1), elements(runs[r].feature));
    for (size_t i = 0; i < count; ++i)
      if (starts(last)[i] != records[i].data + records[i].size) [[unlikely]]
        return i;
    return count;
  }

  std::vector<Fixed> fixed;
  /// Whether the records have a feature.
  bool has(size_t feature) const { return isThere[feature]; }
  int64_t read = 64;
  size_t numRuns() const { return runs.size(); }

private:
  struct RunOfBytes {
    size_t begin, end; // of the patterns
    Ending ending;
    unsigned char sizeMask; // 0 where it does not end in a size
    size_t feature;
  };

  /// Compares one run of each record up to the first that differs; how many. One by one, each record would wait for
  /// where the run before ends.
  template <size_t numPatterns>
  static size_t compare(const RunOfBytes &run, const Pattern *patterns, std::span<const Span> records,
                        const char *const *starts, const char **ends, Piece *elements) {
    const Ending ending = run.ending;
    std::array<Pattern, numPatterns> expected;
    std::copy_n(patterns, numPatterns, expected.begin());
    for (size_t i = 0; i < records.size(); ++i) {
      const char *at = starts[i];
      unsigned char last = static_cast<unsigned char>(at[ending.size - 1]) & run.sizeMask;
      Vector all = splat(last), differs = expected[0].differs(at, all);
      for (size_t p = 1; p < numPatterns; ++p)
        differs |= expected[p].differs(at, all);
      const Span &record = records[i];
      elements[i] = ending.elements(at, record.data + record.size, last, differs);
      if (!elements[i].data) [[unlikely]]
        return i;
      ends[i] = elements[i].data + elements[i].size;
    }
    return records.size();
  }

  /// The same for any number of patterns.
  size_t follow(const RunOfBytes &run, std::span<const Span> records, const char *const *starts, const char **ends,
                Piece *elements) const {
    const Pattern *pattern = patterns.data() + run.begin, *last = patterns.data() + run.end;
    for (; last - pattern > 2; ++pattern)
      records = records.first(pattern->isConstant() ? check<false>(run, *pattern, records, starts)
                                                    : check<true>(run, *pattern, records, starts));
    return last - pattern == 1 ? compare<1>(run, pattern, records, starts, ends, elements)
                               : compare<2>(run, pattern, records, starts, ends, elements);
  }

  /// One pattern of a run that has more.
  template <bool isSized>
  static size_t check(const RunOfBytes &run, const Pattern expected, std::span<const Span> records,
                      const char *const *starts) {
    for (size_t i = 0; i < records.size(); ++i) {
      Vector all = {};
      if (isSized)
        all = splat(static_cast<unsigned char>(starts[i][run.ending.size - 1]) & run.sizeMask);
      if (!isZero(expected.differs(starts[i], all))) [[unlikely]]
        return i;
    }
    return records.size();
  }

  void endRun(std::vector<std::pair<Expected, bool>> &bytes, Ending ending, size_t feature) {
    size_t begin = patterns.size();
    ending.size = static_cast<int64_t>(bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (!bytes[i].second)
        continue;
      if (patterns.size() == begin || i >= static_cast<size_t>(patterns.back().offset) + vectorBytes)
        patterns.emplace_back().offset = static_cast<int64_t>(i);
      patterns.back().set(i - static_cast<size_t>(patterns.back().offset), bytes[i].first);
    }
    unsigned char mask = bytes.back().second && bytes.back().first.isSize ? 255 : 0;
    runs.push_back({begin, patterns.size(), ending, mask, feature});
    read = std::max(read, ending.size + static_cast<int64_t>(vectorBytes));
    bytes.clear();
  }

  std::vector<RunOfBytes> runs;
  std::vector<Pattern> patterns;
  std::vector<bool> isThere;
};

} // namespace sinter::data::wire

#endif
