// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation of LLVM 22 has masked moves of 16-bit lanes (AVX512BW) for integers, and for floats only where the
// processor computes with them. It takes a masked load of others apart, into a branch and a load for each lane:
//
//   call <16 x bfloat> @llvm.masked.load(ptr, mask, rest)
//   call <16 x i16> @llvm.masked.load(ptr, mask, bits of rest), then a cast

#include "backends/cpu/MaskedHalves.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

static bool isOfHalves(Type *type) {
  return isa<FixedVectorType>(type) && (type->getScalarType()->isHalfTy() || type->getScalarType()->isBFloatTy());
}

/// The vector type of integers with as many bits.
static Type *bitsOf(Type *type) { return VectorType::getInteger(cast<VectorType>(type)); }

static void replaceLoad(IntrinsicInst *load) {
  IRBuilder<> b(load);
  Type *type = load->getType(), *bits = bitsOf(type);
  Value *rest = b.CreateBitCast(load->getArgOperand(2), bits);
  CallInst *moved = b.CreateMaskedLoad(bits, load->getArgOperand(0), load->getParamAlign(0).valueOrOne(),
                                       load->getArgOperand(1), rest);
  moved->copyMetadata(*load);
  load->replaceAllUsesWith(b.CreateBitCast(moved, type));
}

static void replaceStore(IntrinsicInst *store) {
  IRBuilder<> b(store);
  Value *value = store->getArgOperand(0);
  CallInst *moved = b.CreateMaskedStore(b.CreateBitCast(value, bitsOf(value->getType())), store->getArgOperand(1),
                                        store->getParamAlign(1).valueOrOne(), store->getArgOperand(2));
  moved->copyMetadata(*store);
}

bool sinter::cpu::moveMaskedHalvesAsBits(Module &module) {
  SmallVector<IntrinsicInst *> moves;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *move = dyn_cast<IntrinsicInst>(&instruction)) {
        bool isLoad = move->getIntrinsicID() == Intrinsic::masked_load && isOfHalves(move->getType());
        bool isStore =
            move->getIntrinsicID() == Intrinsic::masked_store && isOfHalves(move->getArgOperand(0)->getType());
        if (isLoad || isStore)
          moves.push_back(move);
      }
  for (IntrinsicInst *move : moves) {
    if (move->getIntrinsicID() == Intrinsic::masked_load)
      replaceLoad(move);
    else
      replaceStore(move);
    move->eraseFromParent();
  }
  return !moves.empty();
}
