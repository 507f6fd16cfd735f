// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The chunks of a matrix product, which any thread claims, and what they copy before tiles read it (Contraction.cpp has
// the tiles): rows that are read where they lie (emitPanelChunks), rows that a chunk copies (emitRowChunks), and rows
// and columns that a step of their own copies once for all chunks (emitCopiedOnce).

#include "backends/cpu/emit/ContractionEmitter.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/OpenTiles.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

std::pair<Value, Value> ContractionEmitter::split(Value index, Value count) {
  Value outer = arith::DivUIOp::create(b, index, count);
  return {outer, arith::SubIOp::create(b, index, mul(outer, count)).getResult()};
}

EmittedKernel ContractionEmitter::emit() {
  if (plan.hasStrips())
    strip = memref::ViewOp::create(b, MemRefType::get({kHuge}, typeOf(form.column, b.getContext())), fn.workspace(),
                                   fn.index(0), ValueRange{});
  if (form.isTiled())
    tiles.emplace(fn, form, TileSums::split(dims, dims.min(plan.rows, dims.constant(tile.rows)), tile.rows),
                  tile.vectors);
  return plan.copiesOnce ? emitCopiedOnce() : plan.copiesRows ? emitRowChunks() : emitPanelChunks();
}

/// Blocks of rows, of one size: threads would wait for a large one behind a small one.
void ContractionEmitter::chooseBlocks(DimExpr groups) {
  int64_t tileColumns = tile.vectors * lanes;
  tilesPerBlock =
      dims.max(dims.constant(1), dims.floorDiv(dims.constant(spec.schedule().getChunk() / (tileColumns * tile.rows)),
                                               dims.max(plan.k, dims.constant(1))));
  DimExpr tiles = dims.ceilDiv(plan.rows, dims.constant(tile.rows));
  if (plan.hasStrips() && !plan.copiesOnce) {
    DimExpr strips = dims.max(dims.constant(1), dims.mul(dims.product(plan.batches), groups));
    DimExpr wanted = dims.ceilDiv(dims.constant(spec.costs().stripChunks), strips);
    tilesPerBlock = dims.max(tilesPerBlock, dims.ceilDiv(tiles, wanted));
  }
  DimExpr equal = dims.max(dims.constant(1), dims.ceilDiv(tiles, tilesPerBlock));
  tilesPerBlock = dims.resolve(dims.max(dims.constant(1), dims.ceilDiv(tiles, equal)));
  chooseLower();
}

void ContractionEmitter::chooseLower() {
  int64_t rows = constantOr(plan.rows, 0), blockRows = constantOr(tilesPerBlock, 0) * tile.rows;
  if (!form.isTiled() && blockRows != 0)
    lower = lowerTilesOfBlocks(rows, tile.rows, tile.vectors, blockRows);
}

