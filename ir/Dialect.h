// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect, its enumerations and interfaces. The ops of a family are in the family's header.

#ifndef SINTER_IR_DIALECT_H
#define SINTER_IR_DIALECT_H

#include "ir/Dims.h"
#include "ir/Elements.h"
#include "ir/Shapes.h"
#include "ir/reference/Evaluator.h"
#include "ir/reference/HostTensor.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/Dialect.h.inc"

#include "ir/Enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/Attributes.h.inc"

#include "ir/Interfaces.h.inc"

#endif
