// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/session.h"
#include "runtime/abi.h"
