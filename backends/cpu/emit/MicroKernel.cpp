// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/Interleave.h"
#include "backends/cpu/emit/OpenTiles.h"
#include "ir/ElementCost.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Of tiles of one height, or of lower ones at the end, which are other code: a small gain does not pay that.
static int64_t leastCost(int64_t equal, int64_t lower) {
  constexpr int64_t unit = 32;
  return std::min(equal * unit, lower * (unit + 1));
}

bool sinter::cpu::canReadColumns(const Target &target, const ProductForm &form) {
  constexpr int64_t fewRegisters = 16; // more hold tiles that need no more than one load for each vector of b
  bool readsFloats = form.step == ProductForm::Step::fused && isFloat(form.sum);
  return target.hasFma && target.vectorRegisters <= fewRegisters &&
         (readsFloats || form.step == ProductForm::Step::byte_pairs);
}

int64_t sinter::cpu::heldVectors(const Target &target, const ProductForm &form, int64_t sums, int64_t vectors) {
  int64_t left = target.vectorRegisters - 1 - sums - form.otherRegisters(vectors); // one holds what is broadcast
  int64_t all = vectors * form.joined;
  bool fits = left > 0 || (left == 0 && form.step == ProductForm::Step::byte_pairs);
  return canReadColumns(target, form) && fits ? std::min(left, all) : all;
}

TileLimits sinter::cpu::limitsOf(const ProductForm &form, int64_t vectors) {
  TileLimits limits;
  limits.parts = form.parts() * form.joined;
  limits.others = form.otherRegisters(vectors);
  limits.joinsWords = form.joined > 1;
  return limits;
}

/// The rows of a tile of `width` vectors. Accumulators, one row of b and one broadcast live at once; one register stays
/// free for addresses that spill into it.
static int64_t mostRowsOf(const Target &target, int64_t width, const TileLimits &limits) {
  int64_t registers = target.vectorRegisters - 1;
  // Vectors of b that multiply-adds read from memory make room for other registers.
  int64_t room = width * limits.parts + (limits.readsColumns ? 0 : limits.others);
  int64_t most = (registers - room - 1 + (target.vectorRegisters <= 16)) / width;
  return std::min(most, (registers - limits.others) / width);
}

RegisterTile sinter::cpu::chooseTile(const Target &target, int64_t rows, int64_t vectors, TileLimits limits) {
  auto [conflicting, parts, others, joinsWords, sharesLast, staysNarrow, mayBeLower, readsColumns] = limits;
  sharesLast &= vectors == 2; // of more, most tiles have whole vectors
  auto mostRows = [&](int64_t width) {
    if (sharesLast && width == 2) // three accumulators and two broadcasts for two rows
      return (target.vectorRegisters - 1 - width - 2) / 3 * 2;
    return mostRowsOf(target, width, limits);
  };

  // Few rows: wide tiles, so that there are enough independent FMAs to hide their latency, and several panels are read
  // side by side. They are one tile: memory, which they wait for, is read once.
  int64_t width = 2;
  bool areFew = rows != ShapedType::kDynamic && rows <= 6;
  if (areFew)
    width = rows <= 2 ? 8 : 4;
  // Rows that share cache sets are no more than the ways; few rows are not.
  if (rows != ShapedType::kDynamic && rows <= target.l1Ways)
    conflicting = false;
  constexpr int64_t leastNarrow = 8; // rows that hide the latency of FMAs
  staysNarrow &= target.l1Ways >= leastNarrow;
  if (conflicting && !staysNarrow && mostRows(2) > target.l1Ways)
    width = 4;
  // Multiply-adds that read b from memory leave its registers to sums, as do those of one row, which use each vector
  // once.
  auto isOneTile = [&](int64_t width) {
    bool mayBe = (readsColumns || rows == 1) && !sharesLast && rows != ShapedType::kDynamic;
    return mayBe && rows * width <= target.vectorRegisters - 2 - others;
  };
  auto holds = [&](int64_t width) { return mostRows(width) >= (areFew && width > 2 ? rows : 1) || isOneTile(width); };
  while (width > 1 && (width > vectors || !holds(width)))
    width /= 2;

  int64_t most = mostRows(width);
  if (conflicting)
    most = std::min(most, target.l1Ways);
  if (rows == ShapedType::kDynamic)
    return {std::min<int64_t>(most, 12), width};
  if (rows <= most || isOneTile(width))
    return {std::max<int64_t>(rows, 1), width};
  // The last tile overlaps the one before it: take the height that computes the fewest rows twice, where a low tile
  // costs the row of b once more per row.
  int64_t best = most;
  auto cost = [&, mayBeLower = mayBeLower](int64_t height) {
    int64_t equal = llvm::divideCeil(rows, height) * (height + 1);
    return leastCost(equal, equal - (mayBeLower ? lowerTiles(rows, height, width) : 0));
  };
  for (int64_t height = most - 1; height >= std::max<int64_t>(1, most / 2); --height)
    if (cost(height) < cost(best) && !(sharesLast && width == 2 && height % 2))
      best = height;
  // Steps of joined words load little for what they multiply: high tiles of one vector take 1/30 longer than two, which
  // pays where they compute a sixteenth less.
  constexpr int64_t margin = 16;
  int64_t computed = llvm::divideCeil(rows, best) * best - (mayBeLower ? lowerTiles(rows, best, width) : 0);
  if (joinsWords && width == 2 && rows <= mostRows(1) && rows * (margin + 1) < computed * margin)
    return {rows, 1};
  return {best, width};
}

