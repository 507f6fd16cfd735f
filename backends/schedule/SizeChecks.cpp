// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/SizeChecks.h"
#include "ir/Limits.h"
#include "ir/Ops.h"
#include "ir/Sparse.h"

#include "ir/Storage.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

namespace {

class Collector {
public:
  Collector(Operation *op, ShapeAnalysis &sizes, SmallVectorImpl<SizeCheck> &checks)
      : name(op->getName().stripDialect()), sizes(sizes), checks(checks) {}

  void run(Operation *op);

private:
  using Kind = SizeCheck::Kind;

  void require(Kind kind, DimExpr size, DimExpr wanted, const Twine &message) {
    if (!size || !wanted || size == wanted || (size.isConstant() && wanted.isConstant()))
      return;
    checks.push_back({kind, size, wanted, (name + " requires " + message).str()});
  }
  void requireEqual(DimExpr size, DimExpr wanted, const Twine &what) {
    require(Kind::Equal, size, wanted, "equal sizes " + what + ", got {} and {}");
  }
  void broadcast(BroadcastOp op) {
    Dims result = sizes.dims(op.getResult());
    for (auto [axis, size] : llvm::zip(op.getAxes(), sizes.dims(op.getOperand())))
      if (size && !(size.isConstant() && size.constant() == 1))
        require(Kind::EqualOrOne, size, result[axis],
                (result[axis].isConstant() && result[axis].constant() == 1
                     ? "an operand size of {} on result axis "
                     : "an operand size of 1 or {} on result axis ") +
                    Twine(axis) + ", got {}");
  }
  void pointwise(Operation *op) {
    if (op->getNumOperands() < 2)
      return;
    Dims first = sizes.dims(op->getOperand(0));
    for (Value operand : op->getOperands().drop_front())
      for (auto [axis, pair] : llvm::enumerate(llvm::zip(sizes.dims(operand), first)))
        requireEqual(std::get<0>(pair), std::get<1>(pair), "of its operands on axis " + Twine(axis));
  }
  void dot(DotGeneralOp op) {
    Dims lhs = sizes.dims(op.getLhs()), rhs = sizes.dims(op.getRhs());
    auto pairs = [&](ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
      for (auto [a, b] : llvm::zip(left, right))
        requireEqual(rhs[b], lhs[a], "of lhs axis " + Twine(a) + " and rhs axis " + Twine(b));
    };
    pairs(op.getLhsBatch(), op.getRhsBatch());
    pairs(op.getLhsContract(), op.getRhsContract());
  }
  void concatenate(ConcatenateOp op) {
    Dims first = sizes.dims(op.getOperands().front());
    for (Value operand : op.getOperands().drop_front())
      for (auto [axis, pair] : llvm::enumerate(llvm::zip(sizes.dims(operand), first)))
        if (axis != static_cast<uint64_t>(op.getAxis()))
          requireEqual(std::get<0>(pair), std::get<1>(pair), "on axis " + Twine(axis));
  }
  void reshape(ReshapeOp op) {
    Dims from = sizes.dims(op.getOperand()), to = sizes.dims(op.getResult());
    if (llvm::all_of(from, [](DimExpr e) { return bool(e); }) && llvm::all_of(to, [](DimExpr e) { return bool(e); })) {
      if (op.getShape()) // two sizes below 0 have a product that one would believe
        room(op.getResult());
      require(Kind::Equal, sizes.context().product(to), sizes.context().product(from), "sizes for {} elements, got {}");
    }
  }
  /// The leading axes of `updates` are those of `positions`.
  void updates(Value updates, Value positions, size_t axes) {
    Dims given = sizes.dims(updates), wanted = sizes.dims(positions);
    for (size_t axis = 0; axis < std::min({axes, given.size(), wanted.size()}); ++axis)
      requireEqual(given[axis], wanted[axis], "of positions and updates on axis " + Twine(axis));
  }
  void square(Value matrix) {
    Dims dims = sizes.dims(matrix);
    requireEqual(dims[dims.size() - 1], dims[dims.size() - 2], "in the last two axes");
  }
  void triangular(TriangularSolveOp op) {
    square(op.getMatrix());
    Dims matrix = sizes.dims(op.getMatrix()), rhs = sizes.dims(op.getRhs());
    for (size_t axis = 0; axis + 1 < rhs.size(); ++axis)
      requireEqual(rhs[axis], matrix[axis], "of matrix and right-hand side on axis " + Twine(axis));
  }
  void convolution(ConvolutionOp op) {
    Dims input = sizes.dims(op.getInput()), filter = sizes.dims(op.getFilter());
    size_t channels = op.getLayout() == ConvLayout::channels_first ? 1 : input.size() - 1; // of both
    DimContext &c = sizes.context();
    require(Kind::Equal, c.mul(c.constant(op.getGroups()), filter[channels]), input[channels],
            "filters for {} input channels, got {}");
  }
  /// Scale and bias have the sizes of the normalized axes.
  void layerNorm(LayerNormOp op) {
    Dims operand = sizes.dims(op.getOperand());
    for (auto [what, parameter] : {std::pair("scale", op.getScale()), std::pair("bias", op.getBias())})
      if (parameter)
        for (auto [k, size] : llvm::enumerate(sizes.dims(parameter)))
          requireEqual(size, operand[op.getAxis() + k],
                       "of operand and " + Twine(what) + " on axis " + Twine(op.getAxis() + k));
  }
  /// States have a row, and perhaps a length, for each of the sequence. (Weights of kernels are constants.)
  template <typename Cell> void cell(Cell op, std::initializer_list<Value> states) {
    DimExpr rows = sizes.dims(op.getX())[1];
    for (Value state : states)
      requireEqual(sizes.dims(state)[0], rows, "of the batch in sequence and state");
    if (op.getLengths())
      requireEqual(sizes.dims(op.getLengths())[0], rows, "of the batch in sequence and lengths");
  }
  /// Groups of heads are known. A size of the bias that is not known to be 1 is that of the scores.
  template <typename Op> void attention(Op op) {
    Dims query = sizes.dims(op.getQuery()), key = sizes.dims(op.getKey()), value = sizes.dims(op.getValue());
    size_t rows = query.size() - 2, depth = query.size() - 1;
    for (size_t axis = 0; axis < rows; ++axis) {
      requireEqual(key[axis], query[axis], "of query and key on axis " + Twine(axis));
      requireEqual(value[axis], key[axis], "of key and value on axis " + Twine(axis));
    }
    requireEqual(key[depth], query[depth], "of query and key on axis " + Twine(depth));
    requireEqual(value[rows], key[rows], "of key and value on axis " + Twine(rows));
    if (!op.getBias())
      return;
    Dims scores = query;
    scores[depth] = key[rows];
    for (auto [axis, size] : llvm::enumerate(sizes.dims(op.getBias())))
      if (size && !(size.isConstant() && size.constant() == 1))
        requireEqual(size, scores[axis], "of scores and bias on axis " + Twine(axis));
  }
  void scan(ScanOp op) {
    for (auto [k, sequence] : llvm::enumerate(op.getSequences()))
      requireEqual(sizes.dims(sequence)[op.getAxes()[k]], sizes.dims(op.getSequences()[0])[op.getAxes()[0]],
                   "of sequences");
  }
  /// Enough must remain of an axis that is padded with elements of its own (splitPadding).
  void pad(Value operand, PadMode mode, ArrayRef<DimExpr> low, ArrayRef<DimExpr> high) {
    DimContext &c = sizes.context();
    DimExpr zero = c.constant(0), one = c.constant(1);
    for (auto [axis, size] : llvm::enumerate(sizes.dims(operand))) {
      if (!size || !low[axis] || !high[axis])
        continue;
      if (mode == PadMode::constant) {
        require(Kind::AtLeast, c.add(size, c.add(low[axis], high[axis])), zero,
                "a result size of at least {}, got {} for axis " + Twine(axis));
        continue;
      }
      DimExpr rest = c.add(size, c.add(c.min(low[axis], zero), c.min(high[axis], zero)));
      DimExpr most = c.max(c.max(low[axis], high[axis]), zero), any = c.min(most, one);
      require(Kind::AtLeast, rest, mode == PadMode::reflect ? c.add(most, any) : any,
              "at least {} elements to take from on axis " + Twine(axis) + " in mode " + stringifyPadMode(mode) +
                  ", got {}");
    }
  }
  /// Where there are results there is an element to make them of.
  void resize(ResizeOp op) {
    DimContext &c = sizes.context();
    DimExpr least = c.min(c.product(sizes.dims(op.getResult())), c.constant(1));
    for (auto [axis, size] : llvm::enumerate(sizes.dims(op.getOperand())))
      if (size)
        require(Kind::AtLeast, size, least,
                "a size of at least {} to take elements from on axis " + Twine(axis) + ", got {}");
  }
  /// A window of the operand, or what replaces one.
  void window(Value operand, ArrayRef<DimExpr> window) {
    for (auto [axis, pair] : llvm::enumerate(llvm::zip(sizes.dims(operand), window)))
      require(Kind::AtLeast, std::get<0>(pair), std::get<1>(pair),
              "a size of at least {} on axis " + Twine(axis) + ", got {}");
  }

