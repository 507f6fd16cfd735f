// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/MatrixProduct.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/StridedView.h"
#include "backends/cuda/Gpus.h"
#include "ir/Contraction.h"
#include "ir/Float8.h"
#include "ir/Precision.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

cuda::ProductSide::~ProductSide() = default;

static bool isOne(DimExpr size) { return size.isConstant() && size.constant() == 1; }

//===- dot_general ------------------------------------------------------------------------------===//

namespace {
/// The axes of `all` that are in none of the lists.
SmallVector<int64_t> otherAxes(int64_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  SmallVector<int64_t> free;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!llvm::is_contained(batch, axis) && !llvm::is_contained(contract, axis))
      free.push_back(axis);
  return free;
}

class DotSide final : public ProductSide {
public:
  DotSide(cuda::KernelSpec &spec, Value operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract)
      : operand(operand), batch(batch), contract(contract) {
    type = getElementTypeOrSelf(operand);
    sizes = spec.sizes->dims(operand);
    free = otherAxes(static_cast<int64_t>(sizes.size()), batch, contract);
    std::optional<cpu::StridedView> view = cpu::viewOf(spec, memoryOf());
    kInner = lastIsSummed();
    if (!view)
      return;
    std::optional<cpu::MergedAxes> rows = cpu::mergeAxes(spec, *view, free),
                                   sums = cpu::mergeAxes(spec, *view, contract);
    if (!rows || !sums)
      return;
    DimExpr freeStep = spec.dims.resolve(rows->stride), sumStep = spec.dims.resolve(sums->stride);
    if (!isOne(freeStep) && !isOne(sumStep))
      return;
    // Where both could be, one of them is of size 1.
    if (isOne(freeStep) && isOne(sumStep))
      kInner = !isOne(spec.dims.resolve(sums->size));
    else
      kInner = isOne(sumStep);
    copied = view->input;
    freeStride = freeStep;
    sumStride = sumStep;
    panel = kInner ? Panel{sums->size, rows->size, freeStep, {}} : Panel{rows->size, sums->size, sumStep, {}};
    auto addBatches = [&](DimExpr size, DimExpr stride, std::optional<unsigned> axis) {
      stride = spec.dims.resolve(stride);
      if (!isOne(spec.dims.resolve(size)) && !(stride.isConstant() && stride.constant() == 0))
        panel->batches.push_back({size, stride, axis});
    };
    if (std::optional<cpu::MergedAxes> batches = cpu::mergeAxes(spec, *view, batch))
      addBatches(batches->size, batches->stride, std::nullopt);
    else
      for (auto [number, axis] : llvm::enumerate(batch))
        addBatches(sizes[axis], view->strides[axis], number);
    if (!isOne(spec.dims.resolve(kInner ? rows->size : sums->size)))
      steps.push_back(kInner ? freeStep : sumStep);
    for (int64_t axis : batch) {
      batchStrides.push_back(spec.dims.resolve(view->strides[axis]));
      if (!isOne(spec.dims.resolve(sizes[axis])))
        steps.push_back(batchStrides.back());
    }
  }

  Value element(cpu::KernelFunction &fn, cpu::KernelElements &elements, ArrayRef<Value> batchAt, Value freeAt, Value k,
                Value &) override {
    SmallVector<LaneIndex> index(sizes.size());
    auto place = [&](ArrayRef<int64_t> axes, ArrayRef<Value> at) {
      for (auto [axis, i] : llvm::zip(axes, at))
        index[axis] = elements.uniform(i);
    };
    place(batch, batchAt);
    place(free, fn.delinearize(freeAt, sizesOf(free)));
    place(contract, fn.delinearize(k, sizesOf(contract)));
    return elements.load(operand, index);
  }

