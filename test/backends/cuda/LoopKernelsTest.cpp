// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops as one kernel of one block: their results are those of formulas and of the evaluator, their bits those of
// graphs (ControlTest), a call launches one kernel however many trips there are, and what would be wrong with such code
// is told by the machine.

#include "CudaProgram.h"
#include "LoopTexts.h"
#include "Ptxas.h"
#include <cmath>

using namespace sinter;
using cuda::endlessText, cuda::fibonacciText, cuda::nestedText, cuda::newtonText, cuda::simplified;

namespace {
using Tensors = std::vector<HostTensor>;
using Feeds = std::vector<test::Feed>;

struct LoopCase {
  const char *name;
  std::string text;
  std::vector<Feeds> feeds;
};

std::vector<double> waves(int64_t count, double step) {
  std::vector<double> values;
  for (int64_t k = 0; k < count; ++k)
    values.push_back(std::sin(step * double(k) + 0.5));
  return values;
}

/// h = tanh(h W + x U) along a sequence; each h is an output. Products of little matrices are blocks of threads.
constexpr int64_t kWidth = 64, kFeatures = 32, kSteps = 9;
const char recurrentText[] =
    R"(func.func @f(%h: tensor<1x64xf32>, %x: tensor<9x1x32xf32>, %w: tensor<64x64xf32>, %u: tensor<32x64xf32>) -> (tensor<1x64xf32>, tensor<9x1x64xf32>) {
    %d, %y = sinter.scan(%h) over(%x) captures(%w, %u) {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>}
        : (tensor<1x64xf32>, tensor<9x1x32xf32>, tensor<64x64xf32>, tensor<32x64xf32>) -> (tensor<1x64xf32>, tensor<9x1x64xf32>) body {
    ^bb0(%a: tensor<1x64xf32>, %e: tensor<1x32xf32>, %v: tensor<64x64xf32>, %z: tensor<32x64xf32>):
      %p = sinter.dot_general %a, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
      %q = sinter.dot_general %e, %z {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<1x32xf32>, tensor<32x64xf32>) -> tensor<1x64xf32>
      %s = sinter.add %p, %q : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
      %n = sinter.tanh %s : (tensor<1x64xf32>) -> tensor<1x64xf32>
      sinter.yield(%n, %n) : tensor<1x64xf32>, tensor<1x64xf32>
    }
    return %d, %y : tensor<1x64xf32>, tensor<9x1x64xf32>
  })";

/// Rows of a softmax, blocks that share a block, and a sum of several parts that a second kernel joins.
const char rowsText[] =
    R"(func.func @f(%x: tensor<64x200xf32>, %end: tensor<f32>) -> (tensor<i64>, tensor<64x200xf32>) {
    %n, %y = sinter.while(%x) captures(%end) {max_trip = 5 : i64} : (tensor<64x200xf32>, tensor<f32>) -> (tensor<i64>, tensor<64x200xf32>) cond {
    ^bb0(%a: tensor<64x200xf32>, %e: tensor<f32>):
      %sum = sinter.reduce add %a axes = [0, 1] : (tensor<64x200xf32>) -> tensor<f32>
      %go = sinter.compare lt %sum, %e : (tensor<f32>, tensor<f32>) -> tensor<i1>
      sinter.yield(%go) : tensor<i1>
    } body {
    ^bb0(%a: tensor<64x200xf32>, %e: tensor<f32>):
      %s = sinter.softmax %a {axis = 1 : i64} : (tensor<64x200xf32>) -> tensor<64x200xf32>
      %most = sinter.reduce max %a axes = [1] : (tensor<64x200xf32>) -> tensor<64xf32>
      %m = sinter.broadcast %most axes = [0] {type = tensor<64x200xf32>} : (tensor<64xf32>) -> tensor<64x200xf32>
      %t = sinter.add %a, %s : (tensor<64x200xf32>, tensor<64x200xf32>) -> tensor<64x200xf32>
      %half = sinter.constant dense<0.5> : tensor<64x200xf32>
      %h = sinter.mul %m, %half : (tensor<64x200xf32>, tensor<64x200xf32>) -> tensor<64x200xf32>
      %b = sinter.add %t, %h : (tensor<64x200xf32>, tensor<64x200xf32>) -> tensor<64x200xf32>
      sinter.yield(%b) : tensor<64x200xf32>
    }
    return %n, %y : tensor<i64>, tensor<64x200xf32>
  })";

