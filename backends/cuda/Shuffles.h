// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of other lanes of the warp, of numbers of 8 to 64 bits. All lanes take part.

#ifndef SINTER_BACKENDS_CUDA_SHUFFLES_H
#define SINTER_BACKENDS_CUDA_SHUFFLES_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sinter::cuda {

/// Lanes of a warp.
inline constexpr int64_t kWarp = 32;

/// The value of the lane whose number is this one's xor `mask`.
mlir::Value exchange(mlir::ImplicitLocOpBuilder &b, mlir::Value value, int64_t mask);
/// The value of lane `lane`, an index.
mlir::Value fromLane(mlir::ImplicitLocOpBuilder &b, mlir::Value value, mlir::Value lane);

} // namespace sinter::cuda

#endif
