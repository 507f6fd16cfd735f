// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A feature's column in a batch of tf.Examples: elements go where they stay, without a value for each record.

#ifndef SINTER_RUNTIME_DATA_EXAMPLECOLUMN_H
#define SINTER_RUNTIME_DATA_EXAMPLECOLUMN_H

#include "ExampleWire.h"
#include "Growing.h"
#include <array>
#include <tuple>

namespace sinter::data::wire {

/// Where the elements of a row are in a record as writers make it: numbers, packed, or the fields of strings. Memory up
/// to `limit` may be read. Without data where the record lacks the feature.
struct Piece {
  const char *data;
  int64_t size;
  const char *limit;
};

/// The rows of one feature. Contents are those of a Feature; memory up to `limit` may be read.
class ExampleColumn {
public:
  virtual ~ExampleColumn() = default;
  /// Appends rows, the default where a piece has no data, up to the first that does not fit; how many. Of that one,
  /// elements may be there: cut() takes them away.
  virtual size_t addRows(std::span<const Piece> pieces) = 0;
  /// Appends any row, the default where `content` is nowhere or holds nothing. Throws where it does not fit.
  virtual void add(std::string_view content, const char *limit) = 0;
  virtual void addDefault() = 0;
  /// Keeps the first `rows` rows.
  virtual void cut(size_t rows) = 0;
  virtual Value finish(int64_t rows) = 0;
};

/// T is the type of the elements, std::string_view of strings.
template <typename T> class ColumnOf final : public ExampleColumn {
public:
  /// `batchBytes`: of all records, which tell what is worth reserving.
  ColumnOf(const Feature &feature, size_t rows, int64_t batchBytes) : feature(feature) {
    isOpen = !feature.dims.empty() && feature.dims[0] < 0;
    for (size_t d = isOpen; d < feature.dims.size(); ++d)
      inner *= feature.dims[d];
    if (isOpen)
      splits.reserve(rows + 1), splits.push_back(0);
    else if (int64_t most = batchBytes / (std::is_floating_point_v<T> ? 4 : 1); // elements that the records can hold
             !isText && inner <= most / static_cast<int64_t>(rows))
      elements.reserve(static_cast<int64_t>(rows) * inner * width);
  }

  size_t addRows(std::span<const Piece> pieces) override {
    for (size_t row = 0; row < pieces.size();) {
      if (!pieces[row].data) {
        addDefault();
        ++row;
        continue;
      }
      size_t end = row;
      while (end < pieces.size() && pieces[end].data)
        ++end;
      size_t added = addPieces(pieces.subspan(row, end - row));
      if (added < end - row)
        return row + added;
      row = end;
    }
    return pieces.size();
  }

  void add(std::string_view content, const char *limit) override {
    this->limit = limit;
    int64_t before = count;
    List list = listOf(content);
    if (!list.kind)
      return feature.hasDefault ? addDefault() : missing(feature);
    requireKind(feature, list);
    eachElement(
        list, [&](std::string_view text) { addText(text); }, [&](std::string_view bytes) { addFloats(bytes); },
        [&](int64_t integer) { addInteger(integer); }, [&](std::string_view packed) { addIntegers(packed); });
    int64_t added = count - before;
    if (isOpen && inner > 0 && added % inner == 0)
      splits.push_back(splits.back() + added / inner);
    else if (isOpen || added != inner)
      dimsFor(feature, feature.dims, added); // throws
  }

  void addDefault() override {
    if (isOpen) {
      splits.push_back(splits.back());
      return;
    }
    for (int64_t i = 0; i < inner; ++i)
      if constexpr (isText)
        texts.add({});
      else if constexpr (std::is_integral_v<T>)
        elements.put<T>(static_cast<T>(static_cast<int64_t>(feature.number)));
      else
        elements.put<T>(static_cast<T>(static_cast<float>(feature.number)));
    count += inner;
  }

  void cut(size_t rows) override {
    if (isOpen)
      splits.resize(rows + 1);
    count = isOpen ? splits.back() * inner : static_cast<int64_t>(rows) * inner;
    if constexpr (isText)
      texts.cut(count);
    else
      elements.cut(count * width);
  }

  Value finish(int64_t rows) override {
    std::vector<int64_t> sizes(feature.dims);
    if (isOpen)
      sizes[0] = splits.back();
    else
      sizes.insert(sizes.begin(), rows);
    Dims dims{std::span<const int64_t>(sizes)};
    Value value;
    if constexpr (isText)
      value = texts.take(dims);
    else
      value = Value(feature.dtype, dims, elements.take());
    return isOpen ? Value::ragged(value, splits) : value;
  }

private:
  static constexpr bool isText = std::is_same_v<T, std::string_view>;
  static constexpr int64_t width = sizeof(T);
  static constexpr int64_t copied = 32; // bytes at a time

  /// Notes a row of so many elements. False where the feature requires other ones.
  [[gnu::always_inline]] bool endRow(int64_t added) {
    if (!isOpen) {
      if (added != inner) [[unlikely]]
        return false;
    } else if (inner == 1) {
      splits.push_back(splits.back() + added);
    } else {
      if (inner == 0 || added % inner)
        return false;
      splits.push_back(splits.back() + added / inner);
    }
    count += added;
    return true;
  }

  /// Where the number at `at` ends; null where it does not end before `end`. 8 bytes from `at` on may be read.
  [[gnu::always_inline]] static const char *takeNumber(const char *at, const char *end, uint64_t &number) {
    uint32_t few;
    std::memcpy(&few, at, sizeof few);
    if (size_t size = shortVarint(few)) [[likely]] {
      number = few;
      return at + size;
    }
    std::memcpy(&number, at, sizeof number);
    if (size_t size = shortVarint(number); size <= 8)
      return at + size;
    auto [next, all] = longNumber(at, end);
    number = all;
    return next;
  }
  [[gnu::noinline]] static std::pair<const char *, uint64_t> longNumber(const char *at, const char *end) {
    uint64_t number = 0;
    for (unsigned shift = 0; at < end && shift < 70; shift += 7) {
      auto byte = static_cast<unsigned char>(*at++);
      if (shift < 64)
        number |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128)
        return {at, number};
    }
    return {nullptr, 0};
  }

