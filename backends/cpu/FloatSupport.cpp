// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/FloatSupport.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace {
class SupportBuilder {
public:
  explicit SupportBuilder(Module &module) : module(module), b(module.getContext()) {}

  Function *define(StringRef name, Type *result, Type *argument) {
    auto *function =
        Function::Create(FunctionType::get(result, argument, false), GlobalValue::WeakODRLinkage, name, module);
    function->setVisibility(GlobalValue::HiddenVisibility);
    function->setComdat(module.getOrInsertComdat(name));
    b.SetInsertPoint(BasicBlock::Create(module.getContext(), "", function));
    return function;
  }

  /// f32 bits -> bf16 bits, to nearest even; NaN stays quiet.
  Value *narrowToBFloat(Value *value) {
    Value *bits = b.CreateBitCast(value, b.getInt32Ty());
    Value *high = b.CreateLShr(bits, 16);
    Value *rounded = b.CreateLShr(b.CreateAdd(b.CreateAdd(bits, b.getInt32(0x7fff)), b.CreateAnd(high, 1)), 16);
    Value *isNan = b.CreateICmpUGT(b.CreateAnd(bits, 0x7fffffff), b.getInt32(0x7f800000));
    Value *result = b.CreateSelect(isNan, b.CreateOr(high, 0x40), rounded);
    return b.CreateBitCast(b.CreateTrunc(result, b.getInt16Ty()), b.getBFloatTy());
  }

  /// f64 -> f32 rounded to odd, so that rounding once more gives what one rounding would.
  Value *narrowToOdd(Value *value) {
    Value *narrow = b.CreateFPTrunc(value, b.getFloatTy());
    Value *wide = b.CreateFPExt(narrow, b.getDoubleTy());
    Value *bits = b.CreateBitCast(narrow, b.getInt32Ty());
    auto magnitude = [&](Value *x) { return b.CreateAnd(b.CreateBitCast(x, b.getInt64Ty()), 0x7fffffffffffffffULL); };
    Value *away = b.CreateZExt(b.CreateICmpUGT(magnitude(wide), magnitude(value)), b.getInt32Ty());
    Value *odd = b.CreateOr(b.CreateSub(bits, away), 1);
    Value *inexact = b.CreateFCmpONE(wide, value); // false for NaN
    return b.CreateBitCast(b.CreateSelect(inexact, odd, bits), b.getFloatTy());
  }

  Module &module;
  IRBuilder<> b;
};
} // namespace

void sinter::cpu::addFloatSupport(Module &module) {
  SupportBuilder s(module);
  IRBuilder<> &b = s.b;
  Function *function = s.define("__truncsfbf2", b.getBFloatTy(), b.getFloatTy());
  b.CreateRet(s.narrowToBFloat(function->getArg(0)));
  function = s.define("__truncdfbf2", b.getBFloatTy(), b.getDoubleTy());
  b.CreateRet(s.narrowToBFloat(s.narrowToOdd(function->getArg(0))));
  function = s.define("__truncdfhf2", b.getHalfTy(), b.getDoubleTy());
  b.CreateRet(b.CreateFPTrunc(s.narrowToOdd(function->getArg(0)), b.getHalfTy()));
}
