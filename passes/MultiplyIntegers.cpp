// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products and convolutions whose operands stand in bytes, each with a scale and a zero point, as integer ones:
//
//   sum (a - za) sa (b - zb) sb = sa sb (sum a b - zb sum a - za sum (b - zb))
//
// The sums are exact in i32 and the last one is a constant where b is. What follows (a bias, an activation, the
// rounding to bytes) stays as it is written and becomes the kernel's epilogue. The result differs from the graph in f32
// by what that rounds: products of scaled bytes, their sum, and the scales, which are multiplied with each other first;
// those of results and of what is added to them, too, with the inverse scale of a rounding to bytes.
//
// Where the weights alone are bytes they stay so, as an operand that is converted, and sums are scaled; so do tables
// whose rows are taken.

#include "ir/Composer.h"
#include "ir/Constants.h"
#include "ir/Contraction.h"
#include "ir/Indexing.h"
#include "ir/Reduction.h"
#include "ir/Schedules.h"
#include "ir/Shape.h"
#include "passes/ByteProducts.h"
#include "passes/DeadOps.h"
#include "passes/Devices.h"
#include "passes/Float8Products.h"
#include "passes/Passes.h"
#include "passes/Quantized.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_MULTIPLYINTEGERS
#include "passes/Passes.h.inc"
} // namespace sinter

/// Scales whose products with sums of 31 bits are finite, and which are no denormals.
static bool areNormal(ArrayRef<double> scales) {
  return llvm::all_of(scales, [](double scale) { return std::abs(scale) >= 0x1p-126 && std::abs(scale) < 0x1p96; });
}

static void setCodes(Quantized &operand, const HostTensor &codes, Composer &b) {
  operand.codes = ConstantOp::create(b, codes.tensorType(), codes.toAttr("centred"));
}

/// A constant, as i8 without zeros where all of its differences are such numbers.
static void dropZeros(Quantized &operand, Composer &b) {
  std::optional<HostTensor> codes = operand.hasZeros() ? constantTensor(operand.codes) : std::nullopt;
  if (!codes)
    return;
  auto zeros = llvm::map_to_vector(operand.zeros, [](double zero) { return static_cast<int64_t>(zero); });
  std::optional<HostTensor> centred = withoutZeros(*codes, zeros, operand.axis);
  if (!centred)
    return;
  setCodes(operand, *centred, b);
  operand.zeros = {0};
}

/// A constant of unsigned bytes, as signed ones: CPUs multiply unsigned bytes by such, and few are as great as can be.
static void makeSigned(Quantized &operand, Composer &b) {
  bool isUnsigned = elementTypeOf(operand.codes).isUnsignedInteger(8);
  std::optional<HostTensor> codes = isUnsigned ? constantTensor(operand.codes) : std::nullopt;
  if (!codes || !operand.hasZeros())
    return;
  setCodes(operand, withOtherSign(*codes), b);
  for (double &zero : operand.zeros)
    zero -= 128;
}

/// Numbers of one or of several places as a tensor of rank 0 or 1.
static Value listOf(Composer &b, Type element, ArrayRef<double> numbers) {
  if (numbers.size() == 1)
    return b.scalar(element, numbers.front());
  HostTensor list(element, {static_cast<int64_t>(numbers.size())});
  list.assignFloats(numbers);
  return ConstantOp::create(b, list.tensorType(), list.toAttr("scales"));
}

/// `numbers` along `axis` of `like`, or everywhere.
static Value spreadNumbers(Composer &b, Value like, ArrayRef<double> numbers, int64_t axis) {
  Value list = listOf(b, elementTypeOf(like), numbers);
  return b.spread(list, like, numbers.size() == 1 ? ArrayRef<int64_t>() : ArrayRef<int64_t>(axis));
}

/// i32 sums times the product of scales in f32, rounded once; the scales of `b` run along `axis` of the sums.
static Value scaled(Composer &b, Value sums, double scale, ArrayRef<double> scales, int64_t axis) {
  std::vector<double> products;
  for (double other : scales)
    products.push_back(static_cast<float>(static_cast<float>(scale) * static_cast<float>(other)));
  Value numbers = b.convert(sums, b.getF32Type());
  return b.make<MulOp>(numbers, spreadNumbers(b, numbers, products, axis));
}

