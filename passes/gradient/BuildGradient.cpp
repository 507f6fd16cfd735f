// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/gradient/BuildGradient.h"
#include "ir/Gradient.h"
#include "ir/gradient/Differentiable.h"
#include "passes/Passes.h"
#include "passes/gradient/CheckpointPolicy.h"
#include "passes/gradient/Forward.h"
#include "passes/gradient/Reverse.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_BUILDGRADIENT
#include "passes/Passes.h.inc"
} // namespace sinter

static const std::pair<StringRef, GradientMode> kModes[] = {{"grad", GradientMode::Grad},
                                                            {"value_and_grad", GradientMode::ValueAndGrad},
                                                            {"vjp", GradientMode::Vjp},
                                                            {"jvp", GradientMode::Jvp},
                                                            {"hvp", GradientMode::HessianVectorProduct}};

std::optional<GradientMode> sinter::parseGradientMode(StringRef name) {
  for (auto [known, mode] : kModes)
    if (known == name)
      return mode;
  return std::nullopt;
}

static StringRef nameOf(GradientMode mode) { return kModes[static_cast<int>(mode)].first; }

/// The activity of a function whose composites without an own rule are decomposed where a gradient goes through them.
static FailureOr<Activity> prepare(func::FuncOp function, ArrayRef<unsigned> wrt, bool forward) {
  while (true) {
    Activity activity;
    for (unsigned k : wrt)
      activity.mark(function.getArgument(k));
    activity.run(function.getBody().front());
    SmallVector<Decomposable> work;
    function.walk([&](Decomposable op) {
      bool isOwn = isa<Differentiable, NonDifferentiable, CustomVjpOp>(op.getOperation()) ||
                   (isa<CheckpointOp>(op.getOperation()) && !forward);
      if (!isOwn && llvm::any_of(op->getResults(), [&](Value result) { return activity(result); }))
        work.push_back(op);
    });
    if (work.empty())
      return activity;
    for (Decomposable op : work) {
      OpBuilder builder(op);
      FailureOr<SmallVector<Value>> results = op.decompose(builder);
      if (failed(results))
        return op->emitOpError("has no gradient: it has no decomposition in this form"), failure();
      op->replaceAllUsesWith(*results);
      op->erase();
    }
  }
}

static void setMemory(func::FuncOp function, StringRef policy) {
  if (policy.empty())
    return;
  bool isForWhiles = policy == "implicit";
  function.walk([&](Operation *op) {
    if (LoopView::of(op) && (isa<WhileOp>(op) || !isForWhiles) && !op->hasAttr("sinter.memory"))
      op->setAttr("sinter.memory", StringAttr::get(function.getContext(), policy));
  });
}

static std::string nameOfPort(DictionaryAttr attributes, const Twine &otherwise) {
  auto name = attributes ? attributes.getAs<StringAttr>("sinter.name") : StringAttr();
  return name ? name.str() : otherwise.str();
}

namespace {
/// A copy of a function that gains arguments and results.
class Extension {
public:
  Extension(func::FuncOp source, StringRef name) : function(source.clone()) {
    function.setName(name);
    source->getBlock()->getOperations().insertAfter(source->getIterator(), function);
    block = &function.getBody().front();
    terminator = block->getTerminator();
  }

  /// `kind.NAME` is its name; sizes are those of the value that it belongs to.
  Value addArgument(Type type, StringRef kind, const std::string &of, Attribute dims) {
    OpBuilder b(function.getContext());
    NamedAttrList attributes;
    attributes.set("sinter.name", b.getStringAttr(kind + "." + of));
    if (dims)
      attributes.set("sinter.dims", dims);
    LogicalResult added = function.insertArgument(function.getNumArguments(), type,
                                                  attributes.getDictionary(b.getContext()), function.getLoc());
    assert(succeeded(added) && "a function with a body takes arguments at its end");
    (void)added;
    return block->getArguments().back();
  }
  void setResults(ArrayRef<Value> values, ArrayRef<DictionaryAttr> attributes) {
    terminator->setOperands(values);
    SmallVector<Attribute> all(attributes);
    function.setType(
        FunctionType::get(function.getContext(), function.getArgumentTypes(), ValueRange(values).getTypes()));
    function.setResAttrsAttr(ArrayAttr::get(function.getContext(), all));
  }

