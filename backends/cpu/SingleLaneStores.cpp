// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// X86 code generation of LLVM 22 joins a truncation with the masked store of its result, and then writes such a store
// of one lane as a plain store of an element that is not truncated:
//
//   %small = trunc <2 x i64> %wide to <2 x i16>
//   masked.store(%small, %p, <i1 true, i1 false>)      ->  movq %wide, (%p)     ; 8 bytes, not 2
//
// What lies behind is lost (LLVM 179489). Without a masked store there is nothing to join.

#include "backends/cpu/SingleLaneStores.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include <optional>

using namespace llvm;

/// The lane that a constant mask of one lane lets through.
static std::optional<unsigned> singleLane(const Value *mask) {
  auto *constant = dyn_cast<Constant>(mask);
  auto *type = dyn_cast<FixedVectorType>(mask->getType());
  if (!constant || !type)
    return std::nullopt;
  std::optional<unsigned> lane;
  for (unsigned k = 0; k < type->getNumElements(); ++k) {
    const Constant *element = constant->getAggregateElement(k);
    if (element && element->isNullValue())
      continue;
    if (lane || !element || !element->isOneValue())
      return std::nullopt;
    lane = k;
  }
  return lane;
}

bool sinter::cpu::storeSingleLanes(Module &module) {
  bool changed = false;
  for (Function &function : module)
    for (BasicBlock &block : function)
      for (Instruction &instruction : make_early_inc_range(block)) {
        auto *store = dyn_cast<IntrinsicInst>(&instruction);
        if (!store || store->getIntrinsicID() != Intrinsic::masked_store)
          continue;
        std::optional<unsigned> lane = singleLane(store->getArgOperand(2));
        if (!lane)
          continue;
        Value *vector = store->getArgOperand(0);
        Type *element = vector->getType()->getScalarType();
        const DataLayout &layout = module.getDataLayout();
        if (!layout.typeSizeEqualsStoreSize(element))
          continue; // bits lie side by side
        uint64_t bytes = layout.getTypeStoreSize(element);
        IRBuilder<> b(store);
        Value *place = b.CreateConstInBoundsGEP1_64(element, store->getArgOperand(1), *lane);
        b.CreateAlignedStore(b.CreateExtractElement(vector, *lane), place,
                             commonAlignment(store->getParamAlign(1).valueOrOne(), *lane * bytes));
        store->eraseFromParent();
        changed = true;
      }
  return changed;
}
