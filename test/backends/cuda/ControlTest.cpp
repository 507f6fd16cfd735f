// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops and branches that the GPU runs by itself: results are the evaluator's, the bits are those that the host's loops
// give, and the host waits once a call however many trips there are. (ExecuteTest and control-flow.test have the
// variety.)

#include "CudaProgram.h"
#include "LoopTexts.h"
#include "runtime/cuda_control.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

using namespace sinter;
using cuda::endlessText, cuda::fibonacciText, cuda::nestedText, cuda::newtonText, cuda::simplified;

namespace {
/// Graphs of the driver, whatever the cost model finds (LoopKernelsTest has the other way).
class CudaControl : public testing::Test {
  cuda::OneKernel loopsAre{"none"};
};
} // namespace

TEST_F(CudaControl, NewtonsMethodRunsWithoutTheHost) {
  test::Program program(newtonText, 2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  mlir::Type f32 = mlir::Float32Type::get(&program.context);
  std::vector<double> trips;
  std::vector<uint64_t> waits;
  for (const std::vector<double> &values :
       {std::vector<double>{0, 0, 0, 0, 0}, {1, 0.5, 2, 0.25, 1.5}, {3, 4, 1, 2, 5}}) {
    std::vector<HostTensor> inputs = {test::makeInput(f32, {{5}, values})};
    auto expected = program.evaluate(inputs);
    auto before = cuda::count("graph"), waited = cuda::count("wait"), copied = cuda::count("to host");
    auto actual = program.run(inputs);
    ASSERT_TRUE(actual) << program.error;
    EXPECT_EQ((*actual)[0].getFloat(0), (*expected)[0].getFloat(0));
    for (int64_t k = 0; k < 5; ++k)
      EXPECT_NEAR((*actual)[1].getFloat(k), (*expected)[1].getFloat(k), 1e-6);
    trips.push_back((*actual)[0].getFloat(0));
    EXPECT_EQ(cuda::count("graph"), before + 1);
    EXPECT_EQ(cuda::count("launch"), 0u);
    waits.push_back(cuda::count("wait") - waited);
    EXPECT_EQ(cuda::count("to host") - copied, 2u); // the results
  }
  EXPECT_LT(trips[0], trips[2]);
  EXPECT_EQ(waits[0], waits[2]); // whatever the trips: for the graph, and for each result's copy
  EXPECT_LE(waits[2], 3u);
  EXPECT_EQ(cuda::count("build"), 1u);
}

/// Per-trip outputs of a while that makes so many trips at most are written where they lie.
TEST_F(CudaControl, PerTripOutputsOfAWhileWithALimit) {
  const char *text =
      R"(func.func @f(%a: tensor<5xf32>) -> (tensor<i64>, tensor<5xf32>, tensor<?x5xf32>, tensor<?xf32>) {
    %n, %u, %all, %most = sinter.while(%a) captures(%a) {max_trip = 7 : i64} : (tensor<5xf32>, tensor<5xf32>) -> (tensor<i64>, tensor<5xf32>, tensor<?x5xf32>, tensor<?xf32>) cond {
    ^bb0(%v: tensor<5xf32>, %c: tensor<5xf32>):
      %most = sinter.reduce max %v axes = [0] : (tensor<5xf32>) -> tensor<f32>
      %ten = sinter.constant dense<10.0> : tensor<f32>
      %go = sinter.compare lt %most, %ten : (tensor<f32>, tensor<f32>) -> tensor<i1>
      sinter.yield(%go) : tensor<i1>
    } body {
    ^bb0(%v: tensor<5xf32>, %c: tensor<5xf32>):
      %s = sinter.add %v, %c : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
      %m = sinter.reduce max %s axes = [0] : (tensor<5xf32>) -> tensor<f32>
      sinter.yield(%s, %v, %m) : tensor<5xf32>, tensor<5xf32>, tensor<f32>
    }
    return %n, %u, %all, %most : tensor<i64>, tensor<5xf32>, tensor<?x5xf32>, tensor<?xf32>
  })";
  test::Program program(text, 2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  mlir::Type f32 = mlir::Float32Type::get(&program.context);
  // As many trips as the condition lets it make: none, some, the limit.
  for (auto [step, trips] : {std::pair(11.0, 0), std::pair(3.0, 3), std::pair(0.5, 7), std::pair(4.0, 2)}) {
    std::vector<HostTensor> inputs = {test::makeInput(f32, {{5}, {step, 0, -1, step / 2, 0.25}})};
    const uint64_t graphs = cuda::count("graph"), launches = cuda::count("launch");
    auto actual = program.run(inputs);
    ASSERT_TRUE(actual) << program.error << cuda::report();
    EXPECT_EQ(cuda::report(), "");
    EXPECT_EQ((*actual)[0].getFloat(0), trips);
    ASSERT_EQ((*actual)[2].numElements(), 5 * trips);
    ASSERT_EQ((*actual)[3].numElements(), trips);
    std::vector<double> row = inputs[0].toFloats();
    for (int64_t t = 0; t < trips; ++t) {
      for (int64_t k = 0; k < 5; ++k)
        EXPECT_EQ((*actual)[2].getFloat(t * 5 + k), row[size_t(k)] * double(t + 1)) << t << " " << k;
      EXPECT_EQ((*actual)[3].getFloat(t), step * double(t + 2));
    }
    // The loop, and what is cut off behind it, whatever the trips.
    EXPECT_LE(cuda::count("graph") - graphs, 2u);
    EXPECT_LE(cuda::count("launch") - launches, 1u);
  }
}

