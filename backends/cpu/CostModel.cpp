// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/CostModel.h"

using namespace sinter::cpu;

const CostModel &sinter::cpu::costsOf(const Target *) {
  static const CostModel any;
  return any;
}
