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

/// Where the elements of a row are in a record as writers make it: numbers, packed, or the fields of strings. Without
/// data where the record lacks the feature.
struct Piece {
  const char *data;
  int64_t size;
};

/// The rows of one feature, at most as many as the batch has. Contents are those of a Feature; memory up to `limit` may
/// be read.
class ExampleColumn {
public:
  virtual ~ExampleColumn() = default;
  /// addPieces for records of which some may lack the feature, and have the default.
  size_t addRows(std::span<const Piece> pieces, std::span<const Span> records) {
    for (size_t row = 0; row < pieces.size();) {
      if (!pieces[row].data) {
        addDefault();
        ++row;
        continue;
      }
      size_t end = row;
      while (end < pieces.size() && pieces[end].data)
        ++end;
      size_t added = addPieces(pieces.subspan(row, end - row), records.subspan(row, end - row));
      row += added;
      if (row < end)
        return row;
    }
    return pieces.size();
  }
  /// Appends rows whose elements are in `records`, one piece in each, up to the first that does not fit; how many. Of
  /// that one, elements may be there: cut() takes them away.
  virtual size_t addPieces(std::span<const Piece> pieces, std::span<const Span> records) = 0;
  /// The same for rows whose elements take `size` bytes, `offset` behind a place of their own.
  virtual size_t addFixed(std::span<const char *const> starts, int64_t offset, int64_t size,
                          std::span<const Span> records) = 0;
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
      splits.resize(rows + 1);
    else if (int64_t most = batchBytes / (std::is_floating_point_v<T> ? 4 : 1); // elements that the records can hold
             !isText && inner <= most / static_cast<int64_t>(rows))
      elements.reserve(static_cast<int64_t>(rows) * inner * width);
  }

  /// What is written stands in registers: through members, each element would load where it goes, as memory of bytes
  /// may be anything's.
  size_t addPieces(std::span<const Piece> pieces, std::span<const Span> records) override {
    if constexpr (isText) {
      return addStrings(pieces, records);
    } else if constexpr (std::is_floating_point_v<T>) {
      return addReals(pieces, records);
    } else {
      size_t row = !isOpen && inner <= few ? addFew(pieces, records) : 0;
      return row == pieces.size() ? row : row + addMany(pieces.subspan(row), records.subspan(row));
    }
  }

  size_t addFixed(std::span<const char *const> starts, int64_t offset, int64_t size,
                  std::span<const Span> records) override {
    if constexpr (std::is_same_v<T, float>)
      if (size <= copied && size % width == 0 && fits(size / width))
        return addShortReals(starts, offset, size, records);
    size_t row = 0;
    if constexpr (std::is_integral_v<T>)
      row = fits(size) ? addBytes(starts, offset, size) : 0;
    std::array<Piece, 32> pieces;
    while (row < starts.size()) {
      size_t some = std::min(pieces.size(), starts.size() - row);
      for (size_t i = 0; i < some; ++i)
        pieces[i] = {starts[row + i] + offset, size};
      size_t added = addPieces(std::span(pieces).first(some), records.subspan(row, some));
      row += added;
      if (added < some)
        break;
    }
    return row;
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
    count = before;
    if (!endRow(added))
      dimsFor(feature, feature.dims, added); // throws
  }

  void addDefault() override {
    if (isOpen) {
      splits[numRows + 1] = splits[numRows];
      ++numRows;
      return;
    }
    for (int64_t i = 0; i < inner; ++i)
      if constexpr (isText)
        texts.add({});
      else if constexpr (std::is_integral_v<T>)
        elements.put<T>(static_cast<T>(static_cast<int64_t>(feature.number)));
      else
        elements.put<T>(static_cast<T>(static_cast<float>(feature.number)));
    endRow(inner);
  }

  void cut(size_t rows) override {
    numRows = rows;
    count = isOpen ? splits[rows] * inner : static_cast<int64_t>(rows) * inner;
    if constexpr (isText)
      texts.cut(count);
    else
      elements.cut(count * width);
  }

  Value finish(int64_t rows) override {
    std::vector<int64_t> sizes(feature.dims);
    if (isOpen)
      sizes[0] = splits[numRows];
    else
      sizes.insert(sizes.begin(), rows);
    Dims dims{std::span<const int64_t>(sizes)};
    Value value;
    if constexpr (isText)
      value = texts.take(dims);
    else
      value = Value(feature.dtype, dims, elements.take());
    return isOpen ? Value::ragged(value, std::span(splits).first(numRows + 1)) : value;
  }