namespace {
struct ControlCase {
  const char *text;
  std::vector<std::vector<test::Feed>> feeds;
};
} // namespace

static const ControlCase &fibonacci() {
  static const ControlCase result = {
      fibonacciText, {{{{3}, {1, 2, 3}}, {{}, {40}}}, {{{3}, {1, 2, 3}}, {{}, {1e9}}}, {{{3}, {1, 2, 3}}, {{}, {0}}}}};
  return result;
}
static const ControlCase &nested() {
  static const ControlCase result = {
      nestedText, {{{{4}, {0.5, 1, 2, -1}}, {{}, {1}}}, {{{4}, {0.5, 1, 2, -1}}, {{}, {0}}}, {{{4}, {9}}, {{}, {1}}}}};
  return result;
}

TEST_F(CudaControl, LoopsAndBranchesInEachOther) {
  for (const ControlCase *one : {&fibonacci(), &nested()}) {
    test::expectMatches(one->text, one->feeds, 1e-6, /*isGraph=*/true);
    EXPECT_EQ(cuda::count("launch"), 0u);
    EXPECT_EQ(cuda::count("graph"), 2 * one->feeds.size()); // each feed is called twice
    EXPECT_EQ(cuda::count("build"), 1u);
  }
}

/// Older drivers have no loops in graphs, or no graphs: the host looks at the condition then.
TEST_F(CudaControl, TheHostsLoopsGiveTheSameBits) {
  const ControlCase newton = {newtonText, {{{{5}, {1, 0.5, 2, 0.25, 1.5}}}}};
  for (const ControlCase *one : {&newton, &fibonacci(), &nested()}) {
    std::vector<std::vector<std::string>> results;
    for (const char *how : {"on", "launches", "off"}) {
      cuda::Graphs graphs(how);
      test::Program program(one->text, 2, 1, /*isGraph=*/true);
      ASSERT_EQ(program.error, "");
      std::vector<std::string> &bits = results.emplace_back();
      for (const std::vector<test::Feed> &feeds : one->feeds) {
        auto actual = program.run(test::inputsOf(program, feeds));
        ASSERT_TRUE(actual) << how << ": " << program.error;
        for (const HostTensor &tensor : *actual)
          bits.emplace_back(tensor.data(), tensor.numBytes());
      }
      EXPECT_EQ(cuda::count("launch") > 0, std::string(how) != "on");
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
  }
}

TEST_F(CudaControl, ALimitThatIsAnErrorIsToldAfterTheLoop) {
  std::string text = fibonacciText;
  text.insert(text.find("max_trip = 9 : i64") + 18, ", on_limit = #sinter<limit_policy trap>");
  test::Program program(text, 2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  mlir::Type f32 = mlir::Float32Type::get(&program.context);
  HostTensor x = test::makeInput(f32, {{3}, {1, 2, 3}});
  EXPECT_TRUE(program.run({x, test::makeInput(f32, {{}, {40}})})) << program.error;
  EXPECT_FALSE(program.run({x, test::makeInput(f32, {{}, {1e9}})}));
  EXPECT_NE(program.error.find("a loop requires at most 9 trips, its condition still holds after 9"), std::string::npos)
      << program.error;
  EXPECT_TRUE(program.run({x, test::makeInput(f32, {{}, {40}})})) << program.error;
  EXPECT_EQ(cuda::count("launch"), 0u);
}

/// A loop of the device goes on until the host, which waits for it, asks it to stop; a loop of the host looks itself.
TEST_F(CudaControl, ALoopWithoutAnEndCanBeCancelled) {
  for (const char *how : {"on", "launches", "off"}) {
    SCOPED_TRACE(how);
    cuda::Graphs graphs(how);
    test::Program endless(endlessText, 2, 1, /*isGraph=*/true);
    ASSERT_EQ(endless.error, "");
    bool isDevices = std::string(how) == "on";
    cuda::expectCancelled(endless, isDevices ? 20 : 0);
    if (!isDevices)
      EXPECT_LT(cuda::count("not ready"), 20u);
  }
}

/// Per-trip outputs from the front and from the end, slices of either axis, a trip's number, branches and a loop in it.
static const char countedText[] =
    R"(func.func @f(%x: tensor<3xf32>, %s: tensor<12x3xf32>, %t: tensor<2x12xf32>, %k: tensor<i64>) -> (tensor<3xf32>, tensor<12x3xf32>, tensor<3x12xf32>, tensor<3xf32>, tensor<11xi64>) {
    %c, %y, %z = sinter.scan(%x) over(%s, %t) captures(%k) {axes = array<i64: 0, 1>, reverse = array<i1: false, true>, out_axes = array<i64: 0, 1>, out_reverse = array<i1: true, false>}
        : (tensor<3xf32>, tensor<12x3xf32>, tensor<2x12xf32>, tensor<i64>) -> (tensor<3xf32>, tensor<12x3xf32>, tensor<3x12xf32>) body {
    ^bb0(%a: tensor<3xf32>, %e: tensor<3xf32>, %f: tensor<2xf32>, %j: tensor<i64>):
      %sum = sinter.reduce add %f axes = [0] : (tensor<2xf32>) -> tensor<f32>
      %half = sinter.constant dense<0.5> : tensor<f32>
      %g = sinter.mul %sum, %half : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %b = sinter.broadcast %g axes = [] {type = tensor<3xf32>} : (tensor<f32>) -> tensor<3xf32>
      %m = sinter.mul %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %n = sinter.add %m, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %w = sinter.switch %j(%n) : (tensor<i64>, tensor<3xf32>) -> tensor<3xf32> {
      ^bb0(%v: tensor<3xf32>):
        %p = sinter.exp %v : (tensor<3xf32>) -> tensor<3xf32>
        sinter.yield(%p) : tensor<3xf32>
      }, {
      ^bb0(%v: tensor<3xf32>):
        %zero = sinter.constant dense<0> : tensor<i64>
        %one = sinter.constant dense<1> : tensor<i64>
        %nine = sinter.constant dense<9> : tensor<i64>
        %p = sinter.for %zero to %nine step %one(%v) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<3xf32>) -> tensor<3xf32> body {
        ^bb0(%i: tensor<i64>, %u: tensor<3xf32>):
          %h = sinter.tanh %u : (tensor<3xf32>) -> tensor<3xf32>
          sinter.yield(%h) : tensor<3xf32>
        }
        sinter.yield(%p) : tensor<3xf32>
      }, {
      ^bb0(%v: tensor<3xf32>):
        sinter.yield(%v) : tensor<3xf32>
      }
      sinter.yield(%n, %w, %a) : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
    }
    %lower = sinter.constant dense<30> : tensor<i64>
    %upper = sinter.constant dense<9> : tensor<i64>
    %step = sinter.constant dense<-2> : tensor<i64>
    %q, %numbers = sinter.for %lower to %upper step %step(%c) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<3xf32>) -> (tensor<3xf32>, tensor<11xi64>) body {
    ^bb0(%i: tensor<i64>, %u: tensor<3xf32>):
      %h = sinter.sin %u : (tensor<3xf32>) -> tensor<3xf32>
      sinter.yield(%h, %i) : tensor<3xf32>, tensor<i64>
    }
    return %c, %y, %z, %q, %numbers : tensor<3xf32>, tensor<12x3xf32>, tensor<3x12xf32>, tensor<3xf32>, tensor<11xi64>
  })";

