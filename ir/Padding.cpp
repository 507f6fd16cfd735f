// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Padding.h"
#include "ir/Ranges.h"

#include <algorithm>

using namespace sinter;

PaddedAxis sinter::splitPadding(int64_t size, int64_t low, int64_t high, bool reflects) {
  int64_t rest = saturatingAdd(saturatingAdd(size, std::min<int64_t>(low, 0)), std::min<int64_t>(high, 0));
  int64_t most = std::max<int64_t>({low, high, 0});
  return {saturatingMul(std::min<int64_t>(low, 0), -1), std::max<int64_t>(low, 0), rest,
          most == 0 ? 0 : saturatingAdd(reflects ? most : 0, 1)};
}