  Value offset(cpu::KernelFunction &fn, ArrayRef<Value> batchAt, Value freeAt, Value k, Value &) override {
    ImplicitLocOpBuilder &b = fn.b;
    auto scaled = [&](Value i, DimExpr stride) -> Value { return arith::MulIOp::create(b, i, fn.materialize(stride)); };
    Value at = arith::AddIOp::create(b, scaled(freeAt, freeStride), scaled(k, sumStride));
    for (auto [i, stride] : llvm::zip(batchAt, batchStrides))
      at = arith::AddIOp::create(b, at, scaled(i, stride));
    return at;
  }

private:
  /// What the view is of: bytes of 8-bit floats, of which numbers of 16 bits are made, or the operand.
  Value memoryOf() {
    auto is16Bits = [](Type element) { return element.isF16() || element.isBF16(); };
    Value value = operand, list;
    if (auto convert = value.getDefiningOp<ConvertOp>(); convert && is16Bits(type))
      value = convert.getOperand();
    if (auto product = value.getDefiningOp<MulOp>()) {
      BroadcastOp right = spreadOf(product.getRhs()), spread = right ? right : spreadOf(product.getLhs());
      if (!spread || contract.size() != 1 || spread.getAxes() != ArrayRef(contract))
        return operand;
      list = spread.getOperand();
      value = right ? product.getLhs() : product.getRhs();
    }
    if (auto convert = value.getDefiningOp<ConvertOp>(); convert && is16Bits(getElementTypeOrSelf(value)))
      value = convert.getOperand();
    auto decode = value.getDefiningOp<DecodeFloat8Op>();
    if (!decode || !is16Bits(type))
      return operand;
    encoding = decode.getFormat();
    scales = list;
    return decode.getOperand();
  }
  bool lastIsSummed() const {
    return !sizes.empty() && llvm::is_contained(contract, static_cast<int64_t>(sizes.size()) - 1);
  }
  Dims sizesOf(ArrayRef<int64_t> axes) const {
    return Dims(llvm::map_to_vector(axes, [&](int64_t axis) { return sizes[axis]; }));
  }

  Value operand;
  Dims sizes;
  SmallVector<int64_t> batch, free, contract;
  DimExpr freeStride, sumStride;
  Dims batchStrides;
};
} // namespace

static MatrixProduct ofDot(cuda::KernelSpec &spec, DotGeneralOp dot) {
  MatrixProduct product;
  Dims lhs = spec.sizes->dims(dot.getLhs()), rhs = spec.sizes->dims(dot.getRhs());
  for (int64_t axis : dot.getLhsBatch())
    product.batches.push_back(lhs[axis]);
  for (int64_t axis : otherAxes(static_cast<int64_t>(lhs.size()), dot.getLhsBatch(), dot.getLhsContract()))
    product.rows.push_back(lhs[axis]);
  for (int64_t axis : otherAxes(static_cast<int64_t>(rhs.size()), dot.getRhsBatch(), dot.getRhsContract()))
    product.columns.push_back(rhs[axis]);
  for (int64_t axis : dot.getLhsContract())
    product.sums.push_back(lhs[axis]);
  Value a = dot.getLhs(), b = dot.getRhs();
  if (multipliesFloat8(dot)) {
    auto encodedA = a.getDefiningOp<DecodeFloat8Op>(), encodedB = b.getDefiningOp<DecodeFloat8Op>();
    product.formatA = encodedA.getFormat();
    product.formatB = encodedB.getFormat();
    product.mayRoundSums = !encodedA.getElementType().isF32() || !encodedB.getElementType().isF32() ||
                           !getElementTypeOrSelf(dot.getResult()).isF32() || mayMultiplyInTf32(dot);
    product.hasFloat8 = generationOf(spec.target().name) >= 89;
    a = encodedA.getOperand();
    b = encodedB.getOperand();
  }
  product.a = std::make_unique<DotSide>(spec, a, dot.getLhsBatch(), dot.getLhsContract());
  product.b = std::make_unique<DotSide>(spec, b, dot.getRhsBatch(), dot.getRhsContract());
  return product;
}

//===- convolution ------------------------------------------------------------------------------===//

namespace {
/// What both operands of a convolution are seen through.
struct Windows {
  ConvolutionOp op;
  int64_t rank, spatial;
  Dims input, filter, result, taps, positions;
  DimExpr channels;   // in, of a group
  DimExpr featuresOf; // channels out, of a group

