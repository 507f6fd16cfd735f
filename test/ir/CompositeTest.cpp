// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Composites mean what their decompositions compute; control flow runs zero, one and many trips.

#include "ir/Ops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {

class Graph {
public:
  Graph(StringRef arguments, StringRef results, StringRef body) {
    context.loadDialect<SinterDialect, func::FuncDialect>();
    std::string text = ("func.func @f(" + arguments + ") -> (" + results + ") {\n" + body + "\n}").str();
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
  }
  func::FuncOp function() { return *module->getOps<func::FuncOp>().begin(); }

  /// `?` of an argument is `size`.
  SmallVector<HostTensor> inputs(int64_t size) {
    SmallVector<HostTensor> tensors;
    for (Type type : function().getArgumentTypes()) {
      auto tensorType = cast<RankedTensorType>(type);
      SmallVector<int64_t> shape(tensorType.getShape());
      for (int64_t &axis : shape)
        axis = ShapedType::isDynamic(axis) ? size : axis;
      HostTensor tensor(tensorType.getElementType(), shape);
      std::vector<double> values(tensor.numElements());
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = tensor.isFloat() ? 0.21 * static_cast<double>((i * 7 + tensors.size()) % 17) - 1.5
                                     : static_cast<double>(i * 3 % 5);
      tensor.assignFloats(values);
      tensors.push_back(tensor);
    }
    return tensors;
  }

  SmallVector<HostTensor> run(ArrayRef<HostTensor> inputs) {
    FailureOr<SmallVector<HostTensor>> results = Evaluator().run(function().getBody(), inputs);
    EXPECT_TRUE(succeeded(results));
    return succeeded(results) ? *results : SmallVector<HostTensor>();
  }

  void decompose() {
    // A decomposition may use simpler composites.
    for (int round = 0; round < 2; ++round) {
      SmallVector<Decomposable> work;
      function().walk([&](Decomposable op) { work.push_back(op); });
      EXPECT_TRUE(round > 0 || !work.empty());
      for (Decomposable op : work) {
        OpBuilder builder(op);
        FailureOr<SmallVector<Value>> values = op.decompose(builder);
        ASSERT_TRUE(succeeded(values));
        ASSERT_TRUE(llvm::equal(ValueRange(*values).getTypes(), op->getResultTypes()));
        op->replaceAllUsesWith(*values);
        op->erase();
      }
    }
    EXPECT_TRUE(succeeded(verify(*module)));
    function().walk([](Decomposable op) { ADD_FAILURE() << "a composite is left"; });
  }

