// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "JsonLines.h"
#include "StreamRecords.h"
#include <algorithm>
#include <charconv>
#include <limits>

using namespace sinter::data;

namespace {
/// What is wrong with a line, and where in it.
struct Bad {
  std::string what;
  const char *at;
};

/// The elements of a member, as they come.
struct Member {
  enum Kind { None = 0, Truth = 1, Integer = 2, Number = 4, String = 8, Other = 16 };
  int kinds = None; // of all elements
  std::vector<int64_t> sizes;
  std::vector<int64_t> integers; // of truths, too; of a number that is none 0
  std::vector<double> numbers;
  std::vector<std::string> texts;
};

/// A line, read front to back. Nothing recurses deeper than a value has dims.
class Text {
public:
  explicit Text(std::string_view line) : at(line.data()), end(at + line.size()) {}

  void blanks() {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
      ++at;
  }
  bool take(char c) {
    blanks();
    if (at == end || *at != c)
      return false;
    ++at;
    return true;
  }
  void require(char c) {
    if (!take(c))
      fail(std::string("'") + c + "' is required");
  }
  bool atEnd() {
    blanks();
    return at == end;
  }
  [[noreturn]] void fail(const std::string &what) const { throw Bad{what, at}; }

  std::string string() {
    require('"');
    std::string text;
    for (;;) {
      const char *from = at;
      while (at < end && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 32)
        ++at;
      text.append(from, at);
      if (at == end || static_cast<unsigned char>(*at) < 32)
        fail("a string is required to end, without control characters");
      if (*at++ == '"')
        return text;
      escape(text);
    }
  }

  /// Appends a value that is no object, of `depth` arrays around it.
  void value(Member &member, size_t depth = 0) {
    if (take('[')) {
      if (depth == SINTER_MAX_RANK)
        fail("arrays of at most " + std::to_string(SINTER_MAX_RANK) + " dims are required");
      int64_t count = 0;
      if (!take(']')) {
        do {
          value(member, depth + 1);
          ++count;
        } while (take(','));
        require(']');
      }
      bool isFirst = member.sizes.size() <= depth;
      if (isFirst)
        member.sizes.resize(depth + 1, -1);
      if (member.sizes[depth] >= 0 && member.sizes[depth] != count)
        fail("a rectangular array is required, got " + std::to_string(member.sizes[depth]) + " and " +
             std::to_string(count) + " elements");
      member.sizes[depth] = count;
      return;
    }
    if (leafDepth != npos && leafDepth != depth)
      fail("a rectangular array is required");
    leafDepth = depth;
    scalar(member);
  }

  /// Makes a string of the text of any value but null.
  void valueAsText(Member &member) {
    blanks();
    const char *from = at;
    pass();
    std::string_view text(from, static_cast<size_t>(at - from));
    member.kinds = text == "null" ? Member::Other : Member::String;
    member.texts.emplace_back(text);
  }

  void begin() { leafDepth = npos; }

  /// Passes a value of any kind.
  void pass() {
    std::string open;
    do {
      blanks();
      if (at < end && (*at == '[' || *at == '{')) {
        bool isObject = *at++ == '{';
        if (open.size() == 1000)
          fail("values nested at most 1000 deep are required");
        if (take(isObject ? '}' : ']')) {
        } else {
          open += isObject ? '}' : ']';
          if (isObject)
            key();
          continue;
        }
      } else if (at < end && *at == '"') {
        string();
      } else {
        Member ignored;
        scalar(ignored);
      }
      while (!open.empty() && !take(',')) {
        require(open.back());
        open.pop_back();
      }
      if (!open.empty() && open.back() == '}')
        key();
    } while (!open.empty());
  }

  const char *at, *end;

private:
  static constexpr size_t npos = ~size_t(0);

  void key() {
    string();
    require(':');
  }

  bool word(std::string_view text) {
    if (static_cast<size_t>(end - at) < text.size() || std::string_view(at, text.size()) != text)
      return false;
    at += text.size();
    return true;
  }

  void scalar(Member &member) {
    blanks();
    if (at < end && *at == '"') {
      member.kinds |= Member::String;
      member.texts.push_back(string());
    } else if (word("true") || word("false")) {
      member.kinds |= Member::Truth;
      member.integers.push_back(at[-2] == 'u'); // tr-u-e
      member.numbers.push_back(0);
    } else if (word("null")) {
      member.kinds |= Member::Other;
    } else {
      number(member);
    }
  }

