// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_IR_SHAPE_H
#define SINTER_IR_SHAPE_H

#include "ir/Dialect.h"

#define GET_OP_CLASSES
#include "ir/Shape.h.inc"

namespace sinter {

/// What `value` is another shape of, through any number of reshapes; `value` itself where it is no reshape's result.
mlir::Value withoutReshapes(mlir::Value value);

} // namespace sinter

#endif
