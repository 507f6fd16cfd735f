// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which sizes in a loop's body are the same in every trip, so that slices stack.

#ifndef SINTER_PASSES_GRADIENT_TRIPSIZES_H
#define SINTER_PASSES_GRADIENT_TRIPSIZES_H

#include "ir/Dims.h"
#include "passes/gradient/LoopView.h"

namespace sinter {

class TripSizes {
public:
  explicit TripSizes(const LoopView &loop);
  /// True when a value of the body has one shape in all trips.
  bool areFixed(mlir::Value value);
  /// True when a value has the shape of another in every trip.
  bool areSame(mlir::Value a, mlir::Value b);

private:
  void relate(mlir::Block &block);
  bool areEqual(DimExpr a, DimExpr b);
  bool isFixed(DimExpr size);
  LoopView loop;
  DimContext context;
  ShapeAnalysis shapes;
  llvm::DenseSet<std::pair<mlir::Value, int64_t>> varying;
};

} // namespace sinter

#endif