  void number(Member &member) {
    const char *from = at;
    bool isInteger = true;
    auto digits = [&] {
      const char *first = at;
      while (at < end && *at >= '0' && *at <= '9')
        ++at;
      return at > first;
    };
    if (at < end && *at == '-')
      ++at;
    const char *first = at;
    bool isGood = digits() && !(*first == '0' && at > first + 1);
    if (isGood && at < end && *at == '.') {
      ++at;
      isInteger = false;
      isGood = digits();
    }
    if (isGood && at < end && (*at == 'e' || *at == 'E')) {
      ++at;
      isInteger = false;
      if (at < end && (*at == '+' || *at == '-'))
        ++at;
      isGood = digits();
    }
    if (!isGood) {
      at = from;
      fail("a number, string, array, true, false or null is required");
    }
    int64_t integer = 0;
    isInteger = isInteger && std::from_chars(from, at, integer).ec == std::errc();
    double real = 0;
    if (std::from_chars(from, at, real).ec != std::errc()) {
      at = from;
      fail("a number within the range of f64 is required");
    }
    member.kinds |= isInteger ? Member::Integer : Member::Number;
    member.integers.push_back(isInteger ? integer : 0);
    member.numbers.push_back(real);
  }

  uint32_t fourDigits() {
    uint32_t code = 0;
    auto [rest, error] = std::from_chars(at, std::min(at + 4, end), code, 16);
    if (error != std::errc() || rest != at + 4)
      fail("four hexadecimal digits are required");
    at += 4;
    return code;
  }

  void escape(std::string &text) {
    static constexpr std::string_view codes = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    size_t i = at < end ? codes.find(*at) : codes.npos;
    if (i != codes.npos) {
      ++at;
      text += meanings[i];
      return;
    }
    if (at == end || *at != 'u')
      fail("an escape of JSON is required");
    ++at;
    uint32_t code = fourDigits();
    if (code >= 0xD800 && code < 0xDC00 && word("\\u")) {
      uint32_t low = fourDigits();
      if (low < 0xDC00 || low > 0xDFFF)
        fail("the second half of a surrogate pair is required");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xD800 && code < 0xE000) {
      fail("surrogates in pairs are required");
    }
    auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xC0 | code >> 6);
      put(0x80 | (code & 63));
    } else if (code < 0x10000) {
      put(0xE0 | code >> 12);
      put(0x80 | (code >> 6 & 63));
      put(0x80 | (code & 63));
    } else {
      put(0xF0 | code >> 18);
      put(0x80 | (code >> 12 & 63));
      put(0x80 | (code >> 6 & 63));
      put(0x80 | (code & 63));
    }
  }

  size_t leafDepth = npos; // at which elements lie
};

/// The next line that is not blank, which stays valid until the stream moves on. False at the end.
bool nextLine(ByteStream &stream, int64_t maxBytes, std::string_view &line, int64_t &size) {
  for (;;) {
    line = stream.line(maxBytes);
    size = static_cast<int64_t>(line.size());
    if (line.empty())
      return false;
    if (line.ends_with('\n'))
      line.remove_suffix(1);
    if (line.find_first_not_of(" \t\r") != line.npos)
      return true;
    stream.consume(size);
  }
}

/// Calls `take(name, text)` for each member of the object in `line`, which reads or passes the value.
template <typename Take> void eachMember(std::string_view line, Take take) {
  Text text(line);
  text.require('{');
  if (!text.take('}')) {
    do {
      std::string name = text.string();
      text.require(':');
      text.begin();
      take(name, text);
    } while (text.take(','));
    text.require('}');
  }
  if (!text.atEnd())
    text.fail("one object a line is required, got more");
}

const char *described(int kinds) {
  return kinds & Member::Other    ? "null"
         : kinds & Member::String ? "a string"
         : kinds & Member::Number ? "a number"
         : kinds & Member::Truth  ? "true or false"
         : kinds                  ? "an integer"
                                  : "nothing";
}

Value valueOf(const JsonColumn &column, const Member &member) {
  std::vector<int64_t> sizes = member.sizes;
  for (int64_t &size : sizes)
    size = std::max<int64_t>(size, 0);
  Dims dims{std::span<const int64_t>(sizes)};
  int allowed = column.dtype == Bytes        ? Member::String
                : column.dtype == SINTER_I1  ? Member::Truth
                : column.dtype == SINTER_I64 ? Member::Integer
                                             : Member::Integer | Member::Number;
  bool isMissing = sizes.empty() && (member.kinds == Member::Other || member.kinds == Member::None);
  if (isMissing && column.dtype == Bytes)
    return Value::string("");
  if (isMissing && column.dtype == SINTER_F64)
    return Value::scalar(std::numeric_limits<double>::quiet_NaN());
  if (isMissing && column.dtype == SINTER_F32)
    return Value::scalar(std::numeric_limits<float>::quiet_NaN());
  if (isMissing || (member.kinds & ~allowed))
    throw Bad{"member '" + column.name + "' requires " + dtypeName(column.dtype) + ", got " +
                  described(member.kinds & ~allowed),
              nullptr};
  if (column.dtype == Bytes)
    return Value::strings(member.texts, dims);
  if (column.dtype == SINTER_I64)
    return Value::of(std::span<const int64_t>(member.integers), dims);
  if (column.dtype == SINTER_F64)
    return Value::of(std::span<const double>(member.numbers), dims);
  int64_t count = dims.count();
  auto memory = allocate(count * sinter_dtype_bytes(column.dtype));
  for (int64_t i = 0; i < count; ++i)
    if (column.dtype == SINTER_I1)
      memory.get()[i] = member.integers[static_cast<size_t>(i)] != 0;
    else
      reinterpret_cast<float *>(memory.get())[i] = static_cast<float>(member.numbers[static_cast<size_t>(i)]);
  return Value(column.dtype, dims, std::move(memory));
}

