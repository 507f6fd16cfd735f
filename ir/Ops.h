// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every op family, for files that build graphs. Prefer one family's header where that is enough.

#ifndef SINTER_IR_OPS_H
#define SINTER_IR_OPS_H

#include "ir/Contraction.h"
#include "ir/Control.h"
#include "ir/Elementwise.h"
#include "ir/Gradient.h"
#include "ir/Indexing.h"
#include "ir/Kernel.h"
#include "ir/Normalization.h"
#include "ir/Random.h"
#include "ir/Recurrent.h"
#include "ir/Reduction.h"
#include "ir/Resampling.h"
#include "ir/Shape.h"

#endif
