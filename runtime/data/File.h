// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files are read, not mapped: a mapped file that another process makes shorter ends this one at the next access.

#ifndef SINTER_RUNTIME_DATA_FILE_H
#define SINTER_RUNTIME_DATA_FILE_H

#include "Error.h"
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

namespace sinter::data {

/// A regular file, open for reading; shared by threads.
class File {
public:
  explicit File(std::string path);
  ~File();
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  const std::string &path() const { return name; }
  int64_t size() const { return bytes; }
  /// Reads exactly `count` bytes at `offset`. Throws with both where the file has become shorter.
  void readAt(int64_t offset, char *data, int64_t count) const;
  /// What tells that a state fits to a file, wherever that lies: the last part of its path, its size, and a checksum of
  /// its bytes; of those above a megabyte, of both ends and of blocks spread between them, 200 KiB in all.
  std::string signature() const;

private:
  std::string name;
  int file = -1;
  int64_t bytes = 0;
};

enum class Compression { None, Gzip, Zlib, ByContent };

/// A file from front to back, expanded on the way. Memory is a megabyte and what the longest peek asks for: however far
/// a file expands, only what is asked for is held.
class ByteStream {
public:
  ByteStream(const std::string &path, Compression compression);
  ~ByteStream();

  /// The next `count` bytes, fewer only at the end. Valid until the next call.
  std::string_view peek(int64_t count) {
    if (end - begin < count)
      fill(count);
    return {buffer.data() + begin, static_cast<size_t>(std::min(count, end - begin))};
  }
  /// What is in memory, which is nothing only at the end.
  std::string_view available() {
    if (begin == end)
      fill(1);
    return {buffer.data() + begin, static_cast<size_t>(end - begin)};
  }
  /// Passes `count` bytes, which a peek gave.
  void consume(int64_t count) {
    begin += count;
    position += count;
  }
  /// Passes up to `count` bytes, as many as there are, and returns how many.
  int64_t pass(int64_t count);
  /// Passes the mark of UTF-8 that some programs begin a text with, at the beginning. Throws where a mark says that it
  /// is UTF-16 or UTF-32.
  void skipMark();
  /// The next line, with its end (the file's last one may have none); with a `block`, so many bytes and the rest of the
  /// line that they end in. Empty at the end of the file, valid until the next call. Throws where the line, or such a
  /// rest, has more than `most` bytes; the error names `record`.
  std::string_view line(int64_t most, int64_t block = 0, int64_t record = -1);
  /// Throws that what begins here ("line", "row") does not end within `most` bytes.
  [[noreturn]] void refuseLong(const char *what, int64_t most, int64_t record = -1) const;
  /// Of the next byte, in what the file expands to.
  int64_t offset() const { return position; }
  /// Reads up to `room` bytes into the caller's memory, past the buffer where that is empty. 0: the end.
  int64_t read(char *to, int64_t room);
  /// Goes on from `offset`; of a compressed file everything before it is expanded once more.
  void seek(int64_t offset);
  const File &file() const { return source; }

private:
  void fill(int64_t count);
  int64_t readMore(char *to, int64_t room);
  int64_t inflateMore(char *to, int64_t room);
  void restart();

  struct Inflater;
  File source;
  std::unique_ptr<Inflater> inflater; // null: not compressed
  int64_t fileAt = 0, position = 0, begin = 0, end = 0, blockBytes = 0;
  std::string buffer;
};

} // namespace sinter::data

#endif