/// In how many of 20 trips z = z z + c stays within 2.
const char mandelbrotText[] = R"(func.func @f(%c: tensor<45xf32>, %d: tensor<45xf32>) -> tensor<45xf32> {
    %zero = sinter.constant dense<0.0> : tensor<45xf32>
    %i0 = sinter.constant dense<0> : tensor<i64>
    %n, %x, %y, %k, %i = sinter.while(%zero, %zero, %zero, %i0) captures(%c, %d) : (tensor<45xf32>, tensor<45xf32>, tensor<45xf32>, tensor<i64>, tensor<45xf32>, tensor<45xf32>) -> (tensor<i64>, tensor<45xf32>, tensor<45xf32>, tensor<45xf32>, tensor<i64>) cond {
    ^bb0(%a: tensor<45xf32>, %b: tensor<45xf32>, %e: tensor<45xf32>, %i: tensor<i64>, %p: tensor<45xf32>, %q: tensor<45xf32>):
      %twenty = sinter.constant dense<20> : tensor<i64>
      %go = sinter.compare lt %i, %twenty : (tensor<i64>, tensor<i64>) -> tensor<i1>
      sinter.yield(%go) : tensor<i1>
    } body {
    ^bb0(%a: tensor<45xf32>, %b: tensor<45xf32>, %e: tensor<45xf32>, %i: tensor<i64>, %p: tensor<45xf32>, %q: tensor<45xf32>):
      %aa = sinter.mul %a, %a : (tensor<45xf32>, tensor<45xf32>) -> tensor<45xf32>
      %bb = sinter.mul %b, %b : (tensor<45xf32>, tensor<45xf32>) -> tensor<45xf32>
      %ab = sinter.mul %a, %b : (tensor<45xf32>, tensor<45xf32>) -> tensor<45xf32>
      %r = sinter.sub %aa, %bb : (tensor<45xf32>, tensor<45xf32>) -> tensor<45xf32>
      %x = sinter.add %r, %p : (tensor<45xf32>, tensor<45xf32>) -> tensor<45xf32>
      %ab2 = sinter.add %ab, %ab : (tensor<45xf32>, tensor<45xf32>) -> tensor<45xf32>
      %y = sinter.add %ab2, %q : (tensor<45xf32>, tensor<45xf32>) -> tensor<45xf32>
      %size = sinter.add %aa, %bb : (tensor<45xf32>, tensor<45xf32>) -> tensor<45xf32>
      %four = sinter.constant dense<4.0> : tensor<45xf32>
      %in = sinter.compare le %size, %four : (tensor<45xf32>, tensor<45xf32>) -> tensor<45xi1>
      %one = sinter.convert %in {element_type = f32} : (tensor<45xi1>) -> tensor<45xf32>
      %k = sinter.add %e, %one : (tensor<45xf32>, tensor<45xf32>) -> tensor<45xf32>
      %inc = sinter.constant dense<1> : tensor<i64>
      %next = sinter.add %i, %inc : (tensor<i64>, tensor<i64>) -> tensor<i64>
      sinter.yield(%x, %y, %k, %next) : tensor<45xf32>, tensor<45xf32>, tensor<45xf32>, tensor<i64>
    }
    return %k : tensor<45xf32>
  })";

