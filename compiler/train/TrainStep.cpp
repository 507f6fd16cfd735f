// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/train/TrainStep.h"
#include "backends/schedule/KeepPolicy.h"
#include "compiler/MainFunction.h"
#include "compiler/Pipeline.h"
#include "compiler/train/Formulas.h"
#include "compiler/train/Loss.h"
#include "compiler/train/Optimizer.h"
#include "compiler/train/StepKeys.h"
#include "compiler/train/TermNumber.h"
#include "ir/Elementwise.h"
#include "ir/Sparse.h"
#include "ir/reference/HostTensor.h"
#include "passes/LowerPrecision.h"
#include "passes/gradient/BuildGradient.h"
#include "passes/gradient/Dependencies.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/xxhash.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

static StringRef stateOf(func::FuncOp function, unsigned argument) {
  auto name = function.getArgAttrOfType<StringAttr>(argument, "sinter.state");
  return name ? name.getValue() : StringRef();
}

/// Arguments that are states of floats and that no result replaces.
static SmallVector<unsigned> findWeights(func::FuncOp function) {
  llvm::StringSet<> replaced;
  for (unsigned k = 0; k < function.getNumResults(); ++k)
    if (auto name = function.getResultAttrOfType<StringAttr>(k, "sinter.state"))
      replaced.insert(name.getValue());
  SmallVector<unsigned> weights;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    StringRef name = stateOf(function, i);
    if (!name.empty() && !replaced.contains(name) && isa<FloatType>(type.getElementType()))
      weights.push_back(i);
  }
  return weights;
}

/// A uniform number in [-1, 1) for element `i` of a tensor, by SplitMix64.
static double draw(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-52 - 1;
}

/// Gives the weight a first value unless it has one. The numbers depend on the seed, the name and the shape.
static void initialize(func::FuncOp function, unsigned argument, uint64_t seed) {
  auto type = cast<RankedTensorType>(function.getArgumentTypes()[argument]);
  if (function.getArgAttr(argument, "sinter.initial") || type.getRank() < 2 || !type.hasStaticShape() ||
      type.getNumElements() == 0)
    return;
  int64_t fan = type.getRank() == 2 ? type.getDimSize(0) : type.getNumElements() / type.getDimSize(0);
  double bound = 1 / std::sqrt(static_cast<double>(fan));
  uint64_t ofName = seed ^ llvm::xxh3_64bits(stateOf(function, argument));
  HostTensor values(type.getElementType(), type.getShape());
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    values.setFloat(i, bound * draw(ofName, static_cast<uint64_t>(i)));
  function.setArgAttr(argument, "sinter.initial", values.toAttr(stateOf(function, argument)));
}

/// The function that is left of a model when it is used: states are only read.
static void makeInfer(func::FuncOp function) {
  Operation *terminator = function.getBody().front().getTerminator();
  for (unsigned k = function.getNumResults(); k-- > 0;)
    if (function.getResultAttr(k, "sinter.state")) {
      (void)function.eraseResult(k);
      terminator->eraseOperand(k);
    }
  for (unsigned i = function.getNumArguments(); i-- > 0;) // statistics that only training reads
    if (function.getArgument(i).use_empty() && !stateOf(function, i).empty())
      (void)function.eraseArgument(i);
}

/// Gradients of the tables that `pattern` names become those of the rows that were looked up.
/// They are operands of `terminator` from `first` on, and summed over `batches`.
static LogicalResult takeRows(Composer &c, StringRef pattern, int64_t batches, MutableArrayRef<Weight> weights,
                              Operation *terminator, unsigned first) {
  if (pattern.empty())
    return success();
  llvm::Regex tables(pattern);
  IRRewriter rewriter(c);
  // Loops are replaced on the way, and with them gradients that they carry.
  auto current = [&] {
    for (auto [k, weight] : llvm::enumerate(weights))
      if (!weight.rows)
        weight.gradient = terminator->getOperand(first + k);
  };
  for (Weight &weight : weights) {
    current();
    if (!tables.match(weight.name))
      continue;
    std::optional<SmallVector<LookupGradient>> lookups = findLookups(rewriter, c.getLoc(), weight.gradient);
    if (!lookups || lookups->empty())
      return emitError(c.getLoc()) << "the gradient of table '" << weight.name
                                   << "' is a sum of more than what lookups of rows give back";
    GradientRows found = combineLookups(c, *lookups, tensorTypeOf(weight.value).getDimSize(0));
    if (batches > 1 && !tensorTypeOf(found.rows).hasStaticShape())
      return emitError(c.getLoc()) << "gradients of table '" << weight.name
                                   << "', which moves by rows, are summed over " << batches
                                   << " batches, which requires lookups of known sizes; --batch or types may say them";
    weight.rows = found.rows;
    weight.gradient = found.values;
  }
  current();
  return success();
}

