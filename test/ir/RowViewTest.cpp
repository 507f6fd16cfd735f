// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random moves and reshapes of numbers that are their own positions: a view says where the evaluator finds them.

#include "ir/RowView.h"
#include "compiler/Register.h"
#include "ir/Dialect.h"
#include "ir/Shape.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace sinter;

namespace {
class RowViews : public ::testing::Test {
protected:
  RowViews() : context(makeRegistry()) { context.loadAllAvailableDialects(); }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  static HostTensor valueOf(func::FuncOp function) {
    FailureOr<SmallVector<HostTensor>> values = Evaluator().run(function.getBody(), {});
    EXPECT_TRUE(succeeded(values));
    return values->front();
  }

  /// A random op on `value`.
  Value move(Composer &c, Value value) {
    SmallVector<int64_t> shape(tensorTypeOf(value).getShape());
    auto rank = static_cast<int64_t>(shape.size());
    auto draw = [&](int64_t end) { return static_cast<int64_t>(next() % static_cast<uint64_t>(end)); };
    switch (rank ? draw(5) : 4) {
    case 0: {
      SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
      std::shuffle(order.begin(), order.end(), next);
      return c.make<TransposeOp>(value, order);
    }
    case 1: {
      int64_t axis = draw(rank);
      return c.make<GatherOp>(value, c.scalar(c.getI64Type(), static_cast<double>(draw(shape[axis]))), axis);
    }
    case 2: {
      int64_t axis = draw(rank), start = draw(shape[axis]);
      return c.slice(value, axis, start, start + 1 + draw(shape[axis] - start));
    }
    default: {
      // Factors of the number of elements in random groups.
      SmallVector<int64_t> made{1};
      int64_t left = tensorTypeOf(value).getNumElements();
      for (int64_t factor = 2; left > 1; left % factor == 0 ? left /= factor : ++factor)
        if (left % factor == 0) {
          if (draw(2))
            made.push_back(1);
          made.back() *= factor;
        }
      if (draw(3) == 0)
        made.push_back(1);
      return c.reshape(value, RankedTensorType::get(made, elementTypeOf(value)));
    }
    }
  }

  MLIRContext context;
  std::mt19937 next{7};
};
} // namespace

TEST_F(RowViews, SayWhereElementsLie) {
  int64_t through = 0, straight = 0;
  for (int round = 0; round < 400; ++round) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
        "func.func @f() -> tensor<720xf32> {\n%0 = sinter.iota {axis = 0 : i64, type = tensor<720xf32>} : () -> "
        "tensor<720xf32>\nreturn %0 : tensor<720xf32>\n}",
        &context);
    ASSERT_TRUE(module);
    func::FuncOp function = *module->getOps<func::FuncOp>().begin();
    Operation *end = function.getBody().front().getTerminator();
    OpBuilder builder(end);
    Composer c(function.getLoc(), builder);
    Value base = end->getOperand(0), value = base;
    for (int i = 0; i < 6; ++i)
      value = move(c, value);
    auto give = [&](Value result) {
      end->setOperand(0, result);
      function.setType(FunctionType::get(&context, {}, {result.getType()}));
      return valueOf(function);
    };
    HostTensor moved = give(value);
    std::optional<RowView> view = RowView::of(value);
    ASSERT_TRUE(view);
    if (view->base == base) {
      ++through;
      ASSERT_EQ(ArrayRef<int64_t>(view->sizes), moved.shape());
      for (int64_t i = 0; i < moved.numElements(); ++i) {
        int64_t rest = i, place = view->first;
        for (size_t k = view->sizes.size(); k > 0; --k) {
          place += rest % view->sizes[k - 1] * view->strides[k - 1];
          rest /= view->sizes[k - 1];
        }
        ASSERT_EQ(moved.getFloat(i), place) << round;
      }
    }
    Value same = straightened(c, value);
    straight += same != value;
    ASSERT_EQ(same.getType(), value.getType());
    HostTensor again = give(same);
    ASSERT_EQ(again.toFloats(), moved.toFloats()) << round;
  }
  EXPECT_GT(through, 40);
  EXPECT_GT(straight, 20);
}

