// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/train/Loss.h"
#include "compiler/train/Losses.h"
#include "compiler/train/TermNumber.h"
#include "ir/Constants.h"
#include "ir/Elementwise.h"
#include "ir/Normalization.h"
#include "ir/Regions.h"
#include "ir/Shape.h"
#include "ir/gradient/Moves.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::gradient;

namespace {
/// `KIND:key=value,...`
struct LossSpec {
  StringRef kind, output;
  std::optional<int64_t> axis, ignore;
  double width = 1; // delta of huber, beta of smooth_l1
};
} // namespace

/// Of losses that compare each element with a target.
static bool comparesElements(StringRef kind) {
  return llvm::StringSwitch<bool>(kind).Cases({"mse", "l1", "huber", "smooth_l1", "bce", "kl"}, true).Default(false);
}

static std::string resultName(func::FuncOp function, unsigned k) {
  auto name = function.getResultAttrOfType<StringAttr>(k, "sinter.name");
  return name ? name.str() : ("result" + Twine(k)).str();
}

static FailureOr<LossSpec> parse(func::FuncOp function, StringRef text) {
  LossSpec spec;
  StringRef options;
  std::tie(spec.kind, options) = text.split(':');
  if (spec.kind != "cross_entropy" && !comparesElements(spec.kind)) {
    spec.kind = text; // an output may have any name
    return spec;
  }
  SmallVector<StringRef> parts;
  if (!options.empty())
    options.split(parts, ',');
  for (StringRef part : parts) {
    auto [key, value] = part.split('=');
    int64_t number;
    StringRef ofWidth = spec.kind == "huber" ? "delta" : spec.kind == "smooth_l1" ? "beta" : "";
    bool isNumber = spec.kind == "cross_entropy" && !value.getAsInteger(10, number);
    if (key == "output")
      spec.output = value;
    else if (key == "axis" && isNumber)
      spec.axis = number;
    else if (key == "ignore" && isNumber)
      spec.ignore = number;
    else if (ofWidth.empty() || key != ofWidth || value.getAsDouble(spec.width) || !(spec.width > 0))
      return function.emitError() << "loss " << spec.kind << " requires options output=NAME"
                                  << (spec.kind == "cross_entropy" ? ", axis=NUMBER and ignore=LABEL"
                                      : ofWidth.empty()            ? ""
                                                                   : " and " + ofWidth + "=NUMBER")
                                  << ", got '" << part << "'",
             failure();
  }
  return spec;
}

/// The result called `name`; without one the first of floats that replaces no state.
static FailureOr<Value> findOutput(func::FuncOp function, StringRef name) {
  Operation *terminator = function.getBody().front().getTerminator();
  std::string names;
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned k = operand.getOperandNumber();
    if (function.getResultAttr(k, "sinter.state"))
      continue;
    bool isFloat = isa<FloatType>(elementTypeOf(operand.get()));
    if (isFloat && (name.empty() || name == resultName(function, k)))
      return operand.get();
    names += (names.empty() ? "" : ", ") + resultName(function, k);
  }
  if (name.empty())
    return function.emitError() << "a loss requires an output of floats, the model gives " << names, failure();
  return function.emitError() << "the loss requires an output of floats called '" << name << "', the model gives "
                              << names,
         failure();
}

namespace {
/// Names for the sizes of what a loss compares an output with.
struct WantedSizes {
  ArrayAttr names;
  bool areInputs = true; // each is fixed or one of an input, so that the session compares them
};
} // namespace

/// Whether an expression is the size of an argument, called so in its `sinter.dims`.
static bool isNamedSize(DimContext &context, DimExpr size) {
  if (size.kind() != DimExpr::Kind::Symbol)
    return false;
  auto argument = dyn_cast<BlockArgument>(context.source(size.symbol()).value);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  auto names = function ? function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "sinter.dims") : ArrayAttr();
  return names && llvm::is_contained(names, StringAttr::get(names.getContext(), context.name(size.symbol())));
}

/// The sizes of a value without axis `skip` (-1: none), for the argument `input`. What only running tells is a size of
/// the argument alone: compiled code compares the two.
static WantedSizes wantedSizes(Value value, int64_t skip, StringRef input) {
  DimContext context;
  ShapeAnalysis sizes(context);
  Builder b(value.getContext());
  SmallVector<Attribute> names;
  WantedSizes wanted;
  for (auto [axis, size] : llvm::enumerate(sizes.dims(value))) {
    if (static_cast<int64_t>(axis) == skip)
      continue;
    if (size.isConstant()) {
      names.push_back(b.getI64IntegerAttr(size.constant()));
    } else if (isNamedSize(context, size)) {
      names.push_back(b.getStringAttr(context.name(size.symbol())));
    } else {
      names.push_back(b.getStringAttr(input + "." + Twine(names.size())));
      wanted.areInputs = false;
    }
  }
  wanted.names = b.getArrayAttr(names);
  return wanted;
}

static Value mean(Composer &c, Term x) {
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  return axes.empty() ? x : x.sum(axes) / Term{c, c.count(x, axes)};
}

/// What losses of numbers of `element` are computed in: differences of 16-bit floats have squares and sums that are
/// none.
static Type lossType(Composer &c, Type element) { return element.isF64() ? element : Type(c.getF32Type()); }

