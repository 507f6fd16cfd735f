// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a user may choose about a compilation; parsed in tools/, read everywhere.

#ifndef SINTER_COMPILER_OPTIONS_H
#define SINTER_COMPILER_OPTIONS_H

#include <cstdint>
#include <string>

namespace sinter {
namespace schedule {
class Timeline;
}

struct Options {
  /// 0: each op by itself, plain loops, libm. 1: fusion and templates. 2, 3: also layouts and recognized composites.
  int optLevel = 2;
  /// Rewrites that change rounding, infinities and NaN; which ones: `fastMathNames`, passes/REWRITES.md.
  bool fastMath = false;
  /// `native`, `x86-64-v3`, `x86-64-v4`, `znver4`, `znver5`, `aarch64`, with or without `cpu:` in front. Empty: the one
  /// that the module's attribute `sinter.target` tells, else `native`.
  std::string target = "native";
  /// Threads that the compiler itself uses; 0 for one per core.
  unsigned threads = 0;
  /// Most ops in one kernel.
  int64_t maxUnrolledTrips = 8, maxUnrolledOps = 64;
  int64_t maxFusedOps = 64;
  /// Largest tensor that folding may make, in bytes, and the steps that it takes, about as many as elements.
  int64_t maxFoldedBytes = int64_t(1) << 30;
  int64_t maxFoldingSteps = int64_t(1) << 29;
  /// Keep object code of kernels in a folder from one compilation to the next. An empty folder: the user's.
  bool cachesKernels = false;
  std::string kernelFolder;
  int64_t kernelFolderBytes = int64_t(1) << 30;
  /// Where the time of passes, kernels and files is written down (backends/schedule/Timeline.h); it outlives the
  /// compiled module. Null: nowhere.
  schedule::Timeline *timeline = nullptr;
};

/// The rewrites of `fastMath`, by the names that passes/REWRITES.md gives them.
inline constexpr const char *fastMathNames[] = {"merge-numbers", "reciprocal", "batch-norm-as-sum", "winograd"};

} // namespace sinter

#endif