  Windows(cuda::KernelSpec &spec, ConvolutionOp op)
      : op(op), input(spec.sizes->dims(op.getInput())), filter(spec.sizes->dims(op.getFilter())),
        result(spec.sizes->dims(op.getResult())) {
    rank = static_cast<int64_t>(input.size());
    spatial = rank - 2;
    for (int64_t i = 0; i < spatial; ++i) {
      taps.push_back(filter[1 + i]);
      positions.push_back(result[1 + i]);
    }
    channels = filter.back();
    featuresOf = spec.dims.resolve(spec.dims.floorDiv(filter[0], spec.dims.constant(op.getGroups())));
  }

  /// The axes that k goes over.
  Dims sums() const {
    Dims all = taps;
    all.push_back(channels);
    return all;
  }
  struct Tap {
    Value channel; // within its group
    SmallVector<Value> at;
  };
  Tap tapOf(cpu::KernelFunction &fn, Value k) const {
    SmallVector<Value> at = fn.delinearize(k, sums());
    Value channel = at.pop_back_val();
    return {channel, at};
  }
};

class FilterSide final : public ProductSide {
public:
  FilterSide(cuda::KernelSpec &spec, const Windows &windows) : windows(windows) {
    type = getElementTypeOrSelf(this->windows.op.getFilter());
    kInner = true;
    std::optional<cpu::StridedView> view = cpu::viewOf(spec, this->windows.op.getFilter());
    if (!view)
      return;
    SmallVector<int64_t> sums = llvm::to_vector(llvm::seq<int64_t>(1, windows.rank));
    std::optional<cpu::MergedAxes> merged = cpu::mergeAxes(spec, *view, sums);
    if (!merged)
      return;
    freeStride = spec.dims.resolve(view->strides[0]);
    sumStride = spec.dims.resolve(merged->stride);
    if (!isOne(freeStride) && !isOne(sumStride))
      return;
    kInner = isOne(sumStride);
    copied = view->input;
    steps = {kInner ? freeStride : sumStride};
    panel = kInner ? Panel{merged->size, windows.featuresOf, freeStride, {}}
                   : Panel{windows.featuresOf, merged->size, sumStride, {}};
    if (this->windows.op.getGroups() > 1) {
      DimExpr ofGroup = spec.dims.resolve(spec.dims.mul(windows.featuresOf, freeStride));
      steps.push_back(ofGroup);
      panel->batches.push_back({spec.dims.constant(this->windows.op.getGroups()), ofGroup, std::nullopt});
    }
  }
  Value feature(cpu::KernelFunction &fn, ArrayRef<Value> batch, Value free) {
    if (windows.op.getGroups() == 1)
      return free;
    Value first = arith::MulIOp::create(fn.b, batch.back(), fn.materialize(windows.featuresOf));
    return arith::AddIOp::create(fn.b, first, free);
  }
  Value element(cpu::KernelFunction &fn, cpu::KernelElements &elements, ArrayRef<Value> batch, Value free, Value k,
                Value &) override {
    Windows::Tap tap = windows.tapOf(fn, k);
    SmallVector<LaneIndex> index(windows.rank);
    index[0] = elements.uniform(feature(fn, batch, free));
    index.back() = elements.uniform(tap.channel);
    for (int64_t i = 0; i < windows.spatial; ++i)
      index[1 + i] = elements.uniform(tap.at[i]);
    return elements.load(windows.op.getFilter(), index);
  }
  Value offset(cpu::KernelFunction &fn, ArrayRef<Value> batch, Value free, Value k, Value &) override {
    Value row = arith::MulIOp::create(fn.b, feature(fn, batch, free), fn.materialize(freeStride));
    return arith::AddIOp::create(fn.b, row, arith::MulIOp::create(fn.b, k, fn.materialize(sumStride)));
  }

private:
  Windows windows;
  DimExpr freeStride, sumStride;
};

/// Pixels under the taps: k and free positions together say which pixel.
class PixelSide final : public ProductSide {
public:
  PixelSide(cuda::KernelSpec &spec, const Windows &windows) : windows(windows) {
    type = getElementTypeOrSelf(this->windows.op.getInput());
    kInner = true;
    // Channels of one pixel lie side by side: a run stays in its tap where a group's channels are whole runs.
    std::optional<cpu::StridedView> view = cpu::viewOf(spec, this->windows.op.getInput());
    if (!view || view->strides != spec.dims.strides(view->sizes))
      return;
    copied = view->input;
    steps = {spec.dims.resolve(windows.channels), spec.dims.resolve(windows.input.back())};
    if (!takesEachPixel(spec))
      return;
    Dims pixels(ArrayRef(this->windows.input).drop_back());
    panel = Panel{steps[0], spec.dims.resolve(spec.dims.product(pixels)), steps[1], {}};
    if (this->windows.op.getGroups() > 1)
      panel->batches.push_back({spec.dims.constant(this->windows.op.getGroups()), steps[0], std::nullopt});
  }