/// The mean over all elements of what the output and the input `target` differ by.
static Value compareElements(Composer &c, func::FuncOp function, Value output, const LossSpec &spec) {
  using formulas::TermNumber;
  ArrayAttr dims = wantedSizes(output, -1, "target").names;
  Type wide = lossType(c, elementTypeOf(output));
  Value target = States(function).addInput("target", tensorTypeOf(output), dims);
  TermNumber x = Term{c, output}.as(wide), t = Term{c, target}.as(wide);
  TermNumber loss = spec.kind == "l1"          ? formulas::absoluteLoss(x, t)
                    : spec.kind == "huber"     ? formulas::huberLoss(x, t, spec.width)
                    : spec.kind == "smooth_l1" ? formulas::smoothAbsoluteLoss(x, t, spec.width)
                    : spec.kind == "bce"       ? formulas::binaryCrossEntropy(x, t)
                    : spec.kind == "kl"        ? formulas::divergence(x, t)
                                               : formulas::squareLoss(x, t);
  return mean(c, loss.term);
}

/// Whether each label counts, as negative ones do not; one past the classes is an error at run time.
static Term countedLabels(Composer &c, Term labels, Term classes) {
  Term largest{c, c.reduce(labels, llvm::to_vector(llvm::seq<int64_t>(0, labels.rank())), Combiner::max)};
  std::optional<double> known = uniformValue(classes);
  std::string limit = known ? std::to_string(static_cast<int64_t>(*known)) : "the number of classes";
  Term checked{c, buildRequire(c, c.getLoc(), compare(largest, CompareKind::lt, classes), largest,
                               "labels require values below " + limit + ", got {}")};
  return both(compare(labels, CompareKind::ge, 0.0), compare(labels, CompareKind::le, checked.spread(labels, {})));
}

static FailureOr<Value> crossEntropy(Composer &c, func::FuncOp function, Value output, const LossSpec &spec,
                                     Type labelType) {
  RankedTensorType type = tensorTypeOf(output);
  int64_t rank = type.getRank(), axis = spec.axis.value_or(-1);
  axis += axis < 0 ? rank : 0;
  if (rank < 1 || axis < 0 || axis >= rank)
    return function.emitError() << "cross_entropy requires an output with an axis of classes (axis "
                                << spec.axis.value_or(-1) << "), got " << type,
           failure();
  WantedSizes sizes = wantedSizes(output, axis, "labels");
  bool isFixed = !type.isDynamicDim(axis);
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + axis);
  SmallVector<int64_t> rest = otherAxes(rank, {axis});
  Term labels = Term{c, States(function).addInput("labels", RankedTensorType::get(shape, labelType), sizes.names)}.as(
      c.getI64Type());
  if (spec.ignore)
    labels = select(compare(labels, CompareKind::eq, static_cast<double>(*spec.ignore)), labels.fill(-1), labels);
  Term positions{
      c, isFixed ? c.make<IotaOp>(Value(), int64_t(0), RankedTensorType::get({type.getDimSize(axis)}, c.getI64Type()))
                 : iotaLike(c, output, axis)};
  if (isFixed)
    positions = positions.spread(output, {axis});
  Term picked = compare(labels.spread(output, rest), CompareKind::eq, positions);
  Type wide = lossType(c, type.getElementType());
  Term logarithms = Term{c, output}.as(wide).then<SoftmaxOp>(axis, true);
  Term valid = countedLabels(c, labels, Term{c, c.size(output, axis)}).as(wide);
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, rank)),
                       labelAxes = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
  Term count = labelAxes.empty() ? valid : valid.sum(labelAxes);
  Term chosen = select(picked, logarithms, logarithms.fill(0));
  if (!sizes.areInputs) { // labels of size 1 would be repeated, but a product's operands have one size
    chosen = chosen.sum({axis}) * valid;
    all.pop_back();
  }
  return Value(-(chosen.sum(all) / count));
}

LogicalResult sinter::addLoss(func::FuncOp function, StringRef text, Type labelType) {
  FailureOr<LossSpec> spec = parse(function, text);
  if (failed(spec))
    return failure();
  bool isOutput = spec->kind != "cross_entropy" && !comparesElements(spec->kind);
  FailureOr<Value> output = findOutput(function, isOutput ? spec->kind : spec->output);
  if (failed(output))
    return failure();
  Operation *terminator = function.getBody().front().getTerminator();
  OpBuilder b(terminator);
  Composer c(function.getLoc(), b);
  FailureOr<Value> loss;
  if (isOutput) {
    RankedTensorType type = tensorTypeOf(*output);
    if (!type.hasStaticShape() || type.getNumElements() != 1)
      return function.emitError() << "the loss requires an output with one element, '" << spec->kind << "' is " << type;
    loss = c.reshape(*output, RankedTensorType::get({}, type.getElementType()));
  } else {
    loss = comparesElements(spec->kind) ? compareElements(c, function, *output, *spec)
                                        : crossEntropy(c, function, *output, *spec, labelType);
  }
  if (failed(loss))
    return failure();
  if (elementTypeOf(*loss).getIntOrFloatBitWidth() < 32)
    loss = c.convert(*loss, c.getF32Type());

  SmallVector<Value> results = {*loss};
  SmallVector<Attribute> attributes = {b.getDictionaryAttr(b.getNamedAttr("sinter.name", b.getStringAttr("loss")))};
  for (OpOperand &operand : terminator->getOpOperands())
    if (function.getResultAttr(operand.getOperandNumber(), "sinter.state")) {
      results.push_back(operand.get());
      attributes.push_back(function.getResultAttrDict(operand.getOperandNumber()));
    }
  terminator->setOperands(results);
  function.setType(b.getFunctionType(function.getArgumentTypes(), TypeRange(ValueRange(results))));
  function.setResAttrsAttr(b.getArrayAttr(attributes));
  return success();
}