/// A number of rows that only the call tells.
const char openText[] = R"(func.func @f(%x: tensor<?x3xf32>, %most: tensor<f32>) -> (tensor<i64>, tensor<?x3xf32>) {
    %n, %y = sinter.while(%x) captures(%most) : (tensor<?x3xf32>, tensor<f32>) -> (tensor<i64>, tensor<?x3xf32>) cond {
    ^bb0(%a: tensor<?x3xf32>, %m: tensor<f32>):
      %sum = sinter.reduce max %a axes = [0, 1] : (tensor<?x3xf32>) -> tensor<f32>
      %go = sinter.compare lt %sum, %m : (tensor<f32>, tensor<f32>) -> tensor<i1>
      sinter.yield(%go) : tensor<i1>
    } body {
    ^bb0(%a: tensor<?x3xf32>, %m: tensor<f32>):
      %t = sinter.reverse %a {axes = array<i64: 0>} : (tensor<?x3xf32>) -> tensor<?x3xf32>
      %s = sinter.add %a, %t : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
      sinter.yield(%s) : tensor<?x3xf32>
    }
    return %n, %y : tensor<i64>, tensor<?x3xf32>
  })";

/// Each step reads what other threads wrote, and carries are copied.
const char crossedText[] =
    R"(func.func @f(%x: tensor<70xf32>, %y: tensor<70xf32>, %end: tensor<f32>) -> (tensor<i64>, tensor<70xf32>, tensor<70xf32>) {
    %n, %u, %v = sinter.while(%x, %y) captures(%end) : (tensor<70xf32>, tensor<70xf32>, tensor<f32>) -> (tensor<i64>, tensor<70xf32>, tensor<70xf32>) cond {
    ^bb0(%a: tensor<70xf32>, %b: tensor<70xf32>, %e: tensor<f32>):
      %most = sinter.reduce max %a axes = [0] : (tensor<70xf32>) -> tensor<f32>
      %go = sinter.compare lt %most, %e : (tensor<f32>, tensor<f32>) -> tensor<i1>
      sinter.yield(%go) : tensor<i1>
    } body {
    ^bb0(%a: tensor<70xf32>, %b: tensor<70xf32>, %e: tensor<f32>):
      %m = sinter.reduce max %a axes = [0] : (tensor<70xf32>) -> tensor<f32>
      %w = sinter.broadcast %m axes = [] {type = tensor<70xf32>} : (tensor<f32>) -> tensor<70xf32>
      %s = sinter.add %b, %w : (tensor<70xf32>, tensor<70xf32>) -> tensor<70xf32>
      %p = sinter.reverse %s {axes = array<i64: 0>} : (tensor<70xf32>) -> tensor<70xf32>
      %q = sinter.reverse %a {axes = array<i64: 0>} : (tensor<70xf32>) -> tensor<70xf32>
      sinter.yield(%p, %q) : tensor<70xf32>, tensor<70xf32>
    }
    return %n, %u, %v : tensor<i64>, tensor<70xf32>, tensor<70xf32>
  })";

std::vector<LoopCase> cases() {
  std::vector<double> open = {0.5, 1, 2, 3, 0.25, 1, 0.125, 1, 4, 2, 1, 3, 1, 0.5, 2};
  return {
      {"newton", newtonText, {{{{5}, {0}}}, {{{5}, {1, 0.5, 2, 0.25, 1.5}}}, {{{5}, {3, 4, 1, 2, 5}}}}},
      {"fibonacci", // swaps, the limit, no trip
       fibonacciText,
       {{{{3}, {1, 2, 3}}, {{}, {40}}}, {{{3}, {1, 2, 3}}, {{}, {1e9}}}, {{{3}, {1, 2, 3}}, {{}, {0}}}}},
      {"crossed", crossedText, {{{{70}, waves(70, 0.3)}, {{70}, waves(70, 0.9)}, {{}, {40}}}}},
      {"nested", nestedText, {{{{4}, {0.5, 1, 2, -1}}, {{}, {1}}}, {{{4}, {9}}, {{}, {1}}}}},
      {"recurrent",
       simplified(recurrentText),
       {{{{1, kWidth}, waves(kWidth, 0.3)},
         {{kSteps, 1, kFeatures}, waves(kSteps * kFeatures, 0.7)},
         {{kWidth, kWidth}, waves(kWidth * kWidth, 1.1)},
         {{kFeatures, kWidth}, waves(kFeatures * kWidth, 1.7)}}}},
      {"rows", rowsText, {{{{64, 200}, waves(64 * 200, 0.37)}, {{}, {30000}}}, {{{64, 200}, {1}}, {{}, {1}}}}},
      {"mandelbrot", mandelbrotText, {{{{45}, waves(45, 0.4)}, {{45}, waves(45, 0.9)}}}},
      {"open", openText, {{{{5, 3}, open}, {{}, {100}}}, {{{2, 3}, open}, {{}, {9}}}, {{{1, 3}, open}, {{}, {0}}}}}};
}