/// Checks that groups of weights are of weights. Those of a model of which only a part is trained may be of the others.
static LogicalResult checkGroups(func::FuncOp loss, ArrayRef<unsigned> weights, const TrainOptions &options) {
  if (!options.names.areAll())
    return success();
  std::vector<std::string> names;
  for (unsigned argument : weights)
    names.push_back(stateOf(loss, argument).str());
  std::string problem = formulas::problemOfGroups(options.optimizer, names, [](const std::string &text) {
    auto pattern = std::make_shared<llvm::Regex>(text);
    return [pattern](const std::string &name) { return pattern->match(name); };
  });
  return problem.empty() ? success() : LogicalResult(loss.emitError(problem));
}

/// Checks that the tables that `settings` names can move by rows: they are in `weights` and only looked up.
static LogicalResult checkTables(func::FuncOp loss, ArrayRef<unsigned> weights, const OptimizerSettings &settings) {
  if (settings.sparse.empty())
    return success();
  std::string problem = formulas::problemOfRows(settings), names;
  if (!problem.empty())
    return loss.emitError(problem);
  llvm::Regex pattern(settings.sparse);
  bool any = false;
  for (unsigned argument : weights) {
    StringRef name = stateOf(loss, argument);
    names += (names.empty() ? "" : ", ") + name.str();
    if (!pattern.match(name))
      continue;
    any = true;
    if (OpOperand *other = findOtherUse(loss.getArgument(argument))) {
      InFlightDiagnostic error = loss.emitError() << "table '" << name << "' moves by rows, which requires that only "
                                                  << "lookups of rows read it; '"
                                                  << other->getOwner()->getName().stripDialect() << "' reads it, too";
      error.attachNote(other->getOwner()->getLoc()) << "here";
      return error;
    }
  }
  if (!any)
    return loss.emitError() << "tables that move by rows require the name of a tensor that is trained, none matches '"
                            << settings.sparse << "'; they are " << names;
  return success();
}

static LossScaleSettings lossScaleFor(ModuleOp training, const TrainOptions &options) {
  LossScaleSettings settings;
  if (multipliesInHalf(training))
    settings.kind = LossScaleSettings::Kind::dynamic;
  return options.lossScale.value_or(settings);
}

/// Multiplies the loss, the first result, with the scale, and adds it as it is as the last one.
static void scaleLoss(func::FuncOp function, States &states, const LossScaleSettings &settings) {
  Operation *terminator = function.getBody().front().getTerminator();
  OpBuilder b(terminator);
  Composer c(function.getLoc(), b);
  Value loss = terminator->getOperand(0), scale;
  Type element = elementTypeOf(loss);
  if (settings.kind == LossScaleSettings::Kind::fixed)
    scale = c.scalar(element, settings.scale);
  else
    scale = c.convert(states.addNumber(kLossScaleState, c.getF32Type(), settings.scale), element);
  terminator->setOperand(0, c.make<MulOp>(loss, scale));
  unsigned last = terminator->getNumOperands();
  terminator->insertOperands(last, loss);
  LogicalResult inserted = function.insertResult(last, loss.getType(), {});
  assert(succeeded(inserted) && "a tensor type is a type of results");
  (void)inserted;
}

/// Makes the result `last`, the loss as it is, the first one.
static void restoreLoss(func::FuncOp step, unsigned last) {
  Operation *terminator = step.getBody().front().getTerminator();
  terminator->setOperand(0, terminator->getOperand(last));
  terminator->eraseOperand(last);
  (void)step.eraseResult(last);
}

/// Keeps what the model's own results replace, as running statistics, where `counts` does not hold.
static void keepStatistics(Composer &c, func::FuncOp step, States &states, unsigned end, Value counts) {
  Operation *terminator = step.getBody().front().getTerminator();
  for (unsigned k = 0; k < end; ++k)
    if (auto name = step.getResultAttrOfType<StringAttr>(k, "sinter.state")) {
      auto number = [&](Value value) { return formulas::TermNumber(gradient::Term{c, value}); };
      formulas::TermNumber next = number(terminator->getOperand(k)), old = number(states.find(name.getValue()));
      terminator->setOperand(k, formulas::choose(number(counts), next, old).term);
    }
}