private:
  static constexpr bool isText = std::is_same_v<T, std::string_view>;
  static constexpr int64_t width = sizeof(T);
  static constexpr int64_t copied = 32; // bytes at a time
  static constexpr int64_t few = 8;     // integers of a row that are read one by one

  bool fits(int64_t added) const { return isOpen ? inner > 0 && added % inner == 0 : added == inner; }

  /// Notes a row of so many elements. False where the feature requires other ones.
  [[gnu::always_inline]] bool endRow(int64_t added) {
    if (!isOpen) {
      if (added != inner) [[unlikely]]
        return false;
    } else if (inner == 1) {
      splits[numRows + 1] = splits[numRows] + added;
    } else {
      if (!fits(added))
        return false;
      splits[numRows + 1] = splits[numRows] + added / inner;
    }
    ++numRows;
    count += added;
    return true;
  }

  /// The same for some rows, of elements that fit.
  void endRows(size_t rows, int64_t added) {
    if (isOpen)
      for (size_t row = numRows; row < numRows + rows; ++row)
        splits[row + 1] = splits[row] + added / inner;
    numRows += rows;
    count += static_cast<int64_t>(rows) * added;
  }

  //===- Reals --------------------------------------------------------------------------------------===//

  size_t addReals(std::span<const Piece> pieces, std::span<const Span> records) {
    int64_t bytes = 0;
    for (const Piece &piece : pieces)
      bytes += piece.size;
    elements.reserve(bytes / static_cast<int64_t>(sizeof(float)) * width + copied);
    char *to = elements.end(), *begin = to;
    size_t row = 0;
    for (; row < pieces.size(); ++row) {
      char *end = copyReals(pieces[row], records[row].limit, to);
      if (!end || !endRow((end - to) / width)) [[unlikely]]
        break;
      to = end;
    }
    elements.advance(to - begin);
    return row;
  }

  /// Reals that are copied at once, and as many in each row.
  size_t addShortReals(std::span<const char *const> starts, int64_t offset, int64_t size,
                       std::span<const Span> records) {
    elements.reserve(static_cast<int64_t>(starts.size()) * size + copied);
    char *to = elements.end(), *begin = to;
    size_t row = 0;
    for (; row < starts.size(); ++row, to += size) {
      const char *from = starts[row] + offset;
      if (records[row].limit - from >= copied) [[likely]]
        std::memcpy(to, from, copied);
      else
        std::memcpy(to, from, static_cast<size_t>(size));
    }
    elements.advance(to - begin);
    endRows(row, size / width);
    return row;
  }

  /// The end of the elements of a row. Null where they are none of T.
  [[gnu::always_inline]] static char *copyReals(const Piece &piece, const char *limit, char *to) {
    const char *at = piece.data, *end = at + piece.size;
    if (piece.size % static_cast<int64_t>(sizeof(float))) [[unlikely]]
      return nullptr;
    if constexpr (std::is_same_v<T, float>) {
      if (piece.size <= 4 * copied && limit - at >= piece.size + copied) [[likely]]
        for (int64_t from = 0; from < piece.size; from += copied) // copied without a call
          std::memcpy(to + from, at + from, copied);
      else
        std::memcpy(to, at, static_cast<size_t>(piece.size));
      return to + piece.size;
    } else {
      for (; at < end; at += sizeof(float), to += width) {
        float narrow;
        std::memcpy(&narrow, at, sizeof narrow);
        auto element = static_cast<T>(narrow);
        std::memcpy(to, &element, sizeof element);
      }
      return to;
    }
  }

  //===- Integers -----------------------------------------------------------------------------------===//

  /// Integers of a byte each; rows up to the first that has others.
  size_t addBytes(std::span<const char *const> starts, int64_t offset, int64_t size) {
    elements.reserve(static_cast<int64_t>(starts.size()) * size * width);
    size_t rows = size == 1 ? copyBytes(starts, offset, 1) : copyBytes(starts, offset, size);
    elements.advance(static_cast<int64_t>(rows) * size * width);
    endRows(rows, size);
    return rows;
  }
  [[gnu::always_inline]] size_t copyBytes(std::span<const char *const> starts, int64_t offset, int64_t size) {
    char *to = elements.end();
    for (size_t row = 0; row < starts.size(); ++row) {
      const char *from = starts[row] + offset;
      unsigned char bits = 0;
      for (int64_t i = 0; i < size; ++i, to += width) {
        auto byte = static_cast<unsigned char>(from[i]);
        bits |= byte;
        auto element = static_cast<T>(byte);
        std::memcpy(to, &element, sizeof element);
      }
      if (bits & 128) [[unlikely]]
        return row;
    }
    return starts.size();
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

  /// The number that is read, as an element at `to`. False where it is none of T.
  [[gnu::always_inline]] static bool put(uint64_t number, char *to) {
    if (std::is_same_v<T, int32_t> &&
        static_cast<int64_t>(number) != static_cast<int32_t>(static_cast<uint32_t>(number))) [[unlikely]]
      return false;
    auto element = static_cast<T>(number);
    std::memcpy(to, &element, sizeof element);
    return true;
  }

  /// Rows of few integers, each read where the one before ends; rows do not wait for each other. Up to the first that
  /// does not fit or has no memory behind it.
  size_t addFew(std::span<const Piece> pieces, std::span<const Span> records) {
    const int64_t each = inner, read = 10 * each + 8;
    elements.reserve(static_cast<int64_t>(pieces.size()) * each * width);
    char *to = elements.end();
    size_t row = 0;
    for (; row < pieces.size(); ++row, to += each * width) {
      const Piece piece = pieces[row];
      if (records[row].limit - piece.data < read || !readFew(piece.data, piece.data + piece.size, to, each))
          [[unlikely]]
        break;
    }
    elements.advance(static_cast<int64_t>(row) * each * width);
    endRows(row, each);
    return row;
  }
  [[gnu::always_inline]] static bool readFew(const char *at, const char *end, char *to, int64_t number) {
    for (int64_t i = 0; i < number; ++i) {
      uint64_t integer;
      at = takeNumber(at, end, integer);
      if (!at || !put(integer, to + i * width)) [[unlikely]]
        return false;
    }
    return at == end;
  }

  /// Numbers side by side, the first of which begins at `at`, and where their elements go.
  struct Lane {
    const char *at;
    char *to, *end;
  };
  static constexpr size_t numLanes = 4;
  using Lanes = std::array<Lane, numLanes>;

  [[gnu::always_inline]] static bool readNumber(Lane &lane, const char *end) {
    uint64_t number;
    lane.at = takeNumber(lane.at, end, number);
    if (!lane.at || !put(number, lane.to)) [[unlikely]]
      return false;
    lane.to += width;
    return true;
  }

  /// Where a number begins is known when the one before it was read: lanes do not wait for each other.
  static bool readLanes(Lanes lanes, const char *end) {
    int64_t common = INT64_MAX;
    for (const Lane &lane : lanes)
      common = std::min<int64_t>(common, lane.end - lane.to);
    for (; common > 0; common -= width)
      if (!readNumber(lanes[0], end) || !readNumber(lanes[1], end) || !readNumber(lanes[2], end) ||
          !readNumber(lanes[3], end)) [[unlikely]]
        return false;
    for (Lane &lane : lanes)
      while (lane.to < lane.end)
        if (!readNumber(lane, end))
          return false;
    return true;
  }

  /// Numbers that end in these 8 bytes.
  static int64_t numEnds(uint64_t bytes) {
    return static_cast<int64_t>(((~bytes & 0x8080808080808080u) >> 7) * 0x0101010101010101u >> 56);
  }

  /// Copies packed numbers to `to`, 8 bytes at least, and returns how many end in them.
  [[gnu::always_inline]] static int64_t copyNumbers(const Piece &piece, const char *limit, char *to) {
    uint64_t word;
    if (piece.size <= 8 && limit - piece.data >= 8) [[likely]] {
      std::memcpy(&word, piece.data, sizeof word);
      std::memcpy(to, &word, sizeof word);
      return numEnds(word | ~uint64_t(0) << (4 * piece.size) << (4 * piece.size));
    }
    std::memcpy(to, piece.data, static_cast<size_t>(piece.size));
    int64_t count = 0, at = 0;
    for (; at + 8 <= piece.size; at += 8) {
      std::memcpy(&word, to + at, sizeof word);
      count += numEnds(word);
    }
    for (; at < piece.size; ++at)
      count += !(to[at] & 128);
    return count;
  }

  /// Integers of rows up to the first that does not fit. How many each row has is counted, and all of them are put side
  /// by side before they are read: no loop then ends where nobody can predict it.
  size_t addMany(std::span<const Piece> pieces, std::span<const Span> records) {
    constexpr int64_t slack = 16;
    int64_t bytes = 0;
    for (const Piece &piece : pieces)
      bytes += piece.size;
    std::array<char, 2048> little;
    std::unique_ptr<char[]> much;
    char *packed = little.data();
    if (bytes + slack > static_cast<int64_t>(little.size()))
      packed = (much = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(bytes + slack))).get();
    *packed++ = 0; // no number is cut off before the first
    char *last = packed;
    size_t row = 0;
    int64_t total = 0;
    std::array<const char *, numLanes> begins;
    std::array<int64_t, numLanes + 1> firsts;
    for (size_t l = 0; l < numLanes; ++l) {
      begins[l] = last;
      firsts[l] = total;
      for (size_t end = (l + 1) * pieces.size() / numLanes; row < end; ++row) {
        int64_t added = copyNumbers(pieces[row], records[row].limit, last);
        if ((last[pieces[row].size - 1] & 128) || !endRow(added)) [[unlikely]]
          break;
        last += pieces[row].size;
        total += added;
      }
    }
    firsts[numLanes] = total;
    elements.reserve(total * width);
    Lanes lanes;
    for (size_t l = 0; l < numLanes; ++l)
      lanes[l] = {begins[l], elements.end() + firsts[l] * width, elements.end() + firsts[l + 1] * width};
    if (!readLanes(lanes, last))
      return 0; // whose number it is shows when rows are added one by one
    elements.advance(total * width);
    return row;
  }

  //===- Strings ------------------------------------------------------------------------------------===//

  size_t addStrings(std::span<const Piece> pieces, std::span<const Span> records) {
    int64_t bytes = 0;
    for (const Piece &piece : pieces)
      bytes += piece.size;
    texts.reserve(static_cast<int64_t>(pieces.size()), bytes + copied);
    size_t row = 0;
    if (!isOpen && inner == 1)
      row = addWords(pieces, records);
    for (; row < pieces.size() && addFields(pieces[row], records[row].limit); ++row)
      ;
    return row;
  }

  /// Rows of one string of less than 128 bytes, up to the first that is another.
  size_t addWords(std::span<const Piece> pieces, std::span<const Span> records) {
    size_t row = 0;
    for (; row < pieces.size(); ++row) {
      const char *at = pieces[row].data;
      int64_t size = pieces[row].size - 2;
      if (size < 0 || size >= 128 || at[0] != 10 || at[1] != static_cast<char>(size)) [[unlikely]]
        break;
      if (size <= copied && records[row].limit - at >= copied + 2) [[likely]]
        texts.putReserved<copied>(at + 2, size);
      else
        texts.add({at + 2, static_cast<size_t>(size)}, records[row].limit);
      endRow(1);
    }
    return row;
  }

  /// False where they are no strings, or others than the feature requires.
  bool addFields(const Piece &piece, const char *limit) {
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
      texts.add({at, static_cast<size_t>(size)}, limit);
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
  size_t numRows = 0;
  Growing elements;
  GrowingStrings texts;
  std::vector<int64_t> splits; // of all rows, where the first dim is open
};

} // namespace sinter::data::wire

#endif
