// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TfRecord.h"
#include "Crc32c.h"
#include "StreamRecords.h"
extern "C" {
#include "../file.h"
}
#include <zlib.h>

using namespace sinter::data;

static RecordCompression named(const std::string &path, RecordCompression compression) {
  if (compression != RecordCompression::ByName)
    return compression;
  return path.ends_with(".gz")     ? RecordCompression::Gzip
         : path.ends_with(".zlib") ? RecordCompression::Zlib
                                   : RecordCompression::None;
}

template <typename T> static T load(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

//===- Reading --------------------------------------------------------------------------------------===//

namespace {
class TfRecords : public StreamRecords {
public:
  TfRecords(const std::string &path, const TfRecordOptions &options, Names names)
      : StreamRecords(path, streamCompression(named(path, options.compression)), "tfrecord"), options(options),
        names(std::move(names)) {}

  bool next(Record &record) override {
    int64_t offset = stream.offset();
    std::string_view head = stream.peek(12);
    if (head.empty())
      return false;
    if (head.size() < 12)
      fail("a record requires 12 bytes of length and checksum, got " + std::to_string(head.size()), offset);
    auto length = load<uint64_t>(head.data());
    if (maskedCrc32c(head.substr(0, 8)) != load<uint32_t>(head.data() + 8))
      fail("a length's checksum does not fit: the file is damaged, or no TFRecord file, or compressed in another way",
           offset);
    if (length > static_cast<uint64_t>(options.maxRecordBytes))
      fail("a record requires at most " + std::to_string(options.maxRecordBytes) + " bytes, got " +
               std::to_string(length),
           offset);
    auto size = static_cast<int64_t>(length);
    std::string_view all = stream.peek(12 + size + 4);
    if (static_cast<int64_t>(all.size()) < 12 + size + 4)
      fail("a record of " + std::to_string(length) + " bytes is truncated", offset);
    std::string_view bytes = all.substr(12, length);
    bool isGood = maskedCrc32c(bytes) == load<uint32_t>(all.data() + 12 + size);
    if (isGood)
      record = {names, {Value::string(bytes)}};
    stream.consume(12 + size + 4);
    ++number;
    if (!isGood)
      throw Error(SINTER_CORRUPT, "a record's checksum does not fit", {stream.file().path(), number - 1, offset}, true);
    return true;
  }

private:
  template <typename T> static T load(const char *at) { return ::load<T>(at); }

  static Compression streamCompression(RecordCompression compression) {
    return compression == RecordCompression::Gzip   ? Compression::Gzip
           : compression == RecordCompression::Zlib ? Compression::Zlib
                                                    : Compression::None;
  }

  [[noreturn]] void fail(const std::string &what, int64_t offset) const {
    throw Error(SINTER_CORRUPT, what, {stream.file().path(), number, offset});
  }

  TfRecordOptions options;
  Names names;
};

class TfRecordNode : public Node {
public:
  TfRecordNode(std::string path, const TfRecordOptions &options)
      : path(std::move(path)), options(options), names(std::make_shared<std::vector<std::string>>(1, options.column)) {}
  std::unique_ptr<Iterator> begin(int64_t) const override { return std::make_unique<TfRecords>(path, options, names); }
  std::string signature() const override { return "tfrecord " + File(path).signature(); }

private:
  std::string path;
  TfRecordOptions options;
  Names names;
};
} // namespace

Dataset sinter::data::readTfRecords(const std::string &path, const TfRecordOptions &options) {
  return Dataset(std::make_shared<TfRecordNode>(path, options));
}

//===- Writing --------------------------------------------------------------------------------------===//

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
  compression = named(path, compression);
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
