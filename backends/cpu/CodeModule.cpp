// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/CodeModule.h"
#include "backends/cpu/CpuBackend.h"
#include "backends/cpu/CpuKind.h"
#include "backends/cpu/KernelCache.h"
#include "backends/cpu/LowerSchedule.h"
#include "backends/schedule/ScheduleEmitter.h"
#include "backends/schedule/Windows.h"
#include "ir/Shape.h"
#include <chrono>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;
using schedule::KernelTable;

static void printModule(std::string &text, ModuleOp module) {
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << '\n';
}

/// A small kernel with more calls than this stays a function, unless LLVM thinks otherwise; with more than that it does
/// in any case. LLVM looks at one call after the other, and would make one function of a thousand products of little
/// matrices.
constexpr unsigned kMaxInlinedCalls = 4, kMostInlinedCalls = 32;

/// Ops that a module's schedules may take from small kernels, counted at each call. Parts of LLVM are quadratic in the
/// length of a function and of its blocks; the kernels that come last stay functions.
constexpr int64_t kMostInlinedOps = 1 << 14;

/// Where there are more kernels than this, short ones are cold: they take no longer than what launches them, and to
/// compile thousands with care takes minutes. The largest models have some hundred.
constexpr size_t kManyKernels = 1000;

/// True when the schedule itself computes: it has small kernels or loops.
static bool isWorthOptimizing(ModuleOp module, const KernelTable &kernels) {
  if (llvm::any_of(kernels.entries(), [](const KernelTable::Entry &entry) { return entry.traits.isBrief; }))
    return true;
  return module
      .walk([](Operation *op) {
        return schedule::LoopView::isLoop(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
/// How schedules reach a kernel: by its own arguments, or as a wrapper over words that `parallel` calls.
struct Calls {
  unsigned direct = 0;
  bool inParallel = false;
};
} // namespace

static llvm::StringMap<Calls> countCalls(ModuleOp schedules) {
  llvm::StringMap<Calls> calls;
  schedules.walk([&](schedule::LaunchOp launch) {
    if (launch.getBackend())
      return;
    Calls &of = calls[launch.getKernel()];
    if (launch.getRunsInline())
      ++of.direct;
    else
      of.inParallel = true;
  });
  schedules.walk([&](schedule::ChainOp chain) {
    for (auto kernel : chain.getKernels().getAsRange<FlatSymbolRefAttr>())
      calls[kernel.getValue()].inParallel = true;
  });
  return calls;
}

/// "k3 contraction: dot_general add max", by symbol: what profiles call kernels.
static llvm::StringMap<std::string> nameKernels(const KernelTable &kernels) {
  llvm::StringMap<std::string> names;
  for (const KernelTable::Entry &entry : kernels.entries()) {
    KernelOp kernel = entry.spec->kernel;
    std::string &name = names[entry.symbol];
    name =
        "k" + std::to_string(names.size() - 1) + " " + stringifyKernelTemplate(kernel.getKernelTemplate()).str() + ":";
    llvm::SmallSetVector<StringRef, 8> ops;
    for (Operation &op : kernel.getBody().front().without_terminator())
      if (!isa<ConstantOp>(op))
        ops.insert(op.getName().stripDialect());
    for (auto [k, op] : llvm::enumerate(ops))
      name += k < 6 ? " " + op.str() : k == 6 ? " ..." : "";
  }
  return names;
}

/// What wrote the loops of a kernel.
static std::string emitterOf(KernelOp kernel) {
  if (ScheduleAttr schedule = kernel.getScheduleAttr())
    return schedule.getEmitter().str();
  return stringifyKernelTemplate(kernel.getKernelTemplate()).str();
}

/// Appends the text of file `number`. Each file numbers its local labels from 0: they get the file's number, so that
/// all of it can be assembled.
static void appendAssembly(std::string &all, StringRef text, size_t number) {
  auto isOfName = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; };
  std::string suffix = "_" + std::to_string(number);
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    bool isString = line.ltrim().starts_with(".asci");
    while (!line.empty()) {
      size_t size = isOfName(line.front()) ? line.take_while(isOfName).size() : 1;
      all += line.take_front(size);
      if (number > 0 && !isString && size > 2 && line.starts_with(".L"))
        all += suffix;
      line = line.drop_front(size);
    }
    all += '\n';
    text = rest;
  }
}

FailureOr<CodeModule> cpu::compileCode(ModuleOp module, const CodeOptions &options) {
  using Kind = schedule::Timeline::Kind;
  auto start = std::chrono::steady_clock::now();
  schedule::Span scheduling(options.timeline, Kind::Phase, "schedules and loops of kernels");
  CodeModule result;
  CpuBackend backend(options.target, options.optLevel);
  KernelTable kernels(backend, options.prefix, options.devices);
  schedule::Weights own, &weights = options.weights ? *options.weights : own;
  OwningOpRef<ModuleOp> schedules = ModuleOp::create(module.getLoc());
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isPrivate() || function.isDeclaration())
      continue;
    std::string entry = options.prefix + "_run_" + schedule::symbolName(function.getName());
    FailureOr<schedule::Signature> signature = schedule::emitSchedule(function, *schedules, entry, kernels, weights);
    if (failed(signature))
      return failure();
    result.functions.push_back(std::move(*signature));
  }
  schedule::slideWindows(*schedules, kernels);
  if (result.functions.empty())
    return module.emitError("compilation requires a public function with a body, found none");
  for (schedule::Backend *device : options.devices)
    if (failed(device->chooseLoops(*schedules)))
      return failure();
  scheduling.end();
  result.usedWeights = weights.takeUsed();
  result.weights = own.take(options.threads);
  result.scheduleMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();

  if (options.keepLoops) {
    printModule(result.loops, *schedules);
    for (const KernelTable::Entry &entry : kernels.entries())
      if (entry.backend == &backend)
        printModule(result.loops, *backend.loopsOf(entry.symbol).module);
  }
  if (options.keepSchedule) {
    OwningOpRef<ModuleOp> text = schedules->clone();
    for (StringRef name : {StringRef(TargetAttr::moduleAttr), StringRef(schedule::kDevicesAttr)})
      if (Attribute target = module->getAttr(name))
        (*text)->setAttr(name, target);
    kernels.write(*text);
    printModule(result.schedule, *text);
  }
  Target required = options.target;
  if (!backend.usesTiles())
    required.dropTileRequirements();
  result.requirements = requirementsOf(required);
  for (schedule::Signature &function : result.functions)
    function.requirements = required.requiredFeatures;
  if (options.loopsOnly)
    return result;
  for (schedule::Backend *device : options.devices) {
    schedule::Span span(options.timeline, Kind::Phase, ("code for " + device->name()).str());
    FailureOr<schedule::CodeObject> code = device->code(module.getLoc());
    if (failed(code))
      return failure();
    result.others.push_back(std::move(*code));
  }
  llvm::StringMap<std::string> names;
  bool isProfiled = module->hasAttr("sinter.profile");
  if (isProfiled) {
    names = nameKernels(kernels);
    schedules->walk([](schedule::LaunchOp launch) { launch.setRunsInline(false); });
  }
  llvm::StringMap<Calls> calls = countCalls(*schedules);
  schedule::Span entries(options.timeline, Kind::Phase, "entry functions");
  lowerSchedules(*schedules, options.optLevel > 0, isProfiled ? &names : nullptr);
  entries.end();

  SmallVector<ObjectUnit> units;
  ObjectUnit &first = units.emplace_back();
  first.module = *schedules;
  first.light = !isWorthOptimizing(module, kernels);
  SmallVector<unsigned> reports = {0}; // by unit
  // Setting LLVM up takes longer than plain loops do: what is not optimized and compiled on one thread is one unit.
  bool together = options.optLevel == 0 && options.threads == 1;
  int64_t inlinedOps = 0;
  auto staysShort = [&](ModuleOp kernel, int64_t times) {
    int64_t ops = 0;
    kernel.walk([&](Operation *) { ++ops; });
    if (inlinedOps + times * ops > kMostInlinedOps)
      return false;
    inlinedOps += times * ops;
    return true;
  };
  for (const KernelTable::Entry &entry : kernels.entries()) {
    if (entry.backend != &backend)
      continue;
    KernelCode &code = backend.loopsOf(entry.symbol);
    Calls called = calls.lookup(entry.symbol);
    result.kernels.push_back({entry.symbol, entry.spec->kernel.getLoc(), 0, entry.uses, entry.describeMs});
    if (code.isSmall || together) {
      using Inline = ObjectUnit::Part::Inline;
      Inline inlining = called.direct > kMostInlinedCalls || !staysShort(*code.module, called.direct) ? Inline::Never
                        : code.isSmall && called.direct <= kMaxInlinedCalls ? Inline::Always
                                                                            : Inline::AsLLVMThinks;
      units.front().parts.push_back(
          {*code.module, entry.symbol, inlining, (!code.isSmall || isProfiled) && called.inParallel});
      continue;
    }
    reports.push_back(result.kernels.size() - 1);
    KernelTemplate form = entry.spec->kernel.getKernelTemplate();
    ObjectUnit &unit = units.emplace_back();
    unit.module = *code.module;
    unit.kernel = entry.symbol;
    unit.callable = called.direct > 0;
    unit.wrapped = called.inParallel;
    unit.emitter = emitterOf(entry.spec->kernel);
    bool isCold = entry.traits.isShort && kernels.entries().size() > kManyKernels;
    unit.light = form == KernelTemplate::contraction || form == KernelTemplate::convolution || isCold;
  }
  ObjectOptions objectOptions;
  objectOptions.target = &options.target;
  objectOptions.optLevel = options.optLevel;
  objectOptions.threads = options.threads;
  objectOptions.keepLLVM = options.keepLLVM;
  objectOptions.keepAssembly = options.keepAssembly;
  objectOptions.timeline = options.timeline;
  std::optional<KernelCache> cache;
  if (options.kernelStore)
    objectOptions.cache = &cache.emplace(options.kernelStore->folder, options.kernelStore->maxBytes);
  schedule::Span compiling(options.timeline, Kind::Phase, "object code");
  FailureOr<std::vector<ObjectFile>> files = compileObjects(units, objectOptions);
  compiling.end();
  if (cache) {
    cache->sweep();
    if (std::string problem = cache->problem(); !problem.empty())
      emitWarning(UnknownLoc::get(module.getContext())) << "the cache of kernels is not used in full: " << problem;
  }
  if (failed(files))
    return failure();
  for (auto [i, file] : llvm::enumerate(*files)) {
    if (i > 0) {
      KernelReport &report = result.kernels[reports[i]];
      report.objectBytes = static_cast<int64_t>(file.bytes.size());
      report.lowerMs = file.lowerMs;
      report.optimizeMs = file.optimizeMs;
      report.generateMs = file.generateMs;
    }
    result.llvm += file.llvm;
    appendAssembly(result.assembly, file.assembly, i);
    result.objects.push_back(std::move(file.bytes));
  }
  return result;
}