std::vector<JsonColumn> findColumns(const std::string &path, const JsonOptions &options) {
  ByteStream stream(path, Compression::ByContent);
  stream.skipMark();
  struct Seen {
    std::string name;
    int kinds = 0;
    int64_t lines = 0;
    bool isJson = false;
  };
  std::vector<Seen> seen;
  std::string_view line;
  int64_t size, lines = 0;
  for (; lines < options.sampleLines && nextLine(stream, options.maxLineBytes, line, size); ++lines) {
    try {
      eachMember(line, [&](const std::string &name, Text &text) {
        const char *at = text.at;
        Member member;
        bool isJson = false;
        try {
          text.value(member);
        } catch (const Bad &) { // an object, or an array that is not rectangular
          text.at = at;
          text.pass();
          isJson = true;
        }
        auto found = std::ranges::find(seen, name, &Seen::name);
        if (found == seen.end())
          found = seen.insert(seen.end(), {name});
        found->kinds |= member.kinds;
        found->isJson |= isJson;
        ++found->lines;
      });
    } catch (const Bad &) { // told when the lines are read
    }
    stream.consume(size);
  }
  std::vector<JsonColumn> columns;
  for (const Seen &member : seen) {
    int kinds = member.kinds & ~Member::Other;
    bool isWhole = member.lines == lines && kinds == member.kinds;
    int32_t dtype = member.isJson                                             ? Bytes
                    : kinds == Member::Truth && isWhole                       ? SINTER_I1
                    : kinds == Member::Integer && isWhole                     ? SINTER_I64
                    : kinds && !(kinds & ~(Member::Integer | Member::Number)) ? static_cast<int32_t>(SINTER_F64)
                                                                              : Bytes;
    columns.push_back({member.name, dtype, member.isJson});
  }
  return columns;
}

class Lines : public StreamRecords {
public:
  Lines(const std::string &path, const JsonOptions &options, Names names)
      : StreamRecords(path, Compression::ByContent, "json lines"), options(options), names(std::move(names)) {}

  bool next(Record &record) override {
    std::string_view line;
    int64_t size;
    stream.skipMark();
    if (!nextLine(stream, options.maxLineBytes, line, size))
      return false;
    int64_t offset = stream.offset(), line0 = number++;
    const char *begin = line.data();
    try {
      std::vector<Member> members(options.columns.size());
      eachMember(line, [&](const std::string &name, Text &text) {
        auto found = std::ranges::find(options.columns, name, &JsonColumn::name);
        if (found == options.columns.end())
          return text.pass();
        Member &member = members[static_cast<size_t>(found - options.columns.begin())];
        member = {}; // the last of several counts, as with others
        if (found->isJson)
          text.valueAsText(member);
        else
          text.value(member);
      });
      std::vector<Value> values;
      for (size_t c = 0; c < members.size(); ++c)
        values.push_back(valueOf(options.columns[c], members[c]));
      record = {names, std::move(values)};
    } catch (const Bad &bad) {
      stream.consume(size);
      throw Error(SINTER_CORRUPT, bad.what, {stream.file().path(), line0, offset + (bad.at ? bad.at - begin : 0)},
                  true);
    }
    stream.consume(size);
    return true;
  }

private:
  JsonOptions options;
  Names names;
};

class LinesNode : public Node {
public:
  LinesNode(std::string path, const JsonOptions &given) : path(std::move(path)), options(given) {
    if (options.columns.empty())
      options.columns = findColumns(this->path, options);
    auto all = std::make_shared<std::vector<std::string>>();
    for (const JsonColumn &column : options.columns) {
      static constexpr std::array<int32_t, 5> known = {Bytes, SINTER_I1, SINTER_I64, SINTER_F32, SINTER_F64};
      if (std::ranges::find(known, column.dtype) == known.end())
        throw Error(SINTER_UNSUPPORTED,
                    "member '" + column.name + "' requires bytes, i1, i64, f32 or f64, got " + dtypeName(column.dtype));
      all->push_back(column.name);
    }
    names = std::move(all);
  }
  std::unique_ptr<Iterator> begin(int64_t) const override { return std::make_unique<Lines>(path, options, names); }
  std::string signature() const override { return "json lines " + File(path).signature(); }

private:
  std::string path;
  JsonOptions options;
  Names names;
};
} // namespace

Dataset sinter::data::readJsonLines(const std::string &path, const JsonOptions &options) {
  return Dataset(std::make_shared<LinesNode>(path, options));
}
