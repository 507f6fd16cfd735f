// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where every tensor of a function lives. This is decided before any op of the schedule is written.
//
// Reshapes and captures are views: they name memory that another value owns. That value is their root. Function inputs
// and constants are roots with memory of their own. Every other root gets a slot, which is of one of five kinds:
//
//   Register   The tensor has one element, which is a value of the schedule. It gets memory only when a kernel or an
//              output needs an address.
//   Planned    The number of bytes follows from the sizes of the inputs. The slot is one place in the arena and is
//              in use from position `first` to position `last`.
//   Output     The slot is the memory that the caller gave for output `output`.
//   Dynamic    The number of bytes is found during the call. The memory is acquired when the value is defined and
//              released after its last use.
//   Step       The place changes in each trip of a loop. It holds the next value of a carry, or a slice of a stack.
//
// What is joined in place (PlaceParts.h) is a view of the join, though it is there before: a part of its memory, which
// is in use from the first part on. So is a slice that is taken in place a view of what it is taken from.
//
// Positions number the ops of the function in their order. A branch or loop has two positions, and the ops of its
// regions have those between. A value that a region yields is computed in the memory of the op's result, unless it is
// a view of a value from outside of the region.

#ifndef SINTER_BACKENDS_SCHEDULE_SCHEDULEPLAN_H
#define SINTER_BACKENDS_SCHEDULE_SCHEDULEPLAN_H

#include "backends/schedule/KernelLaunch.h"
#include "backends/schedule/LoopView.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::schedule {

struct Slot {
  enum class Kind { Register, Planned, Output, Dynamic, Step };
  Kind kind = Kind::Planned;
  DimExpr bytes;       // Planned
  unsigned output = 0; // Output
  int first = INT32_MAX, last = -1;
  int mergedInto = -1; // the slot whose memory this one uses, because a kernel writes its result over an input
  bool inLoop = false; // an op within a loop uses it
};

struct CarryPlan {
  /// Unchanged: the body passes the carry on as it came. Register: a value of the schedule. InPlace: the body writes
  /// the next value over the old one. Double: the body writes it into a second buffer, then the two change roles.
  /// Dynamic: its size is found during the call, and its memory changes hands from trip to trip.
  enum class Kind { Unchanged, Register, InPlace, Double, Dynamic };
  Kind kind = Kind::Unchanged;
  int current = -1, next = -1; // Planned slots: an InPlace carry has the first, a Double one has both
  int step = -1;               // the Step slot of a Double carry into which the body computes the next value, or -1
};

struct StackPlan {
  /// Whole: the number of trips is known before the loop, and so is the memory. Grown: the memory grows with the trips.
  enum class Kind { Whole, Grown };
  Kind kind = Kind::Grown;
  int step = -1; // the Step slot into which the body computes its slice, or -1
};

struct LoopPlan {
  llvm::SmallVector<CarryPlan> carries;
  llvm::SmallVector<StackPlan> stacks;
};

/// True for a tensor of one element, whatever its rank.
bool isOneElement(mlir::Type type);

/// Sizes of everything in a function, before any is asked for: ops may still find that two symbols are equal.
/// `runsControl`: for a back end that runs loops in its own memory. Sizes that all trips of a loop keep are those
/// before it (ir/CarrySizes.h), and numbers that kernels make of sizes are sizes.
void settleSizes(mlir::func::FuncOp function, ShapeAnalysis &sizes, bool runsControl);

/// The symbols that sizes and elements of the function's arguments are of.
llvm::DenseSet<unsigned> entrySymbolsOf(mlir::func::FuncOp function, ShapeAnalysis &sizes);

/// True when a kernel computes single elements from single elements by pointwise ops: the schedule then builds it in
/// registers and nothing is launched.
bool isScalarKernel(KernelOp kernel);

class SchedulePlan {
public:
  /// `registers`: single elements are SSA values. Without, everything lies in memory. `statesInPlace`: states may be
  /// written where they lie, which is the host's memory.
  SchedulePlan(mlir::func::FuncOp function, ShapeAnalysis &sizes, const KernelLaunches &launches, bool registers,
               bool statesInPlace = true);

  /// The value whose memory `value` is a view of.
  mlir::Value root(mlir::Value value) const;
  /// True when `value` is, or is a view of, a part of what is joined or sliced in place: its memory begins `offsetOf`
  /// bytes into that of its root.
  bool isPart(mlir::Value value) const;
  DimExpr offsetOf(mlir::Value value) const;
  bool usesRegisters() const { return registers; }
  /// True when the root is held in a register.
  bool isRegister(mlir::Value root) const;
  /// The slot of a root, or -1.
  int slotOf(mlir::Value root) const;
  const Slot &slot(int index) const { return slots[index]; }
  int numSlots() const { return slots.size(); }
  /// The slot in which a carry that is updated in place lies, or -1.
  int carrySlotOf(mlir::Value root) const { return carrySlots.contains(root) ? carrySlots.lookup(root) : -1; }
  /// True when both roots surely lie in one place.
  bool sharePlace(mlir::Value a, mlir::Value b) const;
  /// The slot whose memory slot `index` uses: itself, or what it was merged into.
  int representative(int index) const;
  const LoopPlan &loop(mlir::Operation *op) const { return loops.find(op)->second; }
  /// Planned scratch memory of a kernel or -1.
  int workspaceOf(mlir::Operation *op) const { return workspaces.contains(op) ? workspaces.lookup(op) : -1; }
  /// Dynamic roots whose last use is `op`.
  llvm::ArrayRef<mlir::Value> releasedAfter(mlir::Operation *op) const;
  /// Dynamic roots of a block that nothing in it passes on and that are released before its terminator.
  llvm::ArrayRef<mlir::Value> releasedAtEnd(mlir::Block *block) const;
  /// True when the memory of a Dynamic root moves on with operand `operand` of its block's terminator.
  bool isPassedOn(mlir::OpOperand &operand) const;
  /// The Dynamic root that the kernel which computes `root` writes over; its memory is then that of `root`. Null: none.
  mlir::Value takenOver(mlir::Value root) const { return takes.lookup(root); }
  /// True when the memory of a Dynamic root is that of another after its last use: nobody releases it.
  bool movesOn(mlir::Value root) const { return moved.contains(root); }

