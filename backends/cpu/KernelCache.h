// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Object code of kernels that were compiled before, in a folder that processes share. What code depends on is its key;
// a file is named by the key's SHA-256 and begins with that of all that follows, so that a file which was cut off or
// changed is as good as none. Files appear by a rename. A folder that cannot be used costs a warning, never a
// compilation.

#ifndef SINTER_BACKENDS_CPU_KERNELCACHE_H
#define SINTER_BACKENDS_CPU_KERNELCACHE_H

#include "llvm/ADT/StringRef.h"
#include <atomic>
#include <mutex>
#include <optional>
#include <string>

namespace sinter::cpu {

/// May be used by several threads at once.
class KernelCache {
public:
  /// Finds or makes `folder`; empty: $XDG_CACHE_HOME/sinter/kernels, or ~/.cache/sinter/kernels. It must be the user's
  /// or root's, and nobody else may write to it, as it holds native code.
  KernelCache(llvm::StringRef folder, int64_t maxBytes);

  /// The object code of `key`, if it is there and whole.
  std::optional<std::string> find(llvm::StringRef key);
  void store(llvm::StringRef key, llvm::StringRef object);
  /// Removes the least recently used files until at most `maxBytes` are left, and what broken-off writes left, if
  /// anything was stored.
  void sweep();

  /// The first thing that went wrong; empty if nothing did.
  std::string problem();
  int64_t hits() const { return numHits; }

private:
  void openFolder(llvm::StringRef given);
  void complain(const std::string &text);
  std::string pathOf(llvm::StringRef key) const;

  std::string folder; // empty: there is none that can be used
  int64_t maxBytes;
  std::atomic<int64_t> numHits{0};
  std::atomic<bool> stored{false};
  std::atomic<unsigned> numWrites{0};
  std::mutex lock; // of what follows
  std::string firstProblem;
};

/// This build of the compiler, of LLVM and of MLIR: their versions, and the sizes and times of the files that hold
/// them.
const std::string &buildOfCode();

/// Gives symbols of the object file (ELF, 64 bits, little-endian) that are called `from` or `from_body` names with `to`
/// in its place. False where it is no such file.
bool renameKernel(std::string &object, llvm::StringRef from, llvm::StringRef to);

} // namespace sinter::cpu

#endif
