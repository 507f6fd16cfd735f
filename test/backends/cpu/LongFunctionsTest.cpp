// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function in parts does what the whole did: functions of random loops, branches, variables and early exits run both
// ways.

#include "backends/cpu/LongFunctions.h"
#include "test/Growth.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/TargetSelect.h"
#include "gtest/gtest.h"
#include <random>

using namespace llvm;

namespace {
constexpr unsigned kWords = 8;

/// Writes `i32 f(i64 *words)`: a status, and numbers in `words`. All blocks can return early through one that takes the
/// status, as those of schedules do.
class Writer {
public:
  Writer(Module &module, unsigned seed) : random(seed), b(module.getContext()) {
    auto *type = FunctionType::get(b.getInt32Ty(), {b.getPtrTy()}, false);
    function = Function::Create(type, Function::ExternalLinkage, "f", module);
    b.SetInsertPoint(newBlock());
    end = newBlock();
    status = IRBuilder<>(end).CreatePHI(b.getInt32Ty(), 0);
    IRBuilder<>(end).CreateRet(status);
    for (unsigned k = 0; k < 3 * kWords; ++k)
      variables.push_back(b.CreateAlloca(b.getInt64Ty()));
    for (Value *variable : variables)
      b.CreateStore(b.getInt64(0), variable);
    for (unsigned k = 0; k < 12 * kWords; ++k)
      inner.push_back(b.CreateAlloca(b.getInt64Ty()));
    for (unsigned k = 0; k < kWords; ++k)
      live.push_back(b.CreateLoad(b.getInt64Ty(), word(k)));
  }

  /// `blocks` more of them, about, in loops of at most `depth`.
  void write(unsigned blocks, unsigned depth) {
    const size_t all = function->size() + blocks;
    while (function->size() < all) {
      compute();
      unsigned kind = pick(6);
      if (kind == 0 && depth > 0)
        loop(std::min<unsigned>(blocks / 2, 1 + pick(40)), depth - 1);
      else if (kind == 1)
        choose(std::min<unsigned>(blocks / 2, 1 + pick(30)), depth);
      else
        leaveIf();
    }
  }

  void finish() {
    for (unsigned k = 0; k < kWords; ++k)
      b.CreateStore(any(), word(k));
    leave(b.getInt32(0));
  }

  Function *function;

private:
  unsigned pick(unsigned count) { return static_cast<unsigned>(random() % count); }
  Value *any() { return live[pick(live.size())]; }
  Value *word(unsigned k) { return b.CreateConstGEP1_64(b.getInt64Ty(), function->getArg(0), k); }
  BasicBlock *newBlock() { return BasicBlock::Create(b.getContext(), "", function); }

  void compute() {
    live.push_back(b.CreateAdd(b.CreateMul(any(), b.getInt64(2 * pick(9) + 1)), any()));
    Value *variable = variables[pick(variables.size())];
    live.push_back(b.CreateXor(b.CreateLoad(b.getInt64Ty(), variable), any()));
    b.CreateStore(any(), variable);
    if (pick(3) == 0)
      b.CreateStore(any(), word(pick(kWords)));
    if (!inner.empty() && pick(2) == 0) { // a variable of this place alone
      Value *own = inner.pop_back_val();
      b.CreateStore(any(), own);
      live.push_back(b.CreateLoad(b.getInt64Ty(), own));
    }
    if (inner.size() > 1 && pick(3) == 0) { // one of two, read later
      Value *two[] = {inner.pop_back_val(), inner.pop_back_val()};
      for (Value *one : two)
        b.CreateStore(any(), one);
      addresses.push_back(b.CreateSelect(b.CreateICmpSLT(any(), any()), two[0], two[1]));
    }
    if (!addresses.empty() && pick(2) == 0)
      live.push_back(b.CreateLoad(b.getInt64Ty(), addresses[pick(addresses.size())]));
  }

  void leave(Value *code) {
    status->addIncoming(code, b.GetInsertBlock());
    b.CreateBr(end);
  }

