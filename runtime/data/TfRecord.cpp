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
struct Frame {
  std::string_view bytes{};
  bool isGood = false;
  static constexpr int64_t extra = 16; // bytes beside the record's own: 12 before, 4 behind
  int64_t size() const { return extra + static_cast<int64_t>(bytes.size()); }
};

/// Looks at the next record, of which `peek(n)` gives the first n bytes or what is left. False at the end.
template <typename Peek> bool findFrame(Peek peek, const TfRecordOptions &options, const Place &place, Frame &frame) {
  auto fail = [&](const std::string &what) { throw Error(SINTER_CORRUPT, what, place); };
  std::string_view head = peek(12);
  if (head.empty())
    return false;
  if (head.size() < 12)
    fail("a record requires 12 bytes of length and checksum, got " + std::to_string(head.size()));
  auto length = load<uint64_t>(head.data());
  if (maskedCrc32c(head.substr(0, 8)) != load<uint32_t>(head.data() + 8))
    fail("a length's checksum does not fit: the file is damaged, or no TFRecord file, or compressed in another way");
  if (length > static_cast<uint64_t>(options.maxRecordBytes))
    fail("a record requires at most " + std::to_string(options.maxRecordBytes) + " bytes, got " +
         std::to_string(length));
  auto size = static_cast<int64_t>(length);
  std::string_view all = peek(12 + size + 4);
  if (static_cast<int64_t>(all.size()) < 12 + size + 4)
    fail("a record of " + std::to_string(length) + " bytes is truncated");
  frame.bytes = all.substr(12, length);
  frame.isGood = maskedCrc32c(frame.bytes) == load<uint32_t>(all.data() + 12 + size);
  return true;
}

[[noreturn]] void failChecksum(const Place &place) {
  throw Error(SINTER_CORRUPT, "a record's checksum does not fit", place, true);
}

Compression streamCompression(RecordCompression compression) {
  return compression == RecordCompression::Gzip   ? Compression::Gzip
         : compression == RecordCompression::Zlib ? Compression::Zlib
                                                  : Compression::None;
}

class TfRecords : public StreamRecords {
public:
  TfRecords(const std::string &path, const TfRecordOptions &options, Names names)
      : StreamRecords(path, streamCompression(named(path, options.compression)), "tfrecord"), options(options),
        names(std::move(names)) {}

  bool next(Record &record) override {
    Frame frame;
    Place place{stream.file().path(), number, stream.offset()};
    if (!findFrame([&](int64_t count) { return stream.peek(count); }, options, place, frame))
      return false;
    if (frame.isGood)
      record = {names, {Value::string(frame.bytes)}};
    stream.consume(frame.size());
    ++number;
    if (!frame.isGood)
      failChecksum(place);
    return true;
  }

private:
  TfRecordOptions options;
  Names names;
};

/// Many records as one that shares the memory which the file was read into.
class TfRecordBatches : public Iterator {
public:
  TfRecordBatches(const std::string &path, const TfRecordOptions &options, Names names, int64_t batchRecords)
      : stream(path, streamCompression(named(path, options.compression))), options(options), names(std::move(names)),
        batchRecords(batchRecords), file(path) {}

  bool next(Record &record) override {
    std::vector<int64_t> starts; // of the records behind `begin`
    int64_t at = 0;
    Frame frame;
    for (frame.isGood = true; static_cast<int64_t>(starts.size()) < batchRecords;) {
      auto peek = [&](int64_t count) {
        int64_t there = fill(at + count) - at; // may move the block
        return std::string_view(block.get() + begin + at, static_cast<size_t>(there));
      };
      try {
        if (!findFrame(peek, options, here(at, starts.size()), frame))
          break;
      } catch (const Error &) {
        if (starts.empty())
          throw;
        break; // what was read first; the next call finds the same
      }
      if (!frame.isGood)
        break;
      starts.push_back(at + 12);
      at += frame.size();
    }
    if (starts.empty() && !frame.isGood) {
      Place place = here(0, 0);
      pass(frame.size(), 1);
      failChecksum(place);
    }
    if (starts.empty())
      return false;
    auto count = static_cast<int64_t>(starts.size());
    starts.push_back(at + 12);
    auto offsets = std::make_shared<std::vector<int64_t>>(std::move(starts));
    record = {names, {Value::strings({count}, {block, block.get() + begin}, {offsets, offsets->data()}, Frame::extra)}};
    pass(at, count);
    return true;
  }

  void save(StateWriter &writer) const override {
    writer.number(offset);
    writer.number(number);
  }
  void load(StateReader &reader) override {
    offset = reader.number(INT64_MAX);
    number = reader.number(INT64_MAX);
    stream.seek(offset);
  }
  void report(std::vector<StageStatistics> &stages) const override {
    stages.push_back({.stage = "tfrecord", .records = number});
  }

private:
  static constexpr int64_t blockBytes = 1 << 20;

  Place here(int64_t at, size_t records) const { return {file, number + static_cast<int64_t>(records), offset + at}; }

  void pass(int64_t bytes, int64_t records) {
    begin += bytes;
    offset += bytes;
    number += records;
  }

  /// Reads until `count` bytes lie behind `begin`, as many as come. Returns how many of these there are.
  int64_t fill(int64_t count) {
    while (end - begin < count) {
      if (end == capacity) { // grows with what has come: a length in a damaged file costs no memory
        int64_t held = end - begin;
        capacity = std::max(std::min(stream.file().size() + 64, blockBytes), 2 * held);
        auto grown = allocate(capacity);
        if (held)
          std::memcpy(grown.get(), block.get() + begin, static_cast<size_t>(held));
        block = std::move(grown);
        begin = 0;
        end = held;
      }
      int64_t got = stream.read(block.get() + end, capacity - end);
      if (got == 0)
        break;
      end += got;
    }
    return std::min(count, end - begin);
  }

  ByteStream stream;
  TfRecordOptions options;
  Names names;
  int64_t batchRecords;
  std::string file;
  std::shared_ptr<char> block;
  int64_t capacity = 0, begin = 0, end = 0; // of `block`
  int64_t offset = 0, number = 0;           // of the record at `begin`
};

class TfRecordNode : public Node {
public:
  TfRecordNode(std::string path, const TfRecordOptions &options, int64_t batchRecords)
      : path(std::move(path)), options(options), names(std::make_shared<std::vector<std::string>>(1, options.column)),
        batchRecords(batchRecords) {}
  std::unique_ptr<Iterator> begin(int64_t) const override {
    if (batchRecords)
      return std::make_unique<TfRecordBatches>(path, options, names, batchRecords);
    return std::make_unique<TfRecords>(path, options, names);
  }
  std::string signature() const override {
    return "tfrecord " + File(path).signature() + (batchRecords ? " by " + std::to_string(batchRecords) : "");
  }

private:
  std::string path;
  TfRecordOptions options;
  Names names;
  int64_t batchRecords;
};
} // namespace

Dataset sinter::data::readTfRecords(const std::string &path, const TfRecordOptions &options) {
  return Dataset(std::make_shared<TfRecordNode>(path, options, 0));
}

Dataset sinter::data::readTfRecordBatches(const std::string &path, int64_t batchRecords,
                                          const TfRecordOptions &options) {
  if (batchRecords < 1)
    throw Error(SINTER_INVALID_ARGUMENT, "a batch requires 1 record or more, got " + std::to_string(batchRecords));
  return Dataset(std::make_shared<TfRecordNode>(path, options, batchRecords));
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
