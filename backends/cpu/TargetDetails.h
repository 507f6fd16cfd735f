// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What targets by name and targets of hosts are made with.

#ifndef SINTER_BACKENDS_CPU_TARGETDETAILS_H
#define SINTER_BACKENDS_CPU_TARGETDETAILS_H

#include "backends/cpu/Extensions.h"
#include "backends/cpu/Target.h"

namespace sinter::cpu {

/// A target with these extensions, tuned for `cpu`; caches are those of that CPU, or usual ones.
Target targetOfExtensions(const Extensions &extensions, llvm::StringRef name, llvm::StringRef triple,
                          llvm::StringRef cpu);

/// Whether a cache of this level (1 to 3) may have the size: virtual machines tell 0, and more.
inline bool isCacheSize(int level, int64_t bytes) {
  constexpr int64_t least[] = {8 << 10, 64 << 10, 256 << 10}, most[] = {1 << 20, 64 << 20, int64_t(4) << 30};
  return bytes >= least[level - 1] && bytes <= most[level - 1];
}

} // namespace sinter::cpu

#endif
