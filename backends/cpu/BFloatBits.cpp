// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a scalar bfloat lives beyond its block, X86 code generation of LLVM 22 keeps an f32 and rounds it again when it
// is used. With AVX512-BF16 or AVX-NE-CONVERT that is vcvtneps2bf16, which takes denormals for 0 whatever the state of
// the processor says:
//
//   %x = load bfloat            ->  a denormal
//   loop: %a = phi bfloat       ->  0
//
// and without them a call for each use. Bits in a register of an integer stay what they are. They are 32, as code
// generation turns phis of bits that are cast to floats and back into phis of floats again if the sizes are the same.

#include "backends/cpu/BFloatBits.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace {
class BFloatCarrier {
public:
  explicit BFloatCarrier(Function &function) : function(function), b(function.getContext()) {}
  bool run();

private:
  Value *widened(Value *value) { return b.CreateZExt(b.CreateBitCast(value, b.getInt16Ty()), b.getInt32Ty()); }
  Value *narrowed(Value *bits) { return b.CreateBitCast(b.CreateTrunc(bits, b.getInt16Ty()), b.getBFloatTy()); }
  Value *bitsOf(Value *incoming);
  void replaceUses(Value *value, Value *bits);

  Function &function;
  IRBuilder<> b;
  MapVector<Value *, Value *> bits; // of values that leave their block
};
} // namespace

static BasicBlock *blockOf(Value *value) {
  if (auto *instruction = dyn_cast<Instruction>(value))
    return instruction->getParent();
  return &cast<Argument>(value)->getParent()->getEntryBlock();
}

static bool leavesBlock(Value *value) {
  return isa<PHINode>(value) || any_of(value->users(), [&](User *user) {
           return isa<PHINode>(user) || cast<Instruction>(user)->getParent() != blockOf(value);
         });
}

/// What a phi of bits takes in place of `incoming`.
Value *BFloatCarrier::bitsOf(Value *incoming) {
  if (auto *number = dyn_cast<ConstantFP>(incoming))
    return b.getInt32(static_cast<uint32_t>(number->getValueAPF().bitcastToAPInt().getZExtValue()));
  auto found = bits.find(incoming);
  return found == bits.end() ? b.getInt32(0) : found->second; // of a value that nothing defined, any
}

/// Uses of `value` outside its block read `bits`, once a block.
void BFloatCarrier::replaceUses(Value *value, Value *bits) {
  DenseMap<BasicBlock *, Value *> narrow;
  for (Use &use : make_early_inc_range(value->uses())) {
    auto *user = cast<Instruction>(use.getUser());
    BasicBlock *block = user->getParent();
    if (isa<PHINode>(user) || (block == blockOf(value) && !isa<PHINode>(value)))
      continue;
    Value *&local = narrow[block];
    if (!local) {
      b.SetInsertPoint(block, block->getFirstInsertionPt());
      local = narrowed(bits);
    }
    use.set(local);
  }
}

bool BFloatCarrier::run() {
  auto consider = [&](Value &value) {
    if (value.getType()->isBFloatTy() && leavesBlock(&value))
      bits[&value] = nullptr;
  };
  for (Argument &argument : function.args())
    consider(argument);
  for (BasicBlock &block : function)
    for (Instruction &instruction : block)
      consider(instruction);
  for (auto &[value, wide] : bits) {
    if (auto *phi = dyn_cast<PHINode>(value)) {
      b.SetInsertPoint(phi);
      wide = b.CreatePHI(b.getInt32Ty(), phi->getNumIncomingValues());
      continue;
    }
    auto *instruction = dyn_cast<Instruction>(value);
    b.SetInsertPoint(blockOf(value), instruction ? std::next(instruction->getIterator())
                                                 : function.getEntryBlock().getFirstInsertionPt());
    wide = widened(value);
  }
  for (auto &[value, wide] : bits) {
    replaceUses(value, wide);
    if (auto *phi = dyn_cast<PHINode>(value))
      for (auto [incoming, block] : zip(phi->incoming_values(), phi->blocks()))
        cast<PHINode>(wide)->addIncoming(bitsOf(incoming), block);
  }
  for (auto &[value, wide] : bits)
    if (auto *phi = dyn_cast<PHINode>(value)) {
      phi->replaceAllUsesWith(PoisonValue::get(phi->getType())); // by other phis that go
      phi->eraseFromParent();
    }
  return !bits.empty();
}

bool sinter::cpu::carryBFloatsAsBits(Module &module) {
  if (!module.getTargetTriple().isX86())
    return false;
  bool changed = false;
  for (Function &function : module)
    if (!function.isDeclaration())
      changed |= BFloatCarrier(function).run();
  return changed;
}
