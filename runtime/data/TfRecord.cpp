// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TfRecord.h"
#include "Crc32c.h"
#include "StreamRecords.h"
#include <algorithm>

using namespace sinter::data;

template <typename T> static T load(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

namespace {
struct Frame {
  std::string_view bytes{};
  bool isGood = false;
  int64_t passes = 0; // bytes to the next record, or more than there are, where this one throws what can be skipped
  static constexpr int64_t extra = 16; // bytes beside the record's own: 12 before, 4 behind
  int64_t size() const { return extra + static_cast<int64_t>(bytes.size()); }
};

/// Looks at the next record, of which `peek(n)` gives the first n bytes or what is left; `place()` is where it is.
/// False at the end.
template <typename Peek, typename Where>
[[gnu::always_inline]] inline bool findFrame(Peek peek, const TfRecordOptions &options, Where place, Frame &frame) {
  auto fail = [&](const std::string &what, int64_t passes = 0) {
    frame.passes = passes;
    throw Error(SINTER_CORRUPT, what, place(), passes > 0);
  };
  constexpr int64_t most = INT64_MAX - Frame::extra;
  std::string_view head = peek(12);
  if (head.empty())
    return false;
  if (head.size() < 12)
    fail("a record requires 12 bytes of length and checksum, got " + std::to_string(head.size()), most);
  auto length = load<uint64_t>(head.data());
  if (maskedCrc32cOfWord(length) != load<uint32_t>(head.data() + 8))
    fail("a length's checksum does not fit: the file is damaged, or no TFRecord file, or compressed in another way");
  if (length > static_cast<uint64_t>(options.maxRecordBytes))
    fail("a record requires at most " + std::to_string(options.maxRecordBytes) + " bytes, got " +
             std::to_string(length),
         static_cast<int64_t>(std::min<uint64_t>(length, most)) + Frame::extra);
  auto size = static_cast<int64_t>(length);
  std::string_view all = peek(12 + size + 4);
  if (static_cast<int64_t>(all.size()) < 12 + size + 4)
    fail("a record of " + std::to_string(length) + " bytes is truncated", most);
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
      : StreamRecords(path, streamCompression(compressionOf(path, options.compression)), "tfrecord"), options(options),
        names(std::move(names)) {}

  bool next(Record &record) override {
    Frame frame;
    auto place = [&] { return Place{stream.file().path(), number, stream.offset()}; };
    try {
      if (!findFrame([&](int64_t count) { return stream.peek(count); }, options, place, frame))
        return false;
    } catch (const Error &) {
      number += frame.passes > 0;
      stream.pass(frame.passes);
      throw;
    }
    if (frame.isGood)
      record = {names, {Value::string(frame.bytes)}};
    Place before = frame.isGood ? Place() : place();
    stream.consume(frame.size());
    ++number;
    if (!frame.isGood)
      failChecksum(before);
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
      : stream(path, streamCompression(compressionOf(path, options.compression))), options(options),
        names(std::move(names)), batchRecords(batchRecords), file(path) {}

  bool next(Record &record) override {
    auto batch = std::make_shared<Batch>();
    auto &spans = batch->spans;
    spans.reserve(static_cast<size_t>(std::min<int64_t>(batchRecords, 1024)));
    Frame frame;
    int64_t taken = 0, left = batchRecords; // bytes; records
    const char *at = block.get() + begin, *limit = block.get() + end;
    auto place = [&] { return Place{file, number + static_cast<int64_t>(spans.size()), offset + taken}; };
    auto peek = [&](int64_t count) {
      if (limit - at < count) [[unlikely]] {
        fill(count, *batch);
        at = block.get() + begin;
        limit = block.get() + end;
      }
      return std::string_view(at, static_cast<size_t>(std::min(count, limit - at)));
    };
    for (frame.isGood = true; left > 0; --left) {
      begin = at - block.get();
      try {
        if (!findFrame(peek, options, place, frame))
          break;
      } catch (const Error &) {
        if (spans.empty()) {
          pass(frame.passes);
          throw;
        }
        at = block.get() + begin; // of another block, perhaps
        break;                    // what was read first; the next call finds the same
      }
      if (!frame.isGood)
        break;
      spans.push_back({frame.bytes.data(), static_cast<int64_t>(frame.bytes.size()), limit});
      at += frame.size();
      taken += frame.size();
    }
    begin = at - block.get();
    offset += taken;
    if (spans.empty() && !frame.isGood) {
      Place bad{file, number, offset};
      begin += frame.size();
      offset += frame.size();
      ++number;
      failChecksum(bad);
    }
    if (spans.empty())
      return false;
    batch->blocks.push_back(block);
    auto count = static_cast<int64_t>(spans.size());
    number += count;
    record = {names, {Value::strings({count}, {batch, spans.data()})}};
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
  static constexpr int64_t blockBytes = 1 << 19;

  /// Records that are given out, and the blocks that they lie in.
  struct Batch {
    std::vector<Span, PieceAllocator<Span>> spans;
    std::vector<std::shared_ptr<char>> blocks;
  };

  /// Passes a record of so many bytes, or all that is left.
  void pass(int64_t bytes) {
    number += bytes > 0;
    int64_t held = std::min(bytes, end - begin);
    begin += held;
    offset += held + stream.pass(bytes - held);
  }

  /// Reads until `count` bytes lie behind `begin`, or as many as come. A new block begins with what is left of the old.
  [[gnu::noinline]] void fill(int64_t count, Batch &batch) {
    while (end - begin < count) {
      if (end == capacity || (begin + count > capacity && begin > capacity / 2)) {
        int64_t held = end - begin; // grows with what has come: a length in a damaged file costs no memory
        capacity = std::max(std::min(stream.file().size() + 64, blockBytes), 2 * held);
        auto grown = allocate(capacity);
        if (held)
          std::memcpy(grown.get(), block.get() + begin, static_cast<size_t>(held));
        if (!batch.spans.empty())
          batch.blocks.push_back(std::move(block));
        block = std::move(grown);
        begin = 0;
        end = held;
      }
      int64_t got = stream.read(block.get() + end, capacity - end);
      if (got == 0)
        break;
      end += got;
    }
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