  /// Whether rows are the pixels, in their order: one tap, which goes everywhere.
  bool takesEachPixel(cuda::KernelSpec &spec) {
    auto areAll = [](ArrayRef<int64_t> values, int64_t value) {
      return llvm::all_of(values, [=](int64_t each) { return each == value; });
    };
    ConvolutionOp op = windows.op;
    return llvm::all_of(windows.taps, [&](DimExpr size) { return isOne(spec.dims.resolve(size)); }) &&
           areAll(op.getStrides(), 1) && areAll(op.getLow(), 0) && areAll(op.getHigh(), 0) &&
           areAll(op.getInputDilation(), 1);
  }

  /// The index in the input of what lies under a tap; clamped, with `inside` cleared, where that is padding.
  SmallVector<Value> place(cpu::KernelFunction &fn, ArrayRef<Value> batch, Value free, Value k, Value &inside) {
    ImplicitLocOpBuilder &b = fn.b;
    ConvolutionOp op = windows.op;
    Windows::Tap tap = windows.tapOf(fn, k);
    Dims walked = windows.positions;
    walked.insert(walked.begin(), windows.input[0]);
    SmallVector<Value> at = fn.delinearize(free, walked), index(windows.rank);
    index[0] = at.front();
    index.back() = tap.channel;
    if (op.getGroups() > 1) {
      Value first = arith::MulIOp::create(b, batch.back(), fn.materialize(windows.channels));
      index.back() = arith::AddIOp::create(b, first, tap.channel);
    }
    auto both = [&](Value condition) { inside = arith::AndIOp::create(b, inside, condition); };
    for (int64_t i = 0; i < windows.spatial; ++i) {
      Value window = arith::MulIOp::create(b, at[at.size() - windows.spatial + i], fn.index(op.getStrides()[i]));
      Value step = arith::MulIOp::create(b, tap.at[i], fn.index(op.getDilation()[i]));
      Value position = arith::SubIOp::create(b, arith::AddIOp::create(b, window, step), fn.index(op.getLow()[i]));
      both(arith::CmpIOp::create(b, arith::CmpIPredicate::sge, position, fn.index(0)));
      Value low = arith::MaxSIOp::create(b, position, fn.index(0));
      if (int64_t spacing = op.getInputDilation()[i]; spacing > 1) {
        Value quotient = arith::DivUIOp::create(b, low, fn.index(spacing));
        Value back = arith::MulIOp::create(b, quotient, fn.index(spacing));
        both(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, back, low));
        low = quotient;
      }
      Value size = fn.materialize(windows.input[1 + i]);
      both(arith::CmpIOp::create(b, arith::CmpIPredicate::slt, low, size));
      index[1 + i] = arith::MinSIOp::create(b, low, arith::SubIOp::create(b, size, fn.index(1)));
    }
    return index;
  }

