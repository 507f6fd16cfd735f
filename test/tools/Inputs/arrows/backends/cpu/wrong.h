// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cuda/Schedule.h"
#include "backends/KernelSpec.h"
#include "backends/cpu/Schedule.h"
#include "backends/schedule/Dialect.h"
