// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches of functions whose lanes are computed alike but for a few numbers.

#include "backends/cpu/emit/MathLanes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

static Value flattened(ImplicitLocOpBuilder &b, Value value) {
  auto type = cast<VectorType>(value.getType());
  if (type.getRank() == 1)
    return value;
  return vector::ShapeCastOp::create(b, VectorType::get({type.getNumElements()}, type.getElementType()), value);
}

/// A bit for each lane, as an integer of that many bits.
static Value packed(ImplicitLocOpBuilder &b, Value flags) {
  Value flat = flattened(b, flags);
  auto lanes = static_cast<unsigned>(cast<VectorType>(flat.getType()).getNumElements());
  Value bits = vector::BitCastOp::create(b, VectorType::get({1}, b.getIntegerType(lanes)), flat);
  return vector::ExtractOp::create(b, bits, 0);
}

Value cpu::buildAny(MathLanes &m, Value flags) {
  if (!isa<VectorType>(m.type))
    return flags;
  Value bits = packed(m.b, flags), zero = arith::ConstantIntOp::create(m.b, bits.getType(), 0);
  return arith::CmpIOp::create(m.b, arith::CmpIPredicate::ne, bits, zero);
}

namespace {
/// What a lane becomes: by `build`, or by a function of the module that has its code once.
struct LaneCode {
  MathLanes &m;
  llvm::function_ref<SmallVector<Value>(Value)> build;
  func::FuncOp function; // null where the target's functions call no others

  LaneCode(MathLanes &m, StringRef name, Type lane, TypeRange results,
           llvm::function_ref<SmallVector<Value>(Value)> build)
      : m(m), build(build) {
    if (!m.has.calls)
      return;
    ImplicitLocOpBuilder &b = m.b;
    auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
    function = module.lookupSymbol<func::FuncOp>(name);
    if (function)
      return;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(module.getBody());
    function = func::FuncOp::create(b, name, b.getFunctionType(lane, results));
    function.setPrivate();
    function->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));
    function->setAttr("llvm.linkage", LLVM::LinkageAttr::get(b.getContext(), LLVM::Linkage::Internal));
    b.setInsertionPointToStart(function.addEntryBlock());
    func::ReturnOp::create(b, build(function.getArgument(0)));
  }

  SmallVector<Value> operator()(Value lane) const {
    if (!function)
      return build(lane);
    return func::CallOp::create(m.b, function, lane).getResults();
  }
};
} // namespace

static SmallVector<Value> buildRareScalar(MathLanes &m, const LaneCode &code, Value isRare, Value x, ValueRange usual) {
  OpBuilder::InsertionGuard guard(m.b);
  auto choice = scf::IfOp::create(m.b, usual.getTypes(), isRare, /*withElseRegion=*/true);
  m.b.setInsertionPointToStart(choice.thenBlock());
  scf::YieldOp::create(m.b, code(x));
  m.b.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(m.b, usual);
  return choice.getResults();
}

SmallVector<Value> cpu::buildRareLanes(MathLanes &m, StringRef name, Value isRare, Value x, ValueRange usual,
                                       llvm::function_ref<SmallVector<Value>(Value)> build) {
  SmallVector<Type> scalars;
  for (Value value : usual)
    scalars.push_back(getElementTypeOrSelf(value));
  LaneCode code(m, name, getElementTypeOrSelf(x), scalars, build);
  if (!isa<VectorType>(m.type))
    return buildRareScalar(m, code, isRare, x, usual);
  ImplicitLocOpBuilder &b = m.b;
  Value flat = flattened(b, x), first = packed(b, isRare);
  Type word = b.getI64Type();
  if (first.getType().getIntOrFloatBitWidth() < 64)
    first = arith::ExtUIOp::create(b, word, first);
  Value zero = arith::ConstantIntOp::create(b, word, 0), one = arith::ConstantIntOp::create(b, word, 1);
  SmallVector<Value> initial{first}; // one bit for each lane that is left
  for (Value value : usual)
    initial.push_back(flattened(b, value));
  auto loop = scf::WhileOp::create(
      b, TypeRange(ValueRange(initial)), initial,
      [&](OpBuilder &, Location loc, ValueRange carried) {
        Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, carried[0], zero);
        scf::ConditionOp::create(b, loc, more, carried);
      },
      [&](OpBuilder &, Location loc, ValueRange carried) {
        Value lane = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                                math::CountTrailingZerosOp::create(b, loc, carried[0]).getResult());
        SmallVector<Value> next{
            arith::AndIOp::create(b, loc, carried[0], arith::SubIOp::create(b, loc, carried[0], one))};
        SmallVector<Value> computed = code(vector::ExtractOp::create(b, loc, flat, lane));
        for (auto [value, into] : llvm::zip_equal(computed, carried.drop_front()))
          next.push_back(vector::InsertOp::create(b, loc, value, into, lane));
        scf::YieldOp::create(b, loc, next);
      });
  SmallVector<Value> results;
  for (auto [value, like] : llvm::zip_equal(loop.getResults().drop_front(), usual)) {
    auto type = cast<VectorType>(like.getType());
    results.push_back(type.getRank() == 1 ? Value(value) : vector::ShapeCastOp::create(b, type, value).getResult());
  }
  return results;
}
