// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What upstream's interfaces say of our control flow. The lit test interfaces.mlir runs passes that ask them.

#include "ir/ControlFlow.h"
#include "ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {

class ControlInterfacesTest : public ::testing::Test {
protected:
  ControlInterfacesTest() : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
  }

  static const DialectRegistry &makeRegistry() {
    static DialectRegistry registry;
    registry.insert<SinterDialect, func::FuncDialect>();
    return registry;
  }

  /// The first op of control flow in a function with these arguments.
  Operation *parse(const std::string &body) {
    module = parseSourceString<ModuleOp>(
        "func.func @f(%p: tensor<i1>, %n: tensor<i64>, %x: tensor<f32>, %y: tensor<?xf32>, %xs: tensor<7x4xf32>) {\n" +
            body + "\n return\n}",
        &context);
    if (!module)
      return nullptr;
    Operation *found = nullptr;
    module->walk([&](RegionBranchOpInterface op) { found = found ? found : op.getOperation(); });
    return found;
  }

  /// "0(1, 2) out()": each successor with the numbers of the arguments or results that it gets; what comes there, as
  /// the verifier of upstream's interface wants it.
  static std::string successors(Operation *op, RegionBranchPoint point) {
    auto branch = cast<RegionBranchOpInterface>(op);
    SmallVector<RegionSuccessor> found;
    branch.getSuccessorRegions(point, found);
    std::string text;
    llvm::raw_string_ostream os(text);
    for (const RegionSuccessor &successor : found) {
      os << (text.empty() ? "" : " ");
      if (Region *region = successor.getSuccessor())
        os << region->getRegionNumber() << "(";
      else
        os << "out(";
      llvm::interleaveComma(successor.getSuccessorInputs(), os, [&](Value input) {
        auto argument = dyn_cast<BlockArgument>(input);
        os << (argument ? argument.getArgNumber() : cast<OpResult>(input).getResultNumber());
      });
      os << ")";
      OperandRange given = branch.getSuccessorOperands(point, successor);
      EXPECT_EQ(given.size(), successor.getSuccessorInputs().size());
      for (auto [operand, input] : llvm::zip(given, successor.getSuccessorInputs()))
        EXPECT_TRUE(branch.areTypesCompatible(operand.getType(), input.getType()));
    }
    return text;
  }

  static std::string successorsOf(Operation *op, unsigned region) {
    return successors(op, cast<RegionBranchTerminatorOpInterface>(op->getRegion(region).front().getTerminator()));
  }

  /// "1..1 0..?": how often each region runs, when operand 0 is `choice` (null: not known).
  std::string bounds(Operation *op, std::optional<int64_t> choice = std::nullopt) {
    SmallVector<Attribute> operands(op->getNumOperands());
    if (choice)
      operands[0] = DenseElementsAttr::get(cast<RankedTensorType>(op->getOperand(0).getType()),
                                           {APInt(getElementTypeOrSelf(op->getOperand(0)).getIntOrFloatBitWidth(),
                                                  *choice, /*isSigned=*/false, /*implicitTrunc=*/true)});
    SmallVector<InvocationBounds> found;
    cast<RegionBranchOpInterface>(op).getRegionInvocationBounds(operands, found);
    std::string text;
    llvm::raw_string_ostream os(text);
    for (const InvocationBounds &bound : found) {
      os << (text.empty() ? "" : " ") << bound.getLowerBound() << "..";
      if (bound.getUpperBound())
        os << *bound.getUpperBound();
      else
        os << "?";
    }
    return text;
  }

  std::string forLoop(int64_t lower, int64_t upper, int64_t step) {
    auto number = [](int64_t value) {
      return " = sinter.constant dense<" + std::to_string(value) + "> : tensor<i64>\n";
    };
    return "%l" + number(lower) + "%u" + number(upper) + "%s" + number(step) + R"(
      %r:2 = sinter.for %l to %u step %s (%x) captures(%p) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>, tensor<i1>)
          -> (tensor<f32>, tensor<?xi1>) body {
      ^bb0(%i: tensor<i64>, %a: tensor<f32>, %c: tensor<i1>):
        sinter.yield(%a, %c) : tensor<f32>, tensor<i1>
      })";
  }

  std::optional<int64_t> trips(const std::string &text) {
    Operation *op = parse(text);
    if (!op)
      return -1;
    std::optional<APInt> trips = cast<LoopLikeOpInterface>(op).getStaticTripCount();
    return trips ? std::optional<int64_t>(trips->getZExtValue()) : std::nullopt;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

const char *const kCond = R"(
  %r = sinter.cond %p(%x) : (tensor<i1>, tensor<f32>) -> tensor<f32> then {
  ^bb0(%a: tensor<f32>):
    sinter.yield(%a) : tensor<f32>
  } else {
  ^bb0(%a: tensor<f32>):
    %b = sinter.neg %a : (tensor<f32>) -> tensor<f32>
    sinter.yield(%b) : tensor<f32>
  })";

