// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Crc32c.h"
#include "File.h"
#include "TfRecord.h"
extern "C" {
#include "../file.h"
}
#include <cstring>
#include <zlib.h>

using namespace sinter::data;

RecordCompression sinter::data::compressionOf(const std::string &path, RecordCompression compression) {
  if (compression != RecordCompression::ByName)
    return compression;
  return path.ends_with(".gz")     ? RecordCompression::Gzip
         : path.ends_with(".zlib") ? RecordCompression::Zlib
                                   : RecordCompression::None;
}

struct TfRecordWriter::Writer {
  std::string path, pending;
  NewFile file;
  z_stream stream = {};
  bool isCompressed = false, isOpen = true;

  void put(std::string_view bytes, int flush) {
    if (!isCompressed) {
      pending += bytes;
      if (pending.size() > 1 << 20 || flush == Z_FINISH) {
        check(srtWriteAll(file.file, pending.data(), static_cast<int64_t>(pending.size()), path.c_str()));
        pending.clear();
      }
      return;
    }
    do { // zlib counts in 32 bits
      std::string_view part = bytes.substr(0, 1 << 30);
      bytes.remove_prefix(part.size());
      stream.next_in = reinterpret_cast<unsigned char *>(const_cast<char *>(part.data()));
      stream.avail_in = static_cast<unsigned>(part.size());
      do {
        char out[1 << 16];
        stream.next_out = reinterpret_cast<unsigned char *>(out);
        stream.avail_out = sizeof out;
        deflate(&stream, bytes.empty() ? flush : Z_NO_FLUSH);
        check(srtWriteAll(file.file, out, static_cast<int64_t>(sizeof out - stream.avail_out), path.c_str()));
      } while (stream.avail_out == 0);
    } while (!bytes.empty());
  }

  ~Writer() {
    if (isCompressed)
      deflateEnd(&stream);
    if (isOpen)
      srtFinishFile(&file, SINTER_CANCELLED);
  }
};

TfRecordWriter::TfRecordWriter(const std::string &path, RecordCompression compression) {
  auto made = std::make_unique<Writer>();
  made->isOpen = false;
  made->path = path;
  check(srtCreateFile(made->path.c_str(), &made->file));
  made->isOpen = true;
  compression = compressionOf(path, compression);
  if (compression != RecordCompression::None) {
    int window = compression == RecordCompression::Gzip ? 15 + 16 : 15;
    if (deflateInit2(&made->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
    made->isCompressed = true;
  }
  writer = std::move(made);
}

TfRecordWriter::~TfRecordWriter() = default;

void TfRecordWriter::write(std::string_view record) {
  if (!writer)
    throw Error(SINTER_INVALID_ARGUMENT, "a record requires a writer that is not closed");
  char head[12];
  auto length = static_cast<uint64_t>(record.size());
  std::memcpy(head, &length, 8);
  uint32_t crc = maskedCrc32c({head, 8});
  std::memcpy(head + 8, &crc, 4);
  writer->put({head, 12}, Z_NO_FLUSH);
  writer->put(record, Z_NO_FLUSH);
  crc = maskedCrc32c(record);
  writer->put({reinterpret_cast<const char *>(&crc), 4}, Z_NO_FLUSH);
}

void TfRecordWriter::close() {
  if (!writer)
    return;
  writer->put({}, Z_FINISH);
  writer->isOpen = false;
  sinter_status_code status = srtFinishFile(&writer->file, SINTER_OK);
  writer.reset();
  check(status);
}
