// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A short loop costs a test, a poll for cancellation and the exchange of its carries per trip, and nothing fuses across
// trips; a few copies of a small body cost only code.

#include "ir/Constants.h"
#include "ir/Control.h"
#include "ir/ControlFlow.h"
#include "ir/Shape.h"
#include "passes/Passes.h"
#include "passes/gradient/CheckpointPolicy.h"
#include "passes/gradient/SteppedLoop.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_UNROLLLOOPS
#include "passes/Passes.h.inc"
} // namespace sinter

static bool isStatic(Value value) { return cast<RankedTensorType>(value.getType()).hasStaticShape(); }

namespace {
/// A counted loop, for or scan, of few trips.
struct Unroller {
  explicit Unroller(Operation *op) : op(op), body(op->getRegion(0).front()) {}

  /// False when the number of trips is not known or types change on the way through the loop.
  bool prepare(int64_t maxTrips) {
    std::optional<int64_t> known = knownTrips(*LoopView::of(op));
    if (!known)
      return false;
    trips = *known;
    if (auto loop = dyn_cast<ForOp>(op)) {
      lower = constantInts(loop.getLower())->front();
      step = constantInts(loop.getStep())->front();
      init = loop.getInit();
    } else {
      auto scan = cast<ScanOp>(op);
      init = scan.getInit();
      sequences = scan.getSequences();
      if (!llvm::all_of(sequences, isStatic))
        return false;
    }
    first = isa<ForOp>(op) ? 1 : 0;
    if (trips < 1 || trips > maxTrips)
      return false;
    // What is yielded takes the place of the carry, of the result, or of a part of it.
    for (auto [k, value] : llvm::enumerate(init)) {
      Type type = value.getType();
      if (body.getArgument(first + k).getType() != type || body.getTerminator()->getOperand(k).getType() != type ||
          op->getResult(k).getType() != type)
        return false;
    }
    // A slice keeps no more than its sequence's other sizes.
    for (unsigned k = 0; k < sequences.size(); ++k)
      if (!isStatic(body.getArgument(first + init.size() + k)))
        return false;
    Control control = *controlOf(op);
    for (auto [k, value] : llvm::enumerate(control.captures))
      if (body.getArgument(control.firstCapture + k).getType() != value.getType())
        return false;
    return llvm::all_of(op->getResults().drop_front(init.size()), isStatic) &&
           llvm::all_of(body.getTerminator()->getOperands().drop_front(init.size()), isStatic);
  }

  int64_t count() const { return trips; }
  int64_t opsOfBody() {
    int64_t count = 0;
    body.walk([&](Operation *) { ++count; });
    return count - 1;
  }

  void apply() {
    OpBuilder b(op);
    Control control = *controlOf(op);
    SmallVector<Value> carries(init);
    SmallVector<SmallVector<Value>> parts(op->getNumResults() - init.size());
    for (int64_t trip = 0; trip < trips; ++trip) {
      IRMapping map;
      if (first) {
        auto type = cast<RankedTensorType>(body.getArgument(0).getType());
        auto index = DenseElementsAttr::get(type, b.getI64IntegerAttr(lower + trip * step));
        map.map(body.getArgument(0), ConstantOp::create(b, op->getLoc(), index));
      }
      for (auto [k, carry] : llvm::enumerate(carries))
        map.map(body.getArgument(first + k), carry);
      for (unsigned k = 0; k < sequences.size(); ++k)
        map.map(body.getArgument(first + init.size() + k), sliceOf(b, k, trip));
      for (auto [k, value] : llvm::enumerate(control.captures))
        map.map(body.getArgument(control.firstCapture + k), value);
      for (Operation &inner : body.without_terminator())
        b.clone(inner, map);
      OperandRange yielded = body.getTerminator()->getOperands();
      for (auto [k, value] : llvm::enumerate(yielded)) {
        if (k < init.size())
          carries[k] = map.lookupOrDefault(value);
        else
          parts[k - init.size()].push_back(map.lookupOrDefault(value));
      }
    }
    for (auto [k, list] : llvm::enumerate(parts))
      carries.push_back(stack(b, k, list));
    op->replaceAllUsesWith(carries);
    op->erase();
  }

private:
  Value sliceOf(OpBuilder &b, unsigned k, int64_t trip) {
    auto scan = cast<ScanOp>(op);
    auto type = cast<RankedTensorType>(sequences[k].getType());
    int64_t axis = scan.getAxes()[k];
    SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), steps(type.getRank(), 1);
    starts[axis] = scan.getReverse()[k] ? trips - 1 - trip : trip;
    limits[axis] = starts[axis] + 1;
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = 1;
    auto pieceType = RankedTensorType::get(shape, type.getElementType());
    Value piece = SliceOp::create(b, op->getLoc(), pieceType, sequences[k], starts, limits, steps);
    shape.erase(shape.begin() + axis);
    auto sliceType = RankedTensorType::get(shape, type.getElementType());
    return ReshapeOp::create(b, op->getLoc(), sliceType, piece, Value(), sliceType);
  }

  Value stack(OpBuilder &b, unsigned k, SmallVector<Value> list) {
    auto scan = dyn_cast<ScanOp>(op);
    int64_t axis = scan ? scan.getOutAxes()[k] : 0;
    if (scan && scan.getOutReverse()[k])
      std::reverse(list.begin(), list.end());
    for (Value &part : list) {
      auto type = cast<RankedTensorType>(part.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape.insert(shape.begin() + axis, 1);
      auto partType = RankedTensorType::get(shape, type.getElementType());
      part = ReshapeOp::create(b, op->getLoc(), partType, part, Value(), partType);
    }
    if (list.size() == 1)
      return list.front();
    return ConcatenateOp::create(b, op->getLoc(), op->getResult(init.size() + k).getType(), list, axis);
  }

  Operation *op;
  Block &body;
  OperandRange init = op->getOperands().take_front(0), sequences = init;
  int64_t trips = 0, lower = 0, step = 0;
  unsigned first = 0;
};

class UnrollLoops : public sinter::impl::UnrollLoopsBase<UnrollLoops> {
  using UnrollLoopsBase::UnrollLoopsBase;

  void runOnOperation() override {
    // Inner loops first: what is left of them counts as the body of the outer one.
    SmallVector<Operation *> loops;
    getOperation()->walk<WalkOrder::PostOrder>([&](Operation *op) {
      std::optional<LoopView> loop = LoopView::of(op);
      if (loop && countsTrips(*loop) && !op->hasAttr(kStaysRolled))
        loops.push_back(op);
    });
    for (Operation *op : loops) {
      Unroller unroller(op);
      if (unroller.prepare(maxTrips) && unroller.opsOfBody() * unroller.count() <= maxOps)
        unroller.apply();
    }
  }
};

} // namespace
