// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of f16, bf16 and bytes by wgmma, which sm_90a alone has (ProductTile.h: Core::Warpgroups).
//
//     warpgroup 0, one thread: for each tile of this block, for each slab of 64 k:
//         wait until the slab's place is empty; ask for its boxes (tensor maps), whose bytes end the phase `full`
//     warpgroups 1, 2: for each tile, for each slab:
//         wait until it is full; multiply, while the slab before is finished; say that that one is empty
//         then what follows the product, on the sums in registers, while slabs of the next tile come
//
//     dynamic shared memory     │ a, b │ a, b │ ... │ full │ empty │     rows of 128 bytes, swizzled
//
// Of a convolution with several taps no map describes the pixels: all threads of warpgroup 0 find and copy them
// (cp.async), as `mma_product` does, wait for the copies of two slabs before, and say that these are full.
//
// With several parts of k a tile is that of one part, whose sums go to the workspace; what joins the parts of the
// kernel beside, which has as many, runs behind this one, too.
//
// Of `cluster_product` two blocks are a cluster, whose tiles lie one above the other. Each brings half of a slab of b,
// to the same place of both (multicast), so a place is empty when the warps of both blocks have said so at both:
//
//     block 0    its slab of a │ columns 0 to 127 of b's ──> both        full: all bytes of a and b have come
//     block 1    its slab of a │ columns 128 to 255   ──> both           empty: warps of both blocks have arrived
//
// The blocks meet before the first copy, as mbarriers must be there, and at the end, as the other one may still arrive.
// Where tiles of rows are an odd number the last one lies behind all rows: zeros, of which nothing is stored.
//
// There are as many blocks as multiprocessors, and a block takes every so-manieth tile. The kernel stands beside one of
// `mma_product` for the same words, which runs wherever this one cannot: on other GPUs, and for operands whose
// addresses, which only running tells, are no multiples of 16 bytes.

#ifndef SINTER_BACKENDS_CUDA_WGMMAFORMS_H
#define SINTER_BACKENDS_CUDA_WGMMAFORMS_H

#include "backends/cuda/ProductTile.h"

namespace sinter::cuda {

std::string planWgmmaProduct(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
/// With blocks that share slabs of b.
std::string planClusterProduct(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
/// Emits the kernel of `mma_product`, and this one into `spec.wide`.
cpu::EmittedKernel emitWgmmaProduct(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);

} // namespace sinter::cuda

#endif