TEST_F(RowViews, ReshapesThatJoinAxesWhichLieApartEndThem) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
    func.func @f(%x: tensor<4x6xf32>, %e: tensor<0x6xf32>) -> (tensor<3x8xf32>, tensor<6x0xf32>) {
      %0 = sinter.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
      %1 = sinter.reshape %0 {type = tensor<24xf32>} : (tensor<6x4xf32>) -> tensor<24xf32>
      %2 = sinter.reshape %1 {type = tensor<3x8xf32>} : (tensor<24xf32>) -> tensor<3x8xf32>
      %3 = sinter.transpose %e {permutation = array<i64: 1, 0>} : (tensor<0x6xf32>) -> tensor<6x0xf32>
      return %2, %3 : tensor<3x8xf32>, tensor<6x0xf32>
    })",
                                                             &context);
  ASSERT_TRUE(module);
  func::FuncOp function = *module->getOps<func::FuncOp>().begin();
  Operation *end = function.getBody().front().getTerminator();
  std::optional<RowView> view = RowView::of(end->getOperand(0));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->base.getDefiningOp()->getName().getStringRef(), "sinter.reshape");
  EXPECT_EQ(view->strides, (SmallVector<int64_t>{8, 1}));
  EXPECT_FALSE(RowView::of(end->getOperand(1)));
}

TEST_F(RowViews, OneSizeMayBeOpenWhereNoDistanceDependsOnIt) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
    func.func @f(%x: tensor<?x6x16xf32>, %y: tensor<6x?x8xf32>) -> (tensor<?x2x6x8xf32>, tensor<?x12x8xf32>, tensor<?x6x16xf32>, tensor<?x6x8xf32>) {
      %0 = sinter.reshape %x {type = tensor<?x6x2x8xf32>} : (tensor<?x6x16xf32>) -> tensor<?x6x2x8xf32>
      %1 = sinter.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<?x6x2x8xf32>) -> tensor<?x2x6x8xf32>
      %2 = sinter.reshape %1 {type = tensor<?x12x8xf32>} : (tensor<?x2x6x8xf32>) -> tensor<?x12x8xf32>
      %3 = sinter.slice %x {starts = array<i64: 1, 0, 0>, limits = array<i64: -1, 6, 16>, steps = array<i64: 1, 1, 1>} : (tensor<?x6x16xf32>) -> tensor<?x6x16xf32>
      %4 = sinter.transpose %y {permutation = array<i64: 1, 0, 2>} : (tensor<6x?x8xf32>) -> tensor<?x6x8xf32>
      return %1, %2, %3, %4 : tensor<?x2x6x8xf32>, tensor<?x12x8xf32>, tensor<?x6x16xf32>, tensor<?x6x8xf32>
    })",
                                                             &context);
  ASSERT_TRUE(module);
  func::FuncOp function = *module->getOps<func::FuncOp>().begin();
  Block &body = function.getBody().front();
  Operation *end = body.getTerminator();
  std::optional<RowView> heads = RowView::of(end->getOperand(0));
  ASSERT_TRUE(heads);
  EXPECT_EQ(heads->base, body.getArgument(0));
  EXPECT_EQ(heads->sizes, (SmallVector<int64_t>{ShapedType::kDynamic, 2, 6, 8}));
  EXPECT_EQ(heads->strides, (SmallVector<int64_t>{96, 8, 16, 1}));
  // Axes that lie apart are joined: the view begins behind.
  std::optional<RowView> joined = RowView::of(end->getOperand(1));
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->base, end->getOperand(1));
  // Where the open axis is cut, what is left begins nobody knows where.
  std::optional<RowView> cut = RowView::of(end->getOperand(2));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->base, end->getOperand(2));
  // Rows lie an open distance apart.
  std::optional<RowView> inner = RowView::of(end->getOperand(3));
  EXPECT_TRUE(!inner || inner->base == end->getOperand(3));
}