RegisterTile sinter::cpu::widenTile(const Target &target, RegisterTile tile, int64_t rows, int64_t widest,
                                    int64_t vectors, const TileLimits &limits, int64_t divided) {
  constexpr int64_t fewRows = 6; // whose tiles are wide already
  if (rows == ShapedType::kDynamic || rows <= fewRows)
    return tile;
  // Twice the time of a step of all tiles: multiply-adds twice, loads once.
  auto cost = [&](RegisterTile tile) {
    int64_t last = lastTileVectors(vectors, tile.vectors), others = (vectors - last) / tile.vectors;
    int64_t tiles = llvm::divideCeil(rows, tile.rows);
    auto all = [&](int64_t computed) {
      auto step = [&](int64_t width) { return 2 * computed * width + computed + tiles * width; };
      return others * step(tile.vectors) + step(last);
    };
    int64_t equal = tiles * tile.rows, lower = lowerTiles(rows, tile.rows, tile.vectors);
    return leastCost(all(equal), all(equal - lower));
  };
  bool hasFew = target.vectorRegisters <= 16;
  int64_t enough = hasFew ? 8 : 16; // accumulators that hide the latency of multiply-adds
  constexpr int64_t mostWide = 4;   // others load no less, and their columns are longer
  RegisterTile best = tile;
  for (int64_t width = tile.vectors + 1; width <= std::min(widest, mostWide); ++width) {
    if (divided % width != 0)
      continue;
    int64_t most = mostRowsOf(target, width, limits);
    if (limits.conflicting)
      most = std::min(most, target.l1Ways);
    for (int64_t height = std::min(most, rows); height * width >= enough; --height)
      if (RegisterTile other{height, width}; cost(other) < cost(best))
        best = other;
  }
  return best;
}

SmallVector<Value> sinter::cpu::zeroAccumulators(KernelFunction &fn, VectorType vectorType, int64_t count) {
  Value zero = arith::ConstantOp::create(fn.b, fn.b.getZeroAttr(vectorType));
  return SmallVector<Value>(count, zero);
}

bool sinter::cpu::canShareLast(const ProductForm &form, int64_t vectors, int64_t lanes, int64_t columnsOfLast) {
  return form.step == ProductForm::Step::fused && isFloat(form.sum) && vectors >= 2 && lanes >= 8 &&
         columnsOfLast <= lanes / 2;
}

