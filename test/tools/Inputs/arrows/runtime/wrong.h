// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/ADT/APInt.h"
#include "runtime/abi.h"
