// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All threads take the same way through a loop and its branches: what decides is asked by barrier.red, which also keeps
// a flag from being written before all have read it. A barrier ends each step, so that no step overlaps another.

#include "backends/cuda/LoopPtx.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace sinter;
using namespace sinter::cuda;
using schedule::LoopOperand;
using schedule::LoopStep;

/// In one of so many trips, a power of two, a thread looks whether the host asks the loop to end: that word is the
/// host's, a microsecond away.
constexpr uint32_t kTripsPerLook = 32;
constexpr unsigned kSharedSpace = 3; // NVPTX's number of that memory

namespace {
class LoopWriter {
public:
  LoopWriter(llvm::Module &module, const LoopKernel &loop, const llvm::StringMap<LoopedFunction> &functions)
      : module(module), loop(loop), functions(functions), b(module.getContext()) {}
  void write();

private:
  void writeSteps(const std::vector<LoopStep> &steps) {
    for (const LoopStep &step : steps)
      writeStep(step);
  }
  void writeStep(const LoopStep &step);
  void writeLaunch(const LoopStep &step);
  void writeLoop(const LoopStep &step);
  void writeBranch(const LoopStep &step);
  void writeChunks(const std::string &kernel, Chunk chunk, int64_t threads, llvm::ArrayRef<LoopOperand> operands);
  /// Copies bytes, or sets them to 0 without `from`.
  void writeBytes(llvm::Value *to, llvm::Value *from, llvm::Value *bytes);

  llvm::Value *get(const LoopOperand &operand);
  void barrier() { b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {b.getInt32(0)}); }
  /// Whether the condition holds in any thread.
  llvm::Value *inAnyThread(llvm::Value *condition) {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_red_or_aligned_all, {b.getInt32(0), condition});
  }
  /// Whether this thread has seen that the loop is to end.
  llvm::Value *lookAtStop();
  llvm::Value *isZero(const LoopOperand &flag) {
    return b.CreateICmpEQ(b.CreateLoad(b.getInt8Ty(), get(flag)), b.getInt8(0));
  }
  llvm::BasicBlock *newBlock() { return llvm::BasicBlock::Create(module.getContext(), "", entry); }
  void enter(llvm::BasicBlock *block) { b.SetInsertPoint(block); }
  /// `for (i = first; i < end; i += step) body(i)`.
  void count(llvm::Value *first, llvm::Value *end, llvm::Value *step, llvm::function_ref<void(llvm::Value *)> body);
  void onlyIf(llvm::Value *condition, llvm::function_ref<void()> body);
  llvm::Value *variable(llvm::Type *type, llvm::Constant *first);

  /// The function as a group of threads runs it: with its number in the group, a barrier and shared memory of the
  /// group.
  llvm::Function *inGroup(const std::string &kernel, int64_t threads, int64_t &groups);
  void shareMemory(llvm::Function &function, int64_t threads, int64_t &groups);

  llvm::Module &module;
  const LoopKernel &loop;
  const llvm::StringMap<LoopedFunction> &functions;
  llvm::IRBuilder<> b;
  llvm::Function *entry = nullptr;
  llvm::Value *thread = nullptr, *stop = nullptr;
  llvm::Value *looks = nullptr;         // decisions so far
  llvm::GlobalVariable *pool = nullptr; // shared memory, which each step uses anew
  struct Grouped {
    llvm::Function *function;
    int64_t groups;
  };
  llvm::StringMap<Grouped> grouped;
};
} // namespace

//===- Control -------------------------------------------------------------------------------------===//

llvm::Value *LoopWriter::get(const LoopOperand &operand) {
  if (operand.number)
    return b.getInt64(static_cast<uint64_t>(*operand.number));
  return entry->getArg(operand.word);
}

void LoopWriter::count(llvm::Value *first, llvm::Value *end, llvm::Value *step,
                       llvm::function_ref<void(llvm::Value *)> body) {
  llvm::BasicBlock *before = b.GetInsertBlock(), *test = newBlock(), *inside = newBlock(), *done = newBlock();
  b.CreateBr(test);
  enter(test);
  llvm::PHINode *number = b.CreatePHI(b.getInt64Ty(), 2);
  number->addIncoming(first, before);
  b.CreateCondBr(b.CreateICmpSLT(number, end), inside, done);
  enter(inside);
  body(number);
  number->addIncoming(b.CreateNSWAdd(number, step), b.GetInsertBlock());
  b.CreateBr(test);
  enter(done);
}

