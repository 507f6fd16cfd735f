// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of any value of a kernel's region: inputs are loaded, pointwise and elemental ops are expanded where they
// are used, and what an emitter holds in registers (an accumulator, say) comes from the source that it installs.

#ifndef SINTER_BACKENDS_CPU_EMIT_KERNELELEMENTS_H
#define SINTER_BACKENDS_CPU_EMIT_KERNELELEMENTS_H

#include "backends/cpu/emit/Emitter.h"
#include "ir/Elements.h"

namespace sinter::cpu {

struct JoinParts;

class KernelElements : public ElementBuilder {
public:
  /// `lanes` elements at a time; 1 is scalar code.
  KernelElements(KernelFunction &function, int64_t lanes);

  using Source = std::function<mlir::Value(llvm::ArrayRef<LaneIndex>)>;
  /// From now on, elements of `value` come from `source`.
  void install(mlir::Value value, Source source) { sources[value] = std::move(source); }

  /// Lanes that exist (vector<lanes x i1>), or null for all; masks the memory accesses.
  mlir::Value mask;

  /// Buffers begin at multiples of so many bytes, which vectors that lie in them then state; 0: of an element's.
  int64_t bufferAlignment = 0;

  mlir::Value load(mlir::Value tensor, llvm::ArrayRef<LaneIndex> index) override;
  mlir::Value size(mlir::Value tensor, int64_t axis) override;

  /// Writes result `i` of the kernel at `index`; a lane vector must run along the innermost axis (stride 1 in memory)
  /// or `index` be uniform.
  void storeResult(unsigned i, mlir::Value value, llvm::ArrayRef<LaneIndex> index);

  /// Writes all results of the kernel at `index`, each before the next is computed: none lies where an input does.
  void storeResults(llvm::ArrayRef<LaneIndex> index);
  /// The same after all are computed, where a result may lie where an input does.
  void storeResultsAfterReads(llvm::ArrayRef<LaneIndex> index);

  /// The flat offset of result `i` at `index`, of its first lane.
  mlir::Value offsetOf(unsigned i, llvm::ArrayRef<LaneIndex> index);

  /// What was stored there before, of a result whose elements are not booleans.
  mlir::Value loadResult(unsigned i, llvm::ArrayRef<LaneIndex> index);

  /// Every op that `value` is computed from, up to inputs and installed sources, can be built (on lanes if lanes > 1).
  bool canBuild(mlir::Value value);

private:
  mlir::Value loadBuffer(mlir::Value buffer, mlir::Type elementType, llvm::ArrayRef<LaneIndex> index,
                         llvm::ArrayRef<DimExpr> strides);
  mlir::Value compute(mlir::Value tensor, llvm::ArrayRef<LaneIndex> index);
  /// Flat element offset; a constant lane stride is kept apart.
  LaneIndex flatten(llvm::ArrayRef<LaneIndex> index, llvm::ArrayRef<DimExpr> strides);
  Dims stridesOfResult(unsigned i);
  /// What the address of a vector of `type` there is a multiple of, where that is more than an element.
  llvm::MaybeAlign alignmentAt(const LaneIndex &offset, mlir::VectorType type) const;

  KernelFunction &fn;
  llvm::DenseMap<mlir::Value, Source> sources;
  /// An element that was computed before is used again where it dominates.
  using Key = llvm::SmallVector<const void *>;
  std::map<Key, mlir::Value> memo;
};

/// Every op that `value` is computed from, up to inputs and what is given, is pointwise, elemental or one number.
bool canBuild(mlir::Value value, llvm::function_ref<bool(mlir::Value)> isGiven);

/// Axes of `sizes` (the shape of the kernel's results) that can be walked as one: entry k is true when axis k continues
/// into k + 1. A merged run is indexed by one axis (carrierAxis), the others being 0, which addresses the same memory
/// as long as nothing looks at the axes one by one: only pointwise ops, constants and broadcasts that keep or drop both
/// axes qualify, and joins that are taken apart, whose axis does not continue the one before it. `root` and what only
/// it reads are not considered.
llvm::SmallVector<bool> mergeableAxes(KernelSpec &spec, llvm::ArrayRef<DimExpr> sizes, mlir::Operation *root = nullptr,
                                      const JoinParts *joined = nullptr);

/// The axis of a merged run [begin, end) that carries the run's index: the last one that is not 1.
int64_t carrierAxis(KernelSpec &spec, llvm::ArrayRef<DimExpr> sizes, int64_t begin, int64_t end);

} // namespace sinter::cpu

#endif