/// All chunks of a first step copy their parts of both operands, those of a second one multiply them: a chunk is one
/// group of panels and a block of rows there, as of packed columns.
EmittedKernel ContractionEmitter::emitCopiedOnce() {
  DimExpr groups = dims.ceilDiv(plan.columns, dims.constant(tile.vectors * lanes));
  chooseBlocks(groups);
  DimExpr blockRows = dims.mul(tilesPerBlock, dims.constant(tile.rows)), blocks = dims.ceilDiv(plan.rows, blockRows);
  DimExpr chunks = dims.mul(blocks, groups);
  int64_t line = spec.target().cacheLineBytes;
  DimExpr stripBytes =
      dims.mul(dims.ceilDiv(dims.mul(dims.mul(groups, stripElements), dims.constant(width)), dims.constant(line)),
               dims.constant(plan.hasStrips() ? line : 0));
  copies = memref::ViewOp::create(b, MemRefType::get({kHuge}, typeOf(form.row, b.getContext())), fn.workspace(),
                                  fn.materialize(stripBytes), ValueRange{});
  auto [lhsBase, rhsBase] = basesOf({});
  Value groupCount = fn.materialize(groups), blockCount = fn.materialize(blocks), chunkCount = fn.materialize(chunks);
  Value rowCount = fn.materialize(plan.rows);
  auto stripOf = [&](Value group) { return mul(group, fn.materialize(stripElements)); };
  auto copy = [&, lhsBase = lhsBase, rhsBase = rhsBase] {
    fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
      // Squares of rows are turned: the last chunk has what is left of them.
      Value squares = fn.materialize(dims.floorDiv(plan.rows, dims.constant(lanes)));
      auto rowOf = [&](Value part) {
        return mul(arith::DivUIOp::create(b, mul(part, squares), chunkCount), fn.index(lanes));
      };
      Value next = add(chunk, fn.index(1)), begin = rowOf(chunk);
      Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next, chunkCount);
      Value end = arith::SelectOp::create(b, isLast, rowCount, rowOf(next));
      copyBase = mul(begin, fn.materialize(rowPitch));
      if (plan.copiesRows)
        copyRows(begin, end, lhsBase);
      if (!plan.hasStrips())
        return;
      auto [group, rest] = split(chunk, blockCount);
      fn.branch(
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, fn.index(0)),
          [&, group = group] {
            stripBase = stripOf(group);
            emitStrip(rhsBase, mul(group, fn.index(tile.vectors * lanes)));
          },
          [] {});
    });
  };
  auto multiply = [&, lhsBase = lhsBase, rhsBase = rhsBase] {
    fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
      auto [block, group] = split(chunk, groupCount);
      Value rowBegin = mul(block, fn.materialize(blockRows));
      Value rowEnd = arith::MinSIOp::create(b, add(rowBegin, fn.materialize(blockRows)), rowCount);
      copyBegin = copyBase = fn.index(0);
      std::pair<Value, Value> rhs = findColumns(group, fn.index(0), rhsBase);
      emitGroup(group, rhs, lhsBase, rowBegin, rowEnd, {});
    });
  };
  fn.branch(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, fn.step(), fn.index(0)), copy, multiply);
  DimExpr copyBytes = dims.mul(dims.mul(plan.rows, rowPitch), dims.constant(plan.copiesRows ? widthOf(form.row) : 0));
  EmittedKernel emitted = finish(chunks, dims.add(stripBytes, copyBytes));
  emitted.steps = dims.constant(2);
  return emitted;
}

/// Rows are read where they lie: a chunk is one group of panels and a block of rows.
EmittedKernel ContractionEmitter::emitPanelChunks() {
  blockSteps = plan.blockSteps(spec);
  if (blockSteps)
    partials.emplace(fn, tile, vectorType);
  DimExpr groups = dims.ceilDiv(plan.columns, dims.constant(tile.vectors * lanes));
  chooseBlocks(groups);
  DimExpr blockRows = dims.mul(tilesPerBlock, dims.constant(tile.rows));
  DimExpr blocks = dims.ceilDiv(plan.rows, blockRows);

  // Of chunks that follow each other, those with strips share them, the others share rows of lhs.
  Value rowCount = fn.materialize(plan.rows), outerCount = fn.materialize(plan.hasStrips() ? groups : blocks),
        innerCount = fn.materialize(plan.hasStrips() ? blocks : groups);
  auto rowsOf = [&](Value block) {
    Value rowBegin = mul(block, fn.materialize(blockRows));
    return std::pair(rowBegin,
                     arith::MinSIOp::create(b, add(rowBegin, fn.materialize(blockRows)), rowCount).getResult());
  };
  Value lastOuter = arith::DivUIOp::create(b, arith::SubIOp::create(b, fn.end(), fn.index(1)), innerCount);
  Value firstOuter = arith::DivUIOp::create(b, fn.begin(), innerCount);
  fn.loop(firstOuter, add(lastOuter, fn.index(1)), 1, [&](Value outer) {
    Value before = mul(outer, innerCount);
    Value first = arith::MaxSIOp::create(b, arith::SubIOp::create(b, fn.begin(), before), fn.index(0));
    Value end = arith::MinSIOp::create(b, arith::SubIOp::create(b, fn.end(), before), innerCount);
    auto [batch, place] = split(outer, outerCount);
    SmallVector<Value> batchIndex = fn.delinearize(batch, plan.batches);
    auto [lhsBase, rhsBase] = basesOf(batchIndex);
    if (!plan.hasStrips()) {
      auto [rowBegin, rowEnd] = rowsOf(place);
      return emitGroups(first, end, batch, lhsBase, rhsBase, rowBegin, rowEnd, batchIndex);
    }
    // One strip for all chunks of a call, where it stays in cache.
    stripBase = mul(fn.begin(), fn.materialize(stripElements));
    std::pair<Value, Value> rhs = findColumns(place, batch, rhsBase);
    fn.loop(first, end, 1, [&, place = place, lhsBase = lhsBase](Value block) {
      auto [rowBegin, rowEnd] = rowsOf(block);
      emitGroup(place, rhs, lhsBase, rowBegin, rowEnd, batchIndex);
    });
  });
  DimExpr chunks = dims.mul(dims.product(plan.batches), dims.mul(blocks, groups));
  if (!partials)
    return finish(chunks, dims.mul(dims.mul(chunks, stripElements), dims.constant(widthOf(form.column))));
  DimExpr places = dims.mul(chunks, placesPerBlock());
  return finish(chunks, dims.mul(places, dims.constant(partials->elements() * width)));
}

