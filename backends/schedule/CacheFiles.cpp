// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/CacheFiles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include <chrono>
#include <vector>

using namespace sinter;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

std::array<uint8_t, schedule::kDigestBytes> schedule::digestOf(llvm::ArrayRef<uint8_t> bytes) {
  return llvm::SHA256::hash(bytes);
}

std::string schedule::hexDigestOf(llvm::ArrayRef<uint8_t> bytes) {
  return llvm::toHex(digestOf(bytes), /*LowerCase=*/true);
}

std::string schedule::cacheFileName(StringRef key, StringRef suffix) {
  return llvm::toHex(digestOf(key), /*LowerCase=*/true) + suffix.str();
}

int64_t schedule::trimCacheFolder(const std::string &folder, StringRef suffix, int64_t maxBytes,
                                  const std::string &keep) {
  struct File {
    std::string path;
    int64_t bytes;
    llvm::sys::TimePoint<> used;
  };
  std::vector<File> files;
  int64_t total = 0, removed = 0;
  std::error_code code;
  for (fs::directory_iterator it(folder, code), end; it != end && !code; it.increment(code)) {
    fs::file_status status;
    if (fs::status(it->path(), status, /*follow=*/false) || status.type() != fs::file_type::regular_file)
      continue;
    StringRef name = llvm::sys::path::filename(it->path()), digest = name.take_front(2 * kDigestBytes);
    auto isDigit = [](char c) { return llvm::isHexDigit(c) && !llvm::isUpper(c); };
    if (digest.size() != 2 * kDigestBytes || !llvm::all_of(digest, isDigit))
      continue;
    StringRef rest = name.drop_front(digest.size());
    if (!rest.consume_front(suffix))
      continue;
    auto age = std::chrono::system_clock::now() - status.getLastModificationTime();
    if (rest.starts_with(".") && rest.ends_with(".tmp") && age > std::chrono::hours(1))
      fs::remove(it->path());
    if (rest.empty()) {
      files.push_back({it->path(), static_cast<int64_t>(status.getSize()), status.getLastModificationTime()});
      total += files.back().bytes;
    }
  }
  llvm::sort(files, [](const File &a, const File &b) { return a.used < b.used; });
  for (const File &file : files) {
    if (total <= maxBytes)
      break;
    if (file.path == keep || fs::remove(file.path))
      continue;
    total -= file.bytes;
    ++removed;
  }
  return removed;
}
