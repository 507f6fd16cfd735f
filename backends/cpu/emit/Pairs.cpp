// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transposes of 16-bit floats that leave pairs side by side, as filters are brought into the order that instructions
// for bf16 multiply (ir/FilterOrder.h): [..., O, 2], where the axis of two lay anywhere. A pair is a word of 32 bits.
// Words are made of two runs that are a fixed distance apart, or read where both lie together, and then are turned in
// registers as f32 are (Transpose.cpp).
//
//   [O, C / 2, 2, taps]  ->  [taps, C / 2, O, 2]     for each pair of channels a block of O by all taps is turned
//   [O / 2, 2, C, taps]  ->  [taps, O / 2, C, 2]     for each pair of O a block of C by all taps
//   [taps, C / 2, 2, O]  ->  [taps, C / 2, O, 2]     two rows become one, nothing is turned
//
//   chunk     a few (place on other axes, block of lanes), all of the run

#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/Moves.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {
/// An axis of words: its size, and its distances in the operand and in the result, in 16-bit elements.
struct WordAxis {
  int64_t size, from, to;
};

struct WordMoves {
  BlockArgument operand;
  int64_t start = 0;         // of the operand's element that is the result's first
  int64_t pair = 0;          // from the first of a pair to the second
  WordAxis lanes{1, 0, 0};   // next to the last axis of the result
  SmallVector<WordAxis> run; // contiguous words of the operand, ascending, the last one fastest; none where lanes are
  SmallVector<WordAxis> outer;

  int64_t runLength() const {
    int64_t length = 1;
    for (const WordAxis &axis : run)
      length *= axis.size;
    return length;
  }
};
} // namespace

static std::optional<WordMoves> findWordMoves(KernelSpec &spec) {
  std::optional<Moves> moves = findMoves(spec);
  if (!moves || moves->padding)
    return std::nullopt;
  auto type = cast<RankedTensorType>(moves->operand.getType());
  int64_t rank = type.getRank();
  if (!type.hasStaticShape() || type.getNumElements() == 0 || rank < 3)
    return std::nullopt;
  SmallVector<int64_t> sizes(rank), to(rank, 1);
  for (int64_t axis = 0; axis < rank; ++axis)
    sizes[moves->axes[axis]] = type.getDimSize(axis);
  for (int64_t k = rank - 2; k >= 0; --k)
    to[k] = to[k + 1] * sizes[k + 1];
  if (sizes.back() != 2)
    return std::nullopt;
  WordMoves words;
  words.operand = moves->operand;
  // From the fastest axis of the operand on; what follows a contiguous run that moves the same way joins it.
  int64_t from = 1, next = 0;
  for (int64_t axis = rank - 1; axis >= 0; --axis) {
    int64_t size = type.getDimSize(axis), place = moves->axes[axis];
    bool isReversed = moves->reversed[axis];
    if (isReversed && place == rank - 1)
      return std::nullopt;
    if (isReversed)
      words.start += (size - 1) * to[place]; // in the result: runs of the operand ascend
    WordAxis found{size, from, isReversed ? -to[place] : to[place]};
    if (place == rank - 1) {
      words.pair = from;
      if (from == 1)
        next = 2;
    } else if (place == rank - 2) {
      if (isReversed)
        return std::nullopt;
      words.lanes = found;
    } else if (size != 1 && (from == next || (from == 1 && words.run.empty()))) {
      words.run.insert(words.run.begin(), found);
      next = from * size;
    } else if (size != 1) {
      words.outer.push_back(found);
    }
    from *= size;
  }
  bool areLanesContiguous = words.lanes.from == 1;
  if (areLanesContiguous) {
    words.outer.append(words.run);
    words.run.clear();
  }
  return words.run.empty() && !areLanesContiguous ? std::nullopt : std::optional(words);
}

namespace {
class PairsEmitter {
public:
  PairsEmitter(KernelFunction &fn, const WordMoves &moves, int64_t lanes)
      : fn(fn), b(fn.b), moves(moves), lanes(lanes), element(getElementTypeOrSelf(moves.operand.getType())),
        source(fn.input(moves.operand.getArgNumber())), target(fn.result(0)) {}

  EmittedKernel emit() {
    DimContext &dims = fn.spec.dims;
    int64_t blocks = llvm::divideCeil(moves.lanes.size, lanes), units = blocks, run = moves.runLength();
    for (const WordAxis &axis : moves.outer)
      units *= axis.size;
    int64_t perChunk = std::max<int64_t>(1, fn.spec.schedule().getChunk() / (lanes * run));
    fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
      Value low = mul(chunk, fn.index(perChunk));
      Value high = arith::MinSIOp::create(b, add(low, fn.index(perChunk)), fn.index(units));
      fn.loop(low, high, 1, [&](Value unit) { emitUnit(unit, blocks); });
    });
    fn.finish();