/// Groups [first, end) of panels that lie packed or are read where they lie: by blocks of k where panels are long, each
/// through as many groups as the cache holds the sums of.
void ContractionEmitter::emitGroups(Value first, Value end, Value batch, Value lhsBase, Value rhsBase, Value rowBegin,
                                    Value rowEnd, ArrayRef<Value> batchIndex) {
  auto emit = [&](Value group) {
    emitGroup(group, findColumns(group, batch, rhsBase), lhsBase, rowBegin, rowEnd, batchIndex);
  };
  if (!partials)
    return fn.loop(first, end, 1, emit);
  int64_t most = std::max<int64_t>(1, ContractionPlan::kBlockColumns / (tile.vectors * lanes));
  int64_t count = llvm::divideCeil(constantOr(steps, 0), blockSteps);
  fn.loop(first, end, most, [&](Value begin) {
    Value until = arith::MinSIOp::create(b, add(begin, fn.index(most)), end);
    fn.loop(fn.index(0), fn.index(count), 1, [&](Value block) {
      partials->enter(block, count);
      stepBegin = mul(block, fn.index(blockSteps));
      stepEnd =
          arith::MinSIOp::create(b, arith::SubIOp::create(b, fn.materialize(steps), stepBegin), fn.index(blockSteps));
      fn.loop(begin, until, 1, [&](Value group) {
        // The places of a call, in what the workspace has for its first chunks.
        Value number = add(fn.begin(), arith::SubIOp::create(b, group, begin));
        firstPlace = mul(number, fn.materialize(placesPerBlock()));
        emit(group);
      });
    });
  });
}

/// Blocks of copied rows, of `chunks` chunks. Each block makes all strips again and each part of the columns copies all
/// rows again: so many blocks that this is the least together, and that the copies of a block stay in the second-level
/// cache. Packed columns cost nothing again.
DimExpr ContractionEmitter::rowBlocks(DimExpr chunks) {
  int64_t rows = constantOr(plan.rows, 0), columns = constantOr(plan.columns, 0), most = constantOr(chunks, 0);
  if (!plan.hasStrips() || rows <= 0 || columns <= 0 || most <= 1)
    return chunks;
  auto least = static_cast<int64_t>(std::sqrt(static_cast<double>(most) * rows / columns));
  int64_t rowBytes = constantOr(rowPitch, 1) * widthOf(form.row);
  int64_t fitting =
      llvm::divideCeil(rows, std::max<int64_t>(1, spec.target().l2Bytes / 2 / std::max<int64_t>(1, rowBytes)));
  return dims.constant(std::clamp<int64_t>(std::max(least, fitting), 1, most));
}

