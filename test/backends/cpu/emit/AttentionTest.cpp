// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention in one kernel against the evaluator, which forms each row of scores in f64.

#include "test/backends/cpu/KernelCase.h"
#include <limits>
#include <numeric>
#include <random>

using namespace sinter::test;
using sinter::HostTensor;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
struct Shape {
  int64_t heads, rows, keys, depth, width;
};
} // namespace

static std::vector<double> numbers(int64_t count, unsigned seed, double range = 1.5) {
  std::mt19937 next(seed);
  std::vector<double> values;
  for (int64_t i = 0; i < std::max<int64_t>(count, 1); ++i)
    values.push_back(static_cast<float>(range * (static_cast<double>(next() % 20001) / 10000 - 1)));
  return values;
}

static std::string tensor(llvm::ArrayRef<int64_t> shape, llvm::StringRef type, bool open = false) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += (open ? "?" : std::to_string(size)) + "x";
  return text + type.str() + ">";
}

static std::string attention(llvm::ArrayRef<std::string> types, llvm::StringRef result, double scale = 0.25) {
  bool biased = types.size() > 3;
  std::string text = "%r0 = sinter.attention %a, %b, %c" + std::string(biased ? ", %d" : "") +
                     " {scale = " + std::to_string(scale) + " : f64} : (";
  for (auto [i, type] : llvm::enumerate(types))
    text += (i ? ", " : "") + type;
  return text + ") -> " + result.str();
}

static std::vector<Feed> feedsOf(const Shape &s) {
  return {{{s.heads, s.rows, s.depth}, numbers(s.heads * s.rows * s.depth, 1)},
          {{s.heads, s.keys, s.depth}, numbers(s.heads * s.keys * s.depth, 2)},
          {{s.heads, s.keys, s.width}, numbers(s.heads * s.keys * s.width, 3)}};
}

static void expectAttention(const Shape &s, llvm::StringRef type, bool open = false, const Feed *bias = nullptr) {
  std::vector<std::string> types = {tensor({s.heads, s.rows, s.depth}, type, open),
                                    tensor({s.heads, s.keys, s.depth}, type, open),
                                    tensor({s.heads, s.keys, s.width}, type, open)};
  std::vector<Feed> feeds = feedsOf(s);
  if (bias) {
    types.push_back(tensor(bias->shape, type));
    feeds.push_back(*bias);
  }
  std::string result = tensor({s.heads, s.rows, s.width}, type, open);
  // Values are up to 1.5; a result is rounded once, and shares of bf16 may be.
  double tolerance = type == "bf16" ? 1.5 / 128 : type == "f16" ? 1.5 / 2048 : 1e-5;
  expectKernel("attention", types, {result}, attention(types, result), {feeds}, tolerance);
}

// One row, odd sizes, depths and widths of a vector and less, several blocks of keys and of rows.
TEST(Attention, AnySize) {
  for (const char *type : {"f32", "f64", "bf16", "f16"})
    for (const Shape &s : {Shape{1, 1, 1, 1, 1}, Shape{2, 1, 130, 17, 5}, Shape{1, 7, 64, 64, 64},
                           Shape{3, 13, 65, 80, 80}, Shape{2, 201, 33, 17, 128}, Shape{1, 7, 600, 5, 20}})
      expectAttention(s, type);
}

TEST(Attention, SizesKnownWhenItRuns) {
  for (const Shape &s : {Shape{2, 5, 70, 3, 9}, Shape{70, 2, 3, 4, 4}, Shape{1, 100, 129, 16, 16}})
    for (const char *type : {"f32", "bf16"})
      expectAttention(s, type, /*open=*/true);
}

TEST(Attention, NoKeysAreASumOfNone) {
  expectAttention({2, 3, 0, 4, 20}, "f32");
  expectAttention({2, 3, 0, 4, 20}, "bf16");
  expectAttention({2, 0, 5, 4, 20}, "f32");
  expectAttention({2, 3, 5, 0, 20}, "f32");
}

