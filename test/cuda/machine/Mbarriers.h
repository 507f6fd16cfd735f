// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Decode.h"

namespace sinter::ptx {

void decodeBulkCopy(Decoder &d); // cp.async.bulk, without `async` and `bulk`
std::vector<Instruction> mbarrierInstructions();

} // namespace sinter::ptx