  /// Appends rows up to the first that does not fit; how many. What is written stands in registers: through members,
  /// each element would load where it goes, as memory of bytes may be anything's.
  size_t addPieces(std::span<const Piece> pieces) {
    int64_t bytes = 0;
    for (const Piece &piece : pieces)
      bytes += piece.size;
    size_t row = 0;
    if constexpr (isText) {
      texts.reserve(static_cast<int64_t>(pieces.size()), bytes);
      for (; row < pieces.size() && addStrings(pieces[row]); ++row)
        ;
      return row;
    } else {
      if constexpr (std::is_integral_v<T>)
        return addIntegers(pieces, bytes);
      elements.reserve(bytes / static_cast<int64_t>(sizeof(float)) * width + copied);
      char *to = elements.end(), *begin = to;
      for (; row < pieces.size(); ++row) {
        char *end = addNumbers(pieces[row], to);
        if (!end || !endRow((end - to) / width)) [[unlikely]]
          break;
        to = end;
      }
      elements.advance(to - begin);
      return row;
    }
  }

  /// The end of the elements of a row. Null where they are none of T.
  [[gnu::always_inline]] static char *addNumbers(const Piece &piece, char *to) {
    const char *at = piece.data, *end = at + piece.size;
    if constexpr (std::is_same_v<T, float>) {
      if (piece.size % static_cast<int64_t>(sizeof(float))) [[unlikely]]
        return nullptr;
      if (piece.size <= 4 * copied && piece.limit - at >= piece.size + copied) [[likely]]
        for (int64_t from = 0; from < piece.size; from += copied) // copied without a call
          std::memcpy(to + from, at + from, copied);
      else
        std::memcpy(to, at, static_cast<size_t>(piece.size));
      return to + piece.size;
    } else {
      if (piece.size % static_cast<int64_t>(sizeof(float)))
        return nullptr;
      for (; at < end; at += sizeof(float), to += width) {
        float narrow;
        std::memcpy(&narrow, at, sizeof narrow);
        auto element = static_cast<T>(narrow);
        std::memcpy(to, &element, sizeof element);
      }
      return to;
    }
  }

  /// Numbers that end in these 8 bytes.
  static int64_t numEnds(uint64_t bytes) {
    return static_cast<int64_t>(((~bytes & 0x8080808080808080u) >> 7) * 0x0101010101010101u >> 56);
  }

  /// Numbers side by side, `count` from `at` on, of which the first is element `first`.
  struct Lane {
    const char *at = nullptr;
    int64_t first = 0, count = 0;
  };
  static constexpr size_t numLanes = 4;

  [[gnu::always_inline]] static bool readNumber(Lane &lane, int64_t k, const char *end, char *to) {
    uint64_t number;
    lane.at = takeNumber(lane.at, end, number);
    if (!lane.at || (std::is_same_v<T, int32_t> &&
                     static_cast<int64_t>(number) != static_cast<int32_t>(static_cast<uint32_t>(number)))) [[unlikely]]
      return false;
    auto element = static_cast<T>(number);
    std::memcpy(to + (lane.first + k) * width, &element, sizeof element);
    return true;
  }

  /// Where a number begins is known when the one before it was read: lanes do not wait for each other.
  static bool readLanes(std::array<Lane, numLanes> lanes, const char *end, char *to) {
    int64_t common = std::min({lanes[0].count, lanes[1].count, lanes[2].count, lanes[3].count});
    for (int64_t k = 0; k < common; ++k)
      if (!readNumber(lanes[0], k, end, to) || !readNumber(lanes[1], k, end, to) || !readNumber(lanes[2], k, end, to) ||
          !readNumber(lanes[3], k, end, to)) [[unlikely]]
        return false;
    for (Lane &lane : lanes)
      for (int64_t k = common; k < lane.count; ++k)
        if (!readNumber(lane, k, end, to))
          return false;
    return true;
  }

