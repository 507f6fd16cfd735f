// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_WHOLENUMBERS_H
#define SINTER_BACKENDS_CPU_WHOLENUMBERS_H

#include "mlir/IR/PatternMatch.h"

namespace sinter::cpu {

/// Whole floats that become small integers and floats again stay floats. `saturates`: the target narrows vectors of
/// words to bytes and saturates them at once.
void populateWholeNumbers(mlir::RewritePatternSet &patterns, bool saturates);

} // namespace sinter::cpu

#endif
