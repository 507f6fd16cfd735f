// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Families.h"
#include "Mbarriers.h"

namespace sinter::ptx {

const std::map<std::string_view, Instruction> &instructions() {
  static const std::map<std::string_view, Instruction> table = [] {
    std::map<std::string_view, Instruction> all;
    for (const auto &family : {integerInstructions(), bitInstructions(), floatInstructions(), comparisonInstructions(),
                               conversionInstructions(), accessInstructions(), atomicInstructions(),
                               controlInstructions(), warpInstructions(), clusterInstructions(), matrixInstructions(),
                               asyncInstructions(), mbarrierInstructions(), wgmmaInstructions()})
      for (const Instruction &one : family)
        all[one.name] = one;
    return all;
  }();
  return table;
}

} // namespace sinter::ptx