SmallVector<Value> sinter::cpu::unshareLast(KernelFunction &fn, ValueRange accumulators, int64_t rows, int64_t vectors,
                                            VectorType vectorType) {
  int64_t half = vectorType.getNumElements() / 2;
  SmallVector<int64_t> high;
  for (int64_t lane = 0; lane < 2 * half; ++lane)
    high.push_back(half + lane % half);
  SmallVector<Value> all;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j + 1 < vectors; ++j)
      all.push_back(accumulators[i * (vectors - 1) + j]);
    Value shared = accumulators[rows * (vectors - 1) + i / 2];
    all.push_back(i % 2 ? vector::ShuffleOp::create(fn.b, shared, shared, high).getResult() : shared);
  }
  return all;
}

void sinter::cpu::prefetchAhead(KernelFunction &fn, const ProductForm &form, Value buffer, Value ahead, Value step,
                                int64_t stride) {
  ImplicitLocOpBuilder &b = fn.b;
  auto noWrap = arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
  auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, x, y, noWrap).getResult(); };
  Value first = add(ahead, arith::MulIOp::create(b, step, fn.index(stride), noWrap));
  int64_t line = fn.spec.target().cacheLineBytes / widthOf(form.column);
  for (int64_t at = 0; at < stride; at += line)
    memref::PrefetchOp::create(b, buffer, ValueRange{add(first, fn.index(at))}, /*isWrite=*/false, /*localityHint=*/2,
                               /*isDataCache=*/true);
}

static int64_t heldOf(const Target &target, const MicroOperands &operands) {
  int64_t own = operands.ownVectors(), sums = static_cast<int64_t>(operands.aRows.size()) * own + operands.otherSums;
  bool isMasked = llvm::any_of(operands.bMasks, [](Value mask) { return mask != nullptr; });
  return isMasked || operands.sharesLast ? own * operands.form.joined : heldVectors(target, operands.form, sums, own);
}

/// A vector of `buffer` that no other load stands for: registers are too few for it, and it becomes the operand in
/// memory of the one instruction that takes it.
static Value loadAgain(ImplicitLocOpBuilder &b, VectorType type, Value buffer, Value at) {
  Value base = pointerTo(b, buffer), distance = arith::IndexCastOp::create(b, b.getI64Type(), at);
  Type element = type.getElementType();
  Value from = LLVM::GEPOp::create(b, base.getType(), element, base, ArrayRef<LLVM::GEPArg>{distance});
  return LLVM::LoadOp::create(b, type, from, /*alignment=*/element.getIntOrFloatBitWidth() / 8, /*isVolatile=*/true);
}

namespace {
/// What a step reads of one of its words.
struct Word {
  Value place;                           // of its elements in a, from where a row begins
  SmallVector<Value> columns;            // of its vectors in b
  SmallVector<SmallVector<Value>> parts; // of those of them that are in registers
  llvm::MapVector<Value, Value> orders;  // of panels, in all lanes
};
} // namespace

