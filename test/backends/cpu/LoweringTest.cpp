// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/Lowering.h"
#include "backends/cpu/Target.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "test/Growth.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace sinter;

/// A function with `count` conditionals in one block, each after a loop, on what the one before gave.
static OwningOpRef<ModuleOp> conditionals(MLIRContext &context, int count) {
  ImplicitLocOpBuilder b(UnknownLoc::get(&context), &context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getLoc());
  b.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(b, "f", b.getFunctionType({b.getF32Type(), b.getIndexType()}, b.getF32Type()));
  b.setInsertionPointToStart(function.addEntryBlock());
  Value x = function.getArgument(0), n = function.getArgument(1);
  Value zero = arith::ConstantIndexOp::create(b, 0), one = arith::ConstantIndexOp::create(b, 1);
  for (int i = 0; i < count; ++i) {
    Value summed = scf::ForOp::create(b, zero, n, one, ValueRange{x},
                                      [](OpBuilder &inner, Location loc, Value, ValueRange carried) {
                                        Value sum = arith::AddFOp::create(inner, loc, carried[0], carried[0]);
                                        scf::YieldOp::create(inner, loc, sum);
                                      })
                       .getResult(0);
    Value less = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, summed, x);
    x = scf::IfOp::create(
            b, less, [&](OpBuilder &inner, Location loc) { scf::YieldOp::create(inner, loc, summed); },
            [&](OpBuilder &inner, Location loc) {
              Value product = arith::MulFOp::create(inner, loc, summed, summed);
              scf::YieldOp::create(inner, loc, product);
            })
            .getResult(0);
  }
  func::ReturnOp::create(b, x);
  return module;
}

TEST(Lowering, TimeIsLinearInTheConditionalsOfABlock) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                      scf::SCFDialect>();
  cpu::Target target;
  cpu::Lowering lowering(&context, target, 2);
  double ratio = test::growth(1000, [&](int count) {
    OwningOpRef<ModuleOp> module = conditionals(context, count);
    ASSERT_TRUE(succeeded(lowering.run(*module)));
    module->walk([](Operation *op) { ASSERT_TRUE(isa<ModuleOp>(op) || isa<LLVM::LLVMDialect>(op->getDialect())); });
  });
  EXPECT_LT(ratio, 8);
}