  /// A result may be larger than all memory, or have a size below 0, where its sizes are computed from what a tensor
  /// holds or from sizes of several operands.
  void room(Value result) {
    auto type = cast<RankedTensorType>(result.getType());
    Dims dims = sizes.dims(result);
    SmallVector<int64_t> open;
    for (auto [axis, size] : llvm::enumerate(dims)) {
      if (!size)
        return;
      if (!size.isConstant())
        open.push_back(static_cast<int64_t>(axis));
    }
    bool isAnOperands = llvm::any_of(result.getDefiningOp()->getOperands(), [&](Value operand) {
      return isa<RankedTensorType>(operand.getType()) && sizes.dims(operand) == dims;
    });
    if (open.empty() || isAnOperands)
      return;
    DimContext &context = sizes.context();
    Dims factors(dims);
    factors.push_back(context.constant(byteWidth(type.getElementType())));
    DimExpr first = dims[open.front()], last = dims[open.back()];
    std::string message = (name + " requires a result of sizes from 0 on and of at most " + Twine(kMaxTypeBytes) +
                           " bytes (kMaxTypeBytes), got size {} on axis " + Twine(open.front()))
                              .str();
    if (open.size() > 1)
      message += (" and {} on axis " + Twine(open.back())).str();
    checks.push_back({Kind::Room, last, first, message, factors});
  }