TEST(Attention, BiasRepeatsInAnyAxis) {
  for (llvm::SmallVector<int64_t> shape :
       {llvm::SmallVector<int64_t>{2, 9, 70}, {1, 9, 70}, {2, 1, 70}, {2, 9, 1}, {1, 1, 70}, {1, 1, 1}}) {
    Feed bias{shape, numbers(shape[0] * shape[1] * shape[2], 4)};
    expectAttention({2, 9, 70, 8, 8}, "f32", false, &bias);
  }
}

/// -inf but for keys from `row - before` to `row`.
static Feed window(int64_t rows, int64_t keys, int64_t before) {
  Feed bias{{1, rows, keys}, {}};
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < keys; ++j)
      bias.values.push_back(j <= i && j >= i - before ? 0.125 * static_cast<double>(j % 3) : -kInfinity);
  return bias;
}

TEST(Attention, CausalAndSlidingWindows) {
  for (int64_t before : {1000, 0, 70}) {
    Feed bias = window(600, 600, before);
    for (const char *type : {"f32", "bf16"})
      expectAttention({1, 600, 600, 4, 16}, type, false, &bias);
  }
}

/// The results of the kernel on `threads`.
static std::vector<HostTensor> resultsOf(llvm::StringRef text, llvm::ArrayRef<Feed> feeds, unsigned threads) {
  Program program(text, 2, threads);
  EXPECT_EQ(program.error, "");
  auto outputs = program.run(inputsOf(program, feeds));
  EXPECT_TRUE(outputs) << program.error;
  return *outputs;
}

// Rows 0 to 4 count nothing, in the first block of rows and of keys alike; the others count keys of the last block
// only.
TEST(Attention, RowsThatCountNothingAreNan) {
  Shape s{1, 250, 540, 4, 3};
  Feed bias{{1, s.rows, s.keys}, {}};
  for (int64_t i = 0; i < s.rows; ++i)
    for (int64_t j = 0; j < s.keys; ++j)
      bias.values.push_back(i >= 5 && j >= 530 ? 0 : -kInfinity);
  std::vector<std::string> types = {"tensor<1x250x4xf32>", "tensor<1x540x4xf32>", "tensor<1x540x3xf32>",
                                    "tensor<1x250x540xf32>"};
  std::string text = kernelText("attention", types, {"tensor<1x250x3xf32>"}, attention(types, "tensor<1x250x3xf32>"));
  std::vector<Feed> feeds = feedsOf(s);
  feeds.push_back(bias);
  std::vector<HostTensor> inputs;
  Program program(text, 2);
  ASSERT_EQ(program.error, "");
  for (auto [feed, type] : llvm::zip(feeds, program.function().getArgumentTypes()))
    inputs.push_back(makeInput(mlir::getElementTypeOrSelf(type), feed));
  auto expected = program.evaluate(inputs);
  auto actual = program.run(inputs);
  ASSERT_TRUE(actual && llvm::succeeded(expected));
  for (int64_t k = 0; k < s.rows * s.width; ++k) {
    ASSERT_EQ(std::isnan(actual->front().getFloat(k)), k < 5 * s.width) << k;
    ASSERT_EQ(std::isnan((*expected)[0].getFloat(k)), k < 5 * s.width) << k;
    if (k >= 5 * s.width)
      ASSERT_NEAR(actual->front().getFloat(k), (*expected)[0].getFloat(k), 1e-5);
  }
}

// NaN in keys of a block that the mask hides from all rows is not read.
TEST(Attention, HiddenBlocksAreLeftOut) {
  std::vector<std::string> types = {"tensor<1x9x4xf32>", "tensor<1x1024x4xf32>", "tensor<1x1024x4xf32>",
                                    "tensor<1x9x1024xf32>"};
  std::string text = kernelText("attention", types, {"tensor<1x9x4xf32>"}, attention(types, "tensor<1x9x4xf32>"));
  std::vector<Feed> feeds = feedsOf({1, 9, 1024, 4, 4});
  std::fill(feeds[1].values.begin() + 512 * 4, feeds[1].values.end(), std::numeric_limits<double>::quiet_NaN());
  feeds.push_back(window(9, 1024, 1000));
  HostTensor result = resultsOf(text, feeds, 1)[0];
  for (int64_t k = 0; k < result.numElements(); ++k)
    ASSERT_TRUE(std::isfinite(result.getFloat(k))) << k;
}

