// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines `map` of a module's code (CudaBackend.h), of which the runtime makes tensor maps: what sizes and strides are
// may be words of the launch.

#ifndef SINTER_BACKENDS_CUDA_TENSORMAPS_H
#define SINTER_BACKENDS_CUDA_TENSORMAPS_H

#include "backends/cuda/MatrixProduct.h"

namespace sinter::cuda {

/// A size as lines `map` write it: a number, and words that it is multiplied with. Empty for what is no product of
/// sizes. `firstSize` is the word of the first size that only running tells.
std::string mapNumberOf(KernelSpec &spec, DimExpr size, unsigned firstSize);

/// A map of one operand: boxes of 128 bytes by some rows. Axes lie in the order of their strides, as the driver's
/// documentation has each a multiple of the one before.
struct MapLine {
  struct Axis {
    enum Kind { Inner, Outer, Batch } kind;
    DimExpr size, stride;
    std::optional<unsigned> batch; // as ProductSide::Panel
  };
  llvm::SmallVector<Axis> axes;
  std::string text;
};

/// What the runtime makes the map of, `map WORD ELEMENT SIZES STRIDES BOX`; the reason in `refusal` where none is
/// possible. `firstSize` as above.
MapLine mapOf(KernelSpec &spec, const ProductSide &side, mlir::Type element, int64_t boxRows, unsigned firstSize,
              std::string &refusal);
/// The same of a tensor in the memory of the buffer of that word.
MapLine mapOf(KernelSpec &spec, ProductSide::Panel panel, unsigned word, mlir::Type element, int64_t boxRows,
              unsigned firstSize, std::string &refusal);

} // namespace sinter::cuda

#endif