  /// Returns early for one number of 64.
  void leaveIf() {
    BasicBlock *next = newBlock();
    Value *code = b.CreateTrunc(any(), b.getInt32Ty());
    status->addIncoming(code, b.GetInsertBlock());
    Value *phase = b.CreateAnd(any(), b.getInt64(63));
    b.CreateCondBr(b.CreateICmpEQ(phase, b.getInt64(pick(64))), end, next);
    b.SetInsertPoint(next);
  }

  void loop(unsigned blocks, unsigned depth) {
    BasicBlock *before = b.GetInsertBlock(), *header = newBlock(), *body = newBlock(), *after = newBlock();
    Value *start = any();
    b.CreateBr(header);
    b.SetInsertPoint(header);
    PHINode *trip = b.CreatePHI(b.getInt64Ty(), 2), *carried = b.CreatePHI(b.getInt64Ty(), 2);
    trip->addIncoming(b.getInt64(0), before);
    carried->addIncoming(start, before);
    b.CreateCondBr(b.CreateICmpSLT(trip, b.getInt64(1 + pick(4))), body, after);
    b.SetInsertPoint(body);
    size_t known = live.size(), knownAddresses = addresses.size();
    live.append({trip, carried});
    if (!inner.empty()) { // what the trip before left in a variable
      Value *own = inner.pop_back_val(), *old = b.CreateLoad(b.getInt64Ty(), own);
      Value *kept = b.CreateSelect(b.CreateICmpEQ(trip, b.getInt64(0)), b.getInt64(7), old);
      live.push_back(b.CreateAdd(kept, any()));
      b.CreateStore(live.back(), own);
    }
    write(blocks, depth);
    Value *next = any();
    trip->addIncoming(b.CreateAdd(trip, b.getInt64(1)), b.GetInsertBlock());
    carried->addIncoming(next, b.GetInsertBlock());
    b.CreateBr(header);
    live.truncate(known);
    addresses.truncate(knownAddresses);
    live.push_back(carried);
    b.SetInsertPoint(after);
  }

  void choose(unsigned blocks, unsigned depth) {
    BasicBlock *ways[] = {newBlock(), newBlock()}, *after = newBlock();
    b.CreateCondBr(b.CreateICmpSLT(any(), any()), ways[0], ways[1]);
    size_t known = live.size(), knownAddresses = addresses.size();
    PHINode *both = PHINode::Create(b.getInt64Ty(), 2, "", after);
    for (BasicBlock *way : ways) {
      b.SetInsertPoint(way);
      write(blocks, depth);
      both->addIncoming(any(), b.GetInsertBlock());
      b.CreateBr(after);
      live.truncate(known);
      addresses.truncate(knownAddresses);
    }
    live.push_back(both);
    b.SetInsertPoint(after);
  }

  std::mt19937 random;
  IRBuilder<> b;
  SmallVector<Value *> variables, inner, addresses, live;
  BasicBlock *end;
  PHINode *status;
};

struct Result {
  int32_t status;
  std::array<int64_t, kWords> words;
  bool operator==(const Result &) const = default;
};
} // namespace

/// What the function that `seed` stands for does, split or not; its parts are counted.
static Result run(unsigned seed, size_t partBlocks, size_t &parts) {
  auto context = std::make_unique<LLVMContext>();
  auto module = std::make_unique<Module>("m", *context);
  Writer writer(*module, seed);
  writer.write(150, 3);
  writer.finish();
  parts = partBlocks ? sinter::cpu::splitFunction(*writer.function, partBlocks) : 0;
  EXPECT_FALSE(verifyModule(*module, &errs())) << "seed " << seed;
  auto jit = cantFail(orc::LLJITBuilder().create());
  cantFail(jit->addIRModule(orc::ThreadSafeModule(std::move(module), std::move(context))));
  auto *function = cantFail(jit->lookup("f")).toPtr<int32_t (*)(int64_t *)>();
  Result result;
  for (unsigned k = 0; k < kWords; ++k)
    result.words[k] = 3 * k + 1 + seed;
  result.status = function(result.words.data());
  return result;
}

