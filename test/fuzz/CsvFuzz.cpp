// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HeldFiles.h"
#include "runtime/data/Csv.h"

using namespace sinter::data;

static void readAll(const Dataset &dataset) {
  Loader loader(dataset);
  for (Record record; loader.next(record);)
    for (int64_t c = 0; c < record.size(); ++c)
      if (record.value(c).dtype() == Bytes)
        for (int64_t i = 0; i < record.value(c).count(); ++i)
          if (record.value(c).bytes(i).size() > 16u << 20)
            abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  CsvOptions options{
      .separator = size % 2 ? ',' : '\t', .hasHeader = size / 2 % 2 == 0, .sampleRows = 3, .maxBadRows = -1};
  try {
    readAll(readCsvBatches(givenFile(data, size), 7, options));
  } catch (const Error &) {
  }
  return 0;
}
