// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HeldFiles.h"
#include "runtime/data/TfRecord.h"

using namespace sinter::data;

/// All that can be read.
static std::vector<std::string> recordsOf(const Dataset &dataset) {
  std::vector<std::string> records;
  try {
    Loader loader(dataset.skipErrors());
    for (Record record; loader.next(record);)
      for (int64_t i = 0; i < record.value(0).count(); ++i)
        records.emplace_back(record.value(0).bytes(i));
  } catch (const Error &) {
  }
  return records;
}

/// A loader that begins where another one stopped gives what is left.
static void resume(const Dataset &dataset, const std::vector<std::string> &records) {
  try {
    Loader first(dataset.skipErrors());
    Record record;
    size_t taken = 0;
    while (taken < records.size() / 2 && first.next(record))
      taken += static_cast<size_t>(record.value(0).count());
    Loader second(dataset.skipErrors());
    second.load(first.save());
    for (; second.next(record); taken += static_cast<size_t>(record.value(0).count()))
      if (taken >= records.size() || record.value(0).bytes(0) != records[taken])
        abort();
    if (taken != records.size())
      abort();
  } catch (const Error &) {
  }
}

/// Of records that are no examples none takes another one along.
static void parse(const char *path, const std::vector<std::string> &records, int64_t rows,
                  const TfRecordOptions &options) {
  const std::vector<Feature> features = {{.name = "a", .dtype = SINTER_I64, .dims = {-1}, .hasDefault = true}};
  Dataset::Map parseOne = parseExample(features);
  int64_t good = 0, read = 0;
  for (const std::string &record : records) {
    try {
      (void)parseOne({{"record", Value::string(record)}});
      ++good;
    } catch (const Error &) {
    }
  }
  try {
    Loader loader(readExampleBatches(path, rows, features, options).skipErrors());
    for (Record batch; loader.next(batch);)
      read += batch.value(0).rows();
    if (loader.skipped() < static_cast<int64_t>(records.size()) - good)
      abort();
  } catch (const Error &) { // the file ends where nobody knows how it goes on
  }
  if (read != good)
    abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = givenFile(data, size);
  // Told by the first bytes, as trying all three takes three times as long.
  RecordCompression compression = size > 1 && data[0] == 0x1F && data[1] == 0x8B ? RecordCompression::Gzip
                                  : size > 1 && data[0] == 0x78                  ? RecordCompression::Zlib
                                                                                 : RecordCompression::None;
  TfRecordOptions options{.compression = compression, .maxRecordBytes = 1 << 20};
  std::vector<std::string> records = recordsOf(readTfRecords(path, options));
  for (const std::string &record : records)
    if (record.size() > 1u << 20)
      abort();
  // Batches hold the same.
  Dataset batches = readTfRecordBatches(path, 1 + static_cast<int64_t>(size % 3), options);
  if (recordsOf(batches) != records)
    abort();
  if (records.size() < 16)
    parse(path, records, 1 + static_cast<int64_t>(size % 3), options);
  if (records.size() > 1 && records.size() < 64) {
    resume(readTfRecords(path, options), records);
    resume(batches, records);
  }
  return 0;
}