/// As many trips as an input says.
static const char boundText[] =
    R"(func.func @f(%x: tensor<3xf32>, %upper: tensor<i64>, %step: tensor<i64>) -> tensor<3xf32> {
    %lower = sinter.constant dense<3> : tensor<i64>
    %c = sinter.for %lower to %upper step %step(%x) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<3xf32>) -> tensor<3xf32> body {
    ^bb0(%i: tensor<i64>, %a: tensor<3xf32>):
      %f = sinter.convert %i {element_type = f32} : (tensor<i64>) -> tensor<f32>
      %b = sinter.broadcast %f axes = [] {type = tensor<3xf32>} : (tensor<f32>) -> tensor<3xf32>
      %n = sinter.add %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      sinter.yield(%n) : tensor<3xf32>
    }
    return %c : tensor<3xf32>
  })";

TEST_F(CudaControl, LoopsThatCountRunWithoutTheHost) {
  std::vector<double> s, t;
  for (int i = 0; i < 36; ++i)
    s.push_back(std::sin(i));
  for (int i = 0; i < 24; ++i)
    t.push_back(std::cos(i));
  ControlCase counted = {countedText, {}}, bound = {boundText, {}};
  for (double k : {0.0, 1.0, 2.0, -5.0})
    counted.feeds.push_back({{{3}, {0.5, 1, 2}}, {{12, 3}, s}, {{2, 12}, t}, {{}, {k}}});
  for (auto [upper, step] : {std::pair(20.0, 4.0), {3.0, 1.0}, {-9.0, -5.0}, {100.0, 0.0}, {4.0, 7.0}})
    bound.feeds.push_back({{{3}, {0.5, 1, 2}}, {{}, {upper}}, {{}, {step}}});
  for (const ControlCase *one : {&counted, &bound}) {
    test::Program source(one->text, 2, 1, /*isGraph=*/true);
    test::Program program(simplified(one->text), 2, 1, /*isGraph=*/true);
    ASSERT_EQ(source.error + program.error, "");
    for (const std::vector<test::Feed> &feeds : one->feeds) {
      std::vector<HostTensor> inputs = test::inputsOf(source, feeds);
      auto expected = source.evaluate(inputs);
      auto graphs = cuda::count("graph");
      auto actual = program.run(inputs);
      ASSERT_TRUE(llvm::succeeded(expected) && actual) << program.error << cuda::report();
      EXPECT_EQ(cuda::count("graph"), graphs + 1);
      for (auto [a, b] : llvm::zip_equal(*actual, *expected))
        for (int64_t i = 0; i < b.numElements(); ++i)
          EXPECT_NEAR(a.getFloat(i), b.getFloat(i), 1e-5 * std::max(1.0, std::fabs(b.getFloat(i))));
    }
    EXPECT_EQ(cuda::count("launch"), 0u);
    EXPECT_EQ(cuda::count("build"), 1u);
    EXPECT_EQ(cuda::report(), "");
  }
}