static bool fitsSums(int64_t terms, const Quantized &a, const Quantized &b) {
  return static_cast<double>(terms) * a.most() * b.most() < 0x1p31;
}

static bool areProductsNormal(const Quantized &a, const Quantized &b) {
  return llvm::all_of(
      a.scales, [&](double x) { return llvm::all_of(b.scales, [&](double y) { return areNormal({x, y, x * y}); }); });
}

//===- products of matrices ------------------------------------------------------------------===//

namespace {
/// One operand of a product: which axes of it are left in the result, and where.
struct Side {
  Quantized numbers;
  ArrayRef<int64_t> batch, contract;
  SmallVector<int64_t> places; // of the axes that are not summed, in their own order

  Side(Quantized numbers, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract, int64_t firstFree)
      : numbers(std::move(numbers)), batch(batch), contract(contract) {
    int64_t rank = tensorTypeOf(this->numbers.codes).getRank();
    for (int64_t axis : otherAxes(rank, contract)) {
      const auto *found = llvm::find(batch, axis);
      places.push_back(found != batch.end() ? found - batch.begin() : firstFree++);
    }
  }

  /// The axis of the result that `axis`, which is not summed, becomes; -1 for one that is.
  int64_t placeOf(int64_t axis) const {
    SmallVector<int64_t> left = otherAxes(tensorTypeOf(numbers.codes).getRank(), contract);
    const auto *found = llvm::find(left, axis);
    return found == left.end() ? -1 : places[found - left.begin()];
  }
};
} // namespace

/// Sums of codes less `zeros` over the summed axes, times `factors`, which run along `axis` of the result, in the shape
/// of `like`.
static Value correction(Composer &b, const Side &side, bool isCentred, ArrayRef<double> factors, int64_t axis,
                        Value like) {
  Value codes = b.convert(side.numbers.codes, b.getI32Type());
  if (isCentred && side.numbers.hasZeros())
    codes = b.make<SubOp>(codes, spreadNumbers(b, codes, side.numbers.zeros, side.numbers.axis));
  Value sums = b.reduce(codes, side.contract, Combiner::add);
  // One factor comes before the sums are repeated: constants stay as short as they are.
  if (axis < 0)
    return b.spread(b.make<MulOp>(sums, spreadNumbers(b, sums, factors, axis)), like, side.places);
  sums = b.spread(sums, like, side.places);
  return b.make<MulOp>(sums, spreadNumbers(b, like, factors, axis));
}

static Value multiplied(DotGeneralOp op, Quantized lhs, Quantized rhs, Composer &b) {
  int64_t terms = 1;
  for (int64_t axis : op.getLhsContract())
    terms =
        tensorTypeOf(op.getLhs()).isDynamicDim(axis) ? INT32_MAX : terms * tensorTypeOf(op.getLhs()).getDimSize(axis);
  dropZeros(rhs, b);
  dropZeros(lhs, b);
  if (elementTypeOf(lhs.codes).isUnsignedInteger(8))
    makeSigned(rhs, b);
  if (!fitsSums(terms, lhs, rhs) || !areProductsNormal(lhs, rhs))
    return {};
  auto batches = static_cast<int64_t>(op.getLhsBatch().size());
  int64_t rows = tensorTypeOf(op.getLhs()).getRank() - batches - static_cast<int64_t>(op.getLhsContract().size());
  Side left(lhs, op.getLhsBatch(), op.getLhsContract(), batches),
      right(rhs, op.getRhsBatch(), op.getRhsContract(), batches + rows);
  int64_t axis = rhs.isUniform() ? -1 : right.placeOf(rhs.axis);
  bool areKnown = lhs.isUniform() && (rhs.isUniform() || axis >= 0);
  if (!areKnown || !llvm::is_sorted(left.places) || !llvm::is_sorted(right.places))
    return {};
  Value sums = b.make<DotGeneralOp>(lhs.codes, rhs.codes, op.getLhsBatch(), op.getRhsBatch(), op.getLhsContract(),
                                    op.getRhsContract(), b.getI32Type());
  if (rhs.hasZeros())
    sums = b.make<SubOp>(sums, correction(b, left, /*isCentred=*/false, rhs.zeros, axis, sums));
  if (lhs.hasZeros())
    sums = b.make<SubOp>(sums, correction(b, right, /*isCentred=*/true, lhs.zeros, -1, sums));
  return scaled(b, sums, lhs.scales.front(), rhs.scales, axis);
}

