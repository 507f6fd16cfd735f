// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of a scatter that have nothing to do with each other, so that threads may take one each: rows of the first axis
// of scatter_elements, where positions lie on another one, or for scatter_nd the same part of every slice.

#ifndef SINTER_BACKENDS_CPU_EMIT_SCATTERPARTS_H
#define SINTER_BACKENDS_CPU_EMIT_SCATTERPARTS_H

#include "backends/cpu/emit/ScatterForm.h"

namespace sinter::cpu {

struct ScatterParts {
  int64_t count = 1, size = 0; // parts, and what each has of `axis`
  int64_t axis = -1;           // of the result; -1: there is one part

  /// As many parts as updates of known sizes are worth. `sharesSums` says that sums lie beside the result, in one
  /// piece: then slices stay whole.
  static ScatterParts of(const ScatterForm &form, bool sharesSums);

  /// `sizes` of a part, where axis `first` of the result is their first one.
  Dims sizesOf(DimContext &dims, llvm::ArrayRef<DimExpr> sizes, int64_t first) const;
};

} // namespace sinter::cpu

#endif