/// A recurrence along a sequence whose length only the call tells.
static const char lengthText[] =
    R"(func.func @f(%v: tensor<3xf32>, %l: tensor<?x3xf32>) -> tensor<3xf32> {
    %d = sinter.scan(%v) over(%l) captures() {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64>, out_reverse = array<i1>}
        : (tensor<3xf32>, tensor<?x3xf32>) -> tensor<3xf32> body {
    ^bb0(%a: tensor<3xf32>, %e: tensor<3xf32>):
      %n = sinter.add %a, %e : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %h = sinter.sin %n : (tensor<3xf32>) -> tensor<3xf32>
      sinter.yield(%h) : tensor<3xf32>
    }
    return %d : tensor<3xf32>
  })";

TEST_F(CudaControl, ALengthThatTheCallTellsIsWalkedWithoutTheHost) {
  test::Program program(simplified(lengthText), 2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  mlir::Type f32 = mlir::Float32Type::get(&program.context);
  for (int64_t length : {5, 5, 1, 9, 0}) {
    std::vector<double> values;
    double expected[] = {0.5, 1, 2};
    for (int64_t k = 0; k < 3 * length; ++k) {
      values.push_back(std::sin(0.7 * static_cast<double>(k) + 2));
      expected[k % 3] = std::sin(expected[k % 3] + values.back());
    }
    std::vector<HostTensor> inputs = {test::makeInput(f32, {{3}, {0.5, 1, 2}}),
                                      test::makeInput(f32, {{length, 3}, values})};
    auto graphs = cuda::count("graph");
    auto actual = program.run(inputs);
    ASSERT_TRUE(actual) << program.error << cuda::report();
    EXPECT_EQ(cuda::count("graph"), graphs + 1) << length;
    for (int64_t i = 0; i < 3; ++i)
      EXPECT_NEAR((*actual)[0].getFloat(i), expected[i], 1e-5) << length;
  }
  EXPECT_EQ(cuda::count("launch"), 0u);
  EXPECT_EQ(cuda::report(), "");
}

/// What compares sizes is the host's to decide: nothing is copied back for it.
TEST_F(CudaControl, BranchesOnSizesDoNotWait) {
  const char *text = R"(func.func @f(%x: tensor<?x3xf32>) -> tensor<?xf32> {
    %rows = sinter.dim %x {axis = 0 : i64} : (tensor<?x3xf32>) -> tensor<i64>
    %two = sinter.constant dense<2> : tensor<i64>
    %twice = sinter.mul %rows, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %six = sinter.constant dense<6> : tensor<i64>
    %few = sinter.compare lt %twice, %six : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %r = sinter.cond %few(%x) : (tensor<i1>, tensor<?x3xf32>) -> tensor<?xf32> then {
    ^bb0(%y: tensor<?x3xf32>):
      %s = sinter.reduce add %y axes = [0] : (tensor<?x3xf32>) -> tensor<3xf32>
      %t = sinter.reshape %s {type = tensor<?xf32>} : (tensor<3xf32>) -> tensor<?xf32>
      sinter.yield(%t) : tensor<?xf32>
    } else {
    ^bb0(%y: tensor<?x3xf32>):
      %s = sinter.reduce add %y axes = [1] : (tensor<?x3xf32>) -> tensor<?xf32>
      sinter.yield(%s) : tensor<?xf32>
    }
    return %r : tensor<?xf32>
  })";
  test::Program program(text, 2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  mlir::Type f32 = mlir::Float32Type::get(&program.context);
  for (int64_t rows : {2, 3, 5}) {
    auto copied = cuda::count("to host");
    std::vector<double> ones(static_cast<size_t>(rows * 3), 1);
    auto actual = program.run({test::makeInput(f32, {{rows, 3}, ones})});
    ASSERT_TRUE(actual) << program.error << cuda::report();
    EXPECT_EQ(cuda::count("to host") - copied, 1u) << rows; // the result
    ASSERT_EQ((*actual)[0].numElements(), rows < 3 ? 3 : rows);
    EXPECT_EQ((*actual)[0].getFloat(0), rows < 3 ? rows : 3);
  }
}

