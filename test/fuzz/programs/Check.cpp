// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/fuzz/programs/Check.h"
#include "compiler/Compile.h"
#include "ir/Composer.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "ir/reference/Evaluator.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "test/fuzz/programs/Schedules.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <random>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

namespace {
using Tensors = SmallVector<HostTensor>;

/// Results, or why there are none.
struct Outcome {
  Tensors results;
  std::string error;
};

/// Collects diagnostics while it lives.
class Messages {
public:
  explicit Messages(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          text += diagnostic.str() + "; ";
          return success();
        }) {}
  std::string text;

private:
  ScopedDiagnosticHandler handler;
};
} // namespace

static std::string onlyTarget;
void sinter::test::checkFor(const std::string &target) { onlyTarget = target; }

/// What the PTX machine has told, where it is the driver.
static std::string machineReport() {
  const char *driver = std::getenv("SINTER_CUDA_DRIVER");
  void *library = driver && !onlyTarget.empty() ? dlopen(driver, RTLD_NOW | RTLD_LOCAL) : nullptr;
  void *report = library ? dlsym(library, "sinterPtxReport") : nullptr;
  return report ? reinterpret_cast<const char *(*)()>(report)() : "";
}

static Outcome evaluate(ModuleOp module, ArrayRef<HostTensor> inputs) {
  Messages messages(module.getContext());
  Evaluator evaluator;
  auto results = evaluator.run(module.lookupSymbol<func::FuncOp>("main").getBody(), inputs);
  if (failed(results))
    return {{}, "the reference fails: " + messages.text};
  return {*results, ""};
}

static sinter_tensor viewOf(const HostTensor &tensor, int32_t dtype) {
  sinter_tensor view = {};
  view.data = const_cast<char *>(tensor.data());
  view.dtype = dtype;
  view.rank = static_cast<int32_t>(tensor.rank());
  llvm::copy(tensor.shape(), view.dims);
  return view;
}

namespace {
struct Native {
  CompiledModule compiled; // has the weights that `loaded` reads
  std::unique_ptr<LoadedModule> loaded;
};
} // namespace

/// With `random` the kernels' schedules are drawn.
static std::string compileNative(ModuleOp module, int optLevel, Native &native, std::mt19937_64 *random = nullptr) {
  Messages messages(module.getContext());
  OwningOpRef<ModuleOp> copy = module.clone();
  if (random && !drawSchedules(*copy, *random))
    return "does not pass the pipeline: " + messages.text;
  Options options;
  if (!onlyTarget.empty())
    options.target = onlyTarget;
  if (random)
    options.target = ""; // the copy tells
  options.optLevel = optLevel;
  options.threads = 1;
  FailureOr<CompiledModule> compiled = compileGraph(*copy, options);
  if (failed(compiled))
    return "cannot be compiled: " + messages.text;
  native.compiled = std::move(*compiled);
  std::string error;
  native.loaded = LoadedModule::load(native.compiled, error);
  return error;
}

static Outcome runNative(func::FuncOp main, const LoadedModule &loaded, ArrayRef<HostTensor> inputs, int threads) {
  sinter_session_options sessionOptions = {};
  sessionOptions.struct_size = sizeof sessionOptions;
  sessionOptions.threads = threads;
  sinter_session *session = nullptr;
  Outcome outcome;
  if (sinter_session_create(loaded.get(), 0, &sessionOptions, &session) != SINTER_OK)
    return {{}, sinter_last_error()};
  const sinter_function *function = sinter_session_function(session);
  for (int32_t i = 0; i < function->num_inputs && outcome.error.empty(); ++i) {
    sinter_tensor view = viewOf(inputs[i], function->inputs[i].dtype);
    if (sinter_session_set_input(session, i, &view) != SINTER_OK)
      outcome.error = sinter_last_error();
  }
  // Twice: the second run finds an arena that is no longer clean.
  for (int run = 0; run < 2 && outcome.error.empty(); ++run)
    if (sinter_session_run(session) != SINTER_OK)
      outcome.error = sinter_last_error();
  auto types = main.getResultTypes();
  for (int32_t i = 0; i < function->num_outputs && outcome.error.empty(); ++i) {
    sinter_tensor view = {};
    if (sinter_session_output(session, i, &view) != SINTER_OK) {
      outcome.error = sinter_last_error();
      break;
    }
    ArrayRef<int64_t> shape(view.dims, view.rank);
    HostTensor tensor(cast<RankedTensorType>(types[i]).getElementType(), shape);
    if (tensor.numBytes())
      std::memcpy(tensor.data(), view.data, static_cast<size_t>(tensor.numBytes()));
    outcome.results.push_back(std::move(tensor));
  }
  sinter_session_destroy(session);
  return outcome;
}