/// x times constant bytes of one scale a column, as x times the bytes and the sums times the scales: kernels make
/// floats of bytes in registers.
static Value multipliedByBytes(DotGeneralOp op, Quantized rhs, Composer &b) {
  dropZeros(rhs, b);
  if (!matchPattern(rhs.codes, m_Constant()) || rhs.hasZeros() || !areNormal(rhs.scales) || !op.getRhsBatch().empty())
    return {};
  int64_t rank = op.getType().getRank();
  bool isColumn = rhs.isUniform() || !llvm::is_contained(op.getRhsContract(), rhs.axis);
  if (tensorTypeOf(rhs.codes).getRank() != 2 || op.getRhsContract().size() != 1 || !isColumn)
    return {};
  auto product = cast<DotGeneralOp>(b.clone(*op));
  b.setInsertionPoint(product);
  product.getRhsMutable().assign(b.convert(rhs.codes, b.getF32Type()));
  b.setInsertionPointAfter(product);
  return b.make<MulOp>(product.getResult(), spreadNumbers(b, product.getResult(), rhs.scales, rank - 1));
}

//===- convolutions --------------------------------------------------------------------------===//

/// The input with its padding as elements, which stand for zeros.
static Value padded(ConvolutionOp op, const Quantized &input, Composer &b) {
  SmallVector<int64_t> low, high, interior(tensorTypeOf(input.codes).getRank(), 0);
  bool isFirst = op.getLayout() == ConvLayout::channels_first;
  auto ends = [&](ArrayRef<int64_t> spatial) {
    SmallVector<int64_t> all{0};
    if (isFirst)
      all.push_back(0);
    llvm::append_range(all, spatial);
    all.resize(interior.size(), 0);
    return all;
  };
  Value zero = b.scalar(elementTypeOf(input.codes), input.zeros.front());
  return b.make<PadOp>(input.codes, zero, ends(op.getLow()), ends(op.getHigh()), interior, PadMode::constant);
}

static Value convolved(ConvolutionOp op, const Quantized &input, Quantized filter, Composer &b) {
  RankedTensorType type = tensorTypeOf(op.getFilter());
  auto isOne = [](int64_t distance) { return distance == 1; };
  if (!type.hasStaticShape() || type.getDimSize(0) == 0 || !input.isUniform() ||
      (input.hasZeros() && !llvm::all_of(op.getInputDilation(), isOne)))
    return {};
  dropZeros(filter, b);
  if (filter.hasZeros() || filter.axis > 0 || !fitsSums(type.getNumElements() / type.getDimSize(0), input, filter) ||
      !areProductsNormal(input, filter))
    return {};
  bool isPadded = llvm::any_of(op.getLow(), [](int64_t n) { return n != 0; }) ||
                  llvm::any_of(op.getHigh(), [](int64_t n) { return n != 0; });
  auto moved = cast<ConvolutionOp>(b.clone(*op));
  moved->setOperands({input.codes, filter.codes});
  moved.setElementType(b.getI32Type());
  moved.getResult().setType(op.getType().clone(b.getI32Type()));
  if (input.hasZeros() && isPadded) {
    b.setInsertionPoint(moved);
    moved.getInputMutable().assign(padded(op, input, b));
    SmallVector<int64_t> none(op.getLow().size(), 0);
    moved.setLow(none);
    moved.setHigh(none);
    b.setInsertionPointAfter(moved);
  }
  Value sums = moved.getResult();
  int64_t channels = op.getLayout() == ConvLayout::channels_first ? 1 : op.getType().getRank() - 1;
  if (input.hasZeros()) {
    SmallVector<int64_t> summed = otherAxes(type.getRank(), {0});
    Value totals = b.reduce(b.convert(filter.codes, b.getI32Type()), summed, Combiner::add);
    totals = b.make<MulOp>(totals, spreadNumbers(b, totals, input.zeros, -1));
    sums = b.make<SubOp>(sums, b.spread(totals, sums, {channels}));
  }
  return scaled(b, sums, input.scales.front(), filter.scales, channels);
}