void LoopWriter::onlyIf(llvm::Value *condition, llvm::function_ref<void()> body) {
  llvm::BasicBlock *inside = newBlock(), *done = newBlock();
  b.CreateCondBr(condition, inside, done);
  enter(inside);
  body();
  b.CreateBr(done);
  enter(done);
}

llvm::Value *LoopWriter::variable(llvm::Type *type, llvm::Constant *first) {
  llvm::IRBuilder<> atBegin(&entry->getEntryBlock(), entry->getEntryBlock().begin());
  llvm::Value *place = atBegin.CreateAlloca(type);
  b.CreateStore(first, place);
  return place;
}

llvm::Value *LoopWriter::lookAtStop() {
  llvm::Value *number = b.CreateLoad(b.getInt32Ty(), looks);
  b.CreateStore(b.CreateAdd(number, b.getInt32(1)), looks);
  llvm::Value *isDue = b.CreateAnd(b.CreateICmpEQ(thread, b.getInt64(0)),
                                   b.CreateICmpEQ(b.CreateAnd(number, b.getInt32(kTripsPerLook - 1)), b.getInt32(0)));
  llvm::BasicBlock *before = b.GetInsertBlock(), *inside = newBlock(), *done = newBlock();
  b.CreateCondBr(isDue, inside, done);
  enter(inside);
  llvm::Value *asked = b.CreateICmpNE(b.CreateLoad(b.getInt32Ty(), stop, /*isVolatile=*/true), b.getInt32(0));
  b.CreateBr(done);
  enter(done);
  llvm::PHINode *result = b.CreatePHI(b.getInt1Ty(), 2);
  result->addIncoming(b.getFalse(), before);
  result->addIncoming(asked, inside);
  return result;
}

void LoopWriter::writeLoop(const LoopStep &step) {
  const LoopOperand &most = step.operands[1], &flag = step.operands[2];
  llvm::Value *counter = variable(b.getInt64Ty(), b.getInt64(0));
  llvm::BasicBlock *test = newBlock(), *body = newBlock(), *done = newBlock();
  b.CreateBr(test);
  enter(test);
  writeSteps(step.first);
  llvm::Value *trips = b.CreateLoad(b.getInt64Ty(), counter);
  llvm::Value *limit = get(most);
  llvm::Value *isFull = b.CreateAnd(b.CreateICmpSGE(limit, b.getInt64(0)), b.CreateICmpSGE(trips, limit));
  llvm::Value *ends = b.CreateOr(isZero(flag), isFull);
  ends = b.CreateOr(ends, lookAtStop());
  b.CreateCondBr(inAnyThread(ends), done, body);
  enter(body);
  writeSteps(step.second);
  b.CreateStore(b.CreateAdd(b.CreateLoad(b.getInt64Ty(), counter), b.getInt64(1)), counter);
  b.CreateBr(test);
  enter(done);
  onlyIf(b.CreateICmpEQ(thread, b.getInt64(0)),
         [&] { b.CreateStore(b.CreateLoad(b.getInt64Ty(), counter), get(step.operands[0])); });
  barrier();
}

void LoopWriter::writeBranch(const LoopStep &step) {
  llvm::BasicBlock *then = newBlock(), *otherwise = newBlock(), *done = newBlock();
  b.CreateCondBr(inAnyThread(isZero(step.operands[0])), otherwise, then);
  for (auto [block, steps] : {std::pair(then, &step.first), std::pair(otherwise, &step.second)}) {
    enter(block);
    writeSteps(*steps);
    b.CreateBr(done);
  }
  enter(done);
}

//===- Work ----------------------------------------------------------------------------------------===//