SmallVector<Value> sinter::cpu::emitMicroKernel(KernelFunction &fn, const MicroOperands &operands,
                                                VectorType vectorType, Value low, Value high, ValueRange accumulators) {
  ImplicitLocOpBuilder &b = fn.b;
  const ProductForm &form = operands.form;
  int64_t own = operands.ownVectors(), rows = operands.aRows.size(), half = vectorType.getNumElements() / 2;
  int64_t held = heldOf(fn.spec.target(), operands);
  bool waitsForLoads = held < own * form.joined && form.step == ProductForm::Step::fused;
  SmallVector<int64_t> twice, halves; // lanes of one half vector, and of the halves of two vectors
  for (int64_t lane = 0; lane < 2 * half; ++lane) {
    twice.push_back(lane % half);
    halves.push_back(lane < half ? lane : 2 * half + lane);
  }
  auto add = [&](Value x, Value y) {
    return arith::AddIOp::create(b, x, y, arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw)
        .getResult();
  };
  auto mul = [&](Value x, Value y) {
    return arith::MulIOp::create(b, x, y, arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw)
        .getResult();
  };
  auto bType = VectorType::get({vectorType.getNumElements() * form.kPack}, typeOf(form.column, b.getContext()));
  int64_t bytes = bType.getNumElements() * widthOf(form.column), line = fn.spec.target().cacheLineBytes;
  // Steps that wait for loads anyway ask for nothing, nor do those that would ask far more often than once in many
  // bytes: on Zen 3 memory brings a third less then.
  int64_t apart = operands.prefetchesIntoL2 ? std::max(kPrefetchedBytes, line) : line;
  bool areFew = !operands.prefetchesIntoL2 || 2 * own * form.joined * bytes >= apart;
  bool asks = operands.prefetchRows && !waitsForLoads && areFew;
  return fn.loop(low, high, form.joined, accumulators, [&](Value first, ValueRange carried) {
    SmallVector<Value> sums(carried);
    SmallVector<Word> words;
    for (int64_t which = 0; which < form.joined; ++which) {
      Word &word = words.emplace_back();
      Value k = which ? add(first, fn.index(which)) : first;
      Value bOffset = mul(k, operands.bStride);
      word.place = operands.aStride ? mul(k, operands.aStride) : k;
      for (auto [j, vector] : llvm::enumerate(operands.bVectors)) {
        Value at = add(vector, bOffset), loaded;
        Value mask = j < operands.bMasks.size() ? operands.bMasks[j] : Value();
        if (operands.sharesLast && static_cast<int64_t>(j) == own) {
          auto halfType = VectorType::get({half}, bType.getElementType());
          loaded = vector::LoadOp::create(b, halfType, operands.b, ValueRange{at});
          loaded = vector::ShuffleOp::create(b, loaded, loaded, twice);
        } else if (mask) {
          Value zero = arith::ConstantOp::create(b, b.getZeroAttr(bType));
          loaded = vector::MaskedLoadOp::create(b, bType, operands.b, ValueRange{at}, mask, zero);
        } else if (which * own + static_cast<int64_t>(j) < held) {
          loaded = vector::LoadOp::create(b, bType, operands.b, ValueRange{at});
        }
        word.columns.push_back(at);
        word.parts.push_back(loaded ? partsOf(b, form, loaded) : SmallVector<Value>());
        if (asks && static_cast<int64_t>(j) * bytes % apart == 0) { // the first vector of a line, or of many
          Value ahead = add(at, mul(fn.index(operands.prefetchRows), operands.bStride));
          memref::PrefetchOp::create(b, operands.b, ValueRange{ahead}, /*isWrite=*/false,
                                     /*localityHint=*/operands.prefetchesIntoL2 ? 2 : 3, /*isDataCache=*/true);
        }
      }
      if (operands.ahead)
        prefetchAhead(fn, form, operands.b, operands.ahead, k, operands.aheadStride);
      if (operands.prefetchSteps)
        for (Value row : {operands.aRows.front(), operands.aRows.back()}) {
          Value ahead = add(add(row, word.place), mul(fn.index(operands.prefetchSteps), operands.aStride));
          memref::PrefetchOp::create(b, operands.a, ValueRange{ahead}, /*isWrite=*/false, /*localityHint=*/2,
                                     /*isDataCache=*/true);
        }
      if (!form.inOrder)
        continue;
      Value ordered = operands.firstOrder ? arith::SubIOp::create(b, k, operands.firstOrder).getResult() : k;
      for (Value order : operands.bOrders)
        if (!word.orders.contains(order)) {
          Value at = add(order, mul(ordered, fn.index(form.kPack)));
          word.orders[order] = spreadOf(b, form, operands.b, at, 0, vectorType.getNumElements());
        }
      word.place = operands.groupAt
                       ? operands.groupAt(k)
                       : mul(arith::DivUIOp::create(b, k, fn.index(form.group / form.kPack)), fn.index(form.group));
    }
    // What each vector is multiplied with of word `word`, in row `i`.
    auto spread = [&](int64_t i, const Word &word, int64_t part) {
      Value at = add(operands.aRows[i], word.place);
      if (!form.inOrder)
        return SmallVector<Value>(own, spreadOf(b, form, operands.a, at, part, vectorType.getNumElements()));
      llvm::MapVector<Value, Value> inOrders;
      for (auto [order, bytes] : word.orders)
        inOrders[order] = spreadInOrder(b, form, operands.a, at, bytes);
      return llvm::map_to_vector(operands.bOrders, [&](Value order) { return inOrders[order]; });
    };
    auto columnOf = [&](const Word &word, int64_t j, int64_t part) {
      return word.parts[j].empty() ? loadAgain(b, bType, operands.b, word.columns[j]) : word.parts[j][part];
    };
    const Word &last = words.back();
    for (int64_t part = 0; part < form.parts(); ++part) {
      Value before; // the row before the one at hand, where two share accumulators
      for (int64_t i = 0; i < rows; ++i) {
        auto spreads = llvm::map_to_vector(words, [&](const Word &word) { return spread(i, word, part); });
        for (int64_t j = 0; j < own; ++j) {
          Value joined, &sum = sums[i * own + j];
          for (auto [word, x] : llvm::zip(ArrayRef(words).drop_back(), spreads)) {
            Value pairs = pairsOfBytes(b, x[j], columnOf(word, j, part));
            joined = joined ? arith::AddIOp::create(b, joined, pairs).getResult() : pairs;
          }
          sum = multiplyAdd(b, form, spreads.back()[j], columnOf(last, j, part), sum, joined);
        }
        if (operands.sharesLast && i % 2) {
          Value &sum = sums[rows * own + i / 2];
          Value both = vector::ShuffleOp::create(b, before, spreads.back().front(), halves);
          sum = multiplyAdd(b, form, both, last.parts[own][part], sum);
        }
        before = spreads.back().front();
      }
    }
    return sums;
  });
}