/// As many outputs as a number says: the host reads it once, before the loop.
TEST_F(CudaControl, AsManyPerTripOutputsAsANumberSays) {
  const char *text = R"(func.func @f(%x: tensor<3xf32>, %upper: tensor<i64>) -> (tensor<3xf32>, tensor<?x3xf32>) {
    %lower = sinter.constant dense<2> : tensor<i64>
    %step = sinter.constant dense<3> : tensor<i64>
    %c, %all = sinter.for %lower to %upper step %step(%x) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<3xf32>) -> (tensor<3xf32>, tensor<?x3xf32>) body {
    ^bb0(%i: tensor<i64>, %a: tensor<3xf32>):
      %f = sinter.convert %i {element_type = f32} : (tensor<i64>) -> tensor<f32>
      %b = sinter.broadcast %f axes = [] {type = tensor<3xf32>} : (tensor<f32>) -> tensor<3xf32>
      %n = sinter.add %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      sinter.yield(%n, %a) : tensor<3xf32>, tensor<3xf32>
    }
    return %c, %all : tensor<3xf32>, tensor<?x3xf32>
  })";
  test::Program program(simplified(text), 2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  mlir::Type f32 = mlir::Float32Type::get(&program.context), i64 = mlir::IntegerType::get(&program.context, 64);
  std::vector<uint64_t> waits;
  for (int64_t upper : {3, 12, 2, -4, 200}) {
    cuda::HostWork before;
    auto actual = program.run({test::makeInput(f32, {{3}, {0, 1, 2}}), test::makeInput(i64, {{}, {double(upper)}})});
    ASSERT_TRUE(actual) << program.error << cuda::report();
    waits.push_back(before.since().waits);
    double sum = 0;
    int64_t t = 0;
    for (int64_t i = 2; i < upper; i += 3, ++t) {
      for (int64_t k = 0; k < 3; ++k)
        ASSERT_EQ((*actual)[1].getFloat(t * 3 + k), sum + double(k)) << upper << " " << t;
      sum += double(i);
    }
    EXPECT_EQ((*actual)[1].numElements(), 3 * t);
    EXPECT_EQ((*actual)[0].getFloat(2), sum + 2);
  }
  EXPECT_EQ(waits[0], waits[4]);
  EXPECT_LE(waits[4], 5u);
  EXPECT_EQ(cuda::count("launch"), 0u);
  EXPECT_EQ(cuda::report(), "");
}

