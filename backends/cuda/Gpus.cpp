// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/Gpus.h"
#include "llvm/ADT/STLExtras.h"

using namespace sinter::cuda;

/// From NVIDIA's white papers; mma.sync reaches about 0.6 of what wgmma does from sm_90 on.
static const Gpu gpus[] = {
    {"sm_80", "A100", 108, 164 << 10, 163 << 10, 1555, 90, 45, 1440, 2880},
    {"sm_86", "RTX A6000", 84, 100 << 10, 99 << 10, 768, 230, 3.6, 920, 1840},
    {"sm_87", "Orin", 16, 164 << 10, 163 << 10, 204, 166, 2.6, 665, 1330},
    {"sm_89", "L40S", 142, 100 << 10, 99 << 10, 864, 322, 5, 1270, 2540},
    {"sm_90", "H200", 132, 228 << 10, 227 << 10, 4800, 253, 126, 2200, 4400, 3740},
    {"sm_100", "B200", 148, 228 << 10, 227 << 10, 8000, 253, 126, 2200, 4400},
    {"sm_120", "RTX PRO 6000", 188, 100 << 10, 99 << 10, 1792, 333, 5, 1330, 2660},
};

int64_t sinter::cuda::generationOf(llvm::StringRef name) {
  int64_t number = 0;
  name.consume_front("sm_");
  name.consumeInteger(10, number);
  return number;
}

const Gpu &sinter::cuda::gpuOf(llvm::StringRef generation) {
  generation.consume_back("a"); // sm_90a is sm_90
  const Gpu *found = llvm::find_if(gpus, [&](const Gpu &gpu) { return gpu.generation == generation; });
  return found == std::end(gpus) ? gpus[0] : *found;
}
