// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/file/FileBytes.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

using namespace sinter;

/// From here on memory comes in pages of its own, which go back to the system at once, and in huge ones if it may.
constexpr uint64_t kMappedBytes = 2 << 20;

namespace {
/// Files that are mapped: the end of each by its begin.
struct MappedFiles {
  std::mutex mutex;
  std::map<const char *, const char *> ends;
};
} // namespace

static MappedFiles &mappedFiles() {
  static MappedFiles files;
  return files;
}

std::shared_ptr<FileBytes> FileBytes::allocate(uint64_t size) {
  std::shared_ptr<FileBytes> result(new FileBytes());
  result->bytes = size;
  if (size < kMappedBytes) {
    result->start = static_cast<char *>(std::aligned_alloc(64, (size + 64) / 64 * 64));
    return result->start ? result : nullptr;
  }
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  result->start = static_cast<char *>(memory);
  result->isMapped = true;
  madvise(memory, size, MADV_HUGEPAGE); // advice: without huge pages it is only slower
  return result;
}

FileBytes::~FileBytes() {
  if (isOfFile) {
    std::lock_guard lock(mappedFiles().mutex);
    mappedFiles().ends.erase(start);
  }
  if (isMapped)
    munmap(start - lead, bytes + lead);
  else
    std::free(start);
}

std::shared_ptr<FileBytes> FileBytes::read(int file, uint64_t offset, uint64_t size, std::string &problem) {
  std::shared_ptr<FileBytes> result = allocate(size);
  if (!result) {
    problem = "no memory for its " + std::to_string(size) + " bytes";
    return nullptr;
  }
  for (uint64_t done = 0; done < size;) {
    ssize_t got =
        pread(file, result->start + done, std::min<uint64_t>(size - done, 1 << 30), static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      problem = got < 0 ? std::string("cannot be read: ") + std::strerror(errno) : "became shorter while it was read";
      return nullptr;
    }
    done += static_cast<uint64_t>(got);
  }
  return result;
}

std::shared_ptr<FileBytes> FileBytes::map(int file, uint64_t offset, uint64_t size, std::string &problem) {
  std::shared_ptr<FileBytes> result(new FileBytes());
  result->lead = offset % static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  void *memory =
      mmap(nullptr, size + result->lead, PROT_READ, MAP_PRIVATE, file, static_cast<off_t>(offset - result->lead));
  if (memory == MAP_FAILED) {
    problem = std::string("cannot be mapped: ") + std::strerror(errno);
    return nullptr;
  }
  result->start = static_cast<char *>(memory) + result->lead;
  result->bytes = size;
  result->isMapped = result->isOfFile = true;
  std::lock_guard lock(mappedFiles().mutex);
  mappedFiles().ends.emplace(result->start, result->start + size);
  return result;
}

void sinter::forgetMapped(llvm::ArrayRef<char> bytes) {
  MappedFiles &files = mappedFiles();
  std::lock_guard lock(files.mutex);
  auto next = files.ends.upper_bound(bytes.data());
  if (bytes.empty() || next == files.ends.begin() || bytes.end() > std::prev(next)->second)
    return;
  auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  uintptr_t low = (reinterpret_cast<uintptr_t>(bytes.begin()) + page - 1) / page * page,
            high = reinterpret_cast<uintptr_t>(bytes.end()) / page * page;
  if (low < high)
    madvise(reinterpret_cast<void *>(low), high - low, MADV_DONTNEED);
}
