// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Training with decay leaves denormals where nothing needs a weight or a bias. x86 computes with each in microcode, a
// hundred cycles; beside ordinary numbers they are nothing.

#ifndef SINTER_IR_DENORMALS_H
#define SINTER_IR_DENORMALS_H

#include "mlir/IR/Types.h"

namespace sinter {

/// Writes zeros over the denormals of numbers of f32 or f64, if one of the others is at least 2^-64: products with
/// denormals are 2^62 times smaller. True if there were any; numbers of other types stay.
bool zeroDenormals(mlir::Type element, llvm::MutableArrayRef<char> bytes);

} // namespace sinter

#endif