// One NaN among the scores, wherever it stands in a vector, makes its row NaN and no other.
TEST(Attention, NanMakesItsRowNan) {
  std::vector<std::string> types = {"tensor<1x6x4xf32>", "tensor<1x600x4xf32>", "tensor<1x600x5xf32>",
                                    "tensor<1x6x600xf32>"};
  std::string text = kernelText("attention", types, {"tensor<1x6x5xf32>"}, attention(types, "tensor<1x6x5xf32>"));
  for (int64_t key : {0, 1, 15, 37, 255, 256, 511, 599}) {
    std::vector<Feed> feeds = feedsOf({1, 6, 600, 4, 5});
    Feed bias{{1, 6, 600}, std::vector<double>(3600, 0)};
    bias.values[3 * 600 + key] = std::numeric_limits<double>::quiet_NaN();
    feeds.push_back(bias);
    HostTensor result = resultsOf(text, feeds, 1)[0];
    for (int64_t k = 0; k < result.numElements(); ++k)
      ASSERT_EQ(std::isnan(result.getFloat(k)), k / 5 == 3) << key << " " << k;
  }
}

// Scores of 3e4 would overflow without their maximum, which later blocks of keys raise.
TEST(Attention, LargeScores) {
  std::vector<std::string> types = {"tensor<1x9x4xf32>", "tensor<1x600x4xf32>", "tensor<1x600x4xf32>"};
  std::string text = kernelText("attention", types, {"tensor<1x9x4xf32>"}, attention(types, "tensor<1x9x4xf32>", 50));
  std::vector<Feed> feeds = {{{1, 9, 4}, numbers(36, 1, 8)}, {{1, 600, 4}, {}}, {{1, 600, 4}, numbers(2400, 3)}};
  for (int64_t j = 0; j < 600; ++j)
    for (int64_t i = 0; i < 4; ++i)
      feeds[1].values.push_back(static_cast<double>(j + i) / 12);
  expectMatches(text, {feeds}, 1e-4);
}

TEST(Attention, AnyNumberOfThreadsGivesTheSameBits) {
  Shape s{3, 300, 590, 24, 40};
  std::vector<std::string> types = {tensor({s.heads, s.rows, s.depth}, "f32"),
                                    tensor({s.heads, s.keys, s.depth}, "f32"),
                                    tensor({s.heads, s.keys, s.width}, "f32")};
  std::string result = tensor({s.heads, s.rows, s.width}, "f32");
  std::string text = kernelText("attention", types, {result}, attention(types, result));
  std::vector<HostTensor> one = resultsOf(text, feedsOf(s), 1);
  for (unsigned threads : {2, 4}) {
    std::vector<HostTensor> more = resultsOf(text, feedsOf(s), threads);
    EXPECT_EQ(std::memcmp(one[0].data(), more[0].data(), one[0].numBytes()), 0) << threads;
  }
}

/// Both parts, causal, with two heads of queries to one of keys.
static std::string bothParts(const Shape &s, llvm::StringRef type) {
  std::string q = tensor({2 * s.heads, s.rows, s.depth}, type), k = tensor({s.heads, s.keys, s.depth}, type),
              v = tensor({s.heads, s.keys, s.width}, type), g = tensor({2 * s.heads, s.rows, s.width}, type),
              r = tensor({2 * s.heads, s.rows}, type), band = "{scale = 0.25 : f64, after = 1 : i64";
  std::string inputs = q + ", " + k + ", " + v, all = inputs + ", " + g + ", " + r + ", " + r;
  return "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + v + ", %g: " + g + ", %r: " + r + ") -> (" + g + ", " + q +
         ", " + k + ", " + v + ") {\n  %y:2 = sinter.kernel attention(%q, %k, %v) : (" + inputs + ") -> (" + g + ", " +
         r + ") {\n  ^bb0(%a: " + q + ", %b: " + k + ", %c: " + v + "):\n    %0:2 = sinter.attention %a, %b, %c " +
         band + ", log_sums = true} : (" + inputs + ") -> (" + g + ", " + r + ")\n    sinter.yield(%0#0, %0#1) : " + g +
         ", " + r + "\n  }\n  %t:3 = sinter.kernel attention(%q, %k, %v, %g, %y#1, %r) : (" + all + ") -> (" + inputs +
         ") {\n  ^bb0(%a: " + q + ", %b: " + k + ", %c: " + v + ", %d: " + g + ", %e: " + r + ", %f: " + r +
         "):\n    %0:3 = sinter.attention_gradient %a, %b, %c, %d, %e, %f " + band + "} : (" + all + ") -> (" + inputs +
         ")\n    sinter.yield(%0#0, %0#1, %0#2) : " + inputs + "\n  }\n  return %y#0, %t#0, %t#1, %t#2 : " + g + ", " +
         inputs + "\n}\n";
}