  func::FuncOp function;
  Block *block;
  Operation *terminator;
};
} // namespace

static DictionaryAttr resultAttributes(func::FuncOp function, unsigned k) {
  DictionaryAttr attributes = function.getResultAttrDict(k);
  return attributes ? attributes : DictionaryAttr::get(function.getContext());
}

static DictionaryAttr named(MLIRContext *context, StringRef kind, const std::string &of) {
  OpBuilder b(context);
  return b.getDictionaryAttr(b.getNamedAttr("sinter.name", b.getStringAttr(kind + "." + of)));
}

static LogicalResult fillReverse(Extension &made, func::FuncOp source, ArrayRef<unsigned> wrt,
                                 const GradientOptions &options) {
  FailureOr<Activity> activity = prepare(made.function, wrt, false);
  if (failed(activity))
    return failure();
  Reverse reverse(*activity);
  OpBuilder b(made.terminator);
  SmallVector<Value> results(made.terminator->getOperands());
  for (auto [k, result] : llvm::enumerate(results)) {
    if (options.mode == GradientMode::Vjp) {
      if (!isDifferentiable(result.getType()))
        continue;
      std::string name = nameOfPort(source.getResultAttrDict(k), "result" + Twine(k));
      reverse.add(b, result, made.addArgument(result.getType(), "cotangent", name, {}));
    } else if (k == options.result) {
      reverse.add(b, result, Composer(made.function.getLoc(), b).fill(1, result));
    }
  }
  // The ops of the forward part are the block's at this time.
  if (failed(reverse.run(*made.block, b)))
    return failure();
  SmallVector<Value> gradients;
  Composer composer(made.function.getLoc(), b);
  for (unsigned k : wrt) {
    Value argument = made.block->getArgument(k), gradient = reverse.cotangent(argument);
    gradients.push_back(composer.retype(gradient ? gradient : composer.fill(0, argument), argument.getType()));
  }
  results.assign(made.terminator->operand_begin(), made.terminator->operand_end());
  SmallVector<DictionaryAttr> attributes;
  for (size_t k = 0; k < results.size(); ++k)
    attributes.push_back(resultAttributes(source, k));
  if (options.mode == GradientMode::Grad) {
    results.clear();
    attributes.clear();
  }
  llvm::append_range(results, gradients);
  for (unsigned k : wrt) {
    std::string name = nameOfPort(source.getArgAttrDict(k), "arg" + Twine(k));
    attributes.push_back(named(b.getContext(), "grad", name));
  }
  made.setResults(results, attributes);
  return expandLoopsFromStart(made.function);
}

static LogicalResult fillForward(Extension &made, func::FuncOp source, ArrayRef<unsigned> wrt, StringRef kind) {
  FailureOr<Activity> activity = prepare(made.function, wrt, true);
  if (failed(activity))
    return failure();
  Forward forward(*activity);
  for (unsigned k : wrt) {
    Value argument = made.block->getArgument(k);
    std::string name = nameOfPort(source.getArgAttrDict(k), "arg" + Twine(k));
    forward.set(argument, made.addArgument(argument.getType(), kind, name, source.getArgAttr(k, "sinter.dims")));
  }
  if (failed(forward.run(*made.block)))
    return failure();
  OpBuilder b(made.terminator);
  Composer composer(made.function.getLoc(), b);
  SmallVector<Value> results(made.terminator->getOperands());
  SmallVector<DictionaryAttr> attributes;
  for (size_t k = 0, end = results.size(); k < end; ++k)
    attributes.push_back(resultAttributes(source, k));
  for (size_t k = 0, end = results.size(); k < end; ++k) {
    if (!isDifferentiable(results[k].getType()))
      continue;
    Value tangent = forward.tangent(results[k]);
    results.push_back(composer.retype(tangent ? tangent : composer.fill(0, results[k]), results[k].getType()));
    std::string name = nameOfPort(source.getResultAttrDict(k), "result" + Twine(k));
    attributes.push_back(named(b.getContext(), "tangent", name));
  }
  made.setResults(results, attributes);
  return success();
}

