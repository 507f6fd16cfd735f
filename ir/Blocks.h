// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_IR_BLOCKS_H
#define SINTER_IR_BLOCKS_H

#include "ir/Dialect.h"

#define GET_OP_CLASSES
#include "ir/Blocks.h.inc"

#endif
