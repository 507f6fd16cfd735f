// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What GPUs offer, and what work costs on them: the only numbers of time of this back end.

#ifndef SINTER_BACKENDS_CUDA_GPUS_H
#define SINTER_BACKENDS_CUDA_GPUS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace sinter::cuda {

/// Rates of one multiprocessor are what its instructions allow at the usual clock.
struct Gpu {
  llvm::StringLiteral generation;
  llvm::StringLiteral name;
  int64_t multiprocessors;
  int64_t sharedBytes;    // of a multiprocessor
  int64_t sharedOfBlock;  // that a block may ask for
  double bandwidth;       // bytes a nanosecond, of the whole GPU
  double macs32, macs64;  // multiply-adds a nanosecond of a multiprocessor by its threads
  double macs16, macs8;   // by mma.sync
  double macsWgmma = 0;   // of f16 and bf16, by wgmma
  double launchNs = 3000; // from one kernel to the next
  double cacheRate = 2.5; // what the second cache gives for each byte of memory's bandwidth
};

/// 90 for sm_90 and sm_90a.
int64_t generationOf(llvm::StringRef name);

/// The one that code for a generation is tuned for.
const Gpu &gpuOf(llvm::StringRef generation);

} // namespace sinter::cuda

#endif
