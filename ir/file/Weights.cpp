// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/file/Weights.h"
#include "ir/file/Header.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/xxhash.h"
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

using namespace llvm;
using namespace sinter::file;

/// A hash of the size and of some bytes all over: weights that differ nearly always differ there, and equal candidates
/// are compared in full. Hashing everything would cost as much as writing it.
static uint64_t sampleHash(ArrayRef<char> content) {
  constexpr size_t kPlaces = 32, kBytes = 32;
  uint8_t sample[sizeof(uint64_t) + kPlaces * kBytes] = {};
  uint64_t size = content.size();
  std::memcpy(sample, &size, sizeof size);
  size_t used = sizeof size;
  if (size <= kPlaces * kBytes) {
    if (size)
      std::memcpy(sample + used, content.data(), size);
    used += size;
  } else {
    for (size_t place = 0; place < kPlaces; ++place, used += kBytes)
      std::memcpy(sample + used, content.data() + (size - kBytes) / (kPlaces - 1) * place, kBytes);
  }
  // The two greatest keys are reserved by DenseMap.
  return xxh3_64bits(ArrayRef<uint8_t>(sample, used)) >> 1;
}

uint32_t WeightTable::add(ArrayRef<char> content, std::shared_ptr<std::vector<char>> owner) {
  SmallVector<uint32_t, 1> &candidates = bySample[sampleHash(content)];
  for (uint32_t index : candidates) {
    ArrayRef<char> other = entries[index].content;
    if (other.size() == content.size() && (content.empty() || other.data() == content.data() ||
                                           std::memcmp(other.data(), content.data(), content.size()) == 0))
      return index;
  }
  uint32_t index = static_cast<uint32_t>(entries.size());
  candidates.push_back(index);
  entries.push_back({alignUp(numBytes()), content});
  owners.push_back(std::move(owner));
  return index;
}

/// All of `parts`, however often the system takes only some.
static bool writeAll(int fd, MutableArrayRef<iovec> parts) {
  while (!parts.empty()) {
    ssize_t done = writev(fd, parts.data(), static_cast<int>(std::min<size_t>(parts.size(), IOV_MAX)));
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return false;
    size_t left = static_cast<size_t>(done);
    while (!parts.empty() && left >= parts.front().iov_len) {
      left -= parts.front().iov_len;
      parts = parts.drop_front();
    }
    if (left) {
      parts.front().iov_base = static_cast<char *>(parts.front().iov_base) + left;
      parts.front().iov_len -= left;
    }
  }
  return true;
}

bool sinter::file::writePieces(StringRef path, ArrayRef<FilePiece> pieces, std::string &error) {
  auto fail = [&](const char *what) {
    error = (path + ": " + what + ": " + std::strerror(errno)).str();
    return false;
  };
  std::string scratch = (path + ".XXXXXX").str();
  int fd = mkostemp(scratch.data(), O_CLOEXEC);
  if (fd < 0)
    return fail("cannot be created");
  static char zeros[kAlignment];
  SmallVector<iovec, 0> parts;
  uint64_t at = 0;
  for (const FilePiece &piece : pieces) {
    if (piece.content.empty())
      continue;
    assert(piece.offset >= at && piece.offset - at < kAlignment && "pieces are in order and padded to the alignment");
    if (piece.offset > at)
      parts.push_back({zeros, static_cast<size_t>(piece.offset - at)});
    parts.push_back({const_cast<char *>(piece.content.data()), piece.content.size()});
    at = piece.offset + piece.content.size();
  }
  // The file is made with mode 0600; others may read what the process's mask lets them.
  mode_t mask = umask(0);
  umask(mask);
  bool written = writeAll(fd, parts) && fchmod(fd, 0666 & ~mask) == 0;
  if (!written)
    fail("cannot be written");
  if (close(fd) != 0 && written)
    written = fail("cannot be written");
  if (written && rename(scratch.c_str(), path.str().c_str()) != 0)
    written = fail("cannot be replaced");
  if (!written)
    unlink(scratch.c_str());
  return written;
}
