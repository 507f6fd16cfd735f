// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records as tf.Examples and back, one at a time.

#include "ExampleWire.h"
#include <algorithm>

using namespace sinter::data;
using namespace sinter::data::wire;

//===- The wire format ------------------------------------------------------------------------------===//

void wire::malformed(const char *what) {
  throw Error(SINTER_CORRUPT, std::string("a tf.Example requires ") + what, {}, true);
}

uint64_t wire::longVarint(std::string_view &message) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (message.empty())
      malformed("numbers that end");
    auto byte = static_cast<unsigned char>(message.front());
    message.remove_prefix(1);
    if (shift < 64)
      value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128)
      return value;
  }
  malformed("numbers of at most 10 bytes");
}

std::pair<std::string_view, std::string_view> wire::mapEntry(std::string_view entry) {
  std::pair<std::string_view, std::string_view> parts;
  for (Field field; next(entry, field);)
    if (field.type == 2 && field.number == 1)
      parts.first = field.bytes;
    else if (field.type == 2 && field.number == 2)
      parts.second = field.bytes;
  return parts;
}

const char *wire::kindName(uint64_t kind) {
  return kind == 1 ? "bytes_list" : kind == 2 ? "float_list" : kind == 3 ? "int64_list" : "nothing";
}

Dims wire::dimsFor(const Feature &feature, std::span<const int64_t> wanted, int64_t count) {
  int64_t known = 1, open = -1;
  std::vector<int64_t> sizes(wanted.begin(), wanted.end());
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] < 0)
      open = static_cast<int64_t>(d);
    else
      known *= sizes[d];
  bool fits = open < 0 ? count == known : known > 0 && count % known == 0;
  if (!fits) {
    std::string text;
    for (int64_t size : wanted)
      text += (text.empty() ? "" : "x") + (size < 0 ? std::string("?") : std::to_string(size));
    throw Error(SINTER_CORRUPT,
                "feature '" + feature.name + "' requires " + (text.empty() ? "one value" : text + " values") +
                    ", got " + std::to_string(count),
                {}, true);
  }
  if (open >= 0)
    sizes[static_cast<size_t>(open)] = count / known;
  return Dims(std::span<const int64_t>(sizes));
}

void wire::wrongKind(const Feature &feature, const List &list) {
  throw Error(SINTER_CORRUPT,
              "feature '" + feature.name + "' requires " + kindName(kindOf(feature.dtype)) + ", got " +
                  kindName(list.kind),
              {}, true);
}

void wire::missing(const Feature &feature) {
  throw Error(SINTER_CORRUPT, "feature '" + feature.name + "' is required, the record lacks it", {}, true);
}

void wire::outOfRange(const Feature &feature, int64_t number) {
  throw Error(SINTER_CORRUPT, "feature '" + feature.name + "' requires values of i32, got " + std::to_string(number),
              {}, true);
}

Names wire::checkFeatures(const std::vector<Feature> &features) {
  auto names = std::make_shared<std::vector<std::string>>();
  for (const Feature &feature : features) {
    static constexpr std::array<int32_t, 6> known = {Bytes, SINTER_F32, SINTER_F64, SINTER_I1, SINTER_I32, SINTER_I64};
    if (std::ranges::find(known, feature.dtype) == known.end())
      throw Error(SINTER_INVALID_ARGUMENT, "feature '" + feature.name +
                                               "' requires bytes, f32, f64, i1, i32 or i64, got " +
                                               dtypeName(feature.dtype));
    if (std::ranges::count_if(feature.dims, [](int64_t size) { return size < 0; }) > 1)
      throw Error(SINTER_INVALID_ARGUMENT, "feature '" + feature.name + "' requires at most one open dim");
    if (std::ranges::find(*names, feature.name) != names->end())
      throw Error(SINTER_INVALID_ARGUMENT, "feature '" + feature.name + "' is given twice");
    names->push_back(feature.name);
  }
  return names;
}