TEST(LongFunctions, PartsDoWhatTheWholeDid) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  size_t split = 0, early = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    size_t parts;
    Result whole = run(seed, 0, parts);
    early += whole.status != 0;
    Result now = run(seed, seed % 2 ? 7 : 25, parts);
    EXPECT_EQ(now, whole) << "seed " << seed;
    split += parts > 1;
  }
  EXPECT_EQ(split, 12u);
  EXPECT_GT(early, 0u);
  EXPECT_LT(early, 12u);
}

/// As many launches with a check after each as there are `count`, every one with a variable of its own; again and again
/// while the last gives 0, if `repeats`.
static Function *chain(Module &module, unsigned count, bool repeats = false) {
  IRBuilder<> b(module.getContext());
  auto *function = Function::Create(FunctionType::get(b.getInt32Ty(), {b.getPtrTy()}, false), Function::ExternalLinkage,
                                    "f", module);
  auto callee = module.getOrInsertFunction("launch", FunctionType::get(b.getInt32Ty(), {b.getPtrTy()}, false));
  b.SetInsertPoint(BasicBlock::Create(b.getContext(), "", function));
  SmallVector<Value *> variables;
  for (unsigned i = 0; i < count; ++i)
    variables.push_back(b.CreateAlloca(b.getInt64Ty()));
  auto *end = BasicBlock::Create(b.getContext(), "", function);
  PHINode *status = IRBuilder<>(end).CreatePHI(b.getInt32Ty(), 0);
  IRBuilder<>(end).CreateRet(status);
  auto *first = BasicBlock::Create(b.getContext(), "", function);
  b.CreateBr(first);
  b.SetInsertPoint(first);
  for (unsigned i = 0; i < count; ++i) {
    Value *code = b.CreateCall(callee, variables[i]);
    auto *next = BasicBlock::Create(b.getContext(), "", function);
    status->addIncoming(code, b.GetInsertBlock());
    b.CreateCondBr(b.CreateICmpEQ(code, b.getInt32(0)), next, end);
    b.SetInsertPoint(next);
  }
  if (!repeats)
    status->addIncoming(b.getInt32(0), b.GetInsertBlock());
  b.CreateBr(repeats ? first : end);
  return function;
}

static size_t numVariables(Function &function) {
  return count_if(function.getEntryBlock(), [](Instruction &instruction) { return isa<AllocaInst>(instruction); });
}

TEST(LongFunctions, PartsAreShortAndKeepTheirVariables) {
  LLVMContext context;
  Module module("m", context);
  Function *function = chain(module, 1000);
  EXPECT_GT(sinter::cpu::splitFunction(*function, 50), 15u);
  EXPECT_FALSE(verifyModule(module, &errs()));
  size_t variables = 0;
  for (Function &part : module) {
    EXPECT_LE(part.size(), 60u) << part.getName().str();
    if (&part == function || part.isDeclaration())
      continue;
    EXPECT_TRUE(part.hasLocalLinkage());
    EXPECT_TRUE(part.hasFnAttribute(Attribute::NoInline));
    variables += numVariables(part);
  }
  EXPECT_GT(variables, 900u);
}

TEST(LongFunctions, PartsOfALoopShareVariablesOverItsTrips) {
  LLVMContext context;
  Module module("m", context);
  Function *function = chain(module, 1000, /*repeats=*/true);
  EXPECT_GT(sinter::cpu::splitFunction(*function, 50), 15u);
  EXPECT_FALSE(verifyModule(module, &errs()));
  EXPECT_GE(numVariables(*function), 1000u);
}

TEST(LongFunctions, ShortOnesStayWhole) {
  LLVMContext context;
  Module module("m", context);
  Function *function = chain(module, 1500);
  EXPECT_FALSE(sinter::cpu::isLong(*function));
  sinter::cpu::splitLongFunctions(module);
  EXPECT_EQ(module.size(), 2u);
}

TEST(LongFunctions, TimeIsLinearInBlocks) {
  double ratio = sinter::test::growth(5000, [](unsigned count) {
    LLVMContext context;
    Module module("m", context);
    chain(module, count);
    sinter::cpu::splitLongFunctions(module);
    ASSERT_GT(module.size(), 10u);
  });
  EXPECT_LT(ratio, 8);
}