  Value element(cpu::KernelFunction &fn, cpu::KernelElements &elements, ArrayRef<Value> batch, Value free, Value k,
                Value &inside) override {
    return elements.load(windows.op.getInput(), elements.uniform(place(fn, batch, free, k, inside)));
  }
  Value offset(cpu::KernelFunction &fn, ArrayRef<Value> batch, Value free, Value k, Value &inside) override {
    return fn.offset(place(fn, batch, free, k, inside), windows.input);
  }

private:
  Windows windows;
};
} // namespace

static MatrixProduct ofConvolution(cuda::KernelSpec &spec, ConvolutionOp op) {
  Windows windows(spec, op);
  MatrixProduct product;
  DimExpr groups = spec.dims.constant(op.getGroups());
  product.batches = {groups};
  product.rows = windows.positions;
  product.rows.insert(product.rows.begin(), windows.input[0]);
  product.columns = {windows.featuresOf};
  product.a = std::make_unique<PixelSide>(spec, windows);
  product.b = std::make_unique<FilterSide>(spec, windows);
  product.sums = windows.sums();
  return product;
}

//===- both -------------------------------------------------------------------------------------===//

std::optional<MatrixProduct> MatrixProduct::of(cuda::KernelSpec &spec, std::string &refusal) {
  Operation *root = cpu::findShapedRoot(spec);
  auto dot = dyn_cast_or_null<DotGeneralOp>(root);
  auto convolution = dyn_cast_or_null<ConvolutionOp>(root);
  if (!dot && !convolution) {
    refusal = "its root is no product and no convolution, or its results have several shapes";
    return std::nullopt;
  }
  if (convolution && convolution.getLayout() != ConvLayout::channels_last) {
    refusal = "its channels do not come last";
    return std::nullopt;
  }
  auto isGiven = [](Value) { return false; };
  if (!cpu::canBuild(root->getOperand(0), isGiven) || !cpu::canBuild(root->getOperand(1), isGiven) ||
      !cpu::canBuildAfter(spec, root)) {
    refusal = "what surrounds the product cannot be built element by element";
    return std::nullopt;
  }
  std::optional<MatrixProduct> product = dot ? ofDot(spec, dot) : ofConvolution(spec, convolution);
  product->root = root;
  product->resultType = getElementTypeOrSelf(root->getResult(0));
  auto count = [&](ArrayRef<DimExpr> sizes) { return spec.dims.resolve(spec.dims.product(sizes)); };
  product->batchCount = count(product->batches);
  product->rowCount = count(product->rows);
  product->columnCount = count(product->columns);
  product->k = count(product->sums);
  if (convolution) // empty pictures have no pixels to clamp positions to: then nothing is summed
    for (DimExpr size : spec.sizes->dims(convolution.getInput()))
      if (!spec.dims.resolve(size).isConstant() || spec.dims.resolve(size).constant() == 0)
        product->k = spec.dims.resolve(spec.dims.mul(product->k, spec.dims.min(size, spec.dims.constant(1))));
  return product;
}

SmallVector<LaneIndex> MatrixProduct::resultIndex(cpu::KernelFunction &fn, cpu::KernelElements &elements,
                                                  ArrayRef<Value> batch, Value row, Value column, int64_t lanes) const {
  SmallVector<Value> rowAt = fn.delinearize(row, rows), columnAt = fn.delinearize(column, columns), at;
  if (auto convolution = dyn_cast<ConvolutionOp>(root)) {
    if (convolution.getGroups() > 1) {
      Value begin = arith::MulIOp::create(fn.b, batch.back(), fn.materialize(columns.front()));
      columnAt.front() = arith::AddIOp::create(fn.b, begin, columnAt.front());
    }
  } else {
    at.append(batch.begin(), batch.end());
  }
  at.append(rowAt);
  at.append(columnAt);
  SmallVector<LaneIndex> index = elements.uniform(at);
  if (lanes > 1)
    index.back() = LaneIndex{at.back(), 1, nullptr, 1};
  return index;
}

bool MatrixProduct::hasRunsOf(cuda::KernelSpec &spec, int64_t lanes) const {
  if (columns.empty())
    return false;
  DimExpr inner = spec.dims.resolve(columns.back());
  return inner.isConstant() && inner.constant() % lanes == 0;
}
