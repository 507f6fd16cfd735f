// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/BlockWalk.h"
#include "backends/cpu/emit/LaneLoop.h"
#include "backends/cuda/Shuffles.h"
#include "ir/Shapes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// MLIR's and NVPTX's number of the memory that the threads of a block share.
constexpr int64_t kShared = 3;
/// That of any block of the cluster.
constexpr int64_t kSharedOfCluster = 7;

/// Elements of a row that a thread keeps in registers, at most.
constexpr int64_t kMostKept = 32;
constexpr int64_t kMostLanes = 8;
/// Shorter vectors are not worth a second copy of the code.
constexpr int64_t kLeastVectorBytes = 8;

Value cuda::areAligned(cpu::KernelFunction &fn) {
  ImplicitLocOpBuilder &b = fn.b;
  Value bits = fn.index(0);
  auto consider = [&](Value buffer) {
    bits = arith::OrIOp::create(b, bits, memref::ExtractAlignedPointerAsIndexOp::create(b, buffer));
  };
  for (unsigned i = 0; i < fn.spec.body().getNumArguments(); ++i)
    consider(fn.input(i));
  for (unsigned i = 0; i < fn.spec.kernel.getNumResults(); ++i)
    consider(fn.result(i));
  Value low = arith::AndIOp::create(b, bits, fn.index(kVectorBytes - 1));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, low, fn.index(0));
}

Value cuda::threadNumber(cpu::KernelFunction &fn) {
  return arith::IndexCastUIOp::create(fn.b, fn.b.getIndexType(), NVVM::ThreadIdXOp::create(fn.b, fn.b.getI32Type()));
}

Value cuda::sharedArray(cpu::KernelFunction &fn, Type element, int64_t count) {
  ImplicitLocOpBuilder &b = fn.b;
  auto type = MemRefType::get({count}, element, MemRefLayoutAttrInterface(), b.getI64IntegerAttr(kShared));
  auto module = fn.function->getParentOfType<ModuleOp>();
  std::string name = "shared" + std::to_string(std::distance(module.getBody()->begin(), module.getBody()->end()));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    memref::GlobalOp::create(b, name, b.getStringAttr("private"), type, b.getUnitAttr(), /*constant=*/false,
                             /*alignment=*/b.getI64IntegerAttr(8));
  }
  return memref::GetGlobalOp::create(b, type, name);
}

int64_t cuda::vectorLanes(cpu::KernelSpec &spec, DimExpr length, Type type) {
  length = spec.dims.resolve(length);
  if (!length.isConstant() || length.constant() == 0)
    return 1;
  int64_t lanes = std::min(kMostLanes, kVectorBytes / byteWidth(type));
  while (length.constant() % lanes != 0)
    lanes /= 2;
  return lanes * byteWidth(type) < kLeastVectorBytes ? 1 : lanes;
}

std::unique_ptr<cpu::KernelElements> BlockWalk::makeElements() {
  auto elements = std::make_unique<cpu::KernelElements>(fn, lanes);
  if (lanes > 1)
    elements->bufferAlignment = kVectorBytes;
  return elements;
}

BlockWalk::BlockWalk(cpu::KernelFunction &fn, DimExpr length, Walkers walkers, int64_t lanes)
    : fn(fn), b(fn.b), length(fn.spec.dims.resolve(length)), walkers(walkers), lanes(lanes) {
  thread = threadNumber(fn);
  number = thread;
  assert((walkers.side == 1 || (lanes == 1 && walkers.cluster == 1)) &&
         "rows side by side have no vectors, no clusters");
  if (walkers.side > 1) {
    row = arith::RemUIOp::create(b, thread, fn.index(walkers.side));
    number = arith::DivUIOp::create(b, thread, fn.index(walkers.side));
  }
  if (walkers.cluster > 1) {
    meetCluster();
    rank = arith::IndexCastUIOp::create(b, b.getIndexType(), NVVM::ClusterId::create(b, b.getI32Type()));
    number = arith::AddIOp::create(b, arith::MulIOp::create(b, rank, fn.index(walkers.threads)), thread);
  }
  first = lanes == 1 ? number : arith::MulIOp::create(b, number, fn.index(lanes)).getResult();
  if (lanes == 1 || !this->length.isConstant())
    return;
  int64_t columns = this->length.constant(), together = walkers.all() * lanes;
  if (llvm::divideCeil(columns, together) * lanes > kMostKept)
    return;
  for (int64_t begin = 0; begin < columns; begin += together) {
    Value column = begin ? arith::AddIOp::create(b, first, fn.index(begin)).getResult() : first, isThere;
    if (begin + together > columns) { // threads without columns look at the last ones, and count nothing
      Value last = fn.index(columns - lanes);
      isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, column, last);
      column = arith::MinSIOp::create(b, column, last);
    }
    kept.push_back({column, isThere, makeElements()});
  }
}

BlockWalk::~BlockWalk() = default;

void BlockWalk::forEach(function_ref<void(cpu::KernelElements &, Value)> body) {
  for (Kept &columns : kept)
    fn.ifThen(columns.isThere, [&] { body(*columns.elements, columns.column); });
  if (kept.empty())
    fn.loop(first, fn.materialize(length), walkers.all() * lanes, [&](Value column) { body(*makeElements(), column); });
}

void BlockWalk::once(function_ref<void()> body) {
  fn.ifThen(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, fn.index(0)), body);
}

