// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/KernelSpec.h"
#include "ir/Shapes.h"