SmallVector<Value> sinter::cpu::emitExtraWords(KernelFunction &fn, MicroOperands operands, VectorType vectorType,
                                               Value words, ValueRange accumulators,
                                               function_ref<Value(Value)> offsetOf) {
  ImplicitLocOpBuilder &b = fn.b;
  const ProductForm &form = operands.form;
  SmallVector<Value> sums(accumulators);
  if (form.extras == 0)
    return sums;
  operands.prefetchRows = operands.prefetchSteps = 0;
  operands.ahead = Value();
  if (!form.inOrder)
    operands.firstOrder = words;
  operands.form.joined = 1;
  operands.form.inOrder = true;
  Value end = arith::AddIOp::create(b, words, fn.index(form.extras));
  size_t count = operands.bVectors.size(), rows = operands.aRows.size();
  SmallVector<Value> all(operands.bVectors), orders(operands.bOrders);
  for (size_t first = 0, next; first < count; first = next) { // vectors of one panel
    for (next = first + 1; next < count && orders[next] == orders[first];)
      ++next;
    operands.bVectors.assign(all.begin() + first, all.begin() + next);
    operands.bOrders.assign(orders.begin() + first, orders.begin() + next);
    operands.groupAt = [&](Value k) {
      Value place = arith::AddIOp::create(b, k, fn.index(form.extras)); // behind the orders
      if (operands.firstOrder)
        place = arith::SubIOp::create(b, place, operands.firstOrder);
      Value at = arith::AddIOp::create(b, orders[first], arith::MulIOp::create(b, place, fn.index(form.kPack)));
      Value bytes = vector::LoadOp::create(b, VectorType::get({form.kPack}, b.getI8Type()), operands.b, ValueRange{at});
      Value word = vector::BitCastOp::create(b, VectorType::get({1}, b.getI32Type()), bytes);
      return offsetOf(arith::IndexCastOp::create(b, b.getIndexType(), vector::ExtractOp::create(b, word, 0)));
    };
    SmallVector<size_t> places;
    for (size_t i = 0; i < rows; ++i)
      llvm::append_range(places, llvm::seq(i * count + first, i * count + next));
    auto own = llvm::map_to_vector(places, [&](size_t place) { return sums[place]; });
    for (auto [place, sum] : llvm::zip(places, emitMicroKernel(fn, operands, vectorType, words, end, own)))
      sums[place] = sum;
  }
  return sums;
}

