// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each case is a function that returns pairs: what an op computes and what it should be.

#include "compiler/Register.h"
#include "ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace sinter;

namespace {

class ShapeEvaluate : public ::testing::Test {
protected:
  ShapeEvaluate() : context(makeRegistry()) { context.loadAllAvailableDialects(); }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  /// Runs `body`, the text of a function that ends in `return %actual, %expected, ... : types`.
  void expectPairs(StringRef results, StringRef body) {
    std::string text = ("func.func @f() -> (" + results + ") {\n" + body + "\n}").str();
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    FailureOr<SmallVector<HostTensor>> values =
        Evaluator().run((*module->getOps<func::FuncOp>().begin()).getBody(), {});
    ASSERT_TRUE(succeeded(values)) << text;
    for (size_t i = 0; i + 1 < values->size(); i += 2) {
      const HostTensor &actual = (*values)[i], &expected = (*values)[i + 1];
      EXPECT_EQ(actual.shape(), expected.shape()) << "pair " << i / 2;
      EXPECT_EQ(actual.toFloats(), expected.toFloats()) << "pair " << i / 2 << " of " << text;
    }
  }

  void expectFailure(StringRef body, StringRef message) {
    std::string text = ("func.func @f() {\n" + body + "\nreturn\n}").str(), heard;
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      heard = diagnostic.str();
      return success();
    });
    EXPECT_TRUE(failed(Evaluator().run((*module->getOps<func::FuncOp>().begin()).getBody(), {})));
    EXPECT_NE(heard.find(message), std::string::npos) << heard;
  }

  MLIRContext context;
};

TEST_F(ShapeEvaluate, IotaCountsAlongItsAxis) {
  expectPairs("tensor<2x3xf32>, tensor<2x3xf32>, tensor<?x2xi64>, tensor<3x2xi64>", R"(
    %a = sinter.iota {axis = 1, type = tensor<2x3xf32>} : () -> tensor<2x3xf32>
    %b = sinter.constant dense<[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]> : tensor<2x3xf32>
    %s = sinter.constant dense<[3, 2]> : tensor<2xi64>
    %c = sinter.iota %s {axis = 0, type = tensor<?x2xi64>} : (tensor<2xi64>) -> tensor<?x2xi64>
    %d = sinter.constant dense<[[0, 0], [1, 1], [2, 2]]> : tensor<3x2xi64>
    return %a, %b, %c, %d : tensor<2x3xf32>, tensor<2x3xf32>, tensor<?x2xi64>, tensor<3x2xi64>)");
}

TEST_F(ShapeEvaluate, BroadcastRepeatsAxesOfSizeOne) {
  expectPairs("tensor<2x3x2xi8>, tensor<2x3x2xi8>, tensor<?x?xi8>, tensor<2x1xi8>", R"(
    %x = sinter.constant dense<[[1], [2], [3]]> : tensor<3x1xi8>
    %a = sinter.broadcast %x axes = [1, 2] {type = tensor<2x3x2xi8>} : (tensor<3x1xi8>) -> tensor<2x3x2xi8>
    %b = sinter.constant dense<[[[1, 1], [2, 2], [3, 3]], [[1, 1], [2, 2], [3, 3]]]> : tensor<2x3x2xi8>
    %s = sinter.constant dense<[1, 1]> : tensor<2xi64>
    %y = sinter.constant dense<[[4], [5]]> : tensor<2x1xi8>
    %c = sinter.broadcast %y shape(%s) axes = [0, 1] {type = tensor<?x?xi8>} : (tensor<2x1xi8>, tensor<2xi64>) -> tensor<?x?xi8>
    return %a, %b, %c, %y : tensor<2x3x2xi8>, tensor<2x3x2xi8>, tensor<?x?xi8>, tensor<2x1xi8>)");
}

