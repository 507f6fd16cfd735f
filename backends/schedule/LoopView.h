// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// while, for and scan as the schedule sees them: one loop with carries, slices, captures and stacks.

#ifndef SINTER_BACKENDS_SCHEDULE_LOOPVIEW_H
#define SINTER_BACKENDS_SCHEDULE_LOOPVIEW_H

#include "ir/Control.h"

namespace sinter::schedule {

struct LoopView {
  mlir::Operation *op = nullptr;
  mlir::Block *cond = nullptr; // of a while
  mlir::Block *body = nullptr;
  mlir::OperandRange init, sequences, captures;
  mlir::ResultRange carries, stacks;
  mlir::Value trips; // of a while, rank 0

  static bool isLoop(mlir::Operation *op) { return llvm::isa<WhileOp, ForOp, ScanOp>(op); }

  explicit LoopView(mlir::Operation *op)
      : op(op), init(none(op)), sequences(none(op)), captures(none(op)), carries(op->getResults()),
        stacks(op->getResults()) {
    auto take = [&](auto loop) {
      body = &loop.getBodyRegion().front();
      init = loop.getInit();
      captures = loop.getCaptures();
      carries = loop.getCarries();
      stacks = loop.getStacks();
    };
    if (auto loop = llvm::dyn_cast<WhileOp>(op)) {
      take(loop);
      cond = &loop.getCondRegion().front();
      trips = loop.getTrips();
      // The op's own accessors count from its first result, which is the number of trips.
      carries = op->getResults().drop_front(1).take_front(init.size());
      stacks = op->getResults().drop_front(1 + init.size());
    } else if (auto loop = llvm::dyn_cast<ForOp>(op)) {
      take(loop);
    } else {
      take(llvm::cast<ScanOp>(op));
      sequences = llvm::cast<ScanOp>(op).getSequences();
    }
  }

  /// The number of the operand that the first carry starts from (an empty range would not know where it begins).
  unsigned firstInit() const { return llvm::isa<ForOp>(op) ? 3 : 0; }
  /// The index of a for, else null.
  mlir::Value index() const { return llvm::isa<ForOp>(op) ? mlir::Value(body->getArgument(0)) : mlir::Value(); }
  mlir::BlockArgument bodyCarry(unsigned j) const { return body->getArgument(firstCarry() + j); }
  mlir::BlockArgument condCarry(unsigned j) const { return cond->getArgument(j); }
  mlir::BlockArgument slice(unsigned k) const { return body->getArgument(firstCarry() + init.size() + k); }
  mlir::BlockArgument bodyCapture(unsigned i) const {
    return body->getArgument(firstCarry() + init.size() + sequences.size() + i);
  }
  mlir::BlockArgument condCapture(unsigned i) const { return cond->getArgument(init.size() + i); }

  mlir::Value next(unsigned j) const { return body->getTerminator()->getOperand(j); }
  mlir::Value stacked(unsigned j) const { return body->getTerminator()->getOperand(init.size() + j); }

  /// A carry that the body passes on as it came.
  bool isUnchanged(unsigned j) const { return next(j) == bodyCarry(j); }

  int64_t sequenceAxis(unsigned k) const { return llvm::cast<ScanOp>(op).getAxes()[k]; }
  bool sequenceReversed(unsigned k) const { return llvm::cast<ScanOp>(op).getReverse()[k]; }
  int64_t stackAxis(unsigned j) const {
    auto scan = llvm::dyn_cast<ScanOp>(op);
    return scan ? scan.getOutAxes()[j] : 0;
  }
  bool stackReversed(unsigned j) const {
    auto scan = llvm::dyn_cast<ScanOp>(op);
    return scan && scan.getOutReverse()[j];
  }

private:
  static mlir::OperandRange none(mlir::Operation *op) { return op->getOperands().take_front(0); }
  unsigned firstCarry() const { return llvm::isa<ForOp>(op) ? 1 : 0; }
};

} // namespace sinter::schedule

#endif