/// Moves each float that is computed by up to a unit in its last place.
static void disturb(ModuleOp module, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> units(-1, 1);
  SmallVector<Value> computed;
  module.walk([&](Operation *op) {
    bool isExact = isa<ConstantOp, IotaOp, CompareOp, SelectOp, ClampOp, MaxOp, MinOp, NegOp, AbsOp, SignOp, FloorOp,
                       CeilOp, RoundOp, Elemental>(op);
    if (isExact || op->getNumRegions() || op->hasTrait<OpTrait::IsTerminator>())
      return;
    for (Value result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()); type && isa<FloatType>(type.getElementType()))
        computed.push_back(result);
  });
  for (Value value : computed) {
    RankedTensorType type = tensorTypeOf(value);
    double unit = std::ldexp(1, 1 - static_cast<int>(cast<FloatType>(type.getElementType()).getFPMantissaWidth()));
    OpBuilder b(module.getContext());
    b.setInsertionPointAfterValue(value);
    Composer c(value.getLoc(), b);
    Value factors;
    if (type.hasStaticShape()) {
      HostTensor each(type.getElementType(), type.getShape());
      for (int64_t i = 0; i < each.numElements(); ++i)
        each.setFloat(i, 1 + unit * units(random));
      factors = c.make<ConstantOp>(TypeRange(type), each.toAttr());
    } else {
      factors = c.fill(1 + unit * units(random), value);
    }
    Value moved = c.make<MulOp>(value, factors);
    value.replaceUsesWithIf(moved, [&](OpOperand &use) {
      return use.getOwner() != moved.getDefiningOp() && use.getOwner() != factors.getDefiningOp();
    });
  }
}

/// How much of each result is rounding: what it changes by when all that is computed on the way changes in its last
/// place. A sum that is zero but for rounding, say, and what a loop makes of it, have no digits to compare.
static SmallVector<double> roundingErrors(ModuleOp module, ArrayRef<HostTensor> inputs, ArrayRef<HostTensor> results) {
  SmallVector<double> errors(results.size(), 0);
  for (unsigned seed = 0; seed < 4; ++seed) {
    OwningOpRef<ModuleOp> copy = module.clone();
    disturb(*copy, seed);
    Outcome other = evaluate(*copy, inputs);
    for (auto [error, result, moved] : llvm::zip_first(errors, results, other.results)) {
      if (!result.isFloat() || result.shape() != moved.shape())
        continue;
      std::vector<double> x = result.toFloats(), y = moved.toFloats();
      for (size_t k = 0; k < x.size(); ++k)
        if (std::isfinite(x[k] - y[k]))
          error = std::max(error, std::abs(x[k] - y[k]));
    }
  }
  return errors;
}

/// Empty if equal: integers and booleans to the bit, floats up to `tolerance` of the largest element or of 1 and some
/// times the result's entry in `rounding`, if there is one.
static std::string difference(ArrayRef<HostTensor> actual, ArrayRef<HostTensor> expected, double tolerance,
                              ArrayRef<double> rounding = {}) {
  for (auto [i, pair] : llvm::enumerate(llvm::zip(actual, expected))) {
    auto &[a, e] = pair;
    std::string where = "result " + std::to_string(i);
    if (a.shape() != e.shape())
      return where + " has another shape";
    std::vector<double> x = a.toFloats(), y = e.toFloats();
    double largest = 1;
    for (double v : y)
      if (std::isfinite(v))
        largest = std::max(largest, std::abs(v));
    for (size_t k = 0; k < x.size(); ++k) {
      bool same = x[k] == y[k] || (std::isnan(x[k]) && std::isnan(y[k]));
      if (!same && a.isFloat())
        same = std::abs(x[k] - y[k]) <= tolerance * largest + (rounding.empty() ? 0 : 16 * rounding[i]);
      if (!same)
        return where + " element " + std::to_string(k) + " is " + std::to_string(x[k]) + ", expected " +
               std::to_string(y[k]);
    }
  }
  return "";
}

static bool computesInF32(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return llvm::any_of(op->getResultTypes(), [](Type type) { return getElementTypeOrSelf(type).isF32(); })
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

std::optional<std::string> sinter::test::checkValues(ModuleOp module, ArrayRef<HostTensor> inputs) {
  {
    Messages messages(module.getContext());
    if (failed(verify(module)))
      return "does not verify: " + messages.text;
  }
  Outcome expected = evaluate(module, inputs);
  if (!expected.error.empty())
    return expected.error;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  double tolerance = computesInF32(module) ? 1e-4 : 1e-9;
  // The same program draws the same schedules.
  std::string program;
  llvm::raw_string_ostream(program) << module;
  std::mt19937_64 random(llvm::xxh3_64bits(program));
  struct Way {
    int level;
    bool drawn;
  };
  SmallVector<Way> ways = {{0, false}, {2, false}, {2, true}};
  if (!onlyTarget.empty())
    ways = {{2, false}};
  for (Way way : ways) {
    Native native;
    int level = way.level;
    std::string what = "-O" + std::to_string(level) + (way.drawn ? " with schedules drawn" : "");
    if (std::string error = compileNative(module, level, native, way.drawn ? &random : nullptr); !error.empty())
      return what + ": " + error;
    Tensors last;
    int most = onlyTarget.empty() ? std::max(level, 1) : 1; // what was compiled at -O0 runs on one thread
    for (int threads = 1; threads <= most; ++threads) {
      std::string how = what + " on " + std::to_string(threads) + " threads: ";
      Outcome actual = runNative(main, *native.loaded, inputs, threads);
      if (std::string told = actual.error + machineReport(); !told.empty())
        return how + told;
      std::string text = difference(actual.results, expected.results, tolerance);
      if (!text.empty())
        text =
            difference(actual.results, expected.results, tolerance, roundingErrors(module, inputs, expected.results));
      if (!text.empty())
        return how + text;
      for (auto [a, b] : llvm::zip(actual.results, last))
        if (a.numBytes() && std::memcmp(std::as_const(a).data(), std::as_const(b).data(), a.numBytes()) != 0)
          return how + "other bits than on one thread";
      last = std::move(actual.results);
    }
  }
  return std::nullopt;
}
