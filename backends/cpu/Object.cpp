// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/Object.h"
#include "backends/cpu/BFloatBits.h"
#include "backends/cpu/KernelCache.h"
#include "backends/cpu/LongFunctions.h"
#include "backends/cpu/Lowering.h"
#include "backends/cpu/MaskedHalves.h"
#include "backends/cpu/OrderDefinitions.h"
#include "backends/cpu/SingleLaneStores.h"
#include "backends/schedule/Threads.h"
#include "ir/Schedules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <atomic>
#include <chrono>
#include <mutex>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

static void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
}

/// What LLVM starts from: all else that code may use is named by features, so that no name of a CPU brings extensions
/// that the host hides and nobody checks.
static const char *baselineCpu(const Target &target) {
  return llvm::Triple(target.triple).isX86() ? "x86-64" : "generic";
}

static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const ObjectOptions &options, std::string &error) {
  initializeTargets();
  llvm::Triple triple(options.target->triple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions details;
  details.UniqueSectionNames = false;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, baselineCpu(*options.target), options.target->features, details, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, options.optLevel ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::Less));
}

/// `i32 NAME(ctx, const i64 *args, begin, end)`: unpacks the words into the kernel's own arguments.
static void addWrapper(llvm::Module &module, llvm::Function &inner, StringRef name) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *i64 = llvm::Type::getInt64Ty(context), *ptr = llvm::PointerType::getUnqual(context);
  auto *type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context), {ptr, ptr, i64, i64}, false);
  llvm::Function *wrapper = module.getFunction(name); // declared where it is launched
  if (!wrapper)
    wrapper = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  wrapper->setVisibility(llvm::GlobalValue::HiddenVisibility);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", wrapper));
  llvm::SmallVector<llvm::Value *> arguments;
  unsigned fromWords = inner.arg_size() - 2;
  for (unsigned i = 0; i < fromWords; ++i) {
    llvm::Value *word = b.CreateConstInBoundsGEP1_64(i64, wrapper->getArg(1), i);
    arguments.push_back(b.CreateLoad(inner.getArg(i)->getType(), word));
  }
  arguments.push_back(wrapper->getArg(2));
  arguments.push_back(wrapper->getArg(3));
  b.CreateRet(b.CreateCall(&inner, arguments));
}

/// The kernel that is a module of its own becomes NAME_body.
static void nameBody(llvm::Module &module, const ObjectUnit &unit) {
  llvm::Function *inner = module.getFunction(unit.kernel);
  assert(inner && "a kernel's module has the function that it is called after");
  inner->setName(unit.kernel + "_body");
  if (unit.callable)
    inner->setVisibility(llvm::GlobalValue::HiddenVisibility);
  else
    inner->setLinkage(llvm::GlobalValue::InternalLinkage);
  if (!unit.wrapped)
    return;
  inner->addFnAttr(unit.callable ? llvm::Attribute::NoInline : llvm::Attribute::AlwaysInline);
  addWrapper(module, *inner, unit.kernel);
}

static void setAttributes(llvm::Module &module, const Target &target) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", baselineCpu(target));
    function.addFnAttr("tune-cpu", target.cpu);
    function.addFnAttr("target-features", target.features);
    function.addFnAttr("no-trapping-math", "true");
    if (target.vectorBytes == 64)
      function.addFnAttr("prefer-vector-width", "512");
    function.setDoesNotThrow();
    function.removeFnAttr(llvm::Attribute::UWTable);
  }
}

/// Without the instruction a fused multiply-add is a call of libm for each lane, a hundred times the cost of a product
/// and a sum. Nothing that we compile relies on the one rounding.
static void splitFma(llvm::Module &module) {
  llvm::SmallVector<llvm::IntrinsicInst *> calls;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == llvm::Intrinsic::fma)
        calls.push_back(call);
  for (llvm::IntrinsicInst *call : calls) {
    llvm::IRBuilder<> b(call);
    llvm::Value *product = b.CreateFMul(call->getArgOperand(0), call->getArgOperand(1));
    call->replaceAllUsesWith(b.CreateFAdd(product, call->getArgOperand(2)));
    call->eraseFromParent();
  }
}

namespace {
/// InstCombine, or in a long function what folds without proofs.
struct CombinePass : llvm::PassInfoMixin<CombinePass> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    return isLong(function) ? llvm::InstSimplifyPass().run(function, analyses)
                            : llvm::InstCombinePass().run(function, analyses);
  }
};
} // namespace