  /// One for all: tensors of one graph are fed to another.
  static inline MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

void expectSame(ArrayRef<HostTensor> actual, ArrayRef<HostTensor> expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (auto [a, e] : llvm::zip(actual, expected)) {
    ASSERT_EQ(a.shape(), e.shape());
    for (int64_t i = 0; i < a.numElements(); ++i)
      ASSERT_NEAR(a.getFloat(i), e.getFloat(i), tolerance * std::max(1.0, std::abs(e.getFloat(i)))) << "element " << i;
  }
}

/// The decomposition on sizes 1 and 5 of `?`.
void expectDecomposes(StringRef arguments, StringRef results, StringRef body, double tolerance = 1e-5) {
  Graph whole(arguments, results, body), parts(arguments, results, body);
  parts.decompose();
  for (int64_t size : {1, 5}) {
    SmallVector<HostTensor> inputs = whole.inputs(size);
    expectSame(parts.run(inputs), whole.run(inputs), tolerance);
  }
}

TEST(Decompose, Softmax) {
  expectDecomposes("%x: tensor<2x?x3xf32>", "tensor<2x?x3xf32>, tensor<2x?x3xf32>", R"(
    %0 = sinter.softmax %x {axis = 1 : i64} : (tensor<2x?x3xf32>) -> tensor<2x?x3xf32>
    %1 = sinter.softmax %x {axis = 2 : i64, logarithm = true} : (tensor<2x?x3xf32>) -> tensor<2x?x3xf32>
    return %0, %1 : tensor<2x?x3xf32>, tensor<2x?x3xf32>)");
}

TEST(Decompose, LayerNorm) {
  expectDecomposes("%x: tensor<2x?x3xf32>, %s: tensor<?x3xf32>",
                   "tensor<2x?x3xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>", R"(
    %0:3 = sinter.layer_norm %x scale(%s) bias(%s) {axis = 1 : i64, epsilon = 1.0e-3 : f64} : (tensor<2x?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>)
         -> (tensor<2x?x3xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
    return %0#0, %0#1, %0#2 : tensor<2x?x3xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)");
}

TEST(Decompose, RmsNormOfHalf) {
  expectDecomposes("%x: tensor<2x8xf16>, %s: tensor<8xf16>", "tensor<2x8xf16>", R"(
    %0:3 = sinter.layer_norm %x scale(%s) {axis = 1 : i64, epsilon = 1.0e-3 : f64, center = false} : (tensor<2x8xf16>, tensor<8xf16>)
         -> (tensor<2x8xf16>, tensor<2x1xf16>, tensor<2x1xf16>)
    return %0#0 : tensor<2x8xf16>)",
                   1e-3);
}

TEST(Decompose, BatchNorm) {
  expectDecomposes("%x: tensor<?x4x3xf64>, %s: tensor<4xf64>, %b: tensor<4xf64>", "tensor<?x4x3xf64>", R"(
    %v = sinter.mul %b, %b : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    %0 = sinter.batch_norm %x, %s, %b, %b, %v {axis = 1 : i64, epsilon = 0.1 : f64}
       : (tensor<?x4x3xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> tensor<?x4x3xf64>
    return %0 : tensor<?x4x3xf64>)",
                   1e-12);
}

TEST(Decompose, GroupNorm) {
  expectDecomposes("%x: tensor<?x4x?xf32>, %s: tensor<4xf32>", "tensor<?x4x?xf32>", R"(
    %0 = sinter.group_norm %x, %s, %s {groups = 2 : i64, epsilon = 0.1 : f64} : (tensor<?x4x?xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x?xf32>
    return %0 : tensor<?x4x?xf32>)");
}

TEST(Decompose, Attention) {
  expectDecomposes("%q: tensor<2x?x4xf32>, %k: tensor<2x3x4xf32>, %v: tensor<2x3x5xf32>, %b: tensor<1x1x3xf32>",
                   "tensor<2x?x5xf32>", R"(
    %0 = sinter.attention %q, %k, %v, %b {scale = 0.5 : f64} : (tensor<2x?x4xf32>, tensor<2x3x4xf32>, tensor<2x3x5xf32>, tensor<1x1x3xf32>) -> tensor<2x?x5xf32>
    return %0 : tensor<2x?x5xf32>)");
}

TEST(Decompose, Lstm) {
  for (StringRef attributes : {"clip = 0.7 : f64", "direction = #sinter<direction reverse>, couple_forget = true"})
    expectDecomposes(
        "%x: tensor<?x2x3xf32>, %w: tensor<16x3xf32>, %r: tensor<16x4xf32>, %b: tensor<16xf32>, %p: tensor<12xf32>, "
        "%h: tensor<2x4xf32>, %n: tensor<2xi32>",
        "tensor<?x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>",
        ("%0:3 = sinter.lstm %x input_weights(%w), %r, %h, %h bias(%b) peephole(%p) lengths(%n) {" + attributes + R"(}
       : (tensor<?x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<12xf32>, tensor<2xi32>)
       -> (tensor<?x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    return %0#0, %0#1, %0#2 : tensor<?x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)")
            .str());
}

TEST(Decompose, Gru) {
  for (StringRef attributes : {"linear_before_reset = true", "direction = #sinter<direction reverse>"})
    expectDecomposes(
        "%x: tensor<?x2x3xf32>, %w: tensor<12x3xf32>, %r: tensor<12x4xf32>, %b: tensor<12xf32>, %h: tensor<2x4xf32>",
        "tensor<?x2x4xf32>, tensor<2x4xf32>",
        ("%0:2 = sinter.gru %x input_weights(%w), %r, %h input_bias(%b) hidden_bias(%b) {" + attributes + R"(}
       : (tensor<?x2x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>, tensor<12xf32>, tensor<12xf32>, tensor<2x4xf32>) -> (tensor<?x2x4xf32>, tensor<2x4xf32>)
    return %0#0, %0#1 : tensor<?x2x4xf32>, tensor<2x4xf32>)")
            .str());
}

TEST(Decompose, Rnn) {
  expectDecomposes(
      "%x: tensor<?x2x3xf32>, %w: tensor<4x3xf32>, %r: tensor<4x4xf32>, %h: tensor<2x4xf32>, %n: tensor<2xi32>",
      "tensor<?x2x4xf32>, tensor<2x4xf32>", R"(
    %0:2 = sinter.rnn %x input_weights(%w), %r, %h lengths(%n) {activation = #sinter<activation relu>}
       : (tensor<?x2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<2xi32>) -> (tensor<?x2x4xf32>, tensor<2x4xf32>)
    return %0#0, %0#1 : tensor<?x2x4xf32>, tensor<2x4xf32>)");
}

/// while (i > 0) { i -= 1; x *= 2; stack x }
constexpr StringLiteral countdown = R"(
    %0:4 = sinter.while (%n, %x) captures() ATTRIBUTES : (tensor<i64>, tensor<2xf32>) -> (tensor<i64>, tensor<i64>, tensor<2xf32>, tensor<?x2xf32>) cond {
    ^bb0(%i: tensor<i64>, %a: tensor<2xf32>):
      %zero = sinter.constant dense<0> : tensor<i64>
      %go = sinter.compare gt %i, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
      sinter.yield (%go) : tensor<i1>
    } body {
    ^bb0(%i: tensor<i64>, %a: tensor<2xf32>):
      %one = sinter.constant dense<1> : tensor<i64>
      %next = sinter.sub %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      %b = sinter.add %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      sinter.yield (%next, %b, %b) : tensor<i64>, tensor<2xf32>, tensor<2xf32>
    }
    return %0#0, %0#2, %0#3 : tensor<i64>, tensor<2xf32>, tensor<?x2xf32>)";

static std::string withAttributes(StringRef attributes) {
  std::string text = countdown.str();
  text.replace(text.find("ATTRIBUTES"), 10, attributes.str());
  return text;
}

TEST(Control, WhileRunsZeroOneAndManyTrips) {
  Graph graph("%n: tensor<i64>, %x: tensor<2xf32>", "tensor<i64>, tensor<2xf32>, tensor<?x2xf32>", withAttributes(""));
  for (int64_t trips : {0, 1, 5}) {
    SmallVector<HostTensor> inputs = graph.inputs(1);
    inputs[0].setInt(0, trips);
    inputs[1].assignFloats({1, -3});
    SmallVector<HostTensor> results = graph.run(inputs);
    EXPECT_EQ(results[0].getInt(0), trips);
    EXPECT_EQ(results[1].getFloat(1), -3 * std::ldexp(1.0, trips));
    EXPECT_EQ(results[2].shape(), ArrayRef<int64_t>({trips, 2}));
    for (int64_t t = 0; t < trips; ++t)
      EXPECT_EQ(results[2].getFloat(2 * t), std::ldexp(1.0, t + 1));
  }
}

TEST(Control, WhileStopsOrFailsAtItsLimit) {
  for (StringRef limit : {"stop", "trap"}) {
    Graph graph("%n: tensor<i64>, %x: tensor<2xf32>", "tensor<i64>, tensor<2xf32>, tensor<?x2xf32>",
                withAttributes(("{max_trip = 3 : i64, on_limit = #sinter<limit_policy " + limit + ">}").str()));
    SmallVector<HostTensor> inputs = graph.inputs(1);
    inputs[0].setInt(0, 4);
    std::string message;
    ScopedDiagnosticHandler handler(&graph.context, [&](Diagnostic &d) { message = d.str(); });
    FailureOr<SmallVector<HostTensor>> results = Evaluator().run(graph.function().getBody(), inputs);
    EXPECT_EQ(succeeded(results), limit == "stop");
    if (succeeded(results))
      EXPECT_EQ((*results)[0].getInt(0), 3);
    else
      EXPECT_EQ(message, "'sinter.while' op requires at most 3 trips, but the condition still holds");
  }
}

TEST(Control, ForWalksBothWays) {
  Graph graph("%l: tensor<i64>, %u: tensor<i64>, %s: tensor<i64>", "tensor<?xi64>", R"(
    %0 = sinter.for %l to %u step %s () captures() : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64> body {
    ^bb0(%i: tensor<i64>):
      sinter.yield (%i) : tensor<i64>
    }
    return %0 : tensor<?xi64>)");
  auto indices = [&](int64_t lower, int64_t upper, int64_t step) {
    SmallVector<HostTensor> inputs = graph.inputs(1);
    inputs[0].setInt(0, lower), inputs[1].setInt(0, upper), inputs[2].setInt(0, step);
    return graph.run(inputs)[0].toInts();
  };
  EXPECT_EQ(indices(0, 5, 2), (std::vector<int64_t>{0, 2, 4}));
  EXPECT_EQ(indices(5, 0, -2), (std::vector<int64_t>{5, 3, 1}));
  EXPECT_EQ(indices(5, 0, 1), (std::vector<int64_t>{}));
  EXPECT_EQ(indices(0, 5, 0), (std::vector<int64_t>{}));
  int64_t least = std::numeric_limits<int64_t>::min(), greatest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(indices(least, greatest, greatest), (std::vector<int64_t>{least, -1, greatest - 1}));
}

TEST(Control, ScanWalksAxesInEitherDirection) {
  Graph graph("%x: tensor<2x?xf32>", "tensor<2xf32>, tensor<2x?xf32>", R"(
    %init = sinter.constant dense<0.0> : tensor<2xf32>
    %0:2 = sinter.scan (%init) over(%x) captures() {axes = array<i64: 1>, reverse = array<i1: true>, out_axes = array<i64: 1>, out_reverse = array<i1: true>}
         : (tensor<2xf32>, tensor<2x?xf32>) -> (tensor<2xf32>, tensor<2x?xf32>) body {
    ^bb0(%c: tensor<2xf32>, %s: tensor<2xf32>):
      %n = sinter.add %c, %s : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      sinter.yield (%n, %n) : tensor<2xf32>, tensor<2xf32>
    }
    return %0#0, %0#1 : tensor<2xf32>, tensor<2x?xf32>)");
  SmallVector<HostTensor> inputs = graph.inputs(3);
  inputs[0].assignFloats({1, 2, 4, 10, 20, 40});
  SmallVector<HostTensor> results = graph.run(inputs);
  EXPECT_EQ(results[0].toFloats(), (std::vector<double>{7, 70}));
  EXPECT_EQ(results[1].toFloats(), (std::vector<double>{7, 6, 4, 70, 60, 40}));
  EXPECT_EQ(graph.run(graph.inputs(0))[1].shape(), ArrayRef<int64_t>({2, 0}));
}

TEST(Control, SwitchOutOfRangeTakesTheLast) {
  Graph graph("%i: tensor<i64>", "tensor<i64>", R"(
    %0 = sinter.switch %i () : (tensor<i64>) -> tensor<i64> {
      %c = sinter.constant dense<10> : tensor<i64>
      sinter.yield (%c) : tensor<i64>
    }, {
      %c = sinter.constant dense<11> : tensor<i64>
      sinter.yield (%c) : tensor<i64>
    }
    return %0 : tensor<i64>)");
  for (auto [index, expected] : {std::pair(0, 10), {1, 11}, {2, 11}, {-1, 11}}) {
    SmallVector<HostTensor> inputs = graph.inputs(1);
    inputs[0].setInt(0, index);
    EXPECT_EQ(graph.run(inputs)[0].getInt(0), expected);
  }
}

TEST(Evaluate, SortPutsNanLast) {
  Graph graph("%x: tensor<5xf32>", "tensor<5xi64>, tensor<5xi64>, tensor<i64>", R"(
    %0:2 = sinter.sort %x {axis = 0 : i64} : (tensor<5xf32>) -> (tensor<5xf32>, tensor<5xi64>)
    %1:2 = sinter.sort %x {axis = 0 : i64, descending = true} : (tensor<5xf32>) -> (tensor<5xf32>, tensor<5xi64>)
    %2 = sinter.arg_reduce max %x {axis = 0 : i64} : (tensor<5xf32>) -> tensor<i64>
    return %0#1, %1#1, %2 : tensor<5xi64>, tensor<5xi64>, tensor<i64>)");
  SmallVector<HostTensor> inputs = graph.inputs(1);
  inputs[0].assignFloats({3, NAN, 1, 3, NAN});
  SmallVector<HostTensor> results = graph.run(inputs);
  EXPECT_EQ(results[0].toInts(), (std::vector<int64_t>{2, 0, 3, 1, 4}));
  EXPECT_EQ(results[1].toInts(), (std::vector<int64_t>{0, 3, 2, 1, 4}));
  EXPECT_EQ(results[2].getInt(0), 1);
}

TEST(Evaluate, EmptyReductionsGiveIdentities) {
  Graph graph("%x: tensor<0xf32>, %u: tensor<0xui8>", "tensor<f32>, tensor<f32>, tensor<ui8>, tensor<ui8>", R"(
    %0 = sinter.reduce mul %x axes = [0] : (tensor<0xf32>) -> tensor<f32>
    %1 = sinter.reduce max %x axes = [0] : (tensor<0xf32>) -> tensor<f32>
    %2 = sinter.reduce min %u axes = [0] : (tensor<0xui8>) -> tensor<ui8>
    %3 = sinter.reduce and %u axes = [0] : (tensor<0xui8>) -> tensor<ui8>
    return %0, %1, %2, %3 : tensor<f32>, tensor<f32>, tensor<ui8>, tensor<ui8>)");
  SmallVector<HostTensor> results = graph.run(graph.inputs(0));
  EXPECT_EQ(results[0].getFloat(0), 1);
  EXPECT_EQ(results[1].getFloat(0), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(results[2].getInt(0), 255);
  EXPECT_EQ(results[3].getInt(0), 255);
}

TEST(Evaluate, ConvolutionWithGroupsPaddingAndDilations) {
  Graph graph("%x: tensor<1x2x4xf32>, %w: tensor<2x1x2xf32>", "tensor<1x2x4xf32>", R"(
    %0 = sinter.convolution %x, %w {strides = array<i64: 2>, low = array<i64: 1>, high = array<i64: 1>, input_dilation = array<i64: 2>,
         dilation = array<i64: 2>, groups = 2 : i64, element_type = f32} : (tensor<1x2x4xf32>, tensor<2x1x2xf32>) -> tensor<1x2x4xf32>
    return %0 : tensor<1x2x4xf32>)");
  SmallVector<HostTensor> inputs = graph.inputs(1);
  inputs[0].assignFloats({1, 2, 3, 4, 5, 6, 7, 8});
  inputs[1].assignFloats({10, 1, 100, 1});
  // Spread row: 0 1 0 2 0 3 0 4 0; taps two apart, every second place: all on zeros.
  EXPECT_EQ(graph.run(inputs)[0].toFloats(), std::vector<double>(8, 0));
  Graph shifted("%x: tensor<1x2x4xf32>, %w: tensor<2x1x2xf32>", "tensor<1x2x3xf32>", R"(
    %0 = sinter.convolution %x, %w {strides = array<i64: 2>, low = array<i64: 0>, high = array<i64: 0>, input_dilation = array<i64: 2>,
         dilation = array<i64: 2>, groups = 2 : i64, element_type = f32} : (tensor<1x2x4xf32>, tensor<2x1x2xf32>) -> tensor<1x2x3xf32>
    return %0 : tensor<1x2x3xf32>)");
  EXPECT_EQ(shifted.run(inputs)[0].toFloats(), (std::vector<double>{12, 23, 34, 506, 607, 708}));
}

TEST(Evaluate, DeterminantPivots) {
  Graph graph("%x: tensor<2x2x2xf64>", "tensor<2xf64>", R"(
    %0 = sinter.det %x : (tensor<2x2x2xf64>) -> tensor<2xf64>
    return %0 : tensor<2xf64>)");
  SmallVector<HostTensor> inputs = graph.inputs(1);
  inputs[0].assignFloats({0, 2, 3, 4, 1, 2, 2, 4});
  EXPECT_EQ(graph.run(inputs)[0].toFloats(), (std::vector<double>{-6, 0}));
}

} // namespace
