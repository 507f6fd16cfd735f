// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attributes of Schedules.td.

#ifndef SINTER_IR_SCHEDULES_H
#define SINTER_IR_SCHEDULES_H

#include "ir/Dialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#define GET_ATTRDEF_CLASSES
#include "ir/Schedules.h.inc"

namespace sinter {

/// The target of the module that `op` is in, or null.
TargetAttr targetOf(mlir::Operation *op);

} // namespace sinter

#endif
