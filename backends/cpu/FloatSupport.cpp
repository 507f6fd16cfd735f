// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/FloatSupport.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include <map>
#include <mutex>

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

  /// f32 bits -> f16 bits, to nearest even; NaN stays quiet. For CPUs without F16C.
  Value *narrowToHalf(Value *value) {
    Value *bits = b.CreateBitCast(value, b.getInt32Ty());
    Value *sign = b.CreateAnd(b.CreateLShr(bits, 16), 0x8000), *magnitude = b.CreateAnd(bits, 0x7fffffff);
    // A normal result: the exponent moves by 112, thirteen digits are rounded off; what overflows becomes inf.
    Value *even = b.CreateAnd(b.CreateLShr(magnitude, 13), 1);
    Value *rounded = b.CreateAdd(b.CreateAdd(magnitude, b.getInt32(0xfff)), even);
    Value *normal = b.CreateLShr(b.CreateSub(rounded, b.getInt32(112 << 23)), 13);
    // A denormal one: adding 0.5 leaves its digits, rounded, at the end of the sum.
    Value *half = ConstantFP::get(b.getFloatTy(), 0.5);
    Value *sum = b.CreateFAdd(b.CreateBitCast(magnitude, b.getFloatTy()), half);
    Value *denormal = b.CreateSub(b.CreateBitCast(sum, b.getInt32Ty()), b.getInt32(0x3f000000));
    Value *result = b.CreateSelect(b.CreateICmpULT(magnitude, b.getInt32(113 << 23)), denormal, normal);
    result = b.CreateSelect(b.CreateICmpUGE(magnitude, b.getInt32(0x477ff000)), b.getInt32(0x7c00), result);
    Value *payload = b.CreateOr(b.CreateAnd(b.CreateLShr(magnitude, 13), 0x3ff), 0x7e00);
    result = b.CreateSelect(b.CreateICmpUGT(magnitude, b.getInt32(0x7f800000)), payload, result);
    return b.CreateBitCast(b.CreateTrunc(b.CreateOr(result, sign), b.getInt16Ty()), b.getHalfTy());
  }

  /// f16 -> f32, exact.
  Value *widenHalf(Value *value) {
    Value *bits = b.CreateZExt(b.CreateBitCast(value, b.getInt16Ty()), b.getInt32Ty());
    Value *sign = b.CreateShl(b.CreateAnd(bits, 0x8000), 16), *digits = b.CreateShl(b.CreateAnd(bits, 0x7fff), 13);
    Value *normal = b.CreateAdd(digits, b.getInt32(112 << 23));
    // inf and NaN have all bits of the exponent, NaN becomes quiet.
    Value *special =
        b.CreateOr(b.CreateAdd(digits, b.getInt32(224 << 23)),
                   b.CreateSelect(b.CreateICmpUGT(digits, b.getInt32(31 << 23)), b.getInt32(1 << 22), b.getInt32(0)));
    // Denormals are integers of 2^-24.
    Value *small = b.CreateFMul(b.CreateUIToFP(b.CreateLShr(digits, 13), b.getFloatTy()),
                                ConstantFP::get(b.getFloatTy(), 0x1p-24));
    Value *result =
        b.CreateSelect(b.CreateICmpULT(digits, b.getInt32(1 << 23)), b.CreateBitCast(small, b.getInt32Ty()), normal);
    result = b.CreateSelect(b.CreateICmpUGE(digits, b.getInt32(31 << 23)), special, result);
    return b.CreateBitCast(b.CreateOr(result, sign), b.getFloatTy());
  }

  Module &module;
  IRBuilder<> b;
};
} // namespace

static void addFloatSupport(Module &module) {
  SupportBuilder s(module);
  IRBuilder<> &b = s.b;
  Function *function = s.define("__truncsfhf2", b.getHalfTy(), b.getFloatTy());
  b.CreateRet(s.narrowToHalf(function->getArg(0)));
  function = s.define("__extendhfsf2", b.getFloatTy(), b.getHalfTy());
  b.CreateRet(s.widenHalf(function->getArg(0)));
  function = s.define("__truncsfbf2", b.getBFloatTy(), b.getFloatTy());
  b.CreateRet(s.narrowToBFloat(function->getArg(0)));
  function = s.define("__truncdfbf2", b.getBFloatTy(), b.getDoubleTy());
  b.CreateRet(s.narrowToBFloat(s.narrowToOdd(function->getArg(0))));
  function = s.define("__truncdfhf2", b.getHalfTy(), b.getDoubleTy());
  b.CreateRet(b.CreateFPTrunc(s.narrowToOdd(function->getArg(0)), b.getHalfTy()));
}

bool sinter::cpu::callsFloatSupport(StringRef object) {
  return object.contains("__trunc") || object.contains("__extendhf");
}

FailureOr<std::string> sinter::cpu::floatSupport(const ObjectOptions &options, std::string &error) {
  static std::mutex &mutex = *new std::mutex; // never destroyed: threads may compile while the process ends
  static auto &made = *new std::map<std::string, std::string>;
  const Target &target = *options.target;
  std::string key = target.triple + " " + target.cpu + " " + target.features;
  std::lock_guard<std::mutex> guard(mutex);
  auto known = made.find(key);
  if (known != made.end())
    return known->second;
  LLVMContext context;
  Module module("floats", context);
  addFloatSupport(module);
  FailureOr<std::string> object = compileModule(module, options, error);
  if (succeeded(object))
    made[key] = *object;
  return object;
}