void LoopWriter::writeBytes(llvm::Value *to, llvm::Value *from, llvm::Value *bytes) {
  llvm::Type *i64 = b.getInt64Ty(), *i32 = b.getInt32Ty();
  llvm::Value *bits = b.CreateOr(bytes, b.CreatePtrToInt(to, i64));
  if (from)
    bits = b.CreateOr(bits, b.CreatePtrToInt(from, i64));
  // By the longest words that divide addresses and size.
  auto move = [&](llvm::Type *type, uint64_t width) {
    llvm::Value *first = b.CreateMul(thread, b.getInt64(width));
    count(first, bytes, b.getInt64(width * static_cast<uint64_t>(loop.threads)), [&](llvm::Value *offset) {
      auto at = [&](llvm::Value *base) { return b.CreateGEP(b.getInt8Ty(), base, offset); };
      llvm::Value *value = llvm::Constant::getNullValue(type);
      if (from)
        value = b.CreateAlignedLoad(type, at(from), llvm::Align(width));
      b.CreateAlignedStore(value, at(to), llvm::Align(width));
    });
  };
  llvm::BasicBlock *done = newBlock();
  for (auto [type, width] : {std::pair<llvm::Type *, uint64_t>(llvm::FixedVectorType::get(i32, 4), 16), {i32, 4}}) {
    llvm::BasicBlock *inside = newBlock(), *next = newBlock();
    b.CreateCondBr(b.CreateICmpEQ(b.CreateAnd(bits, b.getInt64(width - 1)), b.getInt64(0)), inside, next);
    enter(inside);
    move(type, width);
    b.CreateBr(done);
    enter(next);
  }
  move(b.getInt8Ty(), 1);
  b.CreateBr(done);
  enter(done);
}

void LoopWriter::shareMemory(llvm::Function &function, int64_t threads, int64_t &groups) {
  llvm::SmallVector<llvm::GlobalVariable *> variables;
  llvm::SmallVector<llvm::Constant *> constants;
  for (llvm::GlobalVariable &variable : module.globals())
    if (variable.getAddressSpace() == kSharedSpace && &variable != pool) {
      variables.push_back(&variable);
      constants.push_back(&variable);
    }
  llvm::convertUsersOfConstantsToInstructions(constants, &function);
  const llvm::DataLayout &layout = module.getDataLayout();
  llvm::DenseMap<llvm::Value *, uint64_t> places;
  uint64_t bytes = 0;
  for (llvm::GlobalVariable *variable : variables) {
    bool isUsed = llvm::any_of(variable->users(), [&](llvm::User *user) {
      auto *instruction = llvm::dyn_cast<llvm::Instruction>(user);
      return instruction && instruction->getFunction() == &function;
    });
    if (!isUsed)
      continue;
    places[variable] = bytes = llvm::alignTo(bytes, kGroupAlignment);
    bytes += layout.getTypeAllocSize(variable->getValueType());
  }
  groups = groupsOf(loop.threads, threads, static_cast<int64_t>(bytes));
  if (!bytes)
    return;
  uint64_t each = llvm::alignTo(bytes, kGroupAlignment), all = each * static_cast<uint64_t>(groups);
  if (!pool || layout.getTypeAllocSize(pool->getValueType()) < all) {
    auto *type = llvm::ArrayType::get(b.getInt8Ty(), all);
    auto *larger = new llvm::GlobalVariable(module, type, /*isConstant=*/false, llvm::GlobalValue::InternalLinkage,
                                            llvm::UndefValue::get(type), loop.symbol + "_shared", nullptr,
                                            llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    larger->setAlignment(llvm::Align(kGroupAlignment));
    if (pool) {
      pool->replaceAllUsesWith(larger);
      pool->eraseFromParent();
    }
    pool = larger;
  }
  llvm::IRBuilder<> at(&function.getEntryBlock(), function.getEntryBlock().begin());
  llvm::Value *number = at.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
  llvm::Value *group = at.CreateUDiv(number, at.getInt32(static_cast<uint32_t>(threads)));
  llvm::Value *own =
      at.CreateGEP(at.getInt8Ty(), pool, at.CreateMul(at.CreateZExt(group, at.getInt64Ty()), at.getInt64(each)));
  for (auto [variable, place] : places) {
    llvm::Value *replaced = at.CreateGEP(at.getInt8Ty(), own, at.getInt64(place));
    variable->replaceUsesWithIf(replaced, [&](llvm::Use &use) {
      auto *user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
      return user && user->getFunction() == &function;
    });
  }
}

llvm::Function *LoopWriter::inGroup(const std::string &kernel, int64_t threads, int64_t &groups) {
  auto [known, isNew] = grouped.try_emplace(kernel);
  if (!isNew) {
    groups = known->second.groups;
    return known->second.function;
  }
  llvm::ValueToValueMapTy same;
  llvm::Function *function = llvm::CloneFunction(module.getFunction(kernel + "_body"), same);
  function->setName(kernel + "_in_" + loop.symbol);
  llvm::SmallVector<llvm::IntrinsicInst *> calls;
  for (llvm::Instruction &instruction : llvm::instructions(*function))
    if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
      calls.push_back(call);
  auto count = static_cast<uint32_t>(threads);
  for (llvm::IntrinsicInst *call : calls) {
    if (threads == loop.threads)
      break;
    llvm::IRBuilder<> at(call->getNextNode());
    auto number = [&] { return at.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}); };
    llvm::Value *replaced = nullptr;
    if (call->getIntrinsicID() == llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x)
      replaced = at.CreateURem(number(), at.getInt32(count));
    else if (call->getIntrinsicID() == llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x)
      replaced = at.getInt32(count);
    else if (call->getIntrinsicID() == llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all)
      at.CreateIntrinsic(
          llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_count,
          {at.CreateAdd(at.CreateUDiv(number(), at.getInt32(count)), at.getInt32(1)), at.getInt32(count)});
    else
      continue;
    if (replaced)
      call->replaceAllUsesWith(replaced);
    call->eraseFromParent();
  }
  shareMemory(*function, threads, groups);
  known->second = {function, groups};
  return function;
}

