// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/cpu/Target.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