SmallVector<Value> sinter::cpu::emitBlockedMicroKernel(KernelFunction &fn, const MicroOperands &operands,
                                                       VectorType vectorType, Value low, Value high, DimExpr size,
                                                       ValueRange starts) {
  int64_t count = tileAccumulators(static_cast<int64_t>(operands.aRows.size()),
                                   static_cast<int64_t>(operands.bVectors.size()), operands.sharesLast);
  SmallVector<Value> zeros = zeroAccumulators(fn, vectorType, count), first(zeros);
  if (!starts.empty())
    first.assign(starts.begin(), starts.end());
  if (!operands.form.sumsByBlocks())
    return emitMicroKernel(fn, operands, vectorType, low, high, first);
  return sumRange(
      fn, low, high, size, operands.form.stepsOfBlock(kProductBlock), first, zeros,
      [&](Value x, Value y) { return joinFloats(fn.b, x, y); },
      [&](Value from, Value to, ValueRange sums) { return emitMicroKernel(fn, operands, vectorType, from, to, sums); });
}

SmallVector<Value> sinter::cpu::transposeVectors(ImplicitLocOpBuilder &b, ArrayRef<Value> rows) {
  int64_t lanes = rows.size();
  assert(llvm::isPowerOf2_64(lanes) && "lanes are a power of two");
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < lanes / 2; ++i) {
    low.append({i, lanes + i});
    high.append({lanes / 2 + i, lanes + lanes / 2 + i});
  }
  // Interleaving rows i and i + lanes/2 rotates the combined index (row, column) by one bit; log2(lanes) rounds swap
  // the two halves.
  SmallVector<Value> current(rows);
  for (int64_t round = 1; round < lanes; round *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < lanes / 2; ++i) {
      next.push_back(vector::ShuffleOp::create(b, current[i], current[i + lanes / 2], low));
      next.push_back(vector::ShuffleOp::create(b, current[i], current[i + lanes / 2], high));
    }
    current = std::move(next);
  }
  return current;
}

/// What follows the product, for vector `j` of row `row` of a tile, and the stores of the results.
static void finishVector(KernelFunction &fn, Value root, Value row, int64_t j, Value accumulator,
                         function_ref<SmallVector<LaneIndex>(KernelElements &, Value)> rowIndex, Value column,
                         function_ref<Value(Value)> mask) {
  ImplicitLocOpBuilder &b = fn.b;
  int64_t lanes = cast<VectorType>(accumulator.getType()).getNumElements();
  KernelElements elements(fn, lanes);
  Value at = arith::AddIOp::create(b, column, fn.index(j * lanes));
  elements.mask = mask(at);
  elements.install(root, [&](ArrayRef<LaneIndex>) {
    return narrow(b, b.getLoc(), accumulator, getElementTypeOrSelf(root.getType()));
  });
  SmallVector<LaneIndex> index = rowIndex(elements, row);
  index.back() = {at, 1, nullptr};
  elements.storeResultsAfterReads(index);
}

void sinter::cpu::prefetchEpilogue(KernelFunction &fn, Operation *root, ArrayRef<Value> places, int64_t vectors,
                                   int64_t lanes) {
  KernelSpec &spec = fn.spec;
  SmallVector<std::pair<Value, bool>> buffers;
  for (BlockArgument argument : spec.body().getArguments())
    if (!llvm::is_contained(root->getOperands(), argument) && spec.sizes->sameShape(argument, root->getResult(0)) &&
        spec.kernel.stridesOf(argument.getArgNumber()).empty())
      buffers.emplace_back(fn.input(argument.getArgNumber()), false);
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    if (spec.kernel.stridesOf(spec.kernel.getNumOperands() + i).empty())
      buffers.emplace_back(fn.result(i), true);
  // Where rows are whole tiles, vectors of one line are asked for once.
  DimExpr row = spec.sizes->dims(root->getResult(0)).back();
  bool isWhole = row.isConstant() && row.constant() % (vectors * lanes) == 0;
  int64_t line = spec.target().cacheLineBytes;
  for (Value place : places)
    for (int64_t j = 0; j < vectors; ++j) {
      Value at = arith::AddIOp::create(fn.b, place, fn.index(j * lanes));
      for (auto [buffer, isWrite] : buffers) {
        int64_t width = byteWidth(cast<MemRefType>(buffer.getType()).getElementType());
        if (!isWhole || j * lanes * width % line == 0)
          memref::PrefetchOp::create(fn.b, buffer, ValueRange{at}, isWrite, /*localityHint=*/3, /*isDataCache=*/true);
      }
    }
}

