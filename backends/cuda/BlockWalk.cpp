// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/BlockWalk.h"
#include "backends/cuda/Shuffles.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

constexpr int64_t kWarp = 32;
/// MLIR's and NVPTX's number of the memory that the threads of a block share.
constexpr int64_t kShared = 3;

BlockWalk::BlockWalk(cpu::KernelFunction &fn, DimExpr length, int64_t threads)
    : fn(fn), b(fn.b), length(length), threads(threads) {
  thread = arith::IndexCastUIOp::create(b, b.getIndexType(), NVVM::ThreadIdXOp::create(b, b.getI32Type()));
}

void BlockWalk::forEach(function_ref<void(cpu::KernelElements &, Value)> body) {
  fn.loop(thread, fn.materialize(length), threads, [&](Value column) {
    cpu::KernelElements elements(fn, 1);
    body(elements, column);
  });
}

void BlockWalk::once(function_ref<void()> body) {
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, fn.index(0));
  auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

Value BlockWalk::combine(Value identity, int64_t block, cpu::Join join, Step step) {
  DimExpr known = fn.spec.dims.resolve(length);
  Value end = fn.materialize(length);
  auto chain = [&](Value low, Value high, Value total) {
    return fn
        .loop(low, high, threads, total,
              [&](Value column, ValueRange carried) -> SmallVector<Value> {
                cpu::KernelElements elements(fn, 1);
                return {step(elements, column, carried.front())};
              })
        .front();
  };
  Value total;
  int64_t perBlock = block == cpu::kNoBlocks ? 0 : block * threads;
  if (!perBlock || (known.isConstant() && known.constant() <= perBlock)) {
    total = chain(thread, end, identity);
  } else {
    cpu::SummedAxis blocks = cpu::summedAxis(fn, fn.spec.dims.ceilDiv(known, fn.spec.dims.constant(perBlock)));
    total = cpu::sumNest(fn, blocks, block, block, identity, join,
                         [&](ArrayRef<Value> at, ValueRange carried) -> SmallVector<Value> {
                           Value low = arith::MulIOp::create(b, at.front(), fn.index(perBlock));
                           Value high =
                               arith::MinSIOp::create(b, arith::AddIOp::create(b, low, fn.index(perBlock)), end);
                           return {chain(arith::AddIOp::create(b, low, thread), high, carried.front())};
                         })
                .front();
  }
  return joinThreads(total, join);
}

Value BlockWalk::joinThreads(Value value, cpu::Join join) {
  for (int64_t mask = kWarp / 2; mask > 0; mask /= 2)
    value = join(value, exchange(b, value, mask));
  int64_t warps = threads / kWarp;
  // One warp: lanes may have got other bits (zeros of both signs), so all take those of the first.
  Type stored = cpu::storageType(value.getType());
  auto type = MemRefType::get({warps}, stored, MemRefLayoutAttrInterface(), b.getI64IntegerAttr(kShared));
  auto module = fn.function->getParentOfType<ModuleOp>();
  std::string name = "totals" + std::to_string(std::distance(module.getBody()->begin(), module.getBody()->end()));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    memref::GlobalOp::create(b, name, b.getStringAttr("private"), type, b.getUnitAttr(), /*constant=*/false,
                             /*alignment=*/b.getI64IntegerAttr(8));
  }
  Value totals = memref::GetGlobalOp::create(b, type, name);
  Value warp = arith::DivUIOp::create(b, thread, fn.index(kWarp));
  Value lane = arith::RemUIOp::create(b, thread, fn.index(kWarp));
  // What an earlier chunk left has been read.
  NVVM::Barrier0Op::create(b);
  {
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, fn.index(0));
    auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    fn.store(value, totals, warp);
  }
  NVVM::Barrier0Op::create(b);
  Value total = fn.load(totals, fn.index(0), value.getType());
  for (int64_t i = 1; i < warps; ++i)
    total = join(total, fn.load(totals, fn.index(i), value.getType()));
  return total;
}