//===- bytes ---------------------------------------------------------------------------------===//

/// What is rounded to i8 as ui8, with a zero point that is greater by 128: vectors of CPUs multiply unsigned bytes by
/// signed ones, and weights are signed. The bits of what readers compute stay, but for NaN, whose code is open.
static void storeUnsigned(ConvertOp op, Quantization bytes) {
  auto isNumber = [](Operation *user) {
    return isa<ConvertOp>(user) && elementTypeOf(user->getResult(0)).isSignlessInteger(32);
  };
  SmallVector<Operation *> users(op->getUsers());
  if (llvm::none_of(users, isNumber))
    return;
  OpBuilder at(op->getBlock(), std::next(op->getIterator()));
  Composer b(op.getLoc(), at);
  bytes.zero += 128;
  Value codes = bytes.round(b, bytes.source(), b.getIntegerType(8, /*isSigned=*/false));
  Value number = b.convert(codes, b.getI32Type());
  auto less = [&](double zero) { return b.make<SubOp>(number, b.fill(zero, number)); };
  Value rest = b.convert(b.make<AddOp>(codes, b.fill(128, codes)), b.getIntegerType(8));
  for (Operation *user : users) {
    if (!isNumber(user)) {
      user->replaceUsesOfWith(op.getResult(), rest);
      continue;
    }
    for (Operation *reader : SmallVector<Operation *>(user->getUsers())) {
      auto centred = reader->getNumResults() == 1 ? splitNumber<SubOp>(reader->getResult(0)) : std::nullopt;
      if (centred && centred->first == user->getResult(0) && std::abs(centred->second) <= kMostZero)
        reader->getResult(0).replaceAllUsesWith(less(centred->second + 128));
    }
    user->getResult(0).replaceAllUsesWith(less(128));
  }
}

/// The codes of numbers that stand in bytes of the type `byte` already, with the scale and zero that they are rounded
/// with: (c - z) s / s is closer to c - z than to any other integer.
static Value knownCodes(const Quantization &bytes, Value number, Type byte, OpBuilder &b) {
  if (!areNormal(bytes.scale))
    return {};
  std::optional<Quantized> known = Quantized::of(number, b);
  if (!known || !known->isUniform() || elementTypeOf(known->codes) != byte || known->scales.front() != bytes.scale ||
      known->zeros.front() != bytes.zero)
    return {};
  return known->codes;
}

/// Codes that are known are not computed again, and what is joined first and then rounded to bytes is rounded first:
/// those who compute the parts do so.
static void reuseCodes(ConvertOp op, Quantization &bytes) {
  OpBuilder at(op);
  Composer b(op.getLoc(), at);
  Type byte = elementTypeOf(op.getResult());
  Value codes = knownCodes(bytes, bytes.source(), byte, b);
  auto join = bytes.source().getDefiningOp<ConcatenateOp>();
  if (!codes && join && join->hasOneUse() && bytes.division->hasOneUse()) {
    SmallVector<Value> parts;
    for (Value part : join.getOperands()) {
      Value known = knownCodes(bytes, part, byte, b);
      parts.push_back(known ? known : bytes.round(b, part, byte));
    }
    codes = b.make<ConcatenateOp>(parts, join.getAxis());
  }
  if (codes)
    op.getResult().replaceAllUsesWith(codes);
}

/// Conversions saturate, and a sum with 0 is the same integer: bounds and such sums are left out.
static void dropBounds(ConvertOp op, const Quantization &bytes) {
  op.getOperandMutable().assign(bytes.zero == 0 ? bytes.rounded : bytes.shifted);
}

