// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function of kernels and control flow -> its schedule (backends/schedule/Schedule.td). SchedulePlan says where
// tensors live; this writes sizes, the arena, launches and control flow.

#ifndef SINTER_BACKENDS_SCHEDULE_SCHEDULEEMITTER_H
#define SINTER_BACKENDS_SCHEDULE_SCHEDULEEMITTER_H

#include "backends/schedule/Backend.h"
#include "backends/schedule/Builder.h"
#include "backends/schedule/SchedulePlan.h"
#include "backends/schedule/Signature.h"
#include "backends/schedule/SizeChecks.h"
#include "backends/schedule/Weights.h"
#include "ir/Checks.h"

namespace sinter::schedule {

/// Adds the schedule ENTRY of `function` to `module`, constants to `weights` and
/// kernels to `kernels`. Fails with a diagnostic at the op that cannot be scheduled.
llvm::FailureOr<Signature> emitSchedule(mlir::func::FuncOp function, mlir::ModuleOp module, llvm::StringRef entry,
                                        KernelTable &kernels, Weights &weights);

/// By the op of the schedule that they come before.
using SizeChecks = llvm::DenseMap<mlir::Operation *, llvm::SmallVector<SizeCheck>>;

class ScheduleEmitter {
public:
  ScheduleEmitter(mlir::func::FuncOp function, ScheduleBuilder &builder, ShapeAnalysis &sizes, const SchedulePlan &plan,
                  const KernelLaunches &launches, const SizeChecks &checks, Weights &weights, bool runsControl);
  llvm::LogicalResult run();

private:
  // Schedule.cpp
  /// Symbols that sizes of tensors, arguments of kernels and checks are of.
  llvm::DenseSet<unsigned> findUsedSymbols();
  void bindInputs();
  llvm::LogicalResult emitBlock(mlir::Block &block);
  llvm::LogicalResult emitOp(mlir::Operation *op);
  /// Fails the call unless the op's condition holds.
  llvm::LogicalResult emitRequire(sinter::RequireOp op);
  /// A call of a function of the program, or a print. What lies in another memory is copied to and from the host's.
  llvm::LogicalResult emitHostOp(mlir::Operation *op, mlir::ValueRange operands, llvm::StringRef name, bool prints);
  void emitSizes(mlir::Value result, mlir::Value of, llvm::ArrayRef<int64_t> axes);
  /// Fails the call where the op's sizes do not fit. `early`: only what is known before the first op.
  void emitChecks(mlir::Operation *op, bool early = false);
  using CheckKey = std::tuple<int, const void *, const void *>;
  CheckKey keyOf(const SizeCheck &check);
  /// True when all sizes of the check are numbers of the schedule here.
  bool isBound(const SizeCheck &check);
  /// Whether the sizes fit, as a condition of the schedule.
  mlir::Value holds(const SizeCheck &check);
  llvm::LogicalResult emitReturn(mlir::Operation *op);

  // ScheduleKernels.cpp
  llvm::LogicalResult emitKernel(KernelOp kernel);
  llvm::LogicalResult emitScalarKernel(KernelOp kernel);
  /// Appends where each input lies; null for zeros that the kernel updates (startUpdate).
  llvm::LogicalResult pointInputs(KernelOp kernel, const KernelLaunch &launch,
                                  llvm::SmallVectorImpl<mlir::Value> &values);
  /// Appends memory for each result.
  llvm::LogicalResult placeResults(KernelOp kernel, const KernelLaunch &launch,
                                   llvm::SmallVectorImpl<mlir::Value> &values);
  /// Before the host computes a kernel whose tensors lie in another memory: gives it memory of its own with copies of
  /// what it reads. `values` are its arguments from then on, the result what they were.
  llvm::SmallVector<mlir::Value> stageOnHost(KernelOp kernel, const KernelTraits &traits,
                                             llvm::MutableArrayRef<mlir::Value> values);
  /// After it: copies results to where they belong.
  void unstage(KernelOp kernel, llvm::ArrayRef<mlir::Value> staged, llvm::ArrayRef<mlir::Value> values);
  /// Before a kernel that writes only what differs from one input: brings that input into the result's memory.
  void startUpdate(KernelOp kernel, const KernelTraits &traits, llvm::MutableArrayRef<mlir::Value> values);

