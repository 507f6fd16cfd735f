// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products and convolutions by tiles (MatrixProduct.h, ProductTile.h): a block computes a tile of the result.
//
//           columns                     for each slab of k:
//         ┌────┬────┬────┐                wait until it is in shared memory; all threads meet
//    rows │    │ ## │    │  ## a block    ask for the one `stages` - 1 further on
//         ├────┼────┼────┤                multiply (TileCore.h), sums in registers
//         │    │    │    │              what follows the product in the kernel's region, on the sums; store
//         └────┴────┴────┘
//
// With several parts of k a block sums one part into the workspace, and a second kernel adds the parts in their order.

#ifndef SINTER_BACKENDS_CUDA_PRODUCTFORMS_H
#define SINTER_BACKENDS_CUDA_PRODUCTFORMS_H

#include "backends/cuda/ProductTile.h"

namespace sinter::cuda {

std::string planProduct(KernelSpec &spec, llvm::StringRef name, Core core, ScheduleAttr &schedule);
cpu::EmittedKernel emitProduct(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol, Core core,
                               const ProductTile &tile);

} // namespace sinter::cuda

#endif