  /// The state that result `index` is written over, or null. `function` is reordered so that no op from `firstCommit`
  /// on can fail; null when none of them writes a state.
  mlir::BlockArgument writtenOverState(unsigned index) const { return inPlaceResults.lookup(index); }
  mlir::Operation *firstCommit() const { return commit; }
  /// True for a loop that writes all of its carries over states: it can neither fail nor be cancelled.
  bool isStateLoop(mlir::Operation *op) const { return stateLoops.contains(op); }
  bool hasStatesInPlace() const { return !inPlaceResults.empty(); }

  bool knownAtEntry(DimExpr expr) const;
  /// All sizes are: that what a size of 0 makes empty needs no memory says nothing of the others.
  bool knownAtEntry(mlir::Value value) const;
  bool isEntrySymbol(unsigned symbol) const { return entrySymbols.contains(symbol); }
  Dims dims(mlir::Value value) const;
  /// Bytes of a tensor.
  DimExpr bytes(mlir::Value value) const;

private:
  void alias(mlir::Value view, mlir::Value of) {
    views[view] = of;
    viewsOf[of].push_back(view);
  }
  void aliasBlock(mlir::Block &block);
  // SchedulePlanStates.cpp
  void placeStates();
  bool canFail(mlir::Operation *op) const;
  bool writesOverState(LoopView &loop, unsigned j, mlir::BlockArgument old);
  llvm::SmallVector<mlir::Operation *> readersOf(mlir::Value value);

  void assignBlock(mlir::Block &block);
  void assignLoop(mlir::Operation *op);
  /// Lets the body write the next value of carry `j` over the old one; false when that is read later.
  bool planInPlace(LoopView &loop, unsigned j, int slot);
  /// The kernel that may write the next value of carry `j` over the old one, if the body has one; else null.
  KernelOp overwriterOf(LoopView &loop, unsigned j);
  /// True when nothing after `op` in its block, nor `op` but by operand `use`, reads what `root` holds.
  bool diesAt(mlir::Value root, mlir::Operation *op, mlir::OpOperand *use);
  bool canOverwrite(KernelOp kernel, unsigned input);
  void takeOverInits(mlir::Block &block);
  void assign(mlir::Value result);
  /// True when the schedule chooses where the op writes this result, before the op runs.
  bool choosesPlace(mlir::OpResult result, bool sizeKnownAtEntry) const;
  /// Lets the op that computes `value` write to `slot`; false when it is a view, lies elsewhere or has a place already.
  bool computeInto(mlir::Value value, mlir::Block *block, int slot);
  int newSlot(Slot slot);
  void touch(mlir::Value value, int position, bool inLoop);
  void touchSlot(int slot, int position, bool inLoop);
  void measureBlock(mlir::Block &block, bool inLoop);
  int slotToReuse(KernelOp kernel, int target, int at);
  void reuseInPlace(mlir::Block &block);
  /// True for what a Dynamic carry of the loop around holds.
  bool isDynamicCarry(mlir::Value root);
  void takeOverDynamic(mlir::Block &block);
  void findReleases(mlir::Block &block);

  mlir::func::FuncOp function;
  ShapeAnalysis &sizes;
  const KernelLaunches &launches;
  bool registers;
  std::vector<Slot> slots;
  llvm::DenseSet<unsigned> entrySymbols;
  llvm::DenseMap<mlir::Value, mlir::Value> views;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> viewsOf;
  llvm::DenseMap<mlir::Value, std::pair<KernelOp, unsigned>> parts; // the kernel in place and the number of its input
  llvm::DenseMap<mlir::Value, int> slotOfRoot;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int, 2>> alsoIn; // carries: both buffers
  llvm::DenseMap<mlir::Value, int> carrySlots; // carries inside and after a loop that updates them in place
  llvm::DenseMap<mlir::Operation *, LoopPlan> loops;
  llvm::DenseMap<mlir::Operation *, int> workspaces;
  llvm::DenseMap<mlir::Operation *, int> positions;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> releases;
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<mlir::Value>> endReleases;
  llvm::DenseSet<mlir::OpOperand *> passedOn;
  llvm::DenseMap<mlir::Value, mlir::Value> takes;
  llvm::DenseSet<mlir::Value> moved;
  llvm::DenseMap<unsigned, mlir::BlockArgument> inPlaceResults;
  llvm::DenseMap<mlir::Value, mlir::BlockArgument> writtenOver; // by root: the state in whose memory it is computed
  llvm::DenseSet<mlir::Operation *> stateLoops;
  llvm::DenseMap<mlir::Value, unsigned> stateCarries; // carries of these loops: the results that they are
  mlir::Operation *commit = nullptr;
  int position = 0;
};

} // namespace sinter::schedule

#endif
