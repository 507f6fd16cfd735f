// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shuffle puts each run of records into a random order. shuffleAll does so with a whole pass, in the manner of a
// distribution sort: each record goes to one of 256 parts at random, and each part is put into a random order, which
// together is an order drawn evenly from all. Parts that memory does not hold are in a file without a name.

#include "Random.h"
#include "Upstream.h"
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

using namespace sinter::data;

namespace {
class Window : public Iterator {
public:
  Window(std::unique_ptr<Iterator> input, int64_t size, uint64_t seed, int64_t epoch)
      : input(std::move(input)), size(size), seed(seed), epoch(epoch) {}

  bool next(Record &record) override {
    if (!isFull && !fill(INT64_MAX))
      return false;
    record = std::move(held[static_cast<size_t>(order[static_cast<size_t>(at)])]);
    ++passed;
    if (++at == static_cast<int64_t>(held.size()))
      leave();
    return true;
  }

  void save(StateWriter &writer) const override {
    writer.number(number);
    if (held.empty() && !isFull)
      input.saveHere(writer);
    else
      input.save(writer, start);
    writer.number(input.attempts());
    writer.number(isFull ? at : -1);
  }

  void load(StateReader &reader) override {
    number = reader.number(INT64_MAX);
    start = input.load(reader);
    int64_t attempts = reader.number(INT64_MAX), saved = reader.number();
    while (input.attempts() < attempts) {
      try {
        if (!fill(attempts))
          break;
      } catch (const Error &error) {
        if (!error.skippable())
          throw;
      }
    }
    if (saved < 0)
      return;
    if (!isFull)
      arrange();
    if (saved >= static_cast<int64_t>(held.size()))
      throw Error(SINTER_CORRUPT, "a pipeline's state requires a place in a window of " + std::to_string(held.size()) +
                                      " records, got " + std::to_string(saved));
    at = saved;
  }

  void report(std::vector<StageStatistics> &stages) const override {
    input.report(stages);
    stages.push_back({.stage = "shuffle", .records = passed});
  }

private:
  /// Reads records up to attempt `last` or until the window is full. False where none is left.
  bool fill(int64_t last) {
    if (held.empty()) {
      input.mark();
      start = input.attempts();
      input.forgetBefore(start);
    }
    Record one;
    bool isThere = true;
    while (static_cast<int64_t>(held.size()) < size && input.attempts() < last && (isThere = input.next(one)))
      held.push_back(std::move(one));
    if (held.empty())
      return false;
    if (static_cast<int64_t>(held.size()) == size || !isThere)
      arrange();
    return true;
  }

  void arrange() {
    isFull = true;
    order = permutation(static_cast<int64_t>(held.size()), draw(seed, epoch, number), 0);
    at = 0;
  }

  void leave() {
    held.clear();
    isFull = false;
    ++number;
  }

  Upstream input;
  int64_t size;
  uint64_t seed;
  int64_t epoch;
  std::vector<Record> held;
  std::vector<int64_t> order;
  bool isFull = false;
  int64_t at = 0, start = 0, number = 0, passed = 0;
};

/// Bytes of 256 parts: in memory up to a limit, the rest in one file in chunks.
class Parts {
public:
  static constexpr size_t count = 256;

  explicit Parts(const ShuffleAllOptions &options) : options(options), memory(count), chunks(count), bytes(count) {}
  ~Parts() {
    if (file >= 0)
      close(file);
  }
  Parts(const Parts &) = delete;

  void add(size_t part, const std::string &record) {
    memory[part] += record;
    held += static_cast<int64_t>(record.size());
    bytes[part] += static_cast<int64_t>(record.size());
    if (bytes[part] > options.memoryBytes)
      throw Error(SINTER_LIMIT, "shuffling requires more memory: a part of the records exceeds the " +
                                    std::to_string(options.memoryBytes) + " bytes that are allowed");
    if (held > options.memoryBytes)
      spill();
  }

  std::string take(size_t part) {
    std::string all;
    for (const Chunk &chunk : chunks[part]) {
      size_t begin = all.size();
      all.resize(begin + chunk.bytes);
      transfer(chunk.offset, all.data() + begin, chunk.bytes, false);
    }
    all += memory[part];
    memory[part] = std::string();
    return all;
  }

private:
  struct Chunk {
    int64_t offset;
    size_t bytes;
  };

  [[noreturn]] void fail(const char *what) const {
    throw Error(SINTER_IO, std::string("cannot ") + what + " a file of shuffled records in '" + options.folder +
                               "': " + std::strerror(errno));
  }

  void transfer(int64_t offset, char *data, size_t size, bool isWrite) const {
    while (size > 0) {
      ssize_t done = isWrite ? pwrite(file, data, size, offset) : pread(file, data, size, offset);
      if (done < 0 && errno == EINTR)
        continue;
      if (done <= 0)
        fail(isWrite ? "write" : "read");
      offset += done;
      data += done;
      size -= static_cast<size_t>(done);
    }
  }

