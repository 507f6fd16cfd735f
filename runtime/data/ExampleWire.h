// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tf.Example in the protocol buffers' wire format, read by hand: three levels of messages do not need a library.
// https://protobuf.dev/programming-guides/encoding/ and tensorflow/core/example/{example,feature}.proto:
//
//   Example         { Features features = 1; }
//   SequenceExample { Features context = 1; FeatureLists feature_lists = 2; }
//   Features        { map<string, Feature> feature = 1; }
//   FeatureLists    { map<string, FeatureList> feature_list = 1; }
//   FeatureList     { repeated Feature feature = 1; }
//   Feature         { oneof { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; } }
//   BytesList       { repeated bytes value = 1; }
//   FloatList       { repeated float value = 1; }
//   Int64List       { repeated int64 value = 1; }

#ifndef SINTER_RUNTIME_DATA_EXAMPLEWIRE_H
#define SINTER_RUNTIME_DATA_EXAMPLEWIRE_H

#include "NameTable.h"
#include "TfRecord.h"
#include <bit>

namespace sinter::data::wire {

[[noreturn, gnu::cold]] void malformed(const char *what);

/// A field of a message: a number, or bytes within the message.
struct Field {
  uint64_t number;
  int type;
  uint64_t integer;
  std::string_view bytes;
};

uint64_t longVarint(std::string_view &message);

inline uint64_t varint(std::string_view &message) {
  if (!message.empty() && !(message.front() & 128)) [[likely]] {
    auto value = static_cast<unsigned char>(message.front());
    message.remove_prefix(1);
    return value;
  }
  return longVarint(message);
}

/// Makes `bytes`, 8 from a number on, that number, and returns how many it has; 9 where it has more than 8. Without
/// branches for its length, which nobody can predict.
inline size_t shortVarint(uint64_t &bytes) {
  uint64_t ends = ~bytes & 0x8080808080808080u; // the top bit of bytes that end a number
  bytes &= (ends ^ (ends - 1)) & 0x7F7F7F7F7F7F7F7Fu;
  bytes = (bytes & 0x007F007F007F007Fu) | (bytes & 0x7F007F007F007F00u) >> 1; // 7 bits of each byte to 14 of each two
  bytes = (bytes & 0x00003FFF00003FFFu) | (bytes & 0x3FFF00003FFF0000u) >> 2;
  bytes = (bytes & 0x000000000FFFFFFFu) | (bytes & 0x0FFFFFFF00000000u) >> 4;
  return static_cast<size_t>(std::countr_zero(ends) / 8 + 1);
}

/// The same of 4 bytes; 0 where it has more.
inline size_t shortVarint(uint32_t &bytes) {
  uint32_t ends = ~bytes & 0x80808080u;
  if (!ends)
    return 0;
  bytes &= (ends ^ (ends - 1)) & 0x7F7F7F7Fu;
  bytes = (bytes & 0x007F007Fu) | (bytes & 0x7F007F00u) >> 1;
  bytes = (bytes & 0x00003FFFu) | (bytes & 0x3FFF0000u) >> 2;
  return static_cast<size_t>(std::countr_zero(ends) / 8 + 1);
}

/// Takes the next field off the front. False at the end.
inline bool next(std::string_view &message, Field &field) {
  if (message.empty())
    return false;
  uint64_t key = varint(message);
  field.number = key >> 3;
  field.type = static_cast<int>(key & 7);
  uint64_t size = 0;
  if (field.type == 2) [[likely]]
    size = varint(message);
  else if (field.type == 0)
    return field.integer = varint(message), true;
  else if (field.type == 1)
    size = 8;
  else if (field.type == 5)
    size = 4;
  else
    malformed("fields of a known wire type");
  if (size > message.size())
    malformed("fields within their message");
  field.bytes = message.substr(0, size);
  message.remove_prefix(size);
  return true;
}

/// The list that a Feature holds, of the kind of its last field: 1 bytes, 2 floats, 3 integers, 0 none.
struct List {
  uint64_t kind = 0;
  std::string_view content{};
};

/// Where content begins whose size stands at `at`, in one byte or two, and which ends with the message. Null otherwise.
[[gnu::always_inline]] inline const char *lastContent(const char *at, const char *end) {
  if (at == end)
    return nullptr;
  auto size = static_cast<int64_t>(static_cast<unsigned char>(*at++));
  if (size >= 128) {
    if (at == end || (*at & 128))
      return nullptr;
    size = (size & 127) | static_cast<int64_t>(*at++) << 7;
  }
  return end - at == size ? at : nullptr;
}

/// Where the content of a message begins if it is one field of bytes and nothing else, as what writers make is; it ends
/// with the message. Null otherwise.
[[gnu::always_inline]] inline const char *onlyField(const char *at, const char *end, char key) {
  return at < end && *at == key ? lastContent(at + 1, end) : nullptr;
}

inline List listOf(std::string_view feature) {
  List list;
  for (Field field; next(feature, field);)
    if (field.type == 2 && field.number >= 1 && field.number <= 3)
      list = {field.number, field.bytes};
  return list;
}

/// Calls `text(bytes)`, `floats(bytes)` (a multiple of 4 of them), `integer(n)` or `integers(varints)` for what a list
/// holds.
template <typename Text, typename Floats, typename Integer, typename Integers>
void eachElement(const List &list, Text text, Floats floats, Integer integer, Integers integers) {
  std::string_view content = list.content;
  for (Field field; next(content, field);) {
    if (field.number != 1)
      continue;
    if (list.kind == 1 && field.type == 2) {
      text(field.bytes);
    } else if (list.kind == 2 && (field.type == 5 || field.type == 2)) { // one, or packed
      if (field.bytes.size() % 4)
        malformed("packed floats of 4 bytes");
      floats(field.bytes);
    } else if (list.kind == 3 && field.type == 0) {
      integer(static_cast<int64_t>(field.integer));
    } else if (list.kind == 3 && field.type == 2) {
      integers(field.bytes);
    }
  }
}

/// The entry of a map: its key and value. The last of each counts.
std::pair<std::string_view, std::string_view> mapEntry(std::string_view entry);

/// The kind of list that a column of `dtype` is read from.
inline uint64_t kindOf(int32_t dtype) {
  return dtype == Bytes ? 1 : dtype == SINTER_F32 || dtype == SINTER_F64 ? 2 : 3;
}
const char *kindName(uint64_t kind);

[[noreturn, gnu::cold]] void wrongKind(const Feature &feature, const List &list);
/// Throws where a list is of another kind than the feature's.
inline void requireKind(const Feature &feature, const List &list) {
  if (list.kind && list.kind != kindOf(feature.dtype))
    wrongKind(feature, list);
}

/// The dims that `count` elements have, by the feature's own.
Dims dimsFor(const Feature &feature, std::span<const int64_t> wanted, int64_t count);
[[noreturn, gnu::cold]] void missing(const Feature &feature);
[[noreturn, gnu::cold]] void outOfRange(const Feature &feature, int64_t number);
/// The names of features that can be columns, else throws.
Names checkFeatures(const std::vector<Feature> &features);

/// Where the features wanted are in a message, whatever a writer made of it. The last of equal names counts.
class Finder {
public:
  /// `names` are those of the features.
  Finder(const std::vector<Feature> &features, const NameTable &names, bool isSequence)
      : contents(features.size()), features(features), names(names), isSequence(isSequence) {}

  void find(std::string_view message) {
    std::fill(contents.begin(), contents.end(), std::string_view());
    for (Field field; next(message, field);)
      if (field.type == 2 && field.number >= 1 && field.number <= (isSequence ? 2 : 1))
        for (Field entry; next(field.bytes, entry);)
          if (entry.number == 1 && entry.type == 2)
            place(entry.bytes, field.number == 2);
  }

  /// Without memory where a feature is not there.
  std::vector<std::string_view> contents;
  bool isThere(size_t f) const { return contents[f].data() != nullptr; }

private:
  void place(std::string_view entry, bool isInLists) {
    auto [name, content] = mapEntry(entry);
    int64_t f = names.find(name, nullptr);
    if (f >= 0 && features[static_cast<size_t>(f)].isSequence == isInLists)
      contents[static_cast<size_t>(f)] = content.data() ? content : std::string_view("", 0);
  }

  const std::vector<Feature> &features;
  const NameTable &names;
  bool isSequence;
};

} // namespace sinter::data::wire

#endif
