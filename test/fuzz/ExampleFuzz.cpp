// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The messages within TFRecords: what is read is written and read again.
#include "runtime/data/TfRecord.h"
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

using namespace sinter::data;

/// What a parser makes of a batch or of a record, or says about it.
static std::pair<Record, std::string> resultOf(const Dataset::Map &parse, const Value &bytes) {
  try {
    return {parse({{"record", bytes}}), ""};
  } catch (const Error &error) {
    return {Record(), error.what()};
  }
}

/// The record with another byte, behind enough that are alike for it to be expected to be like them. Many take time:
/// some inputs do.
static void compareAmongOthers(const std::string &bytes, const std::vector<Feature> &features) {
  constexpr int64_t before = 34;
  uint64_t hash = bytes.size();
  for (char c : bytes)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  if ((hash >> 32) % 8)
    return;
  std::vector<std::string> texts(before + 2, bytes);
  std::string &changed = texts[before];
  if (!bytes.empty())
    changed[(hash >> 16) % bytes.size()] = static_cast<char>(hash >> 48);
  auto [one, alone] = resultOf(parseExample(features), Value::string(changed));
  auto [batch, together] = resultOf(parseExamples(features), Value::strings(texts));
  if (together != (alone.empty() ? "" : "record " + std::to_string(before) + " of the batch: " + alone))
    abort();
  for (int64_t c = 0; alone.empty() && c < one.size(); ++c)
    if (!(batch.value(c).row(before) == one.value(c)))
      abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Record bytes{{"record", Value::string({reinterpret_cast<const char *>(data), size})}};
  static const auto sequence = parseSequenceExample(
      {{.name = "a", .dtype = SINTER_I32, .dims = {-1}, .hasDefault = true},
       {.name = "b", .dtype = Bytes, .dims = {-1}, .hasDefault = true, .isSequence = true},
       {.name = "c", .dtype = SINTER_F32, .dims = {-1, 2}, .hasDefault = true, .isSequence = true}});
  // The same names with other kinds, sizes and defaults, one by one and in batches.
  static const std::vector<Feature> fixed = {
      {.name = "a", .dtype = SINTER_I1, .dims = {}, .hasDefault = true, .number = 1},
      {.name = "b", .dtype = Bytes, .dims = {2}, .hasDefault = true},
      {.name = "c", .dtype = SINTER_F64, .dims = {-1, 2}}};
  static const std::vector<Feature> pairs = {{.name = "a", .dtype = SINTER_I32, .dims = {2}, .hasDefault = true},
                                             {.name = "b", .dtype = Bytes, .dims = {}, .hasDefault = true},
                                             {.name = "c", .dtype = SINTER_F32, .dims = {2}, .hasDefault = true}};
  static const std::pair<decltype(parseExample(fixed)), decltype(parseExamples(fixed))> readers[] = {
      {parseExample(fixed), parseExamples(fixed)}, {parseExample(pairs), parseExamples(pairs)}};
  for (const auto &[single, batched] : readers)
    try {
      Record one = single(bytes);
      Record list{{"record", Value::strings(std::vector<std::string>(3, std::string(bytes["record"].bytes())))}};
      Record all = batched(list);
      for (int64_t c = 0; c < one.size(); ++c)
        if (!(all.value(c).row(0) == one.value(c)) || !(all.value(c).row(1) == one.value(c)))
          abort();
    } catch (const Error &) {
    }
  try {
    Record steps = sequence(bytes), copy{{"record", Value::string(makeSequenceExample(steps, {"b", "c"}))}};
    if (!(sequence(copy) == steps))
      abort();
  } catch (const Error &) {
  }
  Record read;
  try {
    read = parseExample(exampleFeatures(bytes["record"].bytes()))(bytes);
  } catch (const Error &) {
    return 0; // also names that come twice
  }
  // A batch holds what its records do. The second of three comes in the order of the first and has memory behind it.
  Record three{{"record", Value::strings(std::vector<std::string>(3, std::string(bytes["record"].bytes())))}};
  Record batch = parseExamples(exampleFeatures(bytes["record"].bytes()))(three);
  for (int64_t c = 0; c < read.size(); ++c)
    for (int64_t row = 0; row < 3; ++row)
      if (!(batch.value(c).row(row) == read.value(c)))
        abort();
  // So does one whose strings lie apart, each at the end of its memory.
  struct Apart {
    std::unique_ptr<char[]> texts[3];
    Span spans[3];
  };
  auto apart = std::make_shared<Apart>();
  for (int i = 0; i < 3; ++i) {
    apart->texts[i] = std::make_unique<char[]>(size);
    std::copy_n(reinterpret_cast<const char *>(data), size, apart->texts[i].get());
    apart->spans[i] = {apart->texts[i].get(), static_cast<int64_t>(size), apart->texts[i].get() + size};
  }
  Record spread{{"record", Value::strings({3}, {apart, apart->spans})}};
  if (!(parseExamples(exampleFeatures(bytes["record"].bytes()))(spread) == batch))
    abort();
  compareAmongOthers(std::string(bytes["record"].bytes()), exampleFeatures(bytes["record"].bytes()));
  Record again{{"record", Value::string(makeExample(read))}};
  if (!(parseExample(exampleFeatures(again["record"].bytes()))(again) == read))
    abort();
  return 0;
}
