// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a block's plan is made (FusionPlan.h). FusionEpilogue.cpp is the walk over roots, FusionPlan.cpp the walk over
// all other ops.

#ifndef SINTER_PASSES_FUSIONPLANNER_H
#define SINTER_PASSES_FUSIONPLANNER_H

#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "passes/FusionPlan.h"
#include "passes/KernelOrder.h"

#include "llvm/ADT/SetVector.h"

namespace sinter {

/// An element that costs more than this (in additions) is stored rather than computed again.
inline constexpr int64_t kCheapCost = 3;
/// From so many bytes on a tensor goes through memory, which costs more than to compute elements again that cost at
/// most that (in additions).
inline constexpr int64_t kLargeBytes = 1 << 20, kLargeCost = 40;

/// True when a run ends where the first operand of `op` is false.
bool isCheck(mlir::Operation *op);

/// True when `op` adds one number around the input of a convolution, which pads its rows itself.
bool isPadding(mlir::Operation *op);

/// Whether a value is a constant, or repeats a smaller one: no element of it depends on what a kernel computes.
bool isConstant(mlir::Value value);
bool isRepeated(mlir::Value value);

class FusionPlanner {
public:
  FusionPlanner(mlir::Block &block, ShapeAnalysis &sizes, const FusionOptions &options)
      : block(block), sizes(sizes), options(options) {}
  FusionPlan run();

private:
  struct Group {
    mlir::Operation *root = nullptr;
    llvm::SmallSetVector<mlir::Operation *, 8> ops;
    /// Ops after the root, whose values are made in its registers.
    llvm::SmallPtrSet<mlir::Operation *, 8> epilogue;
    /// Ops whose value at index i is computed where the kernel computes its result at i.
    llvm::SmallPtrSet<mlir::Operation *, 8> aligned;
    /// Ops of which one element may be computed more than once.
    llvm::SmallPtrSet<mlir::Operation *, 8> repeated;
    /// The indices at which ops are computed for one element of the result, by number; without an entry only number
    /// 0, the element's own. Each operand of a move is read at an index of its own.
    llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 4>> places;
    llvm::DenseMap<std::tuple<mlir::Operation *, unsigned, unsigned>, unsigned> moved;
    unsigned outputs = 1;
    /// Its results are next values of states, made of the root's gradient.
    bool updatesStates = false;
    /// Its number in the order of kernels: the position of its first op, from which it grew.
    unsigned node = 0;
  };

  static bool isMapOp(mlir::Operation *op) { return mlir::isa<Pointwise, Elemental>(op) && !isScheduleOp(op); }
  bool givesSizes(mlir::Operation *op, mlir::Operation *user);
  int64_t costOf(mlir::Operation *op);
  bool readsOften(mlir::Operation *user, mlir::Value operand, Group &group);
  bool turnsChannels(mlir::Operation *op, mlir::OpOperand &use, Group &group);
  bool repeatsBatches(BroadcastOp op, mlir::OpOperand &use);
  llvm::SmallVector<unsigned, 4> placesOf(mlir::Operation *op, Group &group);
  bool canJoin(mlir::Operation *op, Group &group);
  void join(mlir::Operation *op, Group &group);
  void addReaders(unsigned node, llvm::SmallVectorImpl<unsigned> &list);
  bool measuresReach(llvm::ArrayRef<mlir::Operation *> measured, mlir::Operation *target);
  bool isAligned(mlir::Operation *op, Group &group);
  void findStateUpdates();
  void growEpilogue(unsigned number);
  bool isReady(mlir::Value value, mlir::Operation *root);
  bool givesStates(mlir::Operation *op);
  void growUpdates(unsigned number);
  size_t endBeforeWidening(llvm::ArrayRef<mlir::Operation *> members);
  void addNarrowResults(unsigned number, mlir::Value value);
  void growTransposed(unsigned number);
  bool isReadFromLarge(mlir::Operation *op);
  void place(mlir::Operation *op);
  unsigned startGroup(mlir::Operation *op);
  /// `op` is computed in the registers of the group's root, and nowhere else.
  void addEpilogue(unsigned number, mlir::Operation *op);

  mlir::Block &block;
  ShapeAnalysis &sizes;
  const FusionOptions &options;
  std::vector<Group> groups;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 2>> groupsOf;
  /// The group that gives an op's results to other kernels.
  llvm::DenseMap<mlir::Operation *, unsigned> home;
  llvm::DenseMap<mlir::Operation *, int64_t> position;
  llvm::SmallVector<mlir::Operation *> inOrder;
  /// Numbers are positions of ops; what is in groups counts as the groups that it is in.
  std::optional<KernelOrder> order;
  std::vector<int> groupOfNode;
  /// Pointwise ops on the way from a state's old value to its next one.
  llvm::SmallPtrSet<mlir::Operation *, 8> stateUpdates;
  /// The results of the block that are next values of states.
  llvm::SmallDenseSet<unsigned> stateResults;
  /// The position of the last op that may end a run.
  int64_t lastFailing = -1;
  llvm::DenseMap<mlir::OperationName, int64_t> costs;
};

} // namespace sinter

#endif
