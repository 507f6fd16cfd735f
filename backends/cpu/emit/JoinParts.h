// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Concatenations taken apart. Where a kernel's results are joined along the axis that it walks in lanes, the walk goes
// part by part: in each, every join gives elements of one operand, from consecutive places, so that lanes are loaded
// and stored as vectors and none of them is chosen.
//
//   y = relu(join(a, tanh(join(b, c))) + d)     parts: a of relu(a + d)    b of relu(tanh(b) + d)    c likewise

#ifndef SINTER_BACKENDS_CPU_EMIT_JOINPARTS_H
#define SINTER_BACKENDS_CPU_EMIT_JOINPARTS_H

#include "backends/cpu/KernelSpec.h"
#include "ir/Shape.h"

namespace sinter::cpu {

/// Places [begin, begin + size) of the joined axis of the results.
struct JoinPart {
  struct Taken {
    ConcatenateOp join;
    unsigned operand;
    DimExpr begin; // where the operand begins in the join
  };
  DimExpr begin, size;
  llvm::SmallVector<Taken> taken;
};

struct JoinParts {
  int64_t axis = 0;
  llvm::SmallVector<JoinPart> parts; // in the order of their places
  /// True when each part says which operand of `join` it reads, or reads none.
  bool takesApart(mlir::Operation *join) const { return joins.contains(join); }
  llvm::SmallPtrSet<mlir::Operation *, 4> joins;
};

/// The parts of the kernel's results, which have one shape; none where no join reaches them by pointwise ops and other
/// joins of its axis alone, or where their code would be long.
std::optional<JoinParts> findJoinParts(KernelSpec &spec);

} // namespace sinter::cpu

#endif