static std::vector<Feed> feedsOfBoth(const Shape &s) {
  std::vector<Feed> feeds = feedsOf({2 * s.heads, s.rows, s.keys, s.depth, s.width});
  feeds[1] = {{s.heads, s.keys, s.depth}, numbers(s.heads * s.keys * s.depth, 2)};
  feeds[2] = {{s.heads, s.keys, s.width}, numbers(s.heads * s.keys * s.width, 3)};
  feeds.push_back({{2 * s.heads, s.rows, s.width}, numbers(2 * s.heads * s.rows * s.width, 4)});
  feeds.push_back({{2 * s.heads, s.rows}, numbers(2 * s.heads * s.rows, 5)});
  return feeds;
}

// Eight heads of keys are one task each, two are blocks of keys and of rows: in the order of blocks either way.
TEST(AttentionGradient, AnyNumberOfThreadsGivesTheSameBits) {
  for (int64_t heads : {8, 2}) {
    Shape s{heads, 230, 240, 17, 24};
    std::vector<HostTensor> one = resultsOf(bothParts(s, "f32"), feedsOfBoth(s), 1);
    for (unsigned threads : {2, 4}) {
      std::vector<HostTensor> more = resultsOf(bothParts(s, "f32"), feedsOfBoth(s), threads);
      for (size_t i = 0; i < one.size(); ++i)
        EXPECT_EQ(std::memcmp(one[i].data(), more[i].data(), one[i].numBytes()), 0)
            << heads << " " << threads << " " << i;
    }
  }
}

TEST(AttentionGradient, AnySize) {
  for (const char *type : {"f32", "f64"})
    for (const Shape &s : {Shape{1, 1, 1, 1, 1}, Shape{8, 201, 233, 17, 64}}) {
      SCOPED_TRACE(s.keys);
      expectMatches(bothParts(s, type), {feedsOfBoth(s)});
    }
}

// Without any key there is nothing to add; without rows the gradients of keys are zero.
TEST(AttentionGradient, NothingToCount) {
  for (const Shape &s : {Shape{2, 3, 0, 4, 20}, Shape{8, 0, 5, 4, 20}, Shape{2, 0, 5, 4, 20}})
    expectMatches(bothParts(s, "f32"), {feedsOfBoth(s)});
}

/// Attention of what lies in another order, and what its body yields.
static void expectMoved(llvm::ArrayRef<std::string> types, llvm::ArrayRef<std::string> results, llvm::StringRef body) {
  std::vector<Feed> feeds;
  for (auto [i, type] : llvm::enumerate(types)) {
    Feed feed;
    int64_t count = 1;
    for (llvm::StringRef rest = llvm::StringRef(type).drop_front(7); rest.consumeInteger(10, count) == false;
         rest.consume_front("x"))
      feed.shape.push_back(count);
    count = std::accumulate(feed.shape.begin(), feed.shape.end(), int64_t(1), std::multiplies<>());
    feed.values = numbers(count, static_cast<unsigned>(i));
    feeds.push_back(feed);
  }
  expectKernel("attention", types, results, body, {feeds}, 1e-5);
}

