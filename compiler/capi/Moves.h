// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eager ops that only move elements, without a kernel and without a graph: a copy by strides. To record and evaluate a
// slice of one element cost fifteen times as much as all the rest of `x[0]`.

#ifndef SINTER_COMPILER_CAPI_MOVES_H
#define SINTER_COMPILER_CAPI_MOVES_H

#include "runtime/sinter.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace sinter::capi {

/// reshape, slice, broadcast, transpose.
bool isMove(llvm::StringRef op);

/// The result of such an op, of `type`, which its shape rule gave for these operands, in new memory. False, with
/// nothing done, when sizes of `type` are open, the operand has strides, or memory runs out.
bool move(llvm::StringRef op, const sinter_tensor &operand, llvm::ArrayRef<sinter_attr> attrs,
          const sinter_value_type &type, sinter_tensor &output);

} // namespace sinter::capi

#endif