  StringRef name;
  ShapeAnalysis &sizes;
  SmallVectorImpl<SizeCheck> &checks;
};

} // namespace

void Collector::run(Operation *op) {
  auto number = [&](int64_t value) { return sizes.context().constant(value); };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](BroadcastOp op) { broadcast(op); })
      .Case([&](DotGeneralOp op) { dot(op); })
      .Case([&](ConcatenateOp op) { concatenate(op); })
      .Case([&](ReshapeOp op) { reshape(op); })
      .Case([&](ScanOp op) { scan(op); })
      .Case([&](ConvolutionOp op) { convolution(op); })
      .Case([&](LayerNormOp op) { layerNorm(op); })
      .Case([&](LstmOp op) { cell(op, {op.getH0(), op.getC0()}); })
      .Case<GruOp, RnnOp>([&](auto op) { cell(op, {op.getH0()}); })
      .Case([&](AttentionOp op) { attention(op); })
      .Case([&](AttentionGradientOp op) {
        attention(op);
        Dims query = sizes.dims(op.getQuery());
        for (Value rows : {op.getCotangent(), op.getLogSums(), op.getRowSums()}) {
          Dims given = sizes.dims(rows);
          for (size_t axis = 0; axis + 1 < query.size(); ++axis)
            requireEqual(given[axis], query[axis], "of query and cotangent on axis " + Twine(axis));
        }
      })
      .Case<CholeskyOp, DetOp>([&](auto op) { square(op.getOperand()); })
      .Case([&](TriangularSolveOp op) { triangular(op); })
      .Case([&](ScatterElementsOp op) {
        updates(op.getUpdates(), op.getPositions(), static_cast<size_t>(op.getPositions().getType().getRank()));
      })
      .Case([&](ScatterNdOp op) {
        updates(op.getUpdates(), op.getPositions(), static_cast<size_t>(op.getPositions().getType().getRank() - 1));
      })
      .Case([&](GatherNdOp op) {
        Dims operand = sizes.dims(op.getOperand()), positions = sizes.dims(op.getPositions());
        for (size_t axis = 0; axis < op.getBatchAxes(); ++axis)
          requireEqual(positions[axis], operand[axis], "of operand and positions on axis " + Twine(axis));
      })
      .Case([&](NonMaxSuppressionOp op) {
        Dims boxes = sizes.dims(op.getBoxes()), scores = sizes.dims(op.getScores());
        requireEqual(boxes[2], number(4), "of boxes on axis 2");
        requireEqual(scores[0], boxes[0], "of boxes and scores on axis 0");
        requireEqual(scores[2], boxes[1], "of boxes on axis 1 and scores on axis 2");
      })
      .Case([&](BagSumOp op) {
        require(Kind::AtLeast, sizes.dims(op.getSplits())[0], number(1), "splits with at least {} element, got {}");
        if (op.getWeights())
          updates(op.getWeights(), op.getPositions(), 1);
      })
      .Case([&](GatherElementsOp op) {
        Dims operand = sizes.dims(op.getOperand()), positions = sizes.dims(op.getPositions());
        for (size_t axis = 0; axis < operand.size(); ++axis)
          if (axis != static_cast<size_t>(op.getAxis()))
            require(Kind::AtLeast, operand[axis], positions[axis],
                    "a size of at least {}, that of the positions, on axis " + Twine(axis) + ", got {}");
      })
      .Case([&](CompressOp op) {
        require(Kind::AtLeast, sizes.dims(op.getOperand())[op.getAxis()], sizes.dims(op.getMask())[0],
                "a size of at least {}, that of the mask, on axis " + Twine(op.getAxis()) + ", got {}");
      })
      .Case([&](ArgReduceOp op) {
        require(Kind::AtLeast, sizes.dims(op.getOperand())[op.getAxis()], number(1),
                "a size of at least {} on axis " + Twine(op.getAxis()) + ", got {}");
      })
      .Case([&](TopKOp op) {
        require(Kind::AtLeast, sizes.dims(op.getOperand())[op.getAxis()], sizes.dims(op.getValues())[op.getAxis()],
                "a size of at least {} on axis " + Twine(op.getAxis()) + ", got {}");
      })
      .Case([&](PadOp op) {
        // No size is too small where nothing is removed; other modes take at least one element.
        auto isAdded = [](int64_t amount) { return amount >= 0; };
        if (op.getMode() != PadMode::constant || !llvm::all_of(op.getLow(), isAdded) ||
            !llvm::all_of(op.getHigh(), isAdded))
          if (llvm::all_of(op.getInterior(), [](int64_t between) { return between == 0; }))
            pad(op.getOperand(), op.getMode(), llvm::map_to_vector(op.getLow(), number),
                llvm::map_to_vector(op.getHigh(), number));
      })
      .Case([&](DynamicPadOp op) {
        std::optional<Dims> low = sizes.contents(op.getLow()), high = sizes.contents(op.getHigh());
        if (low && high)
          pad(op.getOperand(), op.getMode(), *low, *high);
      })
      .Case([&](GridSampleOp op) {
        DimContext &c = sizes.context();
        requireEqual(sizes.dims(op.getGrid())[0], sizes.dims(op.getOperand())[0], "of operand and grid on axis 0");
        requireEqual(sizes.dims(op.getGrid()).back(), number(op.getGrid().getType().getRank() - 2),
                     "of positions for the spatial axes");
        require(Kind::AtLeast, c.product(sizes.dims(op.getOperand())),
                c.min(c.product(sizes.dims(op.getResult())), number(1)), "an operand of at least {} element, got {}");
      })
      .Case([&](ResizeOp op) { resize(op); })
      .Case([&](DynamicSliceOp op) { window(op.getOperand(), llvm::map_to_vector(op.getSizes(), number)); })
      .Case([&](DynamicUpdateSliceOp op) { window(op.getOperand(), sizes.dims(op.getUpdate())); })
      .Default([&](Operation *op) {
        if (isa<Pointwise>(op))
          pointwise(op);
      });
  // These give no more elements than an operand has.
  if (!isa<Pointwise, ReshapeOp, StorageOp, TransposeOp, ReverseOp, SliceOp, RangeSliceOp, DynamicSliceOp, ReduceOp,
           ArgReduceOp, KernelOp>(op) &&
      op->getDialect() == op->getContext()->getLoadedDialect<SinterDialect>() && op->getNumRegions() == 0)
    for (Value result : op->getResults())
      if (isa<RankedTensorType>(result.getType()))
        room(result);
}

void schedule::collectSizeChecks(Operation *op, ShapeAnalysis &sizes, SmallVectorImpl<SizeCheck> &checks) {
  Collector(op, sizes, checks).run(op);
}
