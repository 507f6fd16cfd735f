// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HeldFiles.h"
#include "runtime/data/Csv.h"
#include <cstdlib>

using namespace sinter::data;

namespace {
struct Read {
  int64_t rows = 0, skipped = 0;
  std::string bytes{};
  bool operator==(const Read &) const = default;
};
} // namespace

/// All rows. Where `isStopped`, each batch comes from a loader of its own, which goes on from the one before.
static Read readAll(const Dataset &dataset, bool isStopped = false) {
  Read read;
  std::string state;
  auto loader = std::make_unique<Loader>(dataset);
  for (Record record; loader->next(record);) {
    read.rows += record.size() ? record.value(0).rows() : 0;
    for (int64_t c = 0; c < record.size(); ++c) {
      const Value &value = record.value(c);
      if (value.dtype() != Bytes)
        read.bytes.append(value.data(), static_cast<size_t>(value.count() * sinter_dtype_bytes(value.dtype())));
      for (int64_t i = 0; value.dtype() == Bytes && i < value.count(); ++i) {
        if (value.bytes(i).size() > 16u << 20)
          abort();
        read.bytes.append(value.bytes(i));
      }
    }
    if (isStopped) {
      state = loader->save();
      loader = std::make_unique<Loader>(dataset);
      loader->load(state);
    }
  }
  read.skipped = loader->skipped();
  return read;
}

/// Bad rows are the same ones whoever leaves them out, and wherever a loader stops.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  CsvOptions options{
      .separator = size % 2 ? ',' : '\t', .hasHeader = size / 2 % 2 == 0, .sampleRows = 3, .maxBadRows = -1};
  try {
    const char *path = givenFile(data, size);
    Read counted = readAll(readCsvBatches(path, 7, options));
    options.maxBadRows = 0;
    Dataset skipping = readCsvBatches(path, 7, options).skipErrors();
    Read skipped = readAll(skipping), stopped = size < 128 ? readAll(skipping, true) : skipped;
    if (counted.rows != skipped.rows || counted.skipped != skipped.skipped || stopped != skipped)
      abort();
  } catch (const Error &) {
  }
  return 0;
}
