// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a call copies between the host's memory and that of a device, as sinter inspect --kernels shows it.

#ifndef SINTER_TOOLS_SINTER_COPIES_H
#define SINTER_TOOLS_SINTER_COPIES_H

#include "mlir/IR/BuiltinOps.h"
#include <nlohmann/json_fwd.hpp>

namespace sinter::tool {

/// Every copy of the schedules in `module` from one memory to another, in the order of the text: what it is of ("input
/// 0", "output 1", "what KERNEL writes", "memory"), "from" and "to" ("host" or the name of a back end), "bytes" where
/// that is known, and whether it is "in a loop" of the host.
nlohmann::json describeCopies(mlir::ModuleOp module);

/// One line for each.
void printCopies(const nlohmann::json &copies);

} // namespace sinter::tool

#endif
