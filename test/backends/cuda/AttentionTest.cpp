// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention and its backward part in one kernel each, against the evaluator, which forms each row of scores in f64; and
// what ptxas says of their registers.

#include "CudaProgram.h"
#include "Ptxas.h"
#include "test/backends/cpu/Execute.h"
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

using namespace sinter;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
struct Case {
  const char *type;
  int64_t heads, few, rows, keys, depth, width; // few: heads of keys
  std::optional<int64_t> before = {}, after = {};
  const char *bias = ""; // which of h, m, n it has; 1 for those that it repeats; empty: none
  const char *forward = "", *backward = "";
};
} // namespace

static std::string tensorOf(std::initializer_list<int64_t> shape, const std::string &type) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + type + ">";
}

/// A kernel of one op with `operands` (names and types) and results.
static std::string kernelOf(const std::string &op, const std::vector<std::pair<std::string, std::string>> &operands,
                            const std::vector<std::string> &results, const std::string &attributes,
                            const std::string &schedule) {
  std::string given, types, inner, arguments, yields, resultTypes;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    std::string comma = i ? ", " : "", name = "%i" + std::to_string(i);
    given += comma + operand.first;
    types += comma + operand.second;
    inner += comma + name;
    arguments += comma + name + ": " + operand.second;
  }
  for (auto [i, type] : llvm::enumerate(results)) {
    yields += (i ? ", %o#" : "%o#") + std::to_string(i);
    resultTypes += (i ? ", " : "") + type;
  }
  std::string count = std::to_string(results.size()), signature = " : (" + types + ") -> (" + resultTypes + ")";
  return "sinter.kernel attention(" + given + ")" +
         (schedule.empty() ? "" : " {schedule = #sinter.schedule<" + schedule + ">}") + signature + " {\n  ^bb0(" +
         arguments + "):\n    %o:" + count + " = sinter." + op + " " + inner + " {" + attributes + "}" + signature +
         "\n    sinter.yield(" + yields + ") : " + resultTypes + "\n  }\n";
}

/// Both parts, with everything that they compute as results.
static std::string textOf(const Case &c) {
  std::string type = c.type, sumType = type == "f64" ? "f64" : "f32";
  std::string q = tensorOf({c.heads, c.rows, c.depth}, type), k = tensorOf({c.few, c.keys, c.depth}, type),
              v = tensorOf({c.few, c.keys, c.width}, type), y = tensorOf({c.heads, c.rows, c.width}, type),
              s = tensorOf({c.heads, c.rows}, sumType);
  std::string attributes = "scale = 0.25 : f64";
  if (c.before)
    attributes += ", before = " + std::to_string(*c.before) + " : i64";
  if (c.after)
    attributes += ", after = " + std::to_string(*c.after) + " : i64";
  std::vector<std::pair<std::string, std::string>> forward = {{"%q", q}, {"%k", k}, {"%v", v}}, backward = forward;
  backward.insert(backward.end(), {{"%g", y}, {"%y#1", s}, {"%r", s}});
  std::string arguments = "%q: " + q + ", %k: " + k + ", %v: " + v + ", %g: " + y + ", %r: " + s;
  if (*c.bias) {
    std::string bias =
        tensorOf({c.bias[0] == 'h' ? c.heads : 1, c.bias[1] == 'm' ? c.rows : 1, c.bias[2] == 'n' ? c.keys : 1}, type);
    arguments += ", %b: " + bias;
    forward.push_back({"%b", bias});
    backward.push_back({"%b", bias});
  }
  std::string results = y + ", " + s + ", " + q + ", " + k + ", " + v;
  return "func.func @f(" + arguments + ") -> (" + results +
         ") {\n  %y:2 = " + kernelOf("attention", forward, {y, s}, attributes + ", log_sums = true", c.forward) +
         "  %t:3 = " + kernelOf("attention_gradient", backward, {q, k, v}, attributes, c.backward) +
         "  return %y#0, %y#1, %t#0, %t#1, %t#2 : " + results + "\n}\n";
}

static std::vector<HostTensor> inputsOf(test::Program &program, const Case &c) {
  std::mt19937 random(static_cast<unsigned>(c.rows * 31 + c.keys * 7 + c.depth));
  std::vector<HostTensor> inputs;
  for (auto [i, type] : llvm::enumerate(program.function().getArgumentTypes())) {
    auto tensor = mlir::cast<mlir::RankedTensorType>(type);
    inputs.emplace_back(tensor.getElementType(), tensor.getShape());
    std::vector<double> values(static_cast<size_t>(inputs.back().numElements()));
    for (auto [at, value] : llvm::enumerate(values)) {
      value = static_cast<double>(static_cast<int>(random() % 65) - 32) / 32;
      if (i == 5 && c.bias[1] == 'm' && c.bias[2] == 'n' && static_cast<int64_t>(at) % c.keys > c.keys / 2)
        value = -kInfinity; // what a mask hides
    }
    inputs.back().assignFloats(values);
  }
  return inputs;
}

