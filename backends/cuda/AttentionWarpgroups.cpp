// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/AttentionWarpgroups.h"
#include "backends/cuda/Shuffles.h"
#include "backends/cuda/TensorMaps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

//===- WarpgroupCore ----------------------------------------------------------------------------===//

SmallVector<TileCore::Run> WarpgroupCore::runs() {
  Value thread = t.rem(t.threadNumber(), kWarpgroupThreads), lane = t.rem(thread, 32);
  Value first = t.add(t.add(t.mul(warpgroup, kWarpgroupRows), t.mul(t.div(thread, 32), 16)), t.div(lane, 4));
  Value pair = t.mul(t.rem(lane, 4), 2);
  SmallVector<Run> all;
  for (int64_t half = 0; half < 2; ++half)
    for (int64_t j = 0; j < columns / 8; ++j) {
      auto sum = static_cast<unsigned>(j * 4 + half * 2);
      all.push_back({t.add(first, half * 8), t.add(pair, j * 8), {sum, sum + 1}});
    }
  return all;
}

SmallVector<Value> WarpgroupCore::multiply(Value, Value, ValueRange) {
  llvm_unreachable("wgmma multiplies whole slabs");
}

SmallVector<Value> WarpgroupCore::multiplyHeld(ValueRange, Value, ValueRange) {
  llvm_unreachable("wgmma multiplies whole slabs");
}

//===- AttentionWarpgroups ----------------------------------------------------------------------===//

/// Why no kernel of wgmma takes operands of that shape, for GPUs of that generation; empty where one may.
static std::string refusalOf(cuda::KernelSpec &spec, const AttentionShape &shape) {
  StringRef generation = spec.target().name;
  if (generation != "sm_90a" && gpuOf(generation).generation != "sm_90" &&
      !llvm::is_contained({"sm_80", "sm_86", "sm_87", "sm_89"}, generation))
    return "sm_90a alone has wgmma";
  for (DimExpr size : {shape.heads, shape.rows, shape.keys, shape.keyHeads}) {
    if (size.isConstant() && size.constant() == 0)
      return "there is nothing to multiply";
    if (mapNumberOf(spec, size, /*firstSize=*/0).empty())
      return "only running tells a size, which is no product of sizes";
  }
  for (unsigned i = 0; i < 3; ++i)
    if (!isa<BlockArgument>(shape.root->getOperand(i)))
      return "an operand is computed";
  if (shape.depth % kBoxNumbers || shape.width % kBoxNumbers || shape.depth > 256 || shape.width > 256)
    return "rows of a head are 64, 128, 192 or 256 numbers";
  return "";
}

std::string AttentionWarpgroups::plan(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule,
                                      const Part &part) {
  std::string refusal;
  std::optional<AttentionShape> shape = AttentionShape::of(spec, Core::Warps, part.isGradient, refusal);
  if (!shape)
    return refusal;
  if (refusal = refusalOf(spec, *shape); !refusal.empty())
    return refusal;
  if (schedule && schedule.getTile().size() != 3 && (schedule.getTile().size() != 4 || leastBlocksOf(schedule) < 1))
    return "its tile requires 3 numbers, or 4 with the blocks from which on it runs";
  // Rows of 256 numbers take the registers of two warpgroups.
  AttentionTile wide{std::max(shape->depth, shape->width) > 128 ? 64 : 128, kOtherRows, kWarpgroupRows};
  AttentionTile tile = schedule ? tileOf(schedule) : wide;
  if (refusal = part.misfit(*shape, tile); !refusal.empty())
    return refusal;
  // A block is alone on a multiprocessor; fewer of them leave the others idle, which the other form does not.
  const int64_t enough = gpuOf("sm_90").multiprocessors;
  DimExpr blocks = spec.dims.resolve(part.blocks(spec.dims, *shape, tile));
  SmallVector<int64_t> numbers = {tile.own, tile.other, tile.inner};
  if (int64_t least = schedule ? leastBlocksOf(schedule) : blocks.isConstant() ? 0 : enough)
    numbers.push_back(least);
  auto made = ScheduleAttr::get(spec.kernel.getContext(), name, kWarpgroupThreads * (1 + consumersOf(tile)), numbers, 0,
                                {}, {});
  if (schedule)
    return schedule == made ? "" : "its schedule has other fields than `lanes`, the tile's threads, and `tile`";
  if (hasFewRows(*shape) && !(blocks.isConstant() && shape->keys.isConstant()))
    return (part.otherForm + " cuts the keys of few rows into parts").str();
  if (blocks.isConstant() && blocks.constant() < enough)
    return (part.otherForm + " has more blocks").str();
  schedule = made;
  return "";
}

AttentionTile AttentionWarpgroups::tileOf(ScheduleAttr schedule) {
  ArrayRef<int64_t> tile = schedule.getTile();
  return {tile[0], tile[1], tile[2]};
}

int64_t AttentionWarpgroups::leastBlocksOf(ScheduleAttr schedule) {
  ArrayRef<int64_t> tile = schedule.getTile();
  return tile.size() == 4 ? tile[3] : 0;
}