  // ScheduleMemory.cpp
  void placeArena();
  void placeOutputs();
  /// Memory for what `value` is about to be; a size that is not known yet is an error.
  llvm::FailureOr<mlir::Value> place(mlir::Value value);
  mlir::Value slotPointer(int slot);
  /// Where `value`, a part of what is joined in place, lies in the memory of its root.
  mlir::Value partOf(mlir::Value base, mlir::Value value);
  /// True when the session keeps the state that a result is.
  bool isState(unsigned result);
  /// Where output `output`, which is to hold `returned`, lies.
  mlir::Value storageOf(unsigned output, mlir::Value returned);
  /// Where `value` lies; one that is held in a register is stored first.
  llvm::FailureOr<mlir::Value> pointer(mlir::Value value);
  /// The only element of `root` where it is a comparison of sizes, which the host need not look for in another memory;
  /// else null.
  mlir::Value comparedSizes(mlir::Value root);
  /// The only element of `value`.
  llvm::FailureOr<mlir::Value> element(mlir::Value value);
  /// Makes `element` what a result of one element is, in its register or in its place.
  llvm::LogicalResult setElement(mlir::Value result, mlir::Value element);
  /// Copies `value` to memory.
  llvm::LogicalResult copyTo(mlir::Value to, mlir::Value value);
  /// After the value's elements are there: loads those that sizes depend on.
  void define(mlir::Value value);
  void releaseAll(llvm::ArrayRef<mlir::Value> values);
  mlir::Value bytes(mlir::Value value);
  llvm::SmallVector<mlir::Value> materializeDims(mlir::Value value);
  llvm::LogicalResult requireKnownSizes(mlir::Value value);
  /// Gives each symbol that still is unknown among the sizes of `value` its number.
  void bindFresh(mlir::Value value, llvm::function_ref<mlir::Value(int64_t axis)> size);
  /// Axes of `value` whose size is such a symbol.
  llvm::SmallVector<int64_t> freshAxes(mlir::Value value);

  // ScheduleControl.cpp
  llvm::LogicalResult emitChoice(mlir::Operation *op);
  llvm::LogicalResult emitLoop(mlir::Operation *op);
  struct LoopState;
  /// Lists the first values of everything that changes from trip to trip, in the order of `initCarries` and
  /// `initStacks`.
  llvm::LogicalResult startLoop(LoopState &state);
  llvm::LogicalResult initCarries(LoopState &state);
  void initStacks(LoopState &state);
  /// What is carried is `values` from here on, in that order.
  void bindCarried(LoopState &state, mlir::ValueRange values);
  llvm::LogicalResult emitCondition(LoopState &state);
  llvm::LogicalResult emitBody(LoopState &state);
  llvm::LogicalResult emitWhile(LoopState &state);
  llvm::LogicalResult emitCounted(LoopState &state);
  llvm::LogicalResult exchangeBuffers(LoopState &state, llvm::ArrayRef<unsigned> carries,
                                      llvm::ArrayRef<unsigned> places);
  llvm::LogicalResult emitSlice(LoopState &state, unsigned k);
  llvm::LogicalResult emitStack(LoopState &state, unsigned j);
  llvm::LogicalResult finishLoop(LoopState &state);
  mlir::Value tripCount(LoopView &loop);
  bool isBrief(LoopView &loop);

  // DeviceControl.cpp
  /// Why the host runs the loop or the branch; empty when the back end in whose memory tensors lie can, and `depth`
  /// others are around it there.
  std::string needsHost(mlir::Operation *op, int depth = 0);
  std::string regionNeedsHost(mlir::Block &block, int depth);
  std::string kernelNeedsHost(KernelOp kernel);
  /// True when all sizes of the value are numbers of the schedule here.
  bool areBound(mlir::Value value);
  /// Checks of sizes of a block's ops that nobody has made yet.
  llvm::SmallVector<const SizeCheck *> checksOf(mlir::Block &block);
  /// Before a loop of the device: makes the checks of its condition, which runs in any case. Those of its body are due
  /// when it makes a trip: as many trips as the loop may make, which are none where one of them fails.
  mlir::Value limitTrips(LoopState &state, llvm::ArrayRef<const SizeCheck *> due, mlir::Value &fits);
  /// After it: fails the call where a trip was due and sizes do not fit.
  llvm::LogicalResult requireSizes(LoopState &state, llvm::ArrayRef<const SizeCheck *> due, mlir::Value fits);
  /// The same with a remark.
  bool runsOnDevice(mlir::Operation *op);
  llvm::LogicalResult emitDeviceLoop(LoopState &state);
  llvm::LogicalResult emitDeviceBody(LoopState &state);
  llvm::LogicalResult emitDeviceChoice(CondOp op);
  /// Where that is an error, fails the call after a loop that had trips left to make.
  llvm::LogicalResult checkLimit(LoopState &state);

  mlir::func::FuncOp function;
  ScheduleBuilder &s;
  ShapeAnalysis &sizes;
  const SchedulePlan &plan;
  const KernelLaunches &launches;
  const SizeChecks &checks;
  Weights &weights;
  bool runsControl; // the back end in whose memory tensors lie runs loops and branches

  llvm::DenseMap<int, mlir::Value> arenaBuffers;      // by Planned slot
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;  // by root
  llvm::DenseMap<mlir::Value, mlir::Value> registers; // by root: the element
  llvm::DenseMap<mlir::Value, mlir::Value> spills;    // by root: where its element is stored when an address is needed
  llvm::DenseMap<int, mlir::Value> stepPointers, outputPointers;
  llvm::DenseMap<unsigned, mlir::Value> earlyOutputs; // by result
  llvm::DenseSet<unsigned> lateOutputs;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned>> contentSymbols; // by the value they are elements of
  llvm::DenseSet<CheckKey> checkedEarly;
  unsigned devicesDepth = 0; // loops and branches of the device around what is written
};

} // namespace sinter::schedule

#endif
