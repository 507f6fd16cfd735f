// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptions of feature columns: what is read is written and read again; what can be fitted to a small table is, and
// transforms it.
#include "runtime/data/Columns.h"
#include <cstdlib>

using namespace sinter::data;

static Value threeRows(const Feature &feature) {
  bool isOpen = !feature.dims.empty() && feature.dims[0] < 0;
  int64_t inner = feature.dims.empty() || isOpen ? 1 : feature.dims[0];
  std::vector<int64_t> sizes = {isOpen ? 4 : 3};
  if (!feature.dims.empty() && !isOpen)
    sizes.push_back(inner);
  Dims dims{std::span<const int64_t>(sizes)};
  int64_t count = dims.count();
  auto fill = [&](auto one) {
    std::vector<decltype(one)> all;
    for (int64_t i = 0; i < count; ++i)
      all.push_back(static_cast<decltype(one)>(i % 3 - 1));
    return Value::of(std::span<const decltype(one)>(all), dims);
  };
  Value value = feature.dtype == Bytes
                    ? Value::strings(std::vector<std::string>(static_cast<size_t>(count), "a")).reshaped(dims)
                : feature.dtype == SINTER_I64 ? fill(int64_t())
                                              : fill(float());
  return isOpen ? Value::ragged(value, std::vector<int64_t>{0, 1, 1, 4}) : value;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  try {
    FeatureColumns columns = FeatureColumns::parse(text);
    if (FeatureColumns::parse(columns.text()).text() != columns.text())
      abort();
    (void)columns.tables();
    Record batch;
    int64_t elements = 0;
    for (const Feature &feature : columns.features()) {
      elements += feature.dims.empty() || feature.dims[0] < 0 ? 4 : feature.dims[0] < 1000 ? 3 * feature.dims[0] : 1000;
      if (elements > 1000)
        return 0;
      batch.set(feature.name, threeRows(feature));
    }
    for (const FeatureColumn &column : columns.all())
      if (column.numIds() > 1000)
        return 0;
    columns.fit(Dataset::fromRows(batch).batch({.size = 3}));
    (void)columns.transform()(batch);
  } catch (const Error &error) {
    if (std::string_view(error.what()).empty())
      abort();
  }
  return 0;
}