/// False when the result is not valid, which is LLVM's mistake or ours.
static bool optimize(llvm::Module &module, llvm::TargetMachine &machine, const ObjectOptions &options, bool light) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  // Emitters have chosen lanes and unrolling.
  tuning.SLPVectorization = false;
  tuning.LoopVectorization = false;
  tuning.LoopUnrolling = false;
  tuning.LoopInterleaving = false;
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerAfterPassCallback([](StringRef pass, llvm::Any ir, const llvm::PreservedAnalyses &) {
    const auto *function = llvm::any_cast<const llvm::Function *>(&ir);
    if (function && pass == "SROAPass")
      orderDefinitions(const_cast<llvm::Function &>(**function));
  });
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (light || options.optLevel == 0 || llvm::any_of(module, isLong)) {
    passes.addPass(llvm::AlwaysInlinerPass());
    llvm::FunctionPassManager local;
    local.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    local.addPass(llvm::SimplifyCFGPass());
    local.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
    local.addPass(CombinePass());
    local.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
    local.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(local)));
  } else {
    passes = builder.buildPerModuleDefaultPipeline(options.optLevel == 1   ? llvm::OptimizationLevel::O1
                                                   : options.optLevel == 2 ? llvm::OptimizationLevel::O2
                                                                           : llvm::OptimizationLevel::O3);
  }
  passes.run(module, modules);
  storeSingleLanes(module);
  moveMaskedHalvesAsBits(module);
  carryBFloatsAsBits(module);
  return !llvm::verifyModule(module);
}

/// Code as an object or as text. Consumes what the passes need of `module`.
static bool generate(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType kind,
                     std::string &result) {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, kind))
    return false;
  passes.run(module);
  result.assign(buffer.begin(), buffer.end());
  return true;
}

static double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Replaces the declaration of a kernel in `module` by its definition.
static LogicalResult takePart(ModuleOp module, ObjectUnit::Part &part) {
  std::string name = part.kernel + "_body";
  if (auto declaration = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    declaration.erase();
  for (Operation &op : llvm::make_early_inc_range(*part.module.getBody())) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (function && function.getName() == part.kernel) {
      function.setName(name);
      function.setLinkage(LLVM::Linkage::Internal);
      function.setAlwaysInline(part.inlining == ObjectUnit::Part::Inline::Always);
      function.setNoInline(part.inlining == ObjectUnit::Part::Inline::Never);
    } else if (!function || !(function.isExternal() || function.getLinkage() == LLVM::Linkage::Internal)) {
      return op.emitError("a kernel that is part of a schedule requires one function, private ones and declarations");
    } else if (module.lookupSymbol(function.getName())) {
      continue; // the same function of libm, or of polynomials
    }
    op.moveBefore(module.getBody(), module.getBody()->end());
  }
  return success();
}

/// What the object code of a unit depends on.
static std::string keyOf(ObjectUnit &unit, const ObjectOptions &options, StringRef targetKey) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << buildOfCode() << '\n' << targetKey << "\n-O" << options.optLevel << (unit.light ? " light" : "") << '\n';
  OpPrintingFlags flags;
  flags.useLocalScope().printGenericOpForm().assumeVerified();
  auto add = [&](ModuleOp module, StringRef kernel, bool callable, bool wrapped, int inlining) {
    os << '"' << kernel << "\" " << callable << ' ' << wrapped << ' ' << inlining << '\n';
    module->print(os, flags);
    os << '\n';
  };
  add(unit.module, unit.kernel, unit.callable, unit.wrapped, 0);
  for (const ObjectUnit::Part &part : unit.parts)
    add(part.module, part.kernel, false, part.wrapped, static_cast<int>(part.inlining));
  return key;
}

/// What a kernel is called while it is compiled for the cache, whatever its number in the module is.
constexpr StringRef kAnyKernel = "sinter_kernel";

static LogicalResult compileUnit(ObjectUnit &unit, const ObjectOptions &options, Lowering &lowering,
                                 llvm::TargetMachine &machine, std::mutex *mlirLock, ObjectFile &file) {
  using schedule::Span;
  using Kind = schedule::Timeline::Kind;
  auto start = std::chrono::steady_clock::now();
  Span lower(options.timeline, Kind::Step, "to LLVM");
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  {
    std::unique_lock<std::mutex> lock;
    if (mlirLock)
      lock = std::unique_lock(*mlirLock);
    if (failed(lowering.run(unit.module)))
      return failure();
    for (ObjectUnit::Part &part : unit.parts)
      if (failed(lowering.run(part.module)) || failed(takePart(unit.module, part)))
        return failure();
    if (options.keepLLVM) {
      llvm::raw_string_ostream os(file.llvm);
      unit.module.print(os);
    }
    module = translateModuleToLLVMIR(unit.module, context, unit.kernel);
  }
  if (!module)
    return unit.module.emitError("cannot be translated to LLVM IR");
  module->setDataLayout(machine.createDataLayout());
  module->setTargetTriple(machine.getTargetTriple());
  if (!unit.kernel.empty())
    nameBody(*module, unit);
  for (ObjectUnit::Part &part : unit.parts)
    if (part.wrapped)
      addWrapper(*module, *module->getFunction(part.kernel + "_body"), part.kernel);
  splitLongFunctions(*module);
  setAttributes(*module, *options.target);
  if (!options.target->hasFma)
    splitFma(*module);
  file.lowerMs = since(start);
  lower.end();

  start = std::chrono::steady_clock::now();
  Span optimization(options.timeline, Kind::Step, "LLVM's passes");
  if (!optimize(*module, machine, options, unit.light))
    return unit.module.emitError("code is not valid after LLVM's optimizations");
  file.optimizeMs = since(start);
  optimization.end();
  start = std::chrono::steady_clock::now();
  Span generation(options.timeline, Kind::Step, "code generation");
  if (options.keepAssembly) {
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*module);
    if (!generate(*copy, machine, llvm::CodeGenFileType::AssemblyFile, file.assembly))
      return unit.module.emitError("the target cannot print assembly");
  }
  if (!generate(*module, machine, llvm::CodeGenFileType::ObjectFile, file.bytes))
    return unit.module.emitError("the target cannot write object files");
  file.generateMs = since(start);
  return success();
}

