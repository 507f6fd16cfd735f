// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry block of a function of kernels as numbers: what each op reads and writes, how many bytes that is, and how
// long it takes. From this the memory of any choice of what to compute again is counted in microseconds, without a
// change of the function (Recomputation.h tells the idea).

#ifndef SINTER_BACKENDS_SCHEDULE_RECOMPUTEMODEL_H
#define SINTER_BACKENDS_SCHEDULE_RECOMPUTEMODEL_H

#include "backends/schedule/KernelLaunch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::schedule {

/// A flag for each step, or each tensor, of a model.
using Flags = std::vector<char>;

class RecomputeModel {
public:
  /// An op that computes. Views and constants are none.
  struct Step {
    mlir::Operation *op = nullptr;
    llvm::SmallVector<int> reads, writes; // tensors
    double ns = 0;
    int64_t workBytes = 0; // beside results: workspaces, and what regions hold
    bool isRepeatable = false;
    bool mayOverwrite = false; // a result may lie where an input of its size was
  };
  /// Memory that one step writes, under all its views.
  struct Tensor {
    int64_t bytes = 0;
    int step = -1;       // that writes it
    bool isKept = false; // in any case: it is a result of the function, a register, or its step cannot run again
    llvm::SmallVector<int> readers; // steps, ascending
  };
  /// One run of a step.
  struct Run {
    int step;
    bool isAgain;
  };
  struct Outcome {
    int64_t peakBytes = 0;
    double addedNs = 0;
    unsigned repeated = 0;
    std::vector<Run> order;
  };

  RecomputeModel(mlir::func::FuncOp function, ShapeAnalysis &sizes, const KernelLaunches &launches, bool registers);

  llvm::ArrayRef<Step> allSteps() const { return steps; }
  llvm::ArrayRef<Tensor> allTensors() const { return tensors; }
  double totalNs() const { return ns; }
  /// Steps from here on are the second part: most bytes wait across this place.
  int split() const { return place; }
  /// The tensors that steps of the second part read long after they were written, and that can be computed again.
  llvm::ArrayRef<int> waiting() const { return awaited; }

  /// For places that cut the first part into blocks of about `bytes` written bytes, each where the least is alive: the
  /// tensors that are alive there.
  Flags boundaries(int64_t bytes) const;
  /// Which tensors to keep, so that the kept bytes and `bytesPerNs` times the time of steps that run again are least
  /// together. What `boundaries` holds is never computed again.
  Flags cut(const Flags &boundaries, double bytesPerNs) const;
  /// The steps that must run again when of `waiting` only `kept` is there.
  Flags repeated(const Flags &kept) const;
  /// The order in which all runs: steps that run again do so right before what reads them. With the most bytes that are
  /// alive at a time.
  Outcome simulate(const Flags &repeated) const;

  /// Adds the copies of steps that run again, and their launches, to the function (or to a clone of it, whose op for
  /// each step is in `ops`).
  static void apply(const RecomputeModel &model, const Outcome &outcome, llvm::ArrayRef<mlir::Operation *> ops,
                    KernelLaunches &launches);

private:
  int tensorOf(mlir::Value value) const;
  void findWaiting();
  bool isAvailable(int tensor) const { return tensors[tensor].isKept || isShort[tensor]; }

  std::vector<Step> steps;
  std::vector<Tensor> tensors;
  llvm::DenseMap<mlir::Value, int> tensorOfRoot;
  Flags isShort; // by tensor: read soon after it was written
  llvm::SmallVector<int> awaited;
  double ns = 0;
  int place = 0;
};

} // namespace sinter::schedule

#endif