DimExpr AttentionWarpgroups::blocksOf(DimContext &dims, DimExpr heads, DimExpr positions, const AttentionTile &tile) {
  return dims.mul(heads, dims.ceilDiv(positions, dims.constant(tile.own)));
}

int64_t AttentionWarpgroups::leastChunks(ScheduleAttr schedule, const AttentionTile &beside) {
  return llvm::divideCeil(leastBlocksOf(schedule) * tileOf(schedule).own, beside.own);
}

Value AttentionWarpgroups::addMap(WideKernel &wide, unsigned operand, DimExpr rows, DimExpr heads, int64_t size) {
  func::FuncOp function = t.fn.function;
  unsigned number = function.getNumArguments();
  Type pointer = LLVM::LLVMPointerType::get(t.b.getContext());
  [[maybe_unused]] LogicalResult added = function.insertArgument(number, pointer, {}, function.getLoc());
  assert(succeeded(added) && "any function takes one more argument");
  unsigned word = cast<BlockArgument>(shape.root->getOperand(operand)).getArgNumber();
  auto &spec = static_cast<cuda::KernelSpec &>(t.fn.spec);
  auto numberOf = [&](DimExpr size) { return mapNumberOf(spec, size, t.fn.sizeArgument(0)); };
  llvm::raw_string_ostream(wide.maps) << "map " << word << (shape.type.isF16() ? " f16 " : " bf16 ") << size << ","
                                      << numberOf(rows) << "," << numberOf(heads) << " " << size * 2 << ","
                                      << numberOf(spec.dims.mul(rows, spec.dims.constant(size * 2))) << " "
                                      << kBoxNumbers << "," << kWarpgroupRows << ",1\n";
  ++wide.numMaps;
  return function.getArgument(number);
}

int64_t AttentionWarpgroups::barrierBytes(ArrayRef<Barriers> barriers) {
  int64_t bytes = 0;
  for (const Barriers &some : barriers)
    bytes += 8 * 2 * some.stages;
  return bytes;
}

void AttentionWarpgroups::emit(WideKernel &wide, ArrayRef<Barriers> barriers, function_ref<void()> ask,
                               function_ref<void(Value)> multiply) {
  Value thread = t.threadNumber();
  wide.threads = kWarpgroupThreads * (1 + consumers);
  wide.sharedBytes = slabBytes + barrierBytes(barriers);
  memory = w.dynamicShared();
  t.when(t.less(thread, t.fn.index(1)), [&] {
    int64_t number = 0;
    for (const Barriers &some : barriers)
      for (int64_t arrivals : {some.arrivals, 4 * consumers})
        for (int64_t i = 0; i < some.stages; ++i)
          w.initBarrier(barrier(number++), arrivals);
    w.fenceBarriers();
  });
  NVVM::Barrier0Op::create(t.b);
  // Of lane 0, so that it is known to be the warp's.
  Value number = fromLane(t.b, t.i64(t.div(thread, kWarpgroupThreads)), t.fn.index(0));
  Value warpgroup = arith::IndexCastOp::create(t.b, t.b.getIndexType(), number);
  auto begin = [&](int64_t registers, bool isLess) {
    if (consumers == 2)
      w.setRegisters(registers, isLess);
  };
  t.when(
      t.less(warpgroup, t.fn.index(1)),
      [&] {
        begin(kAskerRegisters, /*isLess=*/true);
        ask();
      },
      [&] {
        begin(kMultiplierRegisters, /*isLess=*/false);
        multiply(t.sub(warpgroup, t.fn.index(1)));
      });
}

Value AttentionWarpgroups::parityOf(Value count) {
  return arith::TruncIOp::create(t.b, t.b.getI32Type(), t.i64(t.rem(count, 2)));
}

Value AttentionWarpgroups::parityBefore(Value count) {
  return arith::XOrIOp::create(t.b, parityOf(count), arith::ConstantIntOp::create(t.b, t.b.getI32Type(), 1));
}

void AttentionWarpgroups::bring(Value map, int64_t size, Value head, Value first, int64_t groups, Value to,
                                Value barrier) {
  for (int64_t i = 0; i < size / kBoxNumbers; ++i)
    for (int64_t g = 0; g < groups; ++g)
      w.copyBox(map, {t.fn.index(kBoxNumbers * i), t.add(first, kWarpgroupRows * g), head},
                t.behind(to, t.fn.index((i * groups + g) * kBoxBytes)), barrier);
}

SmallVector<Value> AttentionWarpgroups::multiplyRows(Value own, Value warpgroup, Value others, int64_t size,
                                                     ValueRange sums) {
  Values so(sums);
  for (int64_t i = 0; i < size / kBoxNumbers; ++i) {
    Value its = t.behind(own, t.add(t.mul(warpgroup, kBoxBytes), i * consumers * kBoxBytes));
    so = w.multiply({shape.type, shape.type}, {its, true}, {t.behind(others, t.fn.index(i * kBoxBytes)), true},
                    kWarpgroupRows, so);
  }
  return so;
}