/// Errors are measured by the greatest magnitude of a result: shares are rounded to the type, and added up.
static void expectRight(const Case &c) {
  std::string text = textOf(c);
  SCOPED_TRACE(text);
  test::Program program(text, 2);
  ASSERT_EQ(program.error, "");
  bool isHalf = c.type[0] == 'b' || std::string(c.type) == "f16";
  size_t first = cuda::lastCode().find("_attention block ");
  ASSERT_NE(first, std::string::npos) << cuda::lastCode().substr(0, 300);
  ASSERT_NE(cuda::lastCode().find("_attention block ", first + 1), std::string::npos);
  EXPECT_EQ(cuda::lastCode().find("mma.sync") != std::string::npos, isHalf && c.keys > 0);
  std::vector<HostTensor> inputs = inputsOf(program, c);
  auto expected = program.evaluate(inputs);
  auto actual = program.run(inputs), again = program.run(inputs);
  ASSERT_TRUE(llvm::succeeded(expected) && actual && again) << program.error << cuda::report();
  double unit = isHalf ? (c.type[0] == 'b' ? 0x1p-8 : 0x1p-11) : c.type[1] == '3' ? 0x1p-19 : 0x1p-45;
  for (auto [i, got, want, second] : llvm::enumerate(*actual, *expected, *again)) {
    EXPECT_EQ(std::memcmp(got.data(), second.data(), got.numBytes()), 0) << i; // the same bits each time
    double greatest = 1e-3;
    for (int64_t at = 0; at < want.numElements(); ++at)
      if (std::isfinite(want.getFloat(at)))
        greatest = std::max(greatest, std::abs(want.getFloat(at)));
    double bound = (i == 1 && isHalf ? 1e-5 : 3 * unit) * greatest; // sums of logarithms are f32
    for (int64_t at = 0; at < want.numElements(); ++at)
      if (double wanted = want.getFloat(at); std::isfinite(wanted))
        ASSERT_NEAR(got.getFloat(at), wanted, bound) << "element " << at << " of result " << i;
      else
        ASSERT_EQ(std::isnan(got.getFloat(at)), std::isnan(wanted)) << "element " << at << " of result " << i;
  }
}

// One row; edges of tiles in rows and keys; heads of 64, 128 and 256, and others.
TEST(Attention, SizesInBF16) {
  expectRight({"bf16", 1, 1, 1, 1, 64, 64});
  expectRight({"bf16", 2, 2, 70, 130, 64, 64});
  expectRight({"bf16", 1, 1, 40, 65, 128, 128});
  expectRight({"bf16", 1, 1, 18, 33, 256, 256});
  expectRight({"bf16", 2, 2, 33, 40, 24, 72});
}

TEST(Attention, SizesInF16) {
  expectRight({"f16", 1, 1, 129, 66, 64, 32});
  expectRight({"f16", 1, 1, 20, 40, 80, 128});
}

TEST(Attention, SizesInF32AndF64) {
  expectRight({"f32", 1, 1, 70, 40, 64, 64});
  expectRight({"f32", 1, 1, 33, 19, 128, 36});
  expectRight({"f64", 1, 1, 34, 20, 18, 64});
}

TEST(Attention, HeadsShareKeys) {
  expectRight({"bf16", 4, 2, 20, 40, 16, 16});
  expectRight({"f32", 3, 1, 33, 20, 8, 8});
}

TEST(Attention, CausalAndSlidingWindows) {
  expectRight({"bf16", 2, 1, 150, 150, 16, 16, {}, 0});
  expectRight({"bf16", 1, 1, 150, 170, 16, 16, 40, 3});
  expectRight({"f32", 1, 1, 70, 70, 8, 8, 20, 0});
  expectRight({"bf16", 1, 1, 70, 90, 16, 16, {}, 20});
}

// Rows that count no key are NaN, and add nothing to gradients.
TEST(Attention, RowsThatCountNothing) {
  expectRight({"bf16", 1, 1, 90, 20, 16, 16, 10});
  expectRight({"bf16", 1, 1, 30, 40, 16, 16, {}, -8});
}

TEST(Attention, NoKeysAreASumOfNone) {
  expectRight({"bf16", 2, 2, 5, 0, 16, 16});
  expectRight({"f32", 1, 1, 33, 0, 8, 8});
}

TEST(Attention, BiasRepeatsInAnyAxis) {
  for (const char *bias : {"hmn", "1mn", "h1n", "hm1", "111"})
    expectRight({"bf16", 2, 2, 20, 40, 16, 16, {}, {}, bias});
  expectRight({"f32", 2, 2, 33, 20, 8, 8, {}, 5, "hmn"});
}

