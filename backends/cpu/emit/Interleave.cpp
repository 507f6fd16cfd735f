// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/Interleave.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// On a loop: how many parts its body has.
constexpr llvm::StringLiteral kParts = "sinter.parts";

void sinter::cpu::loopOfParts(KernelFunction &fn, Value low, Value high, int64_t step, int64_t count,
                              int64_t partsOfStep, function_ref<void(Value)> body) {
  ImplicitLocOpBuilder &b = fn.b;
  auto emit = [&](Value at, int64_t steps) {
    if (int64_t parts = steps * partsOfStep; parts > 1)
      b.getInsertionBlock()->getParentOp()->setAttr(kParts, b.getI64IntegerAttr(parts));
    for (int64_t i = 0; i < steps; ++i)
      body(i ? arith::AddIOp::create(b, at, fn.index(i * step)).getResult() : at);
  };
  if (count > 1)
    low = fn.wholeSteps(low, high, count * step, [&](Value at) { emit(at, count); });
  fn.loop(low, high, step, [&](Value at) { emit(at, 1); });
}

static bool isStore(Operation &op) { return isa<vector::StoreOp, vector::MaskedStoreOp, memref::StoreOp>(op); }
static bool isLoad(Operation &op) { return isa<vector::LoadOp, vector::MaskedLoadOp, memref::LoadOp>(op); }

/// Calls `visit` with each value that `op` and what is in its regions use.
static void forEachUsed(Operation &op, function_ref<void(Value)> visit) {
  op.walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), visit); });
}

/// Nothing happens where the stores cannot be told to be the parts'.
static void interleave(Block &block, int64_t parts) {
  SmallVector<Operation *> ops;
  int64_t stores = 0;
  for (Operation &op : block.without_terminator()) {
    if (!isStore(op) && !isLoad(op) && !isMemoryEffectFree(&op))
      return;
    stores += isStore(op);
    ops.push_back(&op);
  }
  if (stores == 0 || stores % parts != 0)
    return;
  // Every op has a time between 0 and 1, its place in its part; what it uses is not later.
  SmallVector<SmallVector<Operation *>> partOps(1);
  int64_t storesHere = 0;
  for (Operation *op : ops) {
    if (storesHere == stores / parts) {
      partOps.emplace_back();
      storesHere = 0;
    }
    partOps.back().push_back(op);
    storesHere += isStore(*op);
  }
  llvm::DenseMap<Operation *, double> times;
  for (ArrayRef<Operation *> part : partOps) {
    double lastAccess = 0;
    for (auto [i, op] : llvm::enumerate(part)) {
      double time = static_cast<double>(i) / static_cast<double>(part.size());
      forEachUsed(*op, [&](Value used) {
        if (Operation *def = used.getDefiningOp())
          time = std::max(time, times.lookup(def));
      });
      if (isStore(*op) || isLoad(*op))
        lastAccess = time = std::max(time, lastAccess);
      times[op] = time;
    }
  }
  SmallVector<std::pair<double, size_t>> order;
  for (auto [i, op] : llvm::enumerate(ops))
    order.emplace_back(times.lookup(op), i);
  llvm::sort(order);
  for (auto [time, i] : order)
    ops[i]->moveBefore(block.getTerminator());
}

void sinter::cpu::interleaveParts(ModuleOp module) {
  module.walk([](scf::ForOp loop) {
    if (auto parts = loop->getAttrOfType<IntegerAttr>(kParts)) {
      interleave(*loop.getBody(), parts.getInt());
      loop->removeAttr(kParts);
    }
  });
}
