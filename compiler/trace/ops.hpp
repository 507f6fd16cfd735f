// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All functions over tensors. `test/numerics/` has a row for each.

#ifndef SINTER_TRACE_OPS_HPP
#define SINTER_TRACE_OPS_HPP

#include "logic.hpp"
#include "ops_linalg.hpp"
#include "random.hpp"

#endif
