// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_IR_RECURRENT_H
#define SINTER_IR_RECURRENT_H

#include "ir/Dialect.h"

#define GET_OP_CLASSES
#include "ir/Recurrent.h.inc"

#endif
