// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The messages within TFRecords: what is read is written and read again.
#include "runtime/data/TfRecord.h"
#include <algorithm>
#include <cstdlib>
#include <utility>

using namespace sinter::data;

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
  Record again{{"record", Value::string(makeExample(read))}};
  if (!(parseExample(exampleFeatures(again["record"].bytes()))(again) == read))
    abort();
  return 0;
}