  /// Integers of rows up to the first that does not fit. How many each row has is counted, and all of them are put side
  /// by side before they are read: no loop then ends where nobody can predict it.
  size_t addIntegers(std::span<const Piece> pieces, int64_t bytes) {
    constexpr int64_t slack = 16;
    std::array<char, 2048> few;
    std::unique_ptr<char[]> many;
    char *packed = few.data();
    if (bytes + slack > static_cast<int64_t>(few.size()))
      packed = (many = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(bytes + slack))).get();
    *packed++ = 0; // no number is cut off before the first
    char *last = packed;
    size_t rows = 0;
    int64_t total = 0;
    std::array<Lane, numLanes> lanes = {};
    size_t numBegun = 0, rowsOfLane = (pieces.size() + numLanes - 1) / numLanes, laneEnd = 0;
    for (const Piece &piece : pieces) {
      if (rows == laneEnd) {
        lanes[numBegun++] = {last, total};
        laneEnd += rowsOfLane;
      }
      int64_t added = 0, at = 0;
      uint64_t word;
      if (piece.size < 8 && piece.limit - piece.data >= 8) [[likely]] {
        std::memcpy(&word, piece.data, sizeof word);
        std::memcpy(last, &word, sizeof word);
        added = numEnds(word | ~uint64_t(0) << (8 * piece.size));
      } else {
        std::memcpy(last, piece.data, static_cast<size_t>(piece.size));
        for (; at + 8 <= piece.size; at += 8) {
          std::memcpy(&word, last + at, sizeof word);
          added += numEnds(word);
        }
        for (; at < piece.size; ++at)
          added += !(last[at] & 128);
      }
      if ((last[piece.size - 1] & 128) || !endRow(added)) [[unlikely]]
        break;
      last += piece.size;
      total += added;
      ++rows;
    }
    elements.reserve(total * width);
    for (size_t lane = numLanes; lane-- > 0;) {
      if (!lanes[lane].at)
        lanes[lane] = {last, total};
      lanes[lane].count = (lane + 1 < numLanes ? lanes[lane + 1].first : total) - lanes[lane].first;
    }
    if (!readLanes(lanes, last, elements.end()))
      return 0; // whose number it is shows when rows are added one by one
    elements.advance(total * width);
    return rows;
  }

  /// False where they are no strings, or others than the feature requires.
  [[gnu::always_inline]] bool addStrings(const Piece &piece) {
    const char *at = piece.data, *end = at + piece.size;
    int64_t added = 0;
    for (; at < end; ++added) {
      uint64_t size;
      if (*at != 10)
        return false;
      if (++at < end && static_cast<unsigned char>(*at) < 128) [[likely]]
        size = static_cast<unsigned char>(*at++);
      else if (std::tie(at, size) = longNumber(at, end); !at)
        return false;
      if (size > static_cast<uint64_t>(end - at))
        return false;
      texts.add({at, static_cast<size_t>(size)}, piece.limit);
      at += size;
    }
    return endRow(added);
  }

  void addText(std::string_view text) {
    if constexpr (isText) {
      texts.add(text, limit);
      ++count;
    }
  }

  void addFloats(std::string_view bytes) {
    if constexpr (std::is_floating_point_v<T>) {
      if (bytes.size() % sizeof(float))
        malformed("packed floats of 4 bytes");
      auto added = static_cast<int64_t>(bytes.size() / sizeof(float));
      if constexpr (std::is_same_v<T, float>) {
        elements.put(bytes, limit);
      } else {
        elements.reserve(added * width);
        for (size_t i = 0; i < bytes.size(); i += sizeof(float)) {
          float element;
          std::memcpy(&element, bytes.data() + i, sizeof element);
          elements.put<T>(element);
        }
      }
      count += added;
    }
  }

  void addIntegers(std::string_view packed) {
    while (!packed.empty())
      addInteger(static_cast<int64_t>(varint(packed)));
  }

  void addInteger(int64_t integer) {
    if constexpr (std::is_same_v<T, int32_t>)
      if (integer != static_cast<int32_t>(integer))
        outOfRange(feature, integer);
    if constexpr (std::is_integral_v<T>) {
      elements.put<T>(static_cast<T>(integer));
      ++count;
    }
  }

  const Feature &feature;
  const char *limit = nullptr;
  bool isOpen;
  int64_t inner = 1, count = 0; // elements of a row, or behind the open dim; those so far
  Growing elements;
  GrowingStrings texts;
  std::vector<int64_t> splits;
};

} // namespace sinter::data::wire

#endif
