// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "File.h"
#include "Crc32c.h"
extern "C" {
#include "../file.h"
}
#include <cstring>
#include <unistd.h>
#include <vector>
#include <zlib.h>

using namespace sinter::data;

/// Memory of a stream; less for a file that does not fill it.
static constexpr int64_t minBlockBytes = 1 << 12, maxBlockBytes = 1 << 20;

File::File(std::string path) : name(std::move(path)) { check(srtOpenFile(name.c_str(), &file, &bytes)); }

File::~File() {
  if (file >= 0)
    close(file);
}

void File::readAt(int64_t offset, char *data, int64_t count) const {
  if (srtReadAt(file, offset, data, count, name.c_str()) != SINTER_OK)
    throw Error(SINTER_IO, sinter_last_error(), {name, -1, offset});
}

std::string File::signature() const {
  constexpr int64_t whole = 1 << 20, end = 1 << 16, block = 1 << 12, blocks = 16;
  uint32_t crc = 0;
  std::string part;
  auto add = [&](int64_t offset, int64_t count) {
    part.resize(static_cast<size_t>(count));
    readAt(offset, part.data(), count);
    crc = crc32c(part, crc);
  };
  if (bytes <= whole) {
    add(0, bytes);
  } else {
    add(0, end);
    for (int64_t i = 1; i <= blocks; ++i)
      add(bytes / (blocks + 1) * i, block);
    add(bytes - end, end);
  }
  return name.substr(name.rfind('/') + 1) + " (" + std::to_string(bytes) + " bytes, checksum " + checksumText(crc) +
         ")";
}

//===- Streams --------------------------------------------------------------------------------------===//

struct ByteStream::Inflater {
  z_stream stream = {};
  std::vector<char> input;
  bool isGzip = false, isAtEnd = false, isOpen = false;
  int64_t members = 0; // whole ones

  ~Inflater() {
    if (isOpen)
      inflateEnd(&stream);
  }
};

ByteStream::ByteStream(const std::string &path, Compression compression) : source(path) {
  if (compression == Compression::ByContent) {
    char magic[2] = {};
    source.readAt(0, magic, std::min<int64_t>(2, source.size()));
    compression = magic[0] == '\x1f' && magic[1] == '\x8b' ? Compression::Gzip : Compression::None;
  }
  if (compression != Compression::None) {
    inflater = std::make_unique<Inflater>();
    inflater->isGzip = compression == Compression::Gzip;
    inflater->input.resize(static_cast<size_t>(std::clamp<int64_t>(source.size(), 1, 1 << 16)));
  }
  blockBytes =
      std::clamp(inflater ? 4 * std::min(source.size(), maxBlockBytes) : source.size(), minBlockBytes, maxBlockBytes);
  restart();
}

ByteStream::~ByteStream() = default;

void ByteStream::restart() {
  fileAt = position = begin = end = 0;
  if (!inflater)
    return;
  if (inflater->isOpen)
    inflateEnd(&inflater->stream);
  inflater->stream = {};
  inflater->isAtEnd = false;
  inflater->members = 0;
  inflater->isOpen = inflateInit2(&inflater->stream, inflater->isGzip ? 15 + 16 : 15) == Z_OK;
  if (!inflater->isOpen)
    throw std::bad_alloc();
}

int64_t ByteStream::readMore(char *to, int64_t room) {
  if (inflater)
    return inflateMore(to, room);
  int64_t count = std::min(room, source.size() - fileAt);
  if (count > 0)
    source.readAt(fileAt, to, count);
  fileAt += count;
  return count;
}

int64_t ByteStream::inflateMore(char *to, int64_t room) {
  z_stream &stream = inflater->stream;
  stream.next_out = reinterpret_cast<unsigned char *>(to);
  stream.avail_out = static_cast<unsigned>(room);
  while (stream.avail_out == static_cast<unsigned>(room) && !inflater->isAtEnd) {
    if (stream.avail_in == 0) {
      int64_t count = std::min<int64_t>(static_cast<int64_t>(inflater->input.size()), source.size() - fileAt);
      source.readAt(fileAt, inflater->input.data(), count);
      fileAt += count;
      stream.next_in = reinterpret_cast<unsigned char *>(inflater->input.data());
      stream.avail_in = static_cast<unsigned>(count);
    }
    bool isDry = stream.avail_in == 0;
    if (isDry && inflater->members > 0 && stream.total_in == 0) {
      inflater->isAtEnd = true; // after a whole member
      break;
    }
    int result = inflate(&stream, Z_NO_FLUSH);
    int64_t at = fileAt - stream.avail_in;
    if (result == Z_STREAM_END) {
      ++inflater->members;
      if (inflater->isGzip)
        inflateReset(&stream); // gzip files may be several, one behind the other
      else
        inflater->isAtEnd = true;
    } else if (result == Z_BUF_ERROR && isDry) {
      throw Error(SINTER_CORRUPT, "the compressed file is truncated", {source.path(), -1, at});
    } else if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      throw Error(SINTER_CORRUPT,
                  std::string("the file is not what ") + (inflater->isGzip ? "gzip" : "zlib") +
                      " writes: " + (stream.msg ? stream.msg : "a preset dictionary"),
                  {source.path(), -1, at});
    }
  }
  return room - stream.avail_out;
}