const char *const kSwitch = R"(
  %r = sinter.switch %n() : (tensor<i64>) -> tensor<f32> {
    %a = sinter.constant dense<1.0> : tensor<f32>
    sinter.yield(%a) : tensor<f32>
  }, {
    %a = sinter.constant dense<2.0> : tensor<f32>
    sinter.yield(%a) : tensor<f32>
  }, {
    %a = sinter.constant dense<3.0> : tensor<f32>
    sinter.yield(%a) : tensor<f32>
  })";

const char *const kWhile = R"(
  %r:3 = sinter.while (%x) captures(%n) : (tensor<f32>, tensor<i64>) -> (tensor<i64>, tensor<f32>, tensor<?xi64>) cond {
  ^bb0(%a: tensor<f32>, %c: tensor<i64>):
    %go = sinter.constant dense<false> : tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%a: tensor<f32>, %c: tensor<i64>):
    sinter.yield(%a, %c) : tensor<f32>, tensor<i64>
  })";

const char *const kScan = R"(
  %r:2 = sinter.scan (%x) over(%xs) captures(%n) {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>,
      out_reverse = array<i1: false>} : (tensor<f32>, tensor<7x4xf32>, tensor<i64>) -> (tensor<f32>, tensor<7x4xf32>) body {
  ^bb0(%a: tensor<f32>, %s: tensor<4xf32>, %c: tensor<i64>):
    sinter.yield(%a, %s) : tensor<f32>, tensor<4xf32>
  })";

/// Its carry grows.
const char *const kGrowing = R"(
  %l = sinter.constant dense<0> : tensor<i64>
  %s = sinter.constant dense<1> : tensor<i64>
  %r = sinter.for %l to %n step %s (%y) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<?xf32>)
      -> tensor<?xf32> body {
  ^bb0(%i: tensor<i64>, %a: tensor<?xf32>):
    %b = sinter.constant dense<[1.0, 2.0]> : tensor<2xf32>
    sinter.yield(%b) : tensor<2xf32>
  })";

TEST_F(ControlInterfacesTest, BranchesTakeCapturesAndYieldResults) {
  Operation *op = parse(kCond);
  ASSERT_TRUE(op);
  EXPECT_EQ(successors(op, RegionBranchPoint::parent()), "0(0) 1(0)");
  EXPECT_EQ(successorsOf(op, 0), "out(0)");
  EXPECT_EQ(successorsOf(op, 1), "out(0)");
  EXPECT_FALSE(cast<RegionBranchOpInterface>(op).hasLoop());
}

TEST_F(ControlInterfacesTest, AConstantChoosesTheBranch) {
  Operation *op = parse(kCond);
  ASSERT_TRUE(op);
  EXPECT_EQ(bounds(op), "0..1 0..1");
  EXPECT_EQ(bounds(op, 1), "1..1 0..0");
  EXPECT_EQ(bounds(op, 0), "0..0 1..1");
  op = parse(kSwitch);
  ASSERT_TRUE(op);
  EXPECT_EQ(bounds(op), "0..1 0..1 0..1");
  EXPECT_EQ(bounds(op, 1), "0..0 1..1 0..0");
  EXPECT_EQ(bounds(op, 3), "0..0 0..0 1..1"); // an index out of range takes the last
  EXPECT_EQ(bounds(op, -1), "0..0 0..0 1..1");
}

TEST_F(ControlInterfacesTest, LoopsCarryAndStack) {
  // Captures come with the carries, and stay from trip to trip; result 1 is a stack.
  Operation *op = parse(forLoop(0, 5, 1));
  ASSERT_TRUE(op);
  EXPECT_EQ(successors(op, RegionBranchPoint::parent()), "0(1, 2) out(0)");
  EXPECT_EQ(successorsOf(op, 0), "0(1) out(0)");
  EXPECT_EQ(bounds(op), "5..5");
  EXPECT_TRUE(cast<RegionBranchOpInterface>(op).isRepetitiveRegion(0));

  // A scan's captures do not follow its inits.
  op = parse(kScan);
  ASSERT_TRUE(op);
  EXPECT_EQ(successors(op, RegionBranchPoint::parent()), "0(0) out(0)");
  EXPECT_EQ(successorsOf(op, 0), "0(0) out(0)");
  EXPECT_EQ(bounds(op), "7..7");

  // Result 0 of a while is the number of trips. Its condition hands on nothing by its terminator.
  op = parse(kWhile);
  ASSERT_TRUE(op);
  EXPECT_EQ(successors(op, RegionBranchPoint::parent()), "0(0, 1) 1(0, 1) out(1)");
  EXPECT_EQ(successorsOf(op, 0), "1() out()");
  EXPECT_EQ(successorsOf(op, 1), "0(0) 1(0) out(1)");
  EXPECT_EQ(bounds(op), "0..? 0..?");
  EXPECT_TRUE(cast<RegionBranchOpInterface>(op).isRepetitiveRegion(0));
  EXPECT_TRUE(cast<RegionBranchOpInterface>(op).isRepetitiveRegion(1));
}

