// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/AxisOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace llvm;

SmallVector<int64_t> sinter::inversePermutation(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> inverse(permutation.size());
  for (auto [k, axis] : llvm::enumerate(permutation))
    inverse[axis] = static_cast<int64_t>(k);
  return inverse;
}

SmallVector<int64_t> sinter::channelsToFirst(int64_t rank) {
  SmallVector<int64_t> order{0, rank - 1};
  llvm::append_range(order, llvm::seq<int64_t>(1, rank - 1));
  return order;
}

SmallVector<int64_t> sinter::channelsToLast(int64_t rank) { return inversePermutation(channelsToFirst(rank)); }

SmallVector<int64_t> sinter::freeAxes(int64_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  return llvm::filter_to_vector(llvm::seq<int64_t>(0, rank), [&](int64_t axis) {
    return !llvm::is_contained(batch, axis) && !llvm::is_contained(contract, axis);
  });
}