void LoopWriter::writeChunks(const std::string &kernel, Chunk chunk, int64_t threads,
                             llvm::ArrayRef<LoopOperand> operands) {
  llvm::Function *function = module.getFunction(kernel + "_body");
  llvm::Value *chunks = get(operands.back()), *first = thread, *step = b.getInt64(static_cast<uint64_t>(loop.threads));
  if (chunk == Chunk::Block) {
    int64_t groups = 1;
    function = inGroup(kernel, threads, groups);
    llvm::Value *group = b.CreateUDiv(thread, b.getInt64(static_cast<uint64_t>(threads)));
    step = b.getInt64(static_cast<uint64_t>(groups));
    first = b.CreateSelect(b.CreateICmpULT(group, step), group, chunks); // threads of no group have no chunk
  }
  count(first, chunks, step, [&](llvm::Value *number) {
    llvm::SmallVector<llvm::Value *> arguments;
    for (const LoopOperand &operand : operands.drop_back())
      arguments.push_back(get(operand));
    arguments.append({number, b.CreateNSWAdd(number, b.getInt64(1))});
    b.CreateCall(function, arguments);
  });
  barrier();
}

void LoopWriter::writeLaunch(const LoopStep &step) {
  const LoopedFunction &kernel = functions.find(step.kernel)->second;
  writeChunks(step.kernel, kernel.chunk, kernel.threads, step.operands);
  if (kernel.isJoined)
    writeChunks(step.kernel + kJoinSuffix.str(), Chunk::Block, kJoinThreads, step.operands);
}

void LoopWriter::writeStep(const LoopStep &step) {
  switch (step.kind) {
  case LoopStep::Kind::Launch:
    return writeLaunch(step);
  case LoopStep::Kind::Copy:
    writeBytes(get(step.operands[0]), get(step.operands[1]), get(step.operands[2]));
    return barrier();
  case LoopStep::Kind::Clear:
    writeBytes(get(step.operands[0]), nullptr, get(step.operands[1]));
    return barrier();
  case LoopStep::Kind::Loop:
    return writeLoop(step);
  case LoopStep::Kind::Branch:
    return writeBranch(step);
  }
}

void LoopWriter::write() {
  llvm::SmallVector<llvm::Type *> types;
  for (bool isBuffer : loop.areBuffers)
    types.push_back(isBuffer ? static_cast<llvm::Type *>(b.getPtrTy()) : b.getInt64Ty());
  types.append({b.getPtrTy(), b.getInt64Ty()});
  entry = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                 llvm::GlobalValue::ExternalLinkage, loop.symbol, module);
  entry->setCallingConv(llvm::CallingConv::PTX_Kernel);
  entry->addFnAttr("nvvm.maxntid", std::to_string(loop.threads));
  entry->addFnAttr("nvvm.minctasm", "1");
  entry->setDoesNotThrow();
  enter(newBlock());
  stop = entry->getArg(static_cast<unsigned>(loop.areBuffers.size()));
  thread = b.CreateZExt(b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}), b.getInt64Ty());
  looks = variable(b.getInt32Ty(), b.getInt32(0));
  writeLoop(loop.loop);
  b.CreateRetVoid();
}

void cuda::addLoop(llvm::Module &module, const LoopKernel &loop, const llvm::StringMap<LoopedFunction> &functions) {
  LoopWriter(module, loop, functions).write();
}