/// A recurrent cell over a batch of unknown size, whose rows the input and the state have, and an output a trip: what
/// ONNX's LSTM is here. `steps`: trips, or `?`.
static std::string cellText(const std::string &steps, const std::string &sum) {
  std::string text =
      R"(func.func @f(%h: tensor<?x3xf32>, %x: tensor<TxBxXf32>) -> (tensor<?x3xf32>, tensor<TxRxXf32>) {
    %d, %y = sinter.scan(%h) over(%x) captures() {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: true>}
        : (tensor<?x3xf32>, tensor<TxBxXf32>) -> (tensor<?x3xf32>, tensor<TxRxXf32>) body {
    ^bb0(%a: tensor<?x3xf32>, %e: tensor<?x3xf32>):
      %n = sinter.add SUM : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
      %g = sinter.tanh %n : (tensor<?x3xf32>) -> tensor<?x3xf32>
      sinter.yield(%g, %n) : tensor<?x3xf32>, tensor<?x3xf32>
    }
    return %d, %y : tensor<?x3xf32>, tensor<TxRxXf32>
  })";
  auto put = [&](const std::string &what, const std::string &with) {
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
      text.replace(at, what.size(), with);
  };
  put("TxBxXf32", steps + "x?x3xf32");
  put("TxRxXf32", steps + "x?x3xf32");
  put("SUM", sum);
  return text;
}