void ByteStream::fill(int64_t count) {
  if (begin > 0) {
    std::memmove(buffer.data(), buffer.data() + begin, static_cast<size_t>(end - begin));
    end -= begin;
    begin = 0;
  }
  while (end < count) {
    // Grows with what has come, not with what was asked for: a length in a damaged file costs no memory.
    if (static_cast<int64_t>(buffer.size()) < std::min(std::max(count, blockBytes), std::max(2 * end, blockBytes)))
      buffer.resize(static_cast<size_t>(std::min(std::max(count, blockBytes), std::max(2 * end, blockBytes))));
    int64_t got = readMore(buffer.data() + end, std::min<int64_t>(static_cast<int64_t>(buffer.size()) - end, 1 << 30));
    if (got == 0)
      return;
    end += got;
  }
}

int64_t ByteStream::read(char *to, int64_t room) {
  int64_t count = std::min(room, end - begin);
  if (count > 0) {
    std::memcpy(to, buffer.data() + begin, static_cast<size_t>(count));
    begin += count;
  } else {
    count = readMore(to, std::min<int64_t>(room, 1 << 30));
  }
  position += count;
  return count;
}

int64_t ByteStream::pass(int64_t count) {
  int64_t passed = 0;
  for (int64_t part; passed < count; passed += part) {
    part = std::min(count - passed, static_cast<int64_t>(available().size()));
    if (part == 0)
      break;
    consume(part);
  }
  return passed;
}

void ByteStream::skipMark() {
  if (position != 0)
    return;
  std::string_view begins = peek(3);
  if (begins == "\xEF\xBB\xBF")
    consume(3);
  else if (begins.starts_with("\xFF\xFE") || begins.starts_with("\xFE\xFF"))
    throw Error(SINTER_UNSUPPORTED, "a text is required to be UTF-8, this one begins as UTF-16 or UTF-32",
                {source.path(), -1, 0});
}

std::string_view ByteStream::line(int64_t most, int64_t block, int64_t record) {
  for (int64_t wanted = std::max<int64_t>(block, 1);;) {
    bool isLast = static_cast<int64_t>(peek(wanted).size()) < wanted;
    std::string_view all = available();
    if (all.empty())
      return all;
    size_t lineEnd = all.find('\n', static_cast<size_t>(std::clamp<int64_t>(block - 1, 0, int64_t(all.size()) - 1)));
    if (static_cast<int64_t>(std::min(lineEnd, all.size())) > block + most)
      refuseLong("line", most, record);
    if (lineEnd != all.npos)
      return all.substr(0, lineEnd + 1);
    if (isLast)
      return all;
    wanted = std::max<int64_t>(2 * static_cast<int64_t>(all.size()), 1 << 12);
  }
}

void ByteStream::refuseLong(const char *what, int64_t most, int64_t record) const {
  throw Error(SINTER_LIMIT, "a " + std::string(what) + " is required to end within " + std::to_string(most) + " bytes",
              {source.path(), record, position});
}

void ByteStream::seek(int64_t offset) {
  restart();
  if (!inflater) {
    if (offset > source.size())
      throw Error(SINTER_CORRUPT,
                  "the file is required to have " + std::to_string(offset) + " bytes, got " +
                      std::to_string(source.size()),
                  {source.path(), -1, -1});
    fileAt = position = offset;
    return;
  }
  while (position < offset) {
    int64_t count = std::min<int64_t>(static_cast<int64_t>(available().size()), offset - position);
    if (count == 0)
      throw Error(SINTER_CORRUPT,
                  "the file is required to expand to " + std::to_string(offset) + " bytes, got " +
                      std::to_string(position),
                  {source.path(), -1, -1});
    consume(count);
  }
}