    EmittedKernel emitted;
    emitted.function = fn.function;
    emitted.chunks = dims.constant(llvm::divideCeil(units, perChunk));
    emitted.estimatedNs = fn.spec.costs().turnedNs * static_cast<double>(units * lanes * run);
    return emitted;
  }

private:
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }

  /// Adds to `from` and `to` where the row-major position `flat` on `axes` is.
  void place(ArrayRef<WordAxis> axes, Value flat, Value &from, Value &to) {
    Dims sizes;
    for (const WordAxis &axis : axes)
      sizes.push_back(fn.spec.dims.constant(axis.size));
    for (auto [axis, position] : llvm::zip(axes, fn.delinearize(flat, sizes))) {
      from = add(from, mul(position, fn.index(axis.from)));
      to = add(to, mul(position, fn.index(axis.to)));
    }
  }

  Value load(Value at, int64_t count, Value mask) {
    auto type = VectorType::get({count}, element);
    if (!mask)
      return vector::LoadOp::create(b, type, source, ValueRange{at});
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
    return vector::MaskedLoadOp::create(b, type, source, ValueRange{at}, mask, zero);
  }

  /// `lanes` words from `at` on, `count` of which are there.
  Value loadWords(Value at, int64_t count) {
    bool areTogether = moves.pair == 1;
    int64_t width = areTogether ? 2 * lanes : lanes;
    Value mask, pairs;
    if (count < lanes)
      mask = vector::CreateMaskOp::create(b, VectorType::get({width}, b.getI1Type()),
                                          ValueRange{fn.index(areTogether ? 2 * count : count)});
    if (areTogether) {
      pairs = load(at, width, mask);
    } else {
      Value first = load(at, width, mask), second = load(add(at, fn.index(moves.pair)), width, mask);
      pairs = vector::InterleaveOp::create(b, first, second);
    }
    return vector::BitCastOp::create(b, VectorType::get({lanes}, b.getI32Type()), pairs);
  }

  void store(Value words, Value at) {
    Value pairs = vector::BitCastOp::create(b, VectorType::get({2 * lanes}, element), words);
    vector::StoreOp::create(b, pairs, target, ValueRange{at});
  }

  /// One block of lanes, all of the run.
  void emitUnit(Value unit, int64_t blocks) {
    Value outer = arith::DivUIOp::create(b, unit, fn.index(blocks));
    Value block = arith::SubIOp::create(b, unit, mul(outer, fn.index(blocks)));
    // The last block overlaps the one before it.
    Value lane = arith::MinSIOp::create(b, mul(block, fn.index(lanes)), fn.index(moves.lanes.size - lanes));
    Value from = mul(lane, fn.index(moves.lanes.from)), to = add(fn.index(moves.start), mul(lane, fn.index(2)));
    place(moves.outer, outer, from, to);
    if (moves.run.empty())
      return store(loadWords(from, lanes), to);
    int64_t run = moves.runLength(), distance = moves.run.back().from;
    fn.loop(fn.index(0), fn.index(run), lanes, [&](Value step) {
      Value first = run < lanes ? step : arith::MinSIOp::create(b, step, fn.index(run - lanes)).getResult();
      SmallVector<Value> rows;
      for (int64_t i = 0; i < lanes; ++i) {
        Value row = add(from, fn.index(i * moves.lanes.from));
        rows.push_back(loadWords(add(row, mul(first, fn.index(distance))), std::min(run, lanes)));
      }
      SmallVector<Value> turned = transposeVectors(b, rows);
      for (auto [i, words] : llvm::enumerate(ArrayRef(turned).take_front(run))) {
        Value unused = fn.index(0), at = to;
        place(moves.run, add(first, fn.index(static_cast<int64_t>(i))), unused, at);
        store(words, at);
      }
    });
  }

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  const WordMoves &moves;
  int64_t lanes;
  Type element;
  Value source, target;
};
} // namespace

Plan sinter::cpu::planPairs(KernelSpec &spec, ScheduleAttr given) {
  if (spec.kernel.getNumResults() != 1 || spec.target().vectorBytes < 16)
    return Plan::refuse("it has several results, or the target no vectors");
  Type element = getElementTypeOrSelf(spec.yielded(0));
  if (!element.isBF16() && !element.isF16())
    return Plan::refuse("it moves no pairs of 16-bit floats");
  std::optional<WordMoves> moves = findWordMoves(spec);
  if (!moves)
    return Plan::refuse("it does more than move pairs of static shape");
  int64_t lanes = spec.target().lanes(4);
  if (moves->lanes.size < lanesOr(given, lanes))
    return Plan::refuse("its axes are shorter than a vector");
  Plan plan;
  plan.setLanes(lanes, 4);
  plan.setChunk(spec.costs().transposedElements);
  return plan;
}

EmittedKernel sinter::cpu::emitPairs(KernelSpec &spec, ModuleOp module, StringRef name) {
  WordMoves moves = *findWordMoves(spec);
  int64_t lanes = spec.schedule().getLanes();
  KernelFunction fn(spec, module, name, {});
  return PairsEmitter(fn, moves, lanes).emit();
}
