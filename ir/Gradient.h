// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_IR_GRADIENT_H
#define SINTER_IR_GRADIENT_H

#include "ir/Control.h"

#define GET_OP_CLASSES
#include "ir/Gradient.h.inc"

#endif