/// Rows of a table of bytes, taken as bytes and made numbers then; unsigned ones, as what is rounded to bytes, where
/// nothing else reads the table.
static void gatherBytes(GatherOp op, bool areUnsigned) {
  OpBuilder at(op);
  std::optional<Quantized> table = Quantized::of(op.getOperand(), at);
  if (!table || !table->isUniform() || !matchPattern(table->codes, m_Constant()))
    return;
  Composer b(op.getLoc(), at);
  bool isAlone = op.getOperand().hasOneUse() && table->codes.hasOneUse();
  std::optional<HostTensor> codes = areUnsigned && isAlone ? constantTensor(table->codes) : std::nullopt;
  if (codes && codes->elementType().isSignlessInteger()) {
    setCodes(*table, withOtherSign(*codes), b);
    table->zeros.front() += 128;
  }
  auto rows = cast<GatherOp>(b.clone(*op));
  rows->setOperand(0, table->codes);
  rows.getResult().setType(op.getType().clone(elementTypeOf(table->codes)));
  Value numbers = b.convert(rows.getResult(), b.getI32Type());
  numbers = b.convert(b.make<SubOp>(numbers, spreadNumbers(b, numbers, table->zeros, -1)), b.getF32Type());
  op.getResult().replaceAllUsesWith(b.make<MulOp>(numbers, spreadNumbers(b, numbers, table->scales, -1)));
  op.erase();
}

/// How many ops factors are looked for behind.
static constexpr int kMostDepth = 6;

/// A constant, or computed from such alone.
static bool isKnown(Value value, int depth = kMostDepth) {
  Operation *op = value.getDefiningOp();
  return op && (matchPattern(value, m_Constant()) ||
                (depth > 0 && op->getNumOperands() > 0 && isPure(op) &&
                 llvm::all_of(op->getOperands(), [&](Value operand) { return isKnown(operand, depth - 1); })));
}

/// `value`, which is known, times `factor`. What a broadcast repeats is multiplied before.
static Value timesKnown(Value value, double factor, Composer &b) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    Operation *repeated = b.clone(*broadcast);
    b.setInsertionPoint(repeated);
    repeated->setOperand(0, timesKnown(broadcast.getOperand(), factor, b));
    b.setInsertionPointAfter(repeated);
    return repeated->getResult(0);
  }
  return b.make<MulOp>(value, b.fill(factor, value));
}

/// `value` times a positive `factor` that factors of its addends take over, rounded once less; null where not all do.
static Value timesFactors(Value value, double factor, Composer &b, int depth = kMostDepth) {
  if (isKnown(value))
    return timesKnown(value, factor, b);
  Operation *op = value.getDefiningOp();
  if (auto product = dyn_cast_or_null<MulOp>(op)) {
    std::optional<NumbersAlong> scales = numbersAlong(product.getRhs());
    bool areKept = scales && llvm::all_of(scales->numbers, [&](double scale) { return areNormal(scale * factor); });
    return areKept ? b.make<MulOp>(product.getLhs(), timesKnown(product.getRhs(), factor, b)) : Value();
  }
  if (depth == 0 || !value.hasOneUse() || !isa_and_nonnull<AddOp, MaxOp>(op))
    return {};
  Value left = timesFactors(op->getOperand(0), factor, b, depth - 1);
  Value right = left ? timesFactors(op->getOperand(1), factor, b, depth - 1) : Value();
  if (!right)
    return {};
  Operation *scaled = b.clone(*op);
  scaled->setOperands({left, right});
  return scaled->getResult(0);
}

/// x / s as x (1 / s) where x is a sum of `sums` and pointwise ops: its last bit is open. Where x is a sum of products
/// with known numbers, these are multiplied.
static void multiplyByInverse(Quantization &bytes, const llvm::SmallPtrSetImpl<Operation *> &open) {
  auto inverse = static_cast<float>(1 / bytes.scale);
  Operation *source = bytes.source().getDefiningOp();
  bool isPositive = inverse > 0; // the greatest of numbers would be the least
  if (!isPositive || !areNormal({bytes.scale, inverse}) || !source || !open.contains(source))
    return;
  OpBuilder at(bytes.division);
  Composer b(bytes.division.getLoc(), at);
  Value product = timesFactors(bytes.source(), inverse, b);
  if (!product)
    product = b.make<MulOp>(bytes.source(), b.fill(inverse, bytes.source()));
  bytes.division.getResult().replaceAllUsesWith(product);
  bytes.division.erase();
}