/// What a call gives, and how many kernels it launches without graphs.
struct Outcome {
  std::vector<Tensors> results;
  std::vector<std::string> bits;
  std::vector<uint64_t> launches;
  bool hasLoopKernel = false;
};

/// Whether the code that was compiled last has a loop among its kernels.
bool hasLoopKernel() {
  std::string lines = cuda::lastCode().substr(0, cuda::lastCode().find("\n\n"));
  return lines.starts_with("loop ") || lines.find("\nloop ") != std::string::npos;
}

Outcome outcomeOf(const LoopCase &one, const char *loops, const char *graphs) {
  cuda::OneKernel how(loops);
  cuda::Graphs with(graphs);
  Outcome outcome;
  test::Program program(one.text, 2, 1, /*isGraph=*/true);
  EXPECT_EQ(program.error, "") << one.name;
  if (!program.error.empty())
    return outcome;
  outcome.hasLoopKernel = hasLoopKernel();
  for (const Feeds &feeds : one.feeds) {
    Tensors inputs = inputsOf(program, feeds);
    uint64_t before = cuda::count("launch");
    auto actual = program.run(inputs);
    EXPECT_TRUE(actual) << one.name << ": " << program.error << cuda::report();
    if (!actual)
      return outcome;
    outcome.launches.push_back(cuda::count("launch") - before);
    for (const HostTensor &tensor : *actual)
      outcome.bits.emplace_back(tensor.data(), tensor.numBytes());
    outcome.results.push_back(std::move(*actual));
  }
  EXPECT_EQ(cuda::report(), "") << one.name;
  return outcome;
}

class LoopKernels : public testing::TestWithParam<LoopCase> {};
} // namespace