  void spill() {
    if (file < 0) {
      file = open(options.folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
      if (file < 0) {
        std::string path = options.folder + "/sinter-shuffle-XXXXXX";
        file = mkostemp(path.data(), O_CLOEXEC);
        if (file < 0)
          fail("make");
        unlink(path.c_str());
      }
    }
    for (size_t part = 0; part < count; ++part) {
      if (memory[part].empty())
        continue;
      transfer(fileBytes, memory[part].data(), memory[part].size(), true);
      chunks[part].push_back({fileBytes, memory[part].size()});
      fileBytes += static_cast<int64_t>(memory[part].size());
      memory[part] = std::string();
    }
    held = 0;
  }

  ShuffleAllOptions options;
  std::vector<std::string> memory;
  std::vector<std::vector<Chunk>> chunks;
  std::vector<int64_t> bytes;
  int64_t held = 0, fileBytes = 0;
  int file = -1;
};

class All : public Iterator {
public:
  All(std::unique_ptr<Iterator> input, const ShuffleAllOptions &options, int64_t epoch)
      : input(std::move(input)), options(options), parts(options), epoch(epoch) {}

  bool next(Record &record) override {
    if (!isDistributed)
      distribute();
    while (at == order.size()) {
      if (part == Parts::count)
        return false;
      openPart(part++);
    }
    std::string_view bytes = records[static_cast<size_t>(order[at++])];
    record = Record::decode(bytes);
    ++passed;
    return true;
  }
  void save(StateWriter &writer) const override { writer.number(passed); }
  /// Distributes again, and counts.
  void load(StateReader &reader) override {
    int64_t saved = reader.number(INT64_MAX);
    if (saved == 0)
      return;
    for (;;) {
      try {
        distribute();
        break;
      } catch (const Error &error) {
        if (!error.skippable())
          throw;
      }
    }
    while (passed < saved) {
      while (at == order.size() && part < Parts::count)
        openPart(part++);
      if (at == order.size())
        throw Error(SINTER_CORRUPT, "a pipeline's state requires " + std::to_string(saved) +
                                        " shuffled records, there are " + std::to_string(passed));
      int64_t step = std::min(saved - passed, static_cast<int64_t>(order.size() - at));
      at += static_cast<size_t>(step);
      passed += step;
    }
  }
  void report(std::vector<StageStatistics> &stages) const override {
    input->report(stages);
    stages.push_back({.stage = "shuffle all", .records = passed});
  }

private:
  void distribute() {
    Record record;
    std::string bytes;
    while (input->next(record)) {
      bytes.clear();
      int64_t size = 0; // of the record, in front of it
      bytes.append(reinterpret_cast<const char *>(&size), sizeof size);
      record.encode(bytes);
      size = static_cast<int64_t>(bytes.size() - sizeof size);
      std::memcpy(bytes.data(), &size, sizeof size);
      parts.add(draw(options.seed, epoch, numRead++) >> 56, bytes);
    }
    isDistributed = true;
  }

  void openPart(size_t which) {
    content = parts.take(which);
    records.clear();
    for (std::string_view rest = content; !rest.empty();) {
      int64_t size;
      std::memcpy(&size, rest.data(), sizeof size);
      records.push_back(rest.substr(sizeof size, static_cast<size_t>(size)));
      rest.remove_prefix(sizeof size + static_cast<size_t>(size));
    }
    order = permutation(static_cast<int64_t>(records.size()),
                        draw(options.seed, epoch, -1 - static_cast<int64_t>(which)), 0);
    at = 0;
  }

  std::unique_ptr<Iterator> input;
  ShuffleAllOptions options;
  Parts parts;
  int64_t epoch, numRead = 0, passed = 0;
  bool isDistributed = false;
  std::string content;
  std::vector<std::string_view> records; // of the open part
  std::vector<int64_t> order;
  size_t at = 0, part = 0;
};
} // namespace

Dataset Dataset::shuffle(int64_t window, uint64_t seed) const {
  if (window < 1)
    throw Error(SINTER_INVALID_ARGUMENT, "shuffle requires a window of 1 or more, got " + std::to_string(window));
  return Dataset(
      std::make_shared<FunctionStage>(node, "shuffle " + std::to_string(window) + " seed " + std::to_string(seed),
                                      [=](const Node &input, int64_t epoch) {
                                        return std::make_unique<Window>(input.begin(epoch), window, seed, epoch);
                                      }));
}

Dataset Dataset::shuffleAll(ShuffleAllOptions options) const {
  if (options.memoryBytes < 1 << 16)
    throw Error(SINTER_INVALID_ARGUMENT,
                "shuffleAll requires 65536 bytes of memory or more, got " + std::to_string(options.memoryBytes));
  return Dataset(std::make_shared<FunctionStage>(
      node, "shuffle all seed " + std::to_string(options.seed),
      [=](const Node &input, int64_t epoch) { return std::make_unique<All>(input.begin(epoch), options, epoch); }));
}