void sinter::cpu::emitHotEpilogue(KernelFunction &fn, Value root, Value hot, Value rows, int64_t vectors,
                                  VectorType vectorType,
                                  function_ref<SmallVector<LaneIndex>(KernelElements &, Value)> rowIndex, Value column,
                                  function_ref<Value(Value)> mask, function_ref<Value(Value)> place) {
  ImplicitLocOpBuilder &b = fn.b;
  int64_t lanes = vectorType.getNumElements();
  int64_t together = std::max<int64_t>(kPartsTogether / vectors, 1);
  loopOfParts(fn, fn.index(0), rows, 1, together, vectors, [&](Value row) {
    Value first = arith::MulIOp::create(b, place ? place(row) : row, fn.index(vectors * lanes));
    for (int64_t j = 0; j < vectors; ++j) {
      Value from = arith::AddIOp::create(b, first, fn.index(j * lanes));
      Value accumulator = vector::LoadOp::create(b, vectorType, hot, ValueRange{from});
      finishVector(fn, root, row, j, accumulator, rowIndex, column, mask);
    }
  });
}

void sinter::cpu::emitTileEpilogue(KernelFunction &fn, Value root, ArrayRef<Value> accumulators, int64_t rows,
                                   int64_t vectors, VectorType vectorType,
                                   function_ref<SmallVector<LaneIndex>(KernelElements &, Value)> rowIndex, Value column,
                                   function_ref<Value(Value)> mask, Value results, int64_t group) {
  ImplicitLocOpBuilder &b = fn.b;
  int64_t lanes = vectorType.getNumElements();
  // A long epilogue is a second loop over the hot tile: its code exists once, not once per accumulator. That of
  // quantized results has more ops, but each is an instruction or few.
  constexpr int64_t fewOps = 4, fewAdditions = 16, longFunction = 12;
  int64_t ops = 0, additions = 0;
  bool hasFunctions = false;
  for (Operation &op : fn.spec.body().without_terminator())
    if (isa<Pointwise>(op)) {
      ++ops;
      int64_t cost = elementCost(&op);
      additions += cost;
      hasFunctions |= cost >= longFunction;
    }
  if (ops <= fewOps || (additions <= fewAdditions && !hasFunctions)) {
    auto finishRow = [&](int64_t i) {
      for (int64_t j = 0; j < vectors; ++j)
        finishVector(fn, root, fn.index(i), j, accumulators[i * vectors + j], rowIndex, column, mask);
    };
    for (int64_t first = 0; first < rows; first += results ? group : rows) {
      int64_t end = results ? std::min(first + group, rows) : rows;
      auto finishGroup = [&] { llvm::for_each(llvm::seq(first, end), finishRow); };
      if (!results || first == 0) {
        finishGroup();
        continue;
      }
      Value holds = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, results, fn.index(first));
      fn.branch(holds, finishGroup, [] {});
    }
    return;
  }
  Value hot;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&fn.function.getBody().front());
    auto type = MemRefType::get({static_cast<int64_t>(accumulators.size()) * lanes}, vectorType.getElementType());
    hot = memref::AllocaOp::create(b, type, b.getI64IntegerAttr(64));
  }
  for (auto [i, accumulator] : llvm::enumerate(accumulators))
    vector::StoreOp::create(b, accumulator, hot, ValueRange{fn.index(i * lanes)});
  emitHotEpilogue(fn, root, hot, results ? results : fn.index(rows), vectors, vectorType, rowIndex, column, mask);
}