/// The same through the cache.
static LogicalResult findOrCompileUnit(ObjectUnit &unit, const ObjectOptions &options, StringRef targetKey,
                                       Lowering &lowering, llvm::TargetMachine &machine, std::mutex *mlirLock,
                                       ObjectFile &file) {
  using Kind = schedule::Timeline::Kind;
  bool isKernel = !unit.kernel.empty();
  schedule::Span whole(options.timeline, Kind::Kernel, isKernel ? unit.kernel : "schedules",
                       isKernel ? unit.emitter : "schedules");
  if (!options.cache || options.keepLLVM || options.keepAssembly)
    return compileUnit(unit, options, lowering, machine, mlirLock, file);
  schedule::Span looking(options.timeline, Kind::Step, "cache of kernels");
  std::string name = unit.kernel, key;
  {
    std::unique_lock<std::mutex> lock;
    if (mlirLock)
      lock = std::unique_lock(*mlirLock);
    if (isKernel) {
      unit.module.lookupSymbol<func::FuncOp>(name).setName(kAnyKernel);
      unit.kernel = kAnyKernel;
    }
    key = keyOf(unit, options, targetKey);
  }
  auto callAsAsked = [&] { return !isKernel || renameKernel(file.bytes, kAnyKernel, name); };
  if (std::optional<std::string> object = options.cache->find(key)) {
    file.bytes = std::move(*object);
    file.wasCached = callAsAsked();
  }
  looking.note("found", file.wasCached);
  looking.end();
  if (file.wasCached)
    return success();
  if (failed(compileUnit(unit, options, lowering, machine, mlirLock, file)))
    return failure();
  schedule::Span storing(options.timeline, Kind::Step, "cache of kernels, writing");
  options.cache->store(key, file.bytes);
  return callAsAsked() ? success() : unit.module.emitError("an object file has no symbols that can be renamed");
}

FailureOr<std::vector<ObjectFile>> cpu::compileObjects(MutableArrayRef<ObjectUnit> units,
                                                       const ObjectOptions &options) {
  std::vector<ObjectFile> files(units.size());
  if (units.empty())
    return files;
  MLIRContext *context = units.front().module.getContext();
  std::mutex mlirMutex;
  std::mutex *mlirLock = context->isMultithreadingEnabled() ? nullptr : &mlirMutex;
  std::string targetKey; // all that emitters and LLVM are told about the target
  if (options.cache)
    llvm::raw_string_ostream(targetKey) << options.target->attribute(context);
  std::atomic<size_t> next = 0;
  std::atomic<bool> ok = true;
  auto work = [&] {
    std::string error;
    schedule::Span setup(options.timeline, schedule::Timeline::Kind::Step, "patterns and code generators");
    std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(options, error);
    if (!machine) {
      emitError(UnknownLoc::get(context)) << "no code generator for " << options.target->triple << ": " << error;
      ok = false;
      return;
    }
    std::optional<Lowering> lowering;
    {
      std::unique_lock<std::mutex> lock;
      if (mlirLock)
        lock = std::unique_lock(*mlirLock);
      lowering.emplace(context, *options.target, options.optLevel);
    }
    setup.end();
    for (size_t i = next++; i < units.size() && ok; i = next++)
      if (failed(findOrCompileUnit(units[i], options, targetKey, *lowering, *machine, mlirLock, files[i])))
        ok = false;
  };
  schedule::runOnThreads(std::min<size_t>(options.threads, units.size()), work);
  if (!ok)
    return failure();
  return files;
}

FailureOr<std::string> cpu::compileModule(llvm::Module &module, const ObjectOptions &options, std::string &error) {
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(options, error);
  if (!machine)
    return failure();
  module.setDataLayout(machine->createDataLayout());
  module.setTargetTriple(machine->getTargetTriple());
  setAttributes(module, *options.target);
  std::string bytes;
  if (!generate(module, *machine, llvm::CodeGenFileType::ObjectFile, bytes)) {
    error = "the target cannot write object files";
    return failure();
  }
  return bytes;
}