/// Tiles that the plan does not choose.
TEST(Attention, ForcedTiles) {
  expectRight({"bf16",
               1,
               1,
               50,
               90,
               32,
               32,
               {},
               30,
               "",
               "mma_attention, lanes = 32, tile = [32, 16, 32]",
               "mma_attention_gradient, lanes = 32, tile = [16, 32, 16]"});
  expectRight({"f32",
               1,
               1,
               50,
               30,
               32,
               32,
               {},
               10,
               "",
               "block_attention, lanes = 64, tile = [16, 8, 2]",
               "block_attention_gradient, lanes = 32, tile = [32, 16, 8]"});
}

TEST(Attention, ATileThatDoesNotFitIsToldWhy) {
  const char *schedules[][2] = {{"lanes = 128, tile = [64, 64]", "its tile requires 3 numbers"},
                                {"lanes = 128, tile = [64, 8, 16]", "powers of two from 16 on"},
                                {"lanes = 128, tile = [64, 64, 8]", "in sixteens for a warp"},
                                {"lanes = 128, tile = [64, 64, 16]", "do not fit into 48 KiB"},
                                {"lanes = 128, tile = [32, 16, 16]", "the tile's 64 threads"},
                                {"lanes = 1024, tile = [512, 16, 16]", "up to 512 threads"}};
  for (auto [schedule, part] : schedules) {
    std::string forward = std::string("mma_attention, ") + schedule;
    test::Program program(textOf({"bf16", 1, 1, 40, 40, 256, 256, {}, {}, "", forward.c_str()}), 2);
    EXPECT_NE(program.error.find(part), std::string::npos) << schedule << ": " << program.error;
  }
}

/// From the graph: attention of f16 and bf16 is one kernel; rows that are no whole chunks are steps as before.
TEST(Attention, IsKeptWhereItHasAForm) {
  auto codeOf = [](const char *type, int64_t depth, const std::string &policy = "") {
    std::string q = tensorOf({1, 40, depth}, type);
    std::string text = "module" + policy + " {\nfunc.func @f(%q: " + q + ") -> " + q +
                       " {\n  %0 = sinter.attention %q, %q, %q {scale = 1.0 : f64} : (" + q + ", " + q + ", " + q +
                       ") -> " + q + "\n  return %0 : " + q + "\n}\n}\n";
    cuda::Compiled compiled;
    std::string error;
    EXPECT_TRUE(cuda::compileText(text, compiled, error)) << error;
    std::remove(compiled.path.c_str());
    EXPECT_EQ(compiled.onHost, 0u);
    return compiled.code;
  };
  EXPECT_NE(codeOf("f16", 64).find("_attention block "), std::string::npos);
  EXPECT_NE(codeOf("f32", 64).find("_attention block "), std::string::npos);
  // By a policy its products multiply in 16 bits.
  std::string steps = codeOf("f32", 64, " attributes {sinter.precision = {dot_general = bf16}}");
  EXPECT_EQ(steps.find("_attention block "), std::string::npos);
  EXPECT_NE(steps.find("mma.sync"), std::string::npos);
  for (const std::string &code : {codeOf("f16", 7), codeOf("f16", 264), codeOf("f32", 132)})
    EXPECT_EQ(code.find("_attention block "), std::string::npos) << code.substr(0, 300);
}

/// Heads of 256 need 16 bytes more than all registers backwards, on sm_100 alone.
TEST(AttentionPtx, TilesFitIntoRegisters) {
  if (!cuda::hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  bool isLong = std::getenv("SINTER_CUDA_LONG");
  std::vector<Case> cases = {{"f16", 8, 8, 512, 512, 128, 128, {}, 0}};
  if (isLong)
    cases.insert(cases.end(), {{"bf16", 8, 2, 512, 512, 64, 64, {}, 0},
                               {"bf16", 8, 8, 512, 512, 256, 256, {}, 0},
                               {"f32", 8, 8, 512, 512, 128, 128, {}, 0}});
  for (const Case &c : cases) {
    SCOPED_TRACE(c.depth);
    cuda::Compiled compiled;
    std::string error;
    ASSERT_TRUE(cuda::compileText(textOf(c), compiled, error)) << error;
    std::remove(compiled.path.c_str());
    std::vector<const char *> generations = {"sm_80", "sm_90"};
    if (isLong)
      generations.push_back("sm_89");
    if (isLong && c.depth < 256)
      generations.push_back("sm_100");
    cuda::expectNoSpills(compiled.code.substr(compiled.code.find("\n\n") + 2), 2, 255, generations);
  }
}
