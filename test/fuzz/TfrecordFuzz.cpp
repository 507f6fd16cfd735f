// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MemoryFile.h"
#include "runtime/data/TfRecord.h"

using namespace sinter::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = memoryFile(data, size);
  for (RecordCompression compression : {RecordCompression::None, RecordCompression::Gzip, RecordCompression::Zlib}) {
    try {
      Loader loader(readTfRecords(path, {.compression = compression, .maxRecordBytes = 1 << 20}).skipErrors());
      for (Record record; loader.next(record);)
        if (record.value(0).bytes().size() > 1u << 20)
          abort();
    } catch (const Error &) {
    }
  }
  return 0;
}