namespace {
/// Elements as they come.
struct Elements {
  std::vector<int64_t> integers;
  std::vector<float> floats;
  std::vector<std::string> texts;
  size_t count() const { return integers.size() + floats.size() + texts.size(); }
};

void append(const List &list, Elements &elements) {
  eachElement(
      list, [&](std::string_view text) { elements.texts.emplace_back(text); },
      [&](std::string_view bytes) {
        size_t old = elements.floats.size();
        elements.floats.resize(old + bytes.size() / 4);
        if (!bytes.empty())
          std::memcpy(elements.floats.data() + old, bytes.data(), bytes.size());
      },
      [&](int64_t integer) { elements.integers.push_back(integer); },
      [&](std::string_view packed) {
        while (!packed.empty())
          elements.integers.push_back(static_cast<int64_t>(varint(packed)));
      });
}

template <typename To, typename From> Value converted(const std::vector<From> &elements, const Dims &dims) {
  auto memory = allocate(static_cast<int64_t>(elements.size() * sizeof(To)));
  for (size_t i = 0; i < elements.size(); ++i) {
    To element = static_cast<To>(elements[i]);
    std::memcpy(memory.get() + i * sizeof(To), &element, sizeof element);
  }
  return Value(dtypeOf<To>(), dims, std::move(memory));
}

Value valueOf(const Elements &elements, const Feature &feature, const Dims &dims) {
  if (feature.dtype == SINTER_I32)
    for (int64_t x : elements.integers)
      if (x != static_cast<int32_t>(x))
        outOfRange(feature, x);
  switch (feature.dtype) {
  case Bytes:
    return Value::strings(elements.texts, dims);
  case SINTER_F32:
    return converted<float>(elements.floats, dims);
  case SINTER_F64:
    return converted<double>(elements.floats, dims);
  case SINTER_I32:
    return converted<int32_t>(elements.integers, dims);
  case SINTER_I1:
    return converted<bool>(elements.integers, dims);
  default:
    return converted<int64_t>(elements.integers, dims);
  }
}

Value defaultOf(const Feature &feature, std::span<const int64_t> wanted) {
  Elements elements;
  int64_t count = 1;
  std::vector<int64_t> sizes;
  for (int64_t size : wanted) {
    sizes.push_back(std::max<int64_t>(size, 0));
    count *= sizes.back();
  }
  auto n = static_cast<size_t>(count);
  if (kindOf(feature.dtype) == 1)
    elements.texts.resize(n);
  else if (kindOf(feature.dtype) == 2)
    elements.floats.assign(n, static_cast<float>(feature.number));
  else
    elements.integers.assign(n, static_cast<int64_t>(feature.number));
  return valueOf(elements, feature, Dims(std::span<const int64_t>(sizes)));
}

Value readFeature(const Feature &feature, std::string_view content) {
  List list = listOf(content);
  if (list.kind == 0) {
    if (!feature.hasDefault)
      missing(feature);
    return defaultOf(feature, feature.dims);
  }
  requireKind(feature, list);
  Elements elements;
  append(list, elements);
  return valueOf(elements, feature, dimsFor(feature, feature.dims, static_cast<int64_t>(elements.count())));
}

Value readSequence(const Feature &feature, std::string_view featureList) {
  Elements elements;
  int64_t steps = 0, before = 0;
  std::span<const int64_t> wanted = std::span(feature.dims).subspan(std::min<size_t>(1, feature.dims.size()));
  for (Field field; next(featureList, field);) {
    if (field.number != 1 || field.type != 2)
      continue;
    List list = listOf(field.bytes);
    requireKind(feature, list);
    append(list, elements);
    dimsFor(feature, wanted, static_cast<int64_t>(elements.count()) - before); // each step has all of them
    before = static_cast<int64_t>(elements.count());
    ++steps;
  }
  std::vector<int64_t> sizes(wanted.begin(), wanted.end());
  sizes.insert(sizes.begin(), steps);
  if (std::ranges::find(sizes, -1) != sizes.end())
    throw Error(SINTER_INVALID_ARGUMENT,
                "feature '" + feature.name + "' of a sequence requires dims that are known behind its steps");
  if (!feature.dims.empty() && feature.dims[0] >= 0 && feature.dims[0] != steps)
    throw Error(SINTER_CORRUPT,
                "feature '" + feature.name + "' requires " + std::to_string(feature.dims[0]) + " steps, got " +
                    std::to_string(steps),
                {}, true);
  return valueOf(elements, feature, Dims(std::span<const int64_t>(sizes)));
}

Dataset::Map parser(std::vector<Feature> features, const std::string &column, bool isSequence) {
  Names names = checkFeatures(features);
  auto table = std::make_shared<const NameTable>(*names);
  return [=](const Record &record) {
    Finder finder(features, *table, isSequence);
    finder.find(record[column].bytes());
    std::vector<Value> values;
    for (size_t f = 0; f < features.size(); ++f) {
      const Feature &feature = features[f];
      if (!finder.isThere(f) && !feature.hasDefault)
        missing(feature);
      if (!finder.isThere(f))
        values.push_back(defaultOf(feature, feature.dims));
      else
        values.push_back(feature.isSequence ? readSequence(feature, finder.contents[f])
                                            : readFeature(feature, finder.contents[f]));
    }
    return Record(names, std::move(values));
  };
}

//===- Writing --------------------------------------------------------------------------------------===//

void putVarint(std::string &out, uint64_t value) {
  for (; value >= 128; value >>= 7)
    out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

void putBytes(std::string &out, uint64_t number, std::string_view bytes) {
  putVarint(out, number << 3 | 2);
  putVarint(out, bytes.size());
  out += bytes;
}

template <typename T, typename F> void forEach(const Value &value, F f) {
  for (T x : value.as<T>())
    f(x);
}

std::string makeFeature(const Value &value, const std::string &name) {
  std::string packed, list, feature;
  auto integer = [&](auto x) { putVarint(packed, static_cast<uint64_t>(static_cast<int64_t>(x))); };
  auto real = [&](auto x) {
    auto narrow = static_cast<float>(x);
    packed.append(reinterpret_cast<const char *>(&narrow), sizeof narrow);
  };
  switch (value.dtype()) {
  case Bytes:
    for (int64_t i = 0; i < value.count(); ++i)
      putBytes(list, 1, value.bytes(i));
    putBytes(feature, 1, list);
    return feature;
  case SINTER_F32:
    forEach<float>(value, real);
    break;
  case SINTER_F64:
    forEach<double>(value, real);
    break;
  case SINTER_I1:
    forEach<bool>(value, integer);
    break;
  case SINTER_I8:
    forEach<int8_t>(value, integer);
    break;
  case SINTER_I16:
    forEach<int16_t>(value, integer);
    break;
  case SINTER_I32:
    forEach<int32_t>(value, integer);
    break;
  case SINTER_I64:
    forEach<int64_t>(value, integer);
    break;
  case SINTER_U8:
    forEach<uint8_t>(value, integer);
    break;
  case SINTER_U16:
    forEach<uint16_t>(value, integer);
    break;
  case SINTER_U32:
    forEach<uint32_t>(value, integer);
    break;
  default:
    throw Error(SINTER_UNSUPPORTED, "column '" + name +
                                        "' requires bytes, f32, f64, i1, i8 to i64 or ui8 to ui32 to be a "
                                        "feature, got " +
                                        dtypeName(value.dtype()));
  }
  if (!packed.empty())
    putBytes(list, 1, packed);
  putBytes(feature, kindOf(value.dtype()), list);
  return feature;
}

void putEntry(std::string &map, const std::string &name, const std::string &content) {
  std::string entry;
  putBytes(entry, 1, name);
  putBytes(entry, 2, content);
  putBytes(map, 1, entry);
}
} // namespace

Dataset::Map sinter::data::parseExample(std::vector<Feature> features, const std::string &column) {
  for (const Feature &feature : features)
    if (feature.isSequence)
      throw Error(SINTER_INVALID_ARGUMENT, "feature '" + feature.name + "' is a sequence, which a tf.Example has not");
  return parser(std::move(features), column, false);
}

Dataset::Map sinter::data::parseSequenceExample(std::vector<Feature> features, const std::string &column) {
  return parser(std::move(features), column, true);
}

std::vector<Feature> sinter::data::exampleFeatures(std::string_view example) {
  std::vector<Feature> features;
  for (Field outer; next(example, outer);) {
    if (outer.number != 1 || outer.type != 2)
      continue;
    for (Field entry; next(outer.bytes, entry);) {
      if (entry.number != 1 || entry.type != 2)
        continue;
      auto [name, content] = mapEntry(entry.bytes);
      uint64_t kind = listOf(content).kind;
      if (kind)
        features.push_back({.name = std::string(name),
                            .dtype = kind == 1   ? Bytes
                                     : kind == 2 ? static_cast<int32_t>(SINTER_F32)
                                                 : static_cast<int32_t>(SINTER_I64),
                            .dims = {-1}});
    }
  }
  return features;
}

bool sinter::data::hasFeatureLists(std::string_view example) {
  for (Field outer; next(example, outer);)
    if (outer.number == 2 && outer.type == 2 && !outer.bytes.empty())
      return true;
  return false;
}

std::string sinter::data::makeExample(const Record &record) {
  std::string map, example;
  for (int64_t c = 0; c < record.size(); ++c)
    putEntry(map, record.name(c), makeFeature(record.value(c), record.name(c)));
  putBytes(example, 1, map);
  return example;
}

std::string sinter::data::makeSequenceExample(const Record &record, const std::set<std::string> &sequences) {
  std::string context, lists, example;
  for (int64_t c = 0; c < record.size(); ++c) {
    const Value &value = record.value(c);
    if (!sequences.contains(record.name(c))) {
      putEntry(context, record.name(c), makeFeature(value, record.name(c)));
      continue;
    }
    std::string list;
    for (int64_t i = 0; i < value.rows(); ++i)
      putBytes(list, 1, makeFeature(value.row(i), record.name(c)));
    putEntry(lists, record.name(c), list);
  }
  putBytes(example, 1, context);
  putBytes(example, 2, lists);
  return example;
}