TEST_F(ControlInterfacesTest, LoopsShowTheirCarries) {
  for (const std::string &text : {forLoop(0, 5, 1), std::string(kScan), std::string(kWhile)}) {
    Operation *op = parse(text);
    ASSERT_TRUE(op);
    auto loop = cast<LoopLikeOpInterface>(op);
    Control control = *controlOf(op);
    Block &body = op->getRegions().back().front();
    ASSERT_EQ(loop.getInits().size(), 1u);
    EXPECT_EQ(loop.getInits()[0], control.init[0]);
    EXPECT_EQ(loop.getRegionIterArgs().front(),
              op->getRegion(0).getArgument(op->getNumRegions() > 1 ? 0 : control.firstCarry));
    EXPECT_EQ(loop.getYieldedValues().front(), body.getTerminator()->getOperand(0));
    EXPECT_EQ(loop.getLoopResults()->front(), op->getResult(control.firstCarryResult));
    EXPECT_TRUE(succeeded(mlir::detail::verifyLoopLikeOpInterface(op)));
    EXPECT_FALSE(loop.isDefinedOutsideOfLoop(body.getArgument(control.firstCarry)));
    EXPECT_TRUE(loop.isDefinedOutsideOfLoop(body.getArguments().back())); // a capture
    EXPECT_TRUE(loop.isDefinedOutsideOfLoop(op->getOperand(0)));
  }
}

TEST_F(ControlInterfacesTest, CarriesOfChangingTypesAreNotShown) {
  Operation *op = parse(kGrowing);
  ASSERT_TRUE(op);
  auto loop = cast<LoopLikeOpInterface>(op);
  EXPECT_TRUE(loop.getInits().empty());
  EXPECT_TRUE(loop.getRegionIterArgs().empty());
  EXPECT_FALSE(loop.getYieldedValuesMutable());
  EXPECT_FALSE(loop.getLoopResults());
  EXPECT_EQ(successorsOf(op, 0), "0(1) out(0)"); // sizes may differ by a `?`
}

TEST_F(ControlInterfacesTest, TripsAreThoseOfTheEvaluator) {
  EXPECT_EQ(trips(forLoop(0, 5, 1)), 5);
  EXPECT_EQ(trips(forLoop(1, 8, 3)), 3);
  EXPECT_EQ(trips(forLoop(5, 0, -2)), 3);
  EXPECT_EQ(trips(forLoop(5, 0, 1)), 0);
  EXPECT_EQ(trips(forLoop(0, 5, 0)), 0);
  int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(trips(forLoop(least, most, most)), 3);
  EXPECT_EQ(trips(kScan), 7);
  EXPECT_EQ(trips(kWhile), std::nullopt);
  EXPECT_EQ(trips(kGrowing), std::nullopt);
}

TEST_F(ControlInterfacesTest, BoundsAreThoseOfLoopsThatGoUp) {
  auto up = dyn_cast_or_null<LoopLikeOpInterface>(parse(kGrowing));
  ASSERT_TRUE(up);
  ASSERT_TRUE(up.getSingleInductionVar());
  EXPECT_EQ(*up.getSingleInductionVar(), up->getRegion(0).getArgument(0));
  EXPECT_EQ(cast<IntegerAttr>(cast<Attribute>(*up.getSingleLowerBound())).getInt(), 0);
  EXPECT_EQ(cast<IntegerAttr>(cast<Attribute>(*up.getSingleStep())).getInt(), 1);
  EXPECT_EQ(cast<Value>(*up.getSingleUpperBound()), up->getOperand(1));
  auto down = dyn_cast_or_null<LoopLikeOpInterface>(parse(forLoop(5, 0, -1)));
  ASSERT_TRUE(down);
  EXPECT_FALSE(down.getLoopInductionVars());
  EXPECT_FALSE(down.getLoopUpperBounds());
}

} // namespace