static LogicalResult check(func::FuncOp function, ArrayRef<unsigned> wrt, const GradientOptions &options) {
  if (function.isExternal())
    return function.emitError("a gradient requires a function with a body");
  for (auto [i, k] : llvm::enumerate(wrt)) {
    if (k >= function.getNumArguments())
      return function.emitError() << "a gradient requires arguments below " << function.getNumArguments() << ", got "
                                  << k;
    if (!isDifferentiable(function.getArgumentTypes()[k]))
      return function.emitError() << "a gradient requires arguments of floats, got " << function.getArgumentTypes()[k]
                                  << " for argument " << k;
    if (llvm::is_contained(wrt.take_front(i), k))
      return function.emitError() << "a gradient requires distinct arguments, got " << k << " twice";
  }
  if (options.mode == GradientMode::Vjp || options.mode == GradientMode::Jvp)
    return success();
  if (options.result >= function.getNumResults())
    return function.emitError() << "a gradient requires a result below " << function.getNumResults() << ", got "
                                << options.result;
  auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[options.result]);
  if (!type || !isDifferentiable(type) || type.getRank() != 0)
    return function.emitError() << "a gradient requires a float result of rank 0, got "
                                << function.getResultTypes()[options.result] << " for result " << options.result;
  return success();
}

FailureOr<func::FuncOp> sinter::buildGradient(func::FuncOp function, ArrayRef<unsigned> wrt,
                                              const GradientOptions &options) {
  if (failed(check(function, wrt, options)))
    return failure();
  std::string name = options.name.empty() ? (function.getName() + "_" + nameOf(options.mode)).str() : options.name;
  if (SymbolTable::lookupNearestSymbolFrom(function, StringAttr::get(function.getContext(), name)))
    return function.emitError() << "a gradient requires a new name, got '" << name << "'", failure();

  if (options.mode == GradientMode::HessianVectorProduct) {
    // Forward mode over reverse mode: one pass for a whole product.
    GradientOptions first = options;
    first.mode = GradientMode::Grad;
    first.name = name + ".grad";
    FailureOr<func::FuncOp> gradient = buildGradient(function, wrt, first);
    if (failed(gradient))
      return failure();
    Extension made(*gradient, name);
    LogicalResult filled = fillForward(made, *gradient, wrt, "vector");
    gradient->erase();
    if (failed(filled))
      return made.function.erase(), failure();
    SmallVector<Value> results(made.terminator->getOperands().drop_front(wrt.size()));
    SmallVector<DictionaryAttr> attributes;
    for (unsigned k : wrt)
      attributes.push_back(
          named(function.getContext(), "product", nameOfPort(function.getArgAttrDict(k), "arg" + Twine(k))));
    made.setResults(results, attributes);
    return made.function;
  }

  Extension made(function, name);
  setMemory(made.function, options.memory);
  LogicalResult filled = options.mode == GradientMode::Jvp ? fillForward(made, function, wrt, "tangent")
                                                           : fillReverse(made, function, wrt, options);
  if (failed(filled))
    return made.function.erase(), failure();
  return made.function;
}

namespace {
class BuildGradient : public sinter::impl::BuildGradientBase<BuildGradient> {
public:
  using BuildGradientBase::BuildGradientBase;

private:
  void runOnOperation() override {
    auto source = getOperation().lookupSymbol<func::FuncOp>(function);
    if (!source) {
      getOperation().emitError() << "a gradient requires a function, found none named '" << function << "'";
      return signalPassFailure();
    }
    std::optional<GradientMode> parsed = parseGradientMode(mode);
    if (!parsed) {
      getOperation().emitError() << "a gradient requires a mode of grad, value_and_grad, vjp, jvp and hvp, got '"
                                 << mode << "'";
      return signalPassFailure();
    }
    GradientOptions options{.mode = *parsed, .result = result, .name = name, .memory = memory};
    if (failed(buildGradient(source, llvm::to_vector(wrt), options)))
      signalPassFailure();
  }
};
} // namespace
