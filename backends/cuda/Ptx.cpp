// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/Ptx.h"
#include "backends/cuda/LoopPtx.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const Generation &generation, std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(triple, generation.cpu, generation.features,
                                                                          llvm::TargetOptions(), llvm::Reloc::PIC_));
}

/// A tensor map: 128 bytes among the kernel's parameters, whose address copies are given.
static void describeMap(llvm::Function &entry, unsigned argument) {
  llvm::LLVMContext &context = entry.getContext();
  llvm::Type *bytes = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), 128);
  entry.addParamAttr(argument, llvm::Attribute::getWithByValType(context, bytes));
  entry.addParamAttr(argument, llvm::Attribute::getWithAlignment(context, llvm::Align(64)));
  entry.addParamAttr(argument, llvm::Attribute::get(context, "nvvm.grid_constant"));
  entry.addParamAttr(argument, llvm::Attribute::ReadOnly);
}

/// What threads do together may not move into branches that some of them take.
static void keepTogether(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm())
      call->addFnAttr(llvm::Attribute::Convergent);
}

/// `void NAME(words..., chunks, maps...)` around the kernel's function, which is inlined: a thread, or a block,
/// or a cluster, computes every chunk that lies as many as there are of them behind another.
static void addEntry(llvm::Module &module, const PtxUnit::Entry &unit) {
  llvm::Function *body = module.getFunction(unit.kernel);
  assert(body && "a kernel's module has the function that it is called after");
  body->setName(unit.kernel + "_body");
  body->setLinkage(llvm::GlobalValue::InternalLinkage);
  body->addFnAttr(llvm::Attribute::AlwaysInline);
  body->setDoesNotThrow();
  keepTogether(*body);

  llvm::LLVMContext &context = module.getContext();
  llvm::Type *i64 = llvm::Type::getInt64Ty(context);
  SmallVector<llvm::Type *> types;
  unsigned words = body->arg_size() - unit.numMaps - 2;
  for (unsigned i = 0; i < words; ++i)
    types.push_back(body->getArg(i)->getType());
  types.push_back(i64);
  types.append(unit.numMaps, llvm::PointerType::get(context, 0));
  auto *entry = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false),
                                       llvm::GlobalValue::ExternalLinkage, unit.kernel, module);
  entry->setCallingConv(llvm::CallingConv::PTX_Kernel);
  entry->addFnAttr("nvvm.maxntid", std::to_string(unit.threads));
  for (unsigned i = 0; i < unit.numMaps; ++i)
    describeMap(*entry, words + 1 + i);
  if (unit.chunk == Chunk::Grid)
    entry->addFnAttr("nvvm.minctasm", "1");
  if (unit.threadsAtOnce)
    entry->addFnAttr("nvvm.minctasm", std::to_string(std::max<int64_t>(1, unit.threadsAtOnce / unit.threads)));
  if (unit.cluster > 1)
    entry->addFnAttr("nvvm.cluster_dim", std::to_string(unit.cluster));
  entry->setDoesNotThrow();

  auto *first = llvm::BasicBlock::Create(context, "", entry);
  llvm::IRBuilder<> b(first);
  auto read = [&](llvm::Intrinsic::ID id) { return b.CreateZExt(b.CreateIntrinsic(id, {}), i64); };
  bool isCluster = unit.cluster > 1;
  llvm::Value *start =
      read(isCluster ? llvm::Intrinsic::nvvm_read_ptx_sreg_clusterid_x : llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  llvm::Value *step =
      read(isCluster ? llvm::Intrinsic::nvvm_read_ptx_sreg_nclusterid_x : llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
  SmallVector<llvm::Value *> arguments;
  for (unsigned i = 0; i < words; ++i)
    arguments.push_back(entry->getArg(i));
  if (unit.chunk == Chunk::Grid) {
    arguments.append({start, step});
    for (unsigned i = 0; i < unit.numMaps; ++i)
      arguments.push_back(entry->getArg(words + 1 + i));
    b.CreateCall(body, arguments);
    b.CreateRetVoid();
    return;
  }
  if (unit.chunk == Chunk::Thread) {
    llvm::Value *threads = read(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
    start = b.CreateAdd(b.CreateMul(start, threads), read(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x));
    step = b.CreateMul(step, threads);
  }
  auto *test = llvm::BasicBlock::Create(context, "", entry), *loop = llvm::BasicBlock::Create(context, "", entry),
       *done = llvm::BasicBlock::Create(context, "", entry);
  b.CreateBr(test);
  b.SetInsertPoint(test);
  llvm::PHINode *chunk = b.CreatePHI(i64, 2);
  chunk->addIncoming(start, first);
  b.CreateCondBr(b.CreateICmpSLT(chunk, entry->getArg(words)), loop, done);
  b.SetInsertPoint(loop);
  arguments.push_back(chunk);
  arguments.push_back(b.CreateNSWAdd(chunk, b.getInt64(1)));
  b.CreateCall(body, arguments);
  chunk->addIncoming(b.CreateNSWAdd(chunk, step), loop);
  b.CreateBr(test);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
}

/// False when the result is not valid, which is LLVM's mistake or ours.
static bool optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.SLPVectorization = false;
  tuning.LoopVectorization = false;
  tuning.LoopInterleaving = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
  return !llvm::verifyModule(module);
}

/// Values that LLVM leaves open become 0. They stand where a path does not use what it carries (the stack of a sum that
/// is still empty, say), and a register that nothing has written may hold other bits in each run.
static void settleOpenValues(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      for (llvm::Use &operand : instruction.operands())
        if (llvm::isa<llvm::UndefValue>(operand.get()) && operand->getType()->isSingleValueType())
          operand.set(llvm::Constant::getNullValue(operand->getType()));
}

/// Loops, and no entry of what they alone launch.
static void addLoops(llvm::Module &module, ArrayRef<PtxUnit> units, const PtxLoops &loops) {
  llvm::StringMap<LoopedFunction> functions;
  for (const PtxUnit &unit : units)
    functions[unit.entries.front().kernel] = {unit.entries.front().chunk, unit.entries.front().threads,
                                              unit.entries.size() > 1};
  for (const LoopKernel &loop : loops.kernels)
    addLoop(module, loop, functions);
  for (const PtxUnit &unit : units)
    if (!loops.launched.contains(unit.entries.front().kernel))
      for (const PtxUnit::Entry &entry : unit.entries)
        module.getFunction(entry.kernel)->eraseFromParent();
}

FailureOr<std::string> cuda::generatePtx(ArrayRef<PtxUnit> units, const Generation &generation, Location loc,
                                         const PtxLoops *loops) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(generation, error);
  if (!machine)
    return emitError(loc) << "no code generator for nvptx64: " << error;
  llvm::LLVMContext context;
  llvm::Module all("kernels", context);
  all.setDataLayout(machine->createDataLayout());
  all.setTargetTriple(machine->getTargetTriple());
  for (const PtxUnit &unit : units) {
    const std::string &name = unit.entries.front().kernel;
    std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(unit.module, context, name);
    if (!module)
      return emitError(loc, name + " cannot be translated to LLVM IR");
    module->setDataLayout(all.getDataLayout());
    module->setTargetTriple(all.getTargetTriple());
    for (const PtxUnit::Entry &entry : unit.entries)
      addEntry(*module, entry);
    if (llvm::Linker::linkModules(all, std::move(module)))
      return emitError(loc, name + " has a function that another kernel has as well");
  }
  if (loops)
    addLoops(all, units, *loops);
  if (!optimize(all, *machine))
    return emitError(loc, "code is not valid after LLVM's optimizations");
  settleOpenValues(all);
  SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return emitError(loc, "the target cannot print PTX");
  passes.run(all);
  return std::string(text.begin(), text.end());
}