FailureOr<TrainStep> sinter::makeTrainStep(ModuleOp training, ModuleOp inference, const TrainOptions &options) {
  func::FuncOp forward = mainFunction(training), used = mainFunction(inference);
  if (!forward || !used)
    return training.emitError("a training step requires a model with a function"), failure();
  OwningOpRef<ModuleOp> module = ModuleOp::create(training.getLoc());
  if (Attribute precision = training->getAttr(kPrecisionAttr))
    (*module)->setAttr(kPrecisionAttr, precision);
  OpBuilder b(module->getBodyRegion());
  auto take = [&](func::FuncOp function, StringRef name) {
    auto copy = cast<func::FuncOp>(b.clone(*function));
    copy.setName(name);
    copy->setAttr("sinter.name", b.getStringAttr(name));
    return copy;
  };
  func::FuncOp loss = take(forward, "loss");
  Type labels = llvm::StringSwitch<Type>(options.labels)
                    .Case("i64", b.getI64Type())
                    .Case("i32", b.getI32Type())
                    .Case("i16", b.getIntegerType(16))
                    .Case("i8", b.getI8Type())
                    .Case("ui8", b.getIntegerType(8, false))
                    .Default({});
  if (!labels)
    return loss.emitError() << "labels require i64, i32, i16, i8 or ui8, got '" << options.labels << "'", failure();
  SmallVector<unsigned> weights = findWeights(loss);
  auto all = llvm::map_to_vector(weights, [&](unsigned argument) { return stateOf(loss, argument).str(); });
  std::string names = llvm::join(all, ", ");
  std::string problem =
      options.names.problem(options.initializers.empty() ? ArrayRef(all) : ArrayRef(options.initializers));
  if (!problem.empty())
    return loss.emitError(problem), failure();
  if (weights.empty())
    return loss.emitError("a training step requires weights, no initializer of the model is one"), failure();
  for (unsigned argument : weights)
    if (options.seed)
      initialize(loss, argument, *options.seed);
  llvm::erase_if(weights, [&](unsigned argument) { return !options.names.has(stateOf(loss, argument)); });
  // First: numbers of constant keys would be folded.
  States states(loss);
  varyRandomNumbers(loss, states, options.randomSeed);
  if (failed(refineForGradient(loss)) || failed(addLoss(loss, options.loss, labels)))
    return failure();
  // Decay would shrink what has no gradient, as the other outputs' heads.
  auto read = dependenciesOf(loss.getBody().front().getTerminator()->getOperand(0));
  llvm::erase_if(weights, [&](unsigned argument) { return !read.contains(loss.getArgument(argument)); });
  if (weights.empty())
    return loss.emitError() << "a training step requires weights that the loss depends on, it depends on none of "
                            << names,
           failure();
  OptimizerSpec optimizer = options.optimizer;
  optimizer.loss_scale = lossScaleFor(training, options);
  bool isScaled = optimizer.loss_scale.kind != LossScaleSettings::Kind::none;
  if (failed(checkGroups(loss, weights, options)) || failed(checkTables(loss, weights, optimizer)))
    return failure();
  if (isScaled)
    scaleLoss(loss, states, optimizer.loss_scale);

  GradientOptions gradient;
  gradient.mode = GradientMode::ValueAndGrad;
  gradient.name = "step";
  FailureOr<func::FuncOp> step = buildGradient(loss, weights, gradient);
  if (failed(step))
    return failure();
  loss.erase();
  (*step)->setAttr("sinter.name", b.getStringAttr("step"));
  if (!options.checkpoint.empty())
    (*step)->setAttr(schedule::kKeepAttr, b.getStringAttr(options.checkpoint));

  if (isScaled)
    restoreLoss(*step, step->getNumResults() - weights.size() - 1);
  // The gradients are the last results.
  Operation *terminator = step->getBody().front().getTerminator();
  unsigned first = step->getNumResults() - weights.size();
  SmallVector<Weight> moved;
  TrainStep made;
  for (auto [k, argument] : llvm::enumerate(weights)) {
    made.trained.push_back(stateOf(*step, argument).str());
    moved.push_back({made.trained.back(), step->getArgument(argument), terminator->getOperand(first + k)});
  }
  b.setInsertionPoint(terminator);
  Composer composer(step->getLoc(), b);
  if (failed(takeRows(composer, optimizer.sparse, optimizer.accumulate, moved, terminator, first)))
    return failure();
  for (unsigned k = step->getNumResults(); k-- > first;) {
    (void)step->eraseResult(k);
    terminator->eraseOperand(k);
  }
  States ofStep(*step);
  if (Value counts = addOptimizer(composer, optimizer, ofStep, moved, terminator->getOperand(0)))
    keepStatistics(composer, *step, ofStep, first, counts);

  b.setInsertionPointToEnd(module->getBody());
  makeInfer(take(used, "infer"));
  made.module = std::move(module);
  return made;
}