/// Rows are copied: a chunk is a block of rows and all columns, or a part of them where there are few rows.
EmittedKernel ContractionEmitter::emitRowChunks() {
  auto atLeastOne = [&](DimExpr expr) { return dims.max(dims.constant(1), expr); };
  DimExpr tileRows = dims.constant(tile.rows), tileColumns = dims.constant(tile.vectors * lanes);
  DimExpr groups = dims.ceilDiv(plan.columns, tileColumns), tiles = dims.ceilDiv(plan.rows, tileRows);
  DimExpr wanted = dims.ceilDiv(dims.constant(spec.costs().stripChunks), atLeastOne(dims.product(plan.batches)));
  DimExpr tilesOfWork = dims.floorDiv(dims.constant(spec.schedule().getChunk()), atLeastOne(plan.k)); // elements of c
  auto share = [&](DimExpr count, DimExpr chunks, DimExpr elements) {
    return dims.max(atLeastOne(dims.ceilDiv(count, chunks)), dims.floorDiv(tilesOfWork, atLeastOne(elements)));
  };
  tilesPerBlock = dims.min(atLeastOne(tiles), share(tiles, rowBlocks(wanted), dims.mul(tileRows, plan.columns)));
  chooseLower();
  DimExpr blockRows = dims.mul(tilesPerBlock, tileRows);
  DimExpr blocks = dims.ceilDiv(plan.rows, blockRows);
  DimExpr parts = dims.ceilDiv(wanted, atLeastOne(blocks));
  DimExpr groupsPerChunk = share(groups, parts, dims.mul(blockRows, tileColumns));
  DimExpr splits = dims.ceilDiv(groups, groupsPerChunk);
  DimExpr chunks = dims.mul(dims.product(plan.batches), dims.mul(blocks, splits));
  // A strip for each chunk, then copied rows for each.
  DimExpr line = dims.constant(64);
  DimExpr stripBytes = dims.constant(0);
  if (plan.hasStrips())
    stripBytes = dims.mul(
        dims.ceilDiv(dims.mul(dims.mul(chunks, stripElements), dims.constant(widthOf(form.column))), line), line);
  DimExpr copyElements = dims.mul(dims.add(blockRows, tileRows), rowPitch);
  DimExpr copyBytes = dims.mul(dims.mul(chunks, copyElements), dims.constant(widthOf(form.row)));

  copies = memref::ViewOp::create(b, MemRefType::get({kHuge}, typeOf(form.row, b.getContext())), fn.workspace(),
                                  fn.materialize(stripBytes), ValueRange{});
  Value rowCount = fn.materialize(plan.rows), splitCount = fn.materialize(splits), blockCount = fn.materialize(blocks);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    auto [outer, part] = split(chunk, splitCount);
    auto [batch, block] = split(outer, blockCount);
    SmallVector<Value> batchIndex = fn.delinearize(batch, plan.batches);
    auto [lhsBase, rhsBase] = basesOf(batchIndex);
    stripBase = mul(fn.begin(), fn.materialize(stripElements));
    copyBase = mul(fn.begin(), fn.materialize(copyElements));
    Value rowBegin = mul(block, fn.materialize(blockRows));
    Value rowEnd = arith::MinSIOp::create(b, add(rowBegin, fn.materialize(blockRows)), rowCount);
    // The last tile overlaps the one before it, which may be another block's.
    Value lastTile = arith::MaxSIOp::create(b, arith::SubIOp::create(b, rowCount, fn.index(tile.rows)), fn.index(0));
    copyBegin = arith::MinSIOp::create(b, rowBegin, lastTile);
    // The parts of a block follow each other, and those of a call share its rows.
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, chunk, fn.begin());
    Value isOther = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, part, fn.index(0));
    fn.ifThen(arith::OrIOp::create(b, isFirst, isOther),
              [&, lhsBase = lhsBase] { copyRows(copyBegin, rowEnd, lhsBase); });
    Value groupBegin = mul(part, fn.materialize(groupsPerChunk));
    Value groupEnd = arith::MinSIOp::create(b, add(groupBegin, fn.materialize(groupsPerChunk)), fn.materialize(groups));
    fn.loop(groupBegin, groupEnd, 1, [&, rhsBase = rhsBase, lhsBase = lhsBase, batch = batch](Value group) {
      emitGroup(group, findColumns(group, batch, rhsBase), lhsBase, rowBegin, rowEnd, batchIndex);
    });
  });
  return finish(chunks, dims.add(stripBytes, copyBytes));
}

EmittedKernel ContractionEmitter::finish(DimExpr chunks, DimExpr workspaceBytes) {
  markUnitRounding(fn, form);
  if (tiles)
    tiles->release();
  fn.finish();
  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.usesTiles = tiles.has_value();
  emitted.chunks = chunks;
  emitted.inPlace = overwrites;
  if (plan.hasStrips() || plan.copiesRows || partials)
    emitted.workspaceBytes = workspaceBytes;
  DimExpr work = dims.mul(dims.product(plan.batches), dims.mul(plan.rows, dims.mul(plan.columns, plan.k)));
  // With few rows the matrix is read for them alone.
  double rate = macsPerNs(spec.costs(), form);
  if (int64_t rows = constantOr(plan.rows, 0))
    rate = std::min(rate, spec.costs().streamedMacsPerNs * static_cast<double>(rows));
  emitted.estimate(spec, work, 1 / rate);
  return emitted;
}

EmittedKernel sinter::cpu::emitContraction(KernelSpec &spec, ModuleOp module, StringRef name) {
  auto dot = cast<DotGeneralOp>(findShapedRoot(spec));
  std::string refusal;
  ContractionPlan plan = *ContractionPlan::of(spec, dot, spec.schedule().getPacking(), refusal);
  bool hasWorkspace = plan.hasStrips() || plan.copiesRows || plan.blockSteps(spec);
  KernelFunction fn(spec, module, name, {.workspace = hasWorkspace, .step = plan.copiesOnce});
  return ContractionEmitter(fn, dot, plan).emit();
}
