// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_LANEQUOTIENTS_H
#define SINTER_BACKENDS_CPU_LANEQUOTIENTS_H

#include "mlir/IR/PatternMatch.h"

namespace sinter::cpu {

/// Quotients and remainders of vectors of integers of 32 bits and fewer, by numbers that are not constants, become
/// those of floats, of which x86 divides whole vectors; LLVM would divide integers one by one.
void populateLaneQuotients(mlir::RewritePatternSet &patterns);

} // namespace sinter::cpu

#endif
