// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders that hold what was compiled before. Whoever names one may name a folder with files of other people in it, so
// files are told from those by their names alone: the SHA-256 of a key in 64 hexadecimal digits, and a suffix.

#ifndef SINTER_BACKENDS_SCHEDULE_CACHEFILES_H
#define SINTER_BACKENDS_SCHEDULE_CACHEFILES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <string>

namespace sinter::schedule {

constexpr size_t kDigestBytes = 32;
std::array<uint8_t, kDigestBytes> digestOf(llvm::ArrayRef<uint8_t> bytes);
inline std::array<uint8_t, kDigestBytes> digestOf(llvm::StringRef bytes) {
  return digestOf(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
}
std::string hexDigestOf(llvm::ArrayRef<uint8_t> bytes);

/// "<digest of key><suffix>".
std::string cacheFileName(llvm::StringRef key, llvm::StringRef suffix);

/// Removes the least recently used files of such names, but never `keep`, until those of `folder` have at most
/// `maxBytes`; returns how many. What broken-off writes left goes after an hour: such a name, more, and ".tmp".
int64_t trimCacheFolder(const std::string &folder, llvm::StringRef suffix, int64_t maxBytes,
                        const std::string &keep = "");

} // namespace sinter::schedule

#endif