// Heads behind rows of one product of queries, keys and values; a result whose rows are 3 heads apart; 70 rows and keys
// are one block, 300 are several.
TEST(Attention, RowsAreReadAndWrittenWhereTheyLie) {
  for (int64_t n : {5, 70, 300}) {
    std::string of = std::to_string(n) + "x", x = "tensor<2x" + of + "3x3x20xf32>",
                turned = "tensor<3x2x3x" + of + "20xf32>";
    std::string heads = "tensor<2x3x" + of + "20xf32>", y = "tensor<2x" + of + "3x20xf32>",
                sums = "tensor<2x3x" + std::to_string(n) + "xf32>";
    std::string body =
        "%t = sinter.transpose %a {permutation = array<i64: 2, 0, 3, 1, 4>} : (" + x + ") -> " + turned + "\n";
    for (int i = 0; i < 3; ++i)
      body += "%i" + std::to_string(i) + " = sinter.constant dense<" + std::to_string(i) + "> : tensor<i64>\n%g" +
              std::to_string(i) + " = sinter.gather %t, %i" + std::to_string(i) + " {axis = 0 : i64} : (" + turned +
              ", tensor<i64>) -> " + heads + "\n";
    body += "%y, %r1 = sinter.attention %g0, %g1, %g2 {scale = 0.25 : f64, log_sums = true, after = 2 : i64} : (" +
            heads + ", " + heads + ", " + heads + ") -> (" + heads + ", " + sums +
            ")\n%r0 = sinter.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : (" + heads + ") -> " + y + "\n";
    expectMoved({x}, {y, sums}, body);
  }
}

// Slices take every second row of keys and some neighbours of their last axis; two heads share keys.
TEST(Attention, SlicesOfKeysAreReadWhereTheyLie) {
  expectMoved(
      {"tensor<9x4x8xf32>", "tensor<2x40x12xf32>", "tensor<2x20x17xf32>"}, {"tensor<4x9x17xf32>"},
      "%q = sinter.transpose %a {permutation = array<i64: 1, 0, 2>} : (tensor<9x4x8xf32>) -> tensor<4x9x8xf32>\n"
      "%k = sinter.slice %b {starts = array<i64: 0, 1, 3>, limits = array<i64: 2, 40, 11>, steps = array<i64: 1, 2, "
      "1>} : "
      "(tensor<2x40x12xf32>) -> tensor<2x20x8xf32>\n"
      "%r0 = sinter.attention %q, %k, %c {scale = 0.25 : f64} : (tensor<4x9x8xf32>, tensor<2x20x8xf32>, "
      "tensor<2x20x17xf32>) -> "
      "tensor<4x9x17xf32>");
}

// exp(-100) is below the least normal number. Of keys that a mask leaves so little of nothing comes through, however
// large their values are; exp(-80) of them does.
TEST(Attention, SharesBelowTheLeastNormalNumberAreNone) {
  std::vector<std::string> types = {"tensor<1x6x4xf32>", "tensor<1x20x4xf32>", "tensor<1x20x3xf32>",
                                    "tensor<1x6x20xf32>"};
  std::string text = kernelText("attention", types, {"tensor<1x6x3xf32>"}, attention(types, "tensor<1x6x3xf32>"));
  std::vector<Feed> feeds = {{{1, 6, 4}, std::vector<double>(24, 0)},
                             {{1, 20, 4}, std::vector<double>(80, 0)},
                             {{1, 20, 3}, {}},
                             {{1, 6, 20}, {}}};
  for (int64_t key = 0; key < 20; ++key)
    feeds[2].values.insert(feeds[2].values.end(), 3, key < 10 ? 0 : std::ldexp(1, 100));
  for (int64_t i = 0; i < 6 * 20; ++i)
    feeds[3].values.push_back(i % 20 < 10 ? 0 : i / 20 < 3 ? -100 : -80);
  HostTensor result = resultsOf(text, feeds, 1)[0];
  for (int64_t i = 0; i < 18; ++i)
    if (i < 9)
      EXPECT_EQ(result.getFloat(i), 0) << i;
    else
      EXPECT_NEAR(result.getFloat(i) / (std::exp(-80) * std::ldexp(1, 100)), 1, 1e-4) << i;
}
