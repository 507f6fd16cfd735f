// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect of schedules and its ops: backends/schedule/Schedule.td.

#ifndef SINTER_BACKENDS_SCHEDULE_DIALECT_H
#define SINTER_BACKENDS_SCHEDULE_DIALECT_H

#include "ir/Dims.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "backends/schedule/ScheduleDialect.h.inc"
#include "backends/schedule/ScheduleEnums.h.inc"

namespace sinter::schedule {
/// What two operands of an expression become, as a schedule names it; and back.
SizeKind sizeKind(DimExpr::Kind kind);
DimExpr::Kind dimKind(SizeKind kind);
} // namespace sinter::schedule

#define GET_ATTRDEF_CLASSES
#include "backends/schedule/ScheduleAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "backends/schedule/ScheduleTypes.h.inc"

#define GET_OP_CLASSES
#include "backends/schedule/ScheduleOps.h.inc"

#endif