Value BlockWalk::combine(Value identity, int64_t block, cpu::Join join, Step step) {
  Value start = identity;
  if (lanes > 1)
    start = vector::BroadcastOp::create(b, VectorType::get({lanes}, identity.getType()), identity);
  Value total = combineColumns(start, block, join, step);
  total = joinThreads(lanes > 1 ? cpu::joinLanes(b, total, join) : total, join);
  return rank ? joinBlocks(total, join) : total;
}

Value BlockWalk::combineColumns(Value identity, int64_t block, cpu::Join join, Step step) {
  Value total = identity;
  for (Kept &columns : kept) {
    Value next = step(*columns.elements, columns.column, total);
    total = columns.isThere ? arith::SelectOp::create(b, columns.isThere, next, total).getResult() : next;
  }
  if (!kept.empty())
    return total;
  Value end = fn.materialize(length);
  auto chain = [&](Value low, Value high, Value total) {
    return fn
        .loop(low, high, walkers.all() * lanes, total,
              [&](Value column, ValueRange carried) -> SmallVector<Value> {
                return {step(*makeElements(), column, carried.front())};
              })
        .front();
  };
  int64_t perBlock = block == cpu::kNoBlocks ? 0 : block * walkers.all() * lanes;
  if (!perBlock || (length.isConstant() && length.constant() <= perBlock))
    return chain(first, end, identity);
  cpu::SummedAxis blocks = cpu::summedAxis(fn, fn.spec.dims.ceilDiv(length, fn.spec.dims.constant(perBlock)));
  return cpu::sumNest(fn, blocks, block, block, identity, join,
                      [&](ArrayRef<Value> at, ValueRange carried) -> SmallVector<Value> {
                        Value low = arith::MulIOp::create(b, at.front(), fn.index(perBlock));
                        Value high = arith::MinSIOp::create(b, arith::AddIOp::create(b, low, fn.index(perBlock)), end);
                        return {chain(arith::AddIOp::create(b, low, first), high, carried.front())};
                      })
      .front();
}

Value BlockWalk::shared(int64_t count, Type elementType) {
  return sharedArray(fn, cpu::storageType(elementType), count);
}

void BlockWalk::meetCluster() {
  NVVM::ClusterArriveOp::create(b, b.getUnitAttr());
  NVVM::ClusterWaitOp::create(b, b.getUnitAttr());
}

Value BlockWalk::joinBlocks(Value value, cpu::Join join) {
  Value parts = shared(walkers.cluster, value.getType());
  Value isSender = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, thread, fn.index(walkers.cluster));
  fn.ifThen(isSender, [&] { // thread i sends to block i
    Type i32 = b.getI32Type(), stored = cpu::storageType(value.getType());
    auto pointer = [&](unsigned space) { return LLVM::LLVMPointerType::get(b.getContext(), space); };
    auto cast = [&](Type type, Value index) { return arith::IndexCastOp::create(b, type, index).getResult(); };
    Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, parts);
    Value own = LLVM::IntToPtrOp::create(b, pointer(kShared), ValueRange{cast(b.getI64Type(), address)});
    Value others = NVVM::MapaOp::create(b, pointer(kSharedOfCluster), own, cast(i32, thread));
    Value place =
        LLVM::GEPOp::create(b, pointer(kSharedOfCluster), stored, others, ArrayRef<LLVM::GEPArg>{cast(i32, rank)});
    Value sent = value.getType() == stored ? value : arith::ExtUIOp::create(b, stored, value).getResult();
    LLVM::StoreOp::create(b, sent, place);
  });
  meetCluster();
  Value total = fn.load(parts, fn.index(0), value.getType());
  for (int64_t i = 1; i < walkers.cluster; ++i)
    total = join(total, fn.load(parts, fn.index(i), value.getType()));
  return total;
}

Value BlockWalk::joinSide(Value value, cpu::Join join) {
  Value totals = shared(walkers.threads, value.getType());
  NVVM::Barrier0Op::create(b); // what an earlier chunk left has been read
  fn.store(value, totals, thread);
  NVVM::Barrier0Op::create(b);
  Value total = fn.load(totals, row, value.getType());
  for (int64_t i = 1; i < walkers.all(); ++i) {
    Value place = arith::AddIOp::create(b, row, fn.index(i * walkers.side));
    total = join(total, fn.load(totals, place, value.getType()));
  }
  return total;
}

Value BlockWalk::joinThreads(Value value, cpu::Join join) {
  if (row)
    return joinSide(value, join);
  for (int64_t mask = kWarp / 2; mask > 0; mask /= 2)
    value = join(value, exchange(b, value, mask));
  int64_t warps = walkers.threads / kWarp;
  if (warps == 1) // lanes may have got other bits (zeros of both signs)
    return fromLane(b, value, fn.index(0));
  Value totals = shared(warps, value.getType());
  Value warp = arith::DivUIOp::create(b, thread, fn.index(kWarp));
  Value lane = arith::RemUIOp::create(b, thread, fn.index(kWarp));
  // What an earlier chunk left has been read.
  NVVM::Barrier0Op::create(b);
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, fn.index(0));
  fn.ifThen(isFirst, [&] { fn.store(value, totals, warp); });
  NVVM::Barrier0Op::create(b);
  Value total = fn.load(totals, fn.index(0), value.getType());
  for (int64_t i = 1; i < warps; ++i)
    total = join(total, fn.load(totals, fn.index(i), value.getType()));
  return total;
}
