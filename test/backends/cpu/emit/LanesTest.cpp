// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every pointwise op on floats becomes vector instructions: an op that nobody gave a polynomial would be right, and
// twenty times slower, as libm would compute it lane by lane.

#include "backends/cpu/emit/Math.h"
#include "ir/Ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace sinter;

namespace {

/// What processors have on vectors.
bool isInstruction(Operation *op) {
  if (op->getDialect()->getNamespace() == "math")
    return isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::CountTrailingZerosOp, math::FloorOp, math::FmaOp,
               math::RoundEvenOp, math::SqrtOp>(op);
  return !isa<arith::RemFOp>(op);
}

class LanesTest : public ::testing::Test {
protected:
  LanesTest() {
    context.loadDialect<SinterDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect, scf::SCFDialect,
                        vector::VectorDialect>();
  }

  /// The op on tensors of `element`. Null where it takes others, or attributes.
  Operation *make(OpBuilder &b, RegisteredOperationName name, Type element) {
    if (!name.hasInterface<Pointwise>() || !name.getAttributeNames().empty())
      return nullptr;
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
    Type type = RankedTensorType::get({8}, element);
    for (unsigned operands = 1; operands <= 3; ++operands) {
      OperationState state(b.getUnknownLoc(), name);
      for (unsigned i = 0; i < operands; ++i)
        state.addOperands(UnrealizedConversionCastOp::create(b, b.getUnknownLoc(), type, ValueRange()).getResult(0));
      for (Type result : {type, Type(RankedTensorType::get({8}, b.getI1Type()))}) {
        state.types.assign(1, result);
        Operation *op = b.create(state);
        if (succeeded(verify(op)))
          return op;
        op->erase();
      }
    }
    return nullptr;
  }

  /// Names of ops whose body on eight lanes keeps something that is no instruction.
  std::set<std::string> scalarOps(Type element) {
    std::set<std::string> found;
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
    for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("sinter")) {
      OpBuilder b(&context);
      b.setInsertionPointToEnd(module->getBody());
      Operation *op = make(b, name, element);
      if (!op)
        continue;
      ++count;
      Type lanes = VectorType::get({8}, element);
      SmallVector<Type> inputs(op->getNumOperands(), lanes);
      Location loc = b.getUnknownLoc();
      auto function = func::FuncOp::create(b, loc, "lanes" + std::to_string(count), b.getFunctionType(inputs, {}));
      b.setInsertionPointToStart(function.addEntryBlock());
      Value result = cast<Pointwise>(op).buildBody(b, loc, function.getArguments());
      func::ReturnOp::create(b, loc);
      function.setType(b.getFunctionType(inputs, result.getType()));
      function.getBody().front().getTerminator()->setOperands(result);
      RewritePatternSet patterns(&context);
      sinter::cpu::populateMathPolynomials(patterns, {});
      (void)applyPatternsGreedily(function, std::move(patterns));
      function.walk([&](Operation *inner) { // those of branches and loops for numbers that hardly occur, too
        if (isa<arith::ArithDialect, math::MathDialect>(inner->getDialect()) && !isInstruction(inner))
          found.insert(name.stripDialect().str());
      });
    }
    return found;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  int count = 0;
};

TEST_F(LanesTest, EachOpOfF32) {
  EXPECT_EQ(scalarOps(Float32Type::get(&context)), std::set<std::string>());
  EXPECT_GE(count, 35);
}

TEST_F(LanesTest, EachOpOfF64) {
  EXPECT_EQ(scalarOps(Float64Type::get(&context)), std::set<std::string>());
  EXPECT_GE(count, 35);
}

} // namespace
