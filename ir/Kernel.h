// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_IR_KERNEL_H
#define SINTER_IR_KERNEL_H

#include "ir/Control.h"
#include "ir/Schedules.h"

#define GET_OP_CLASSES
#include "ir/Kernel.h.inc"

#endif