TEST_F(ShapeEvaluate, TransposeReshapeReverse) {
  expectPairs("tensor<3x2xi32>, tensor<3x2xi32>, tensor<3x2xi32>, tensor<3x2xi32>, tensor<2x3xi32>, tensor<2x3xi32>",
              R"(
    %x = sinter.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %t = sinter.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xi32>) -> tensor<3x2xi32>
    %u = sinter.constant dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
    %r = sinter.reshape %x {type = tensor<3x2xi32>} : (tensor<2x3xi32>) -> tensor<3x2xi32>
    %s = sinter.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
    %v = sinter.reverse %x {axes = array<i64: 0, 1>} : (tensor<2x3xi32>) -> tensor<2x3xi32>
    %w = sinter.constant dense<[[6, 5, 4], [3, 2, 1]]> : tensor<2x3xi32>
    return %t, %u, %r, %s, %v, %w : tensor<3x2xi32>, tensor<3x2xi32>, tensor<3x2xi32>, tensor<3x2xi32>, tensor<2x3xi32>, tensor<2x3xi32>)");
}

TEST_F(ShapeEvaluate, RangeSliceFollowsNumPy) {
  // x = [0 .. 9]; x[-3:100], x[-2:-100:-3], x[7:3:-2], x[5:2], x[20::-5] with limit past the front
  expectPairs("tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<2xi64>, tensor<2xi64>, "
              "tensor<0xi64>, tensor<0xi64>, "
              "tensor<2xi64>, tensor<2xi64>",
              R"(
    %x = sinter.iota {axis = 0, type = tensor<10xi64>} : () -> tensor<10xi64>
    %m100 = sinter.constant dense<-100> : tensor<1xi64>
    %m3 = sinter.constant dense<-3> : tensor<1xi64>
    %m2 = sinter.constant dense<-2> : tensor<1xi64>
    %m5 = sinter.constant dense<-5> : tensor<1xi64>
    %least = sinter.constant dense<-9223372036854775808> : tensor<1xi64>
    %p1 = sinter.constant dense<1> : tensor<1xi64>
    %p2 = sinter.constant dense<2> : tensor<1xi64>
    %p3 = sinter.constant dense<3> : tensor<1xi64>
    %p5 = sinter.constant dense<5> : tensor<1xi64>
    %p7 = sinter.constant dense<7> : tensor<1xi64>
    %p100 = sinter.constant dense<100> : tensor<1xi64>
    %a = sinter.range_slice %x, %m3, %p100, %p1 : (tensor<10xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
    %aa = sinter.constant dense<[7, 8, 9]> : tensor<3xi64>
    %b = sinter.range_slice %x, %m2, %m100, %m3 : (tensor<10xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
    %bb = sinter.constant dense<[8, 5, 2]> : tensor<3xi64>
    %c = sinter.range_slice %x, %p7, %p3, %m2 : (tensor<10xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %cc = sinter.constant dense<[7, 5]> : tensor<2xi64>
    %d = sinter.range_slice %x, %p5, %p2, %p1 : (tensor<10xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<0xi64>
    %dd = sinter.constant dense<> : tensor<0xi64>
    %e = sinter.range_slice %x, %p100, %least, %m5 : (tensor<10xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %ee = sinter.constant dense<[9, 4]> : tensor<2xi64>
    return %a, %aa, %b, %bb, %c, %cc, %d, %dd, %e, %ee : tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<2xi64>, tensor<2xi64>, tensor<0xi64>, tensor<0xi64>, tensor<2xi64>, tensor<2xi64>)");
}

TEST_F(ShapeEvaluate, DynamicSlicesClampTheirStart) {
  expectPairs("tensor<2xi64>, tensor<2xi64>, tensor<4xi64>, tensor<4xi64>", R"(
    %x = sinter.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
    %s = sinter.constant dense<9> : tensor<1xi64>
    %a = sinter.dynamic_slice %x, %s {sizes = array<i64: 2>} : (tensor<4xi64>, tensor<1xi64>) -> tensor<2xi64>
    %b = sinter.constant dense<[3, 4]> : tensor<2xi64>
    %t = sinter.constant dense<-1> : tensor<1xi64>
    %u = sinter.constant dense<[8, 9]> : tensor<2xi64>
    %c = sinter.dynamic_update_slice %x, %u, %t : (tensor<4xi64>, tensor<2xi64>, tensor<1xi64>) -> tensor<4xi64>
    %d = sinter.constant dense<[8, 9, 3, 4]> : tensor<4xi64>
    return %a, %b, %c, %d : tensor<2xi64>, tensor<2xi64>, tensor<4xi64>, tensor<4xi64>)");
}

TEST_F(ShapeEvaluate, PadModes) {
  expectPairs("tensor<8xi64>, tensor<8xi64>, tensor<3xi64>, tensor<3xi64>, tensor<6xi64>, tensor<6xi64>, "
              "tensor<6xi64>, tensor<6xi64>, "
              "tensor<9xi64>, tensor<9xi64>",
              R"(
    %x = sinter.constant dense<[1, 2, 3]> : tensor<3xi64>
    %v = sinter.constant dense<7> : tensor<i64>
    %a = sinter.pad %x, %v {low = array<i64: 1>, high = array<i64: 2>, interior = array<i64: 1>} : (tensor<3xi64>, tensor<i64>) -> tensor<8xi64>
    %aa = sinter.constant dense<[7, 1, 7, 2, 7, 3, 7, 7]> : tensor<8xi64>
    %b = sinter.pad %x, %v {low = array<i64: -3>, high = array<i64: -1>, interior = array<i64: 2>} : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
    %bb = sinter.constant dense<[2, 7, 7]> : tensor<3xi64>
    %c = sinter.pad %x, %v {low = array<i64: 2>, high = array<i64: 1>, interior = array<i64: 0>, mode = #sinter<pad_mode reflect>} : (tensor<3xi64>, tensor<i64>) -> tensor<6xi64>
    %cc = sinter.constant dense<[3, 2, 1, 2, 3, 2]> : tensor<6xi64>
    %d = sinter.pad %x, %v {low = array<i64: 2>, high = array<i64: 1>, interior = array<i64: 0>, mode = #sinter<pad_mode edge>} : (tensor<3xi64>, tensor<i64>) -> tensor<6xi64>
    %dd = sinter.constant dense<[1, 1, 1, 2, 3, 3]> : tensor<6xi64>
    %e = sinter.pad %x, %v {low = array<i64: 4>, high = array<i64: 2>, interior = array<i64: 0>, mode = #sinter<pad_mode wrap>} : (tensor<3xi64>, tensor<i64>) -> tensor<9xi64>
    %ee = sinter.constant dense<[3, 1, 2, 3, 1, 2, 3, 1, 2]> : tensor<9xi64>
    return %a, %aa, %b, %bb, %c, %cc, %d, %dd, %e, %ee : tensor<8xi64>, tensor<8xi64>, tensor<3xi64>, tensor<3xi64>, tensor<6xi64>, tensor<6xi64>, tensor<6xi64>, tensor<6xi64>, tensor<9xi64>, tensor<9xi64>)");
}

TEST_F(ShapeEvaluate, ConcatenateAndTile) {
  expectPairs("tensor<2x3xi64>, tensor<2x3xi64>, tensor<2x4xi64>, tensor<2x4xi64>", R"(
    %x = sinter.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
    %y = sinter.constant dense<[[5], [6]]> : tensor<2x1xi64>
    %a = sinter.concatenate %x, %y {axis = 1} : (tensor<2x2xi64>, tensor<2x1xi64>) -> tensor<2x3xi64>
    %b = sinter.constant dense<[[1, 2, 5], [3, 4, 6]]> : tensor<2x3xi64>
    %r = sinter.constant dense<[1, 2]> : tensor<2xi64>
    %c = sinter.tile %x, %r : (tensor<2x2xi64>, tensor<2xi64>) -> tensor<2x4xi64>
    %d = sinter.constant dense<[[1, 2, 1, 2], [3, 4, 3, 4]]> : tensor<2x4xi64>
    return %a, %b, %c, %d : tensor<2x3xi64>, tensor<2x3xi64>, tensor<2x4xi64>, tensor<2x4xi64>)");
}

TEST_F(ShapeEvaluate, GathersCountFromTheEndAndClamp) {
  expectPairs("tensor<2x3xi64>, tensor<2x3xi64>, tensor<2x1xi64>, tensor<2x1xi64>, tensor<2x2xi64>, tensor<2x2xi64>",
              R"(
    %x = sinter.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
    %p = sinter.constant dense<[-1, 0, 9]> : tensor<3xi64>
    %a = sinter.gather %x, %p {axis = 1} : (tensor<2x2xi64>, tensor<3xi64>) -> tensor<2x3xi64>
    %b = sinter.constant dense<[[2, 1, 2], [4, 3, 4]]> : tensor<2x3xi64>
    %q = sinter.constant dense<[[1], [-2]]> : tensor<2x1xi32>
    %c = sinter.gather_elements %x, %q {axis = 1} : (tensor<2x2xi64>, tensor<2x1xi32>) -> tensor<2x1xi64>
    %d = sinter.constant dense<[[2], [3]]> : tensor<2x1xi64>
    %e = sinter.gather_nd %x, %q : (tensor<2x2xi64>, tensor<2x1xi32>) -> tensor<2x2xi64>
    %f = sinter.constant dense<[[3, 4], [1, 2]]> : tensor<2x2xi64>
    return %a, %b, %c, %d, %e, %f : tensor<2x3xi64>, tensor<2x3xi64>, tensor<2x1xi64>, tensor<2x1xi64>, tensor<2x2xi64>, tensor<2x2xi64>)");
}

TEST_F(ShapeEvaluate, ScattersApplyInOrderAndSkipOutside) {
  expectPairs("tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<2x2xf32>, tensor<2x2xf32>", R"(
    %x = sinter.constant dense<[1, 2, 3]> : tensor<3xi64>
    %u = sinter.constant dense<[10, 20, 30, 40]> : tensor<4xi64>
    %q = sinter.constant dense<[[-1], [0], [5], [2]]> : tensor<4x1xi64>
    %a = sinter.scatter_nd %x, %q, %u : (tensor<3xi64>, tensor<4x1xi64>, tensor<4xi64>) -> tensor<3xi64>
    %b = sinter.constant dense<[20, 2, 40]> : tensor<3xi64>
    %p3 = sinter.constant dense<[2, 2, -4]> : tensor<3xi64>
    %u3 = sinter.constant dense<[10, 20, 30]> : tensor<3xi64>
    %c = sinter.scatter_elements %x, %p3, %u3 {axis = 0, combiner = #sinter<combiner add>} : (tensor<3xi64>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
    %d = sinter.constant dense<[1, 2, 33]> : tensor<3xi64>
    %y = sinter.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %r = sinter.constant dense<[[1]]> : tensor<1x1xi64>
    %v = sinter.constant dense<[[0.5, 9.0]]> : tensor<1x2xf32>
    %e = sinter.scatter_nd %y, %r, %v {combiner = #sinter<combiner max>} : (tensor<2x2xf32>, tensor<1x1xi64>, tensor<1x2xf32>) -> tensor<2x2xf32>
    %f = sinter.constant dense<[[1.0, 2.0], [3.0, 9.0]]> : tensor<2x2xf32>
    return %a, %b, %c, %d, %e, %f : tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<2x2xf32>, tensor<2x2xf32>)");
}

TEST_F(ShapeEvaluate, NonzeroAndCompress) {
  expectPairs("tensor<2x?xi64>, tensor<2x3xi64>, tensor<2x?xf32>, tensor<2x1xf32>", R"(
    %x = sinter.constant dense<[[0.5, 0.0], [0x7FC00000, -1.0]]> : tensor<2x2xf32>
    %a = sinter.nonzero %x : (tensor<2x2xf32>) -> tensor<2x?xi64>
    %b = sinter.constant dense<[[0, 1, 1], [0, 0, 1]]> : tensor<2x3xi64>
    %m = sinter.constant dense<[false, true]> : tensor<2xi1>
    %y = sinter.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %c = sinter.compress %y, %m {axis = 1} : (tensor<2x2xf32>, tensor<2xi1>) -> tensor<2x?xf32>
    %d = sinter.constant dense<[[2.0], [4.0]]> : tensor<2x1xf32>
    return %a, %b, %c, %d : tensor<2x?xi64>, tensor<2x3xi64>, tensor<2x?xf32>, tensor<2x1xf32>)");
}

TEST_F(ShapeEvaluate, UniqueSortedAndInOrder) {
  expectPairs("tensor<?xf32>, tensor<3xf32>, tensor<?xi64>, tensor<3xi64>, tensor<5xi64>, tensor<5xi64>, "
              "tensor<?xi64>, tensor<3xi64>, "
              "tensor<?xf32>, tensor<3xf32>, tensor<5xi64>, tensor<5xi64>, tensor<?x2xi64>, tensor<2x2xi64>",
              R"(
    %x = sinter.constant dense<[2.0, 1.0, 2.0, 3.0, 1.0]> : tensor<5xf32>
    %a:4 = sinter.unique %x {axis = 0} : (tensor<5xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<5xi64>, tensor<?xi64>)
    %v = sinter.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    %f = sinter.constant dense<[1, 0, 3]> : tensor<3xi64>
    %i = sinter.constant dense<[1, 0, 1, 2, 0]> : tensor<5xi64>
    %c = sinter.constant dense<[2, 2, 1]> : tensor<3xi64>
    %b:4 = sinter.unique %x {axis = 0, sorted = false} : (tensor<5xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<5xi64>, tensor<?xi64>)
    %w = sinter.constant dense<[2.0, 1.0, 3.0]> : tensor<3xf32>
    %j = sinter.constant dense<[0, 1, 0, 2, 1]> : tensor<5xi64>
    %y = sinter.constant dense<[[1, 2], [0, 5], [1, 2]]> : tensor<3x2xi64>
    %d:4 = sinter.unique %y {axis = 0} : (tensor<3x2xi64>) -> (tensor<?x2xi64>, tensor<?xi64>, tensor<3xi64>, tensor<?xi64>)
    %z = sinter.constant dense<[[0, 5], [1, 2]]> : tensor<2x2xi64>
    return %a#0, %v, %a#1, %f, %a#2, %i, %a#3, %c, %b#0, %w, %b#2, %j, %d#0, %z : tensor<?xf32>, tensor<3xf32>, tensor<?xi64>, tensor<3xi64>, tensor<5xi64>, tensor<5xi64>, tensor<?xi64>, tensor<3xi64>, tensor<?xf32>, tensor<3xf32>, tensor<5xi64>, tensor<5xi64>, tensor<?x2xi64>, tensor<2x2xi64>)");
}

TEST_F(ShapeEvaluate, SuppressionKeepsTheBestOfOverlappingBoxes) {
  expectPairs("tensor<?x3xi64>, tensor<2x3xi64>", R"(
    %boxes = sinter.constant dense<[[[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 10.0, 1.0, 11.0]]]> : tensor<1x3x4xf32>
    %scores = sinter.constant dense<[[[0.75, 0.9, 0.5]]]> : tensor<1x1x3xf32>
    %most = sinter.constant dense<3> : tensor<i64>
    %overlap = sinter.constant dense<0.5> : tensor<f32>
    %least = sinter.constant dense<0.0> : tensor<f32>
    %a = sinter.non_max_suppression %boxes, %scores, %most, %overlap, %least : (tensor<1x3x4xf32>, tensor<1x1x3xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<?x3xi64>
    %b = sinter.constant dense<[[0, 0, 1], [0, 0, 2]]> : tensor<2x3xi64>
    return %a, %b : tensor<?x3xi64>, tensor<2x3xi64>)");
}

TEST_F(ShapeEvaluate, RefusesSizesThatDoNotFit) {
  expectFailure(R"(
    %x = sinter.constant dense<[1, 2, 3]> : tensor<3xi64>
    %s = sinter.constant dense<3> : tensor<i64>
    %v = sinter.reshape %s {type = tensor<1xi64>} : (tensor<i64>) -> tensor<1xi64>
    %w = sinter.concatenate %v, %v {axis = 0} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %r = sinter.reshape %x, %w {type = tensor<?x?xi64>} : (tensor<3xi64>, tensor<2xi64>) -> tensor<?x?xi64>)",
                "requires 3 elements, got shape 3x3");
}

} // namespace