namespace {
class MultiplyIntegers : public sinter::impl::MultiplyIntegersBase<MultiplyIntegers> {
  void runOnOperation() override {
    TargetAttr target = targetOf(getOperation());
    bool areUnsigned = !hasDevices(getOperation()) && !(target && target.has("equal_byte_dots"));
    if (areUnsigned)
      for (ConvertOp op : conversions())
        if (std::optional<Quantization> bytes = Quantization::of(op))
          if (elementTypeOf(op.getResult()).isSignlessInteger(8))
            storeUnsigned(op, *bytes);
    SmallVector<GatherOp> gathers;
    getOperation().walk([&](GatherOp op) { gathers.push_back(op); });
    for (GatherOp op : gathers)
      gatherBytes(op, areUnsigned);
    for (ConvertOp op : conversions())
      if (std::optional<Quantization> bytes = Quantization::of(op))
        reuseCodes(op, *bytes);
    eraseDeadOps(getOperation());
    multiply<DotGeneralOp>([](DotGeneralOp op) { return std::pair(op.getLhs(), op.getRhs()); }, multiplied);
    multiply<ConvolutionOp>([](ConvolutionOp op) { return std::pair(op.getInput(), op.getFilter()); }, convolved);
    if (hasDevices(getOperation())) {
      formByteProducts(getOperation());
      formFloat8Products(getOperation());
    } else {
      keepBytes();
    }
    markPointwise();
    for (ConvertOp op : conversions())
      if (std::optional<Quantization> bytes = Quantization::of(op)) {
        dropBounds(op, *bytes);
        multiplyByInverse(*bytes, open);
      }
    open.clear();
  }

  /// Conversions to bytes that something reads.
  SmallVector<ConvertOp> conversions() {
    SmallVector<ConvertOp> found;
    getOperation().walk([&](ConvertOp op) {
      if (elementTypeOf(op.getResult()).isInteger(8) && !op->use_empty())
        found.push_back(op);
    });
    return found;
  }

  template <typename Op, typename Operands, typename Rewrite> void multiply(Operands operandsOf, Rewrite rewrite) {
    SmallVector<Op> ops;
    getOperation().walk([&](Op op) { ops.push_back(op); });
    for (Op op : ops) {
      if (!elementTypeOf(op.getResult()).isF32())
        continue;
      OpBuilder at(op);
      auto [x, y] = operandsOf(op);
      std::optional<Quantized> a = Quantized::of(x, at), b = a ? Quantized::of(y, at) : std::nullopt;
      Composer composer(op.getLoc(), at);
      Value result = b ? rewrite(op, *a, *b, composer) : Value();
      if (!result)
        continue;
      open.insert(result.getDefiningOp());
      op.getResult().replaceAllUsesWith(result);
      op.erase();
    }
  }

  void keepBytes() {
    SmallVector<DotGeneralOp> products;
    getOperation().walk([&](DotGeneralOp op) { products.push_back(op); });
    for (DotGeneralOp op : products) {
      OpBuilder at(op);
      Composer composer(op.getLoc(), at);
      std::optional<Quantized> weights =
          elementTypeOf(op.getLhs()).isF32() ? Quantized::of(op.getRhs(), at) : std::nullopt;
      if (Value result = weights ? multipliedByBytes(op, *weights, composer) : Value()) {
        op.getResult().replaceAllUsesWith(result);
        op.erase();
      }
    }
  }

  /// Pointwise ops of what `multiply` made.
  void markPointwise() {
    getOperation().walk([&](Operation *op) {
      if (isa<Pointwise>(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
            return operand.getDefiningOp() && open.contains(operand.getDefiningOp());
          }))
        open.insert(op);
    });
  }

  llvm::SmallPtrSet<Operation *, 16> open; // whose last bit is not what the graph says
};
} // namespace