TEST_F(CudaControl, ABatchOfUnknownSizeIsTheDevices) {
  for (const char *sum : {"%a, %e", "%e, %a"})
    for (const char *steps : {"7", "?"}) {
      SCOPED_TRACE(std::string(sum) + ", " + steps);
      test::Program program(simplified(cellText(steps, sum).c_str()), 2, 1, /*isGraph=*/true);
      ASSERT_EQ(program.error, "");
      mlir::Type f32 = mlir::Float32Type::get(&program.context);
      std::vector<uint64_t> waits;
      for (auto [rows, length] : {std::pair(int64_t(2), int64_t(7)), {5, 7}, {1, 21}, {4, 0}}) {
        if (*steps == '7' && length != 7)
          continue;
        std::vector<double> state, input, outputs(static_cast<size_t>(length * rows * 3));
        for (int64_t k = 0; k < rows * 3; ++k)
          state.push_back(std::cos(double(k)));
        for (int64_t k = 0; k < length * rows * 3; ++k)
          input.push_back(std::sin(0.7 * double(k)));
        std::vector<HostTensor> inputs = {test::makeInput(f32, {{rows, 3}, state}),
                                          test::makeInput(f32, {{length, rows, 3}, input})};
        for (int64_t t = 0; t < length; ++t)
          for (int64_t k = 0; k < rows * 3; ++k) {
            double sum = state[size_t(k)] + input[size_t(t * rows * 3 + k)];
            outputs[size_t((length - 1 - t) * rows * 3 + k)] = sum;
            state[size_t(k)] = std::tanh(sum);
          }
        cuda::HostWork before;
        auto actual = program.run(inputs);
        ASSERT_TRUE(actual) << program.error << cuda::report();
        if (length > 0)
          waits.push_back(before.since().waits);
        ASSERT_EQ((*actual)[0].numElements(), rows * 3);
        for (int64_t k = 0; k < rows * 3; ++k)
          EXPECT_NEAR((*actual)[0].getFloat(k), state[size_t(k)], 1e-5);
        ASSERT_EQ((*actual)[1].numElements(), length * rows * 3);
        for (int64_t k = 0; k < length * rows * 3; ++k)
          EXPECT_NEAR((*actual)[1].getFloat(k), outputs[size_t(k)], 1e-5);
      }
      // For the graph and for each result, whatever the trips and rows.
      for (uint64_t count : waits)
        EXPECT_LE(count, 3u);
      EXPECT_EQ(cuda::report(), "");
      EXPECT_EQ(cuda::count("launch"), 0u);
      // Other rows are a mistake of the user where there is a trip.
      auto wrong = [&](int64_t length) {
        return program.run({test::makeInput(f32, {{2, 3}, std::vector<double>(6, 0.5)}),
                            test::makeInput(f32, {{length, 4, 3}, std::vector<double>(size_t(length) * 12, 0.25)})});
      };
      EXPECT_FALSE(wrong(7));
      EXPECT_NE(program.error.find("add requires equal sizes of its operands on axis 0, got"), std::string::npos)
          << program.error;
      if (*steps == '?') {
        auto none = wrong(0);
        ASSERT_TRUE(none) << program.error << cuda::report();
        ASSERT_EQ((*none)[0].numElements(), 6);
        EXPECT_EQ((*none)[0].getFloat(5), 0.5);
      }
      // The session goes on.
      auto right = program.run(
          {test::makeInput(f32, {{1, 3}, {1, 2, 3}}), test::makeInput(f32, {{7, 1, 3}, std::vector<double>(21, 0)})});
      EXPECT_TRUE(right) << program.error;
      EXPECT_EQ(cuda::report(), "");
    }
}

TEST_F(CudaControl, ABatchOfUnknownSizeHasTheSameBitsWithoutGraphs) {
  std::vector<std::vector<std::string>> results;
  for (const char *how : {"on", "launches", "off"}) {
    cuda::Graphs graphs(how);
    test::Program program(simplified(cellText("?", "%e, %a").c_str()), 2, 1, /*isGraph=*/true);
    ASSERT_EQ(program.error, "");
    mlir::Type f32 = mlir::Float32Type::get(&program.context);
    std::vector<double> values;
    for (int k = 0; k < 30; ++k)
      values.push_back(std::sin(0.3 * k));
    HostTensor state = test::makeInput(f32, {{2, 3}, {1, 2, 3, 4, 5, 6}});
    auto actual = program.run({state, test::makeInput(f32, {{5, 2, 3}, values})});
    ASSERT_TRUE(actual) << program.error << cuda::report();
    std::vector<std::string> &bits = results.emplace_back();
    for (const HostTensor &tensor : *actual)
      bits.emplace_back(tensor.data(), tensor.numBytes());
    EXPECT_FALSE(program.run({state, test::makeInput(f32, {{2, 5, 3}, values})}));
    EXPECT_NE(program.error.find("got 5 and 2"), std::string::npos) << program.error;
    EXPECT_TRUE(program.run({state, test::makeInput(f32, {{0, 5, 3}, {}})})) << program.error;
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST_F(CudaControl, TheKernelsThatDecideAssemble) {
  if (std::system("ptxas --version > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "ptxas is not installed";
  std::string path = testing::TempDir() + "sinter-control-" + std::to_string(getpid()) + ".ptx";
  std::ofstream(path) << SINTER_CUDA_CONTROL_PTX;
  for (const char *generation : {"sm_80", "sm_89", "sm_90", "sm_100"})
    EXPECT_EQ(std::system(("ptxas -c -o /dev/null -arch=" + std::string(generation) + " " + path).c_str()), 0)
        << generation;
  std::remove(path.c_str());
}