TEST_P(LoopKernels, HaveTheBitsOfGraphsAndAreOneLaunch) {
  const LoopCase &one = GetParam();
  Outcome kernel = outcomeOf(one, "one", "off"), graph = outcomeOf(one, "none", "on");
  EXPECT_TRUE(kernel.hasLoopKernel);
  EXPECT_FALSE(graph.hasLoopKernel);
  EXPECT_EQ(kernel.bits, graph.bits);
  ASSERT_EQ(kernel.launches.size(), one.feeds.size());
  for (uint64_t launches : kernel.launches)
    EXPECT_EQ(launches, kernel.launches.front()); // whatever the trips
  if (std::string(one.name) == "newton")
    EXPECT_EQ(kernel.launches.front(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Cuda, LoopKernels, testing::ValuesIn(cases()),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(CudaLoopKernels, ResultsAreThoseOfFormulas) {
  for (const LoopCase &one : cases()) {
    Outcome got = outcomeOf(one, "one", "on");
    ASSERT_EQ(got.results.size(), one.feeds.size());
    const Feeds &feeds = one.feeds.back();
    const Tensors &last = got.results.back();
    if (std::string(one.name) == "newton") {
      for (int64_t k = 0; k < 5; ++k) { // x = cos(a x)
        double x = last[1].getFloat(k), a = feeds[0].values[size_t(k)];
        EXPECT_NEAR(x, std::cos(a * x), 1e-5);
      }
    } else if (std::string(one.name) == "recurrent") {
      std::vector<double> h = feeds[0].values, next(kWidth);
      for (int64_t t = 0; t < kSteps; ++t) {
        for (int64_t j = 0; j < kWidth; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < kWidth; ++k)
            sum += h[size_t(k)] * feeds[2].values[size_t(k * kWidth + j)];
          for (int64_t k = 0; k < kFeatures; ++k)
            sum += feeds[1].values[size_t(t * kFeatures + k)] * feeds[3].values[size_t(k * kWidth + j)];
          next[size_t(j)] = std::tanh(sum);
        }
        h = next;
        for (int64_t j = 0; j < kWidth; ++j)
          ASSERT_NEAR(last[1].getFloat(t * kWidth + j), h[size_t(j)], 1e-3) << t << " " << j;
      }
    } else if (std::string(one.name) == "mandelbrot") {
      for (int64_t k = 0; k < 45; ++k) {
        float c = float(feeds[0].values[size_t(k)]), d = float(feeds[1].values[size_t(k)]), x = 0, y = 0;
        int trips = 0;
        for (int i = 0; i < 20; ++i) {
          float aa = x * x, bb = y * y, ab = x * y;
          trips += aa + bb <= 4;
          x = aa - bb + c;
          y = ab + ab + d;
        }
        EXPECT_EQ(last[0].getFloat(k), trips) << k;
      }
    }
  }
}

/// Small loops are kernels by themselves, those with much to do are not.
TEST(CudaLoopKernels, TheCostModelChooses) {
  auto isKernel = [](const std::string &text) {
    test::Program program(text, 2, 1, /*isGraph=*/true);
    EXPECT_EQ(program.error, "");
    return hasLoopKernel();
  };
  EXPECT_TRUE(isKernel(newtonText));
  EXPECT_TRUE(isKernel(simplified(recurrentText)));
  EXPECT_FALSE(isKernel(openText));
  std::string large = newtonText;
  for (size_t at = 0; (at = large.find("tensor<5x", at)) != std::string::npos;)
    large.replace(at, 9, "tensor<500000x");
  EXPECT_FALSE(isKernel(large));
}

TEST(CudaLoopKernels, ALimitThatIsAnErrorIsToldAfterTheLoop) {
  cuda::OneKernel one("one");
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
}

/// A check of numbers in a trip is the host's, whoever would like one kernel.
TEST(CudaLoopKernels, AnErrorWithinATripIsTold) {
  const char *text = R"(func.func @f(%x: tensor<3xf32>, %most: tensor<i64>) -> tensor<3xf32> {
    %i0 = sinter.constant dense<0> : tensor<i64>
    %n, %y, %i = sinter.while(%x, %i0) captures(%most) {max_trip = 9 : i64} : (tensor<3xf32>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<3xf32>, tensor<i64>) cond {
    ^bb0(%a: tensor<3xf32>, %j: tensor<i64>, %m: tensor<i64>):
      %go = sinter.constant dense<true> : tensor<i1>
      sinter.yield(%go) : tensor<i1>
    } body {
    ^bb0(%a: tensor<3xf32>, %j: tensor<i64>, %m: tensor<i64>):
      %ok = sinter.compare lt %j, %m : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %b = sinter.require %ok, %a, %j, %m {message = "position {} of {}"} : (tensor<i1>, tensor<3xf32>, tensor<i64>, tensor<i64>) -> tensor<3xf32>
      %s = sinter.add %b, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %inc = sinter.constant dense<1> : tensor<i64>
      %k = sinter.add %j, %inc : (tensor<i64>, tensor<i64>) -> tensor<i64>
      sinter.yield(%s, %k) : tensor<3xf32>, tensor<i64>
    }
    return %y : tensor<3xf32>
  })";
  cuda::OneKernel one("one");
  test::Program program(text, 2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  EXPECT_FALSE(hasLoopKernel());
  mlir::Type f32 = mlir::Float32Type::get(&program.context), i64 = mlir::IntegerType::get(&program.context, 64);
  HostTensor x = test::makeInput(f32, {{3}, {1, 2, 3}});
  auto fits = program.run({x, test::makeInput(i64, {{}, {9}})});
  ASSERT_TRUE(fits) << program.error;
  EXPECT_EQ((*fits)[0].getFloat(2), 3 * 512);
  EXPECT_FALSE(program.run({x, test::makeInput(i64, {{}, {4}})}));
  EXPECT_NE(program.error.find("position 4 of 4"), std::string::npos) << program.error;
}

/// The kernel looks at a word of the host, with graphs and without.
TEST(CudaLoopKernels, ALoopWithoutAnEndCanBeCancelled) {
  for (const char *how : {"on", "launches", "off"}) {
    SCOPED_TRACE(how);
    cuda::Graphs graphs(how);
    cuda::OneKernel one("one");
    test::Program endless(endlessText, 2, 1, /*isGraph=*/true);
    ASSERT_EQ(endless.error, "");
    ASSERT_TRUE(hasLoopKernel());
    cuda::expectCancelled(endless, 20);
  }
}

TEST(CudaLoopKernels, TheCodeAssemblesWithoutSpills) {
  if (!cuda::hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  for (const LoopCase &one : cases()) {
    cuda::OneKernel how("one");
    test::Program program(one.text, 2, 1, /*isGraph=*/true);
    ASSERT_EQ(program.error, "");
    const std::string &code = cuda::lastCode();
    unsigned kernels = 0;
    for (size_t at = 0; (at = code.find(".visible .entry", at)) != std::string::npos; ++at)
      ++kernels;
    SCOPED_TRACE(one.name);
    cuda::expectNoSpills(code.substr(code.find("\n\n") + 2), kernels, 255, {"sm_80", "sm_89", "sm_90", "sm_100"});
  }
}

namespace {
/// What is wrong when each line of the loop's code that fits `pattern` is changed, one at a time; empty where nothing
/// is told and the results are right.
std::vector<std::string> mistakes(const LoopCase &one, const std::string &pattern, const std::string &by) {
  Outcome right = outcomeOf(one, "one", "on");
  std::vector<std::string> told;
  for (size_t number = 0;; ++number) {
    bool isMade = false;
    cuda::editCode([&](std::string &code) {
      std::smatch found;
      size_t from = code.find("\n\n");
      for (size_t n = 0; n <= number; ++n) {
        std::string rest = code.substr(from);
        if (!std::regex_search(rest, found, std::regex(pattern)))
          return;
        size_t at = from + size_t(found.position()), length = size_t(found.length());
        if (n == number) {
          code.replace(at, length, std::regex_replace(found.str(), std::regex(pattern), by));
          isMade = true;
        }
        from = at + length;
      }
    });
    cuda::OneKernel how("one");
    test::Program program(one.text, 2, 1, /*isGraph=*/true);
    cuda::editCode(nullptr);
    if (!isMade)
      break;
    std::vector<std::string> bits;
    std::string what = program.error;
    for (const Feeds &feeds : one.feeds) {
      if (!what.empty())
        break;
      auto actual = program.run(inputsOf(program, feeds));
      what = cuda::report() + (actual ? "" : program.error);
      for (const HostTensor &tensor : actual.value_or(Tensors()))
        bits.emplace_back(tensor.data(), tensor.numBytes());
    }
    told.push_back(what.empty() && bits != right.bits ? "other results" : what);
  }
  // What the machine told was asked for.
  cuda::Compiled none;
  std::string error;
  if (cuda::compileText(newtonText, none, error))
    std::remove(none.path.c_str());
  return told;
}
} // namespace

/// Threads read in each step what others wrote in the one before. Not missed are the barrier between copies to two
/// carries, and the last one, behind which nothing is.
TEST(CudaLoopKernels, ADroppedBarrierIsTold) {
  LoopCase crossed = {"crossed", crossedText, {{{{70}, waves(70, 0.3)}, {{70}, waves(70, 0.9)}, {{}, {40}}}}};
  std::vector<std::string> told = mistakes(crossed, "\tbar\\.sync[^\n]*\n", "\n");
  unsigned races = 0, missed = 0;
  for (const std::string &what : told) {
    races += what.find("race: ") != std::string::npos;
    missed += what.empty();
  }
  EXPECT_GE(races, 4u) << "of " << told.size();
  EXPECT_LE(missed, 2u) << "of " << told.size();
}
