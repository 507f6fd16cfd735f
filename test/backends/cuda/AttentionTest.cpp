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
  bool isAlone = false, isOpen = false; // no backward part; only running tells how many keys there are
};
} // namespace

static std::string tensorOf(std::initializer_list<int64_t> shape, const std::string &type) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += (size < 0 ? "?" : std::to_string(size)) + "x";
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
  int64_t keys = c.isOpen ? -1 : c.keys;
  std::string q = tensorOf({c.heads, c.rows, c.depth}, type), k = tensorOf({c.few, keys, c.depth}, type),
              v = tensorOf({c.few, keys, c.width}, type), y = tensorOf({c.heads, c.rows, c.width}, type),
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
        tensorOf({c.bias[0] == 'h' ? c.heads : 1, c.bias[1] == 'm' ? c.rows : 1, c.bias[2] == 'n' ? keys : 1}, type);
    arguments += ", %b: " + bias;
    forward.push_back({"%b", bias});
    backward.push_back({"%b", bias});
  }
  if (c.isAlone)
    return "func.func @f(" + arguments + ") -> (" + y + ", " + s +
           ") {\n  %y:2 = " + kernelOf("attention", forward, {y, s}, attributes + ", log_sums = true", c.forward) +
           "  return %y#0, %y#1 : " + y + ", " + s + "\n}\n";
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
    llvm::SmallVector<int64_t> shape(tensor.getShape());
    for (int64_t &size : shape)
      size = mlir::ShapedType::isDynamic(size) ? c.keys : size;
    inputs.emplace_back(tensor.getElementType(), shape);
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
  ASSERT_EQ(cuda::lastCode().find("_attention block ", first + 1) == std::string::npos, c.isAlone);
  EXPECT_EQ(cuda::lastCode().find("mma.sync") != std::string::npos, isHalf && (c.keys > 0 || c.isOpen));
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

/// A step of decoding: one row of queries, or few, and many keys, which are cut into parts.
static void expectParts(Case c) {
  c.isAlone = true;
  expectRight(c);
  EXPECT_NE(cuda::lastCode().find("_attention_join block 256"), std::string::npos) << cuda::lastCode().substr(0, 200);
}

TEST(Attention, FewRowsTakeKeysInParts) {
  expectParts({"bf16", 2, 2, 1, 300, 64, 64});
  expectParts({"f16", 1, 1, 5, 200, 128, 40});
  expectParts({"bf16", 1, 1, 1, 130, 256, 256});
  expectParts({"bf16", 1, 1, 33, 129, 16, 16});
  expectParts({"f32", 2, 2, 1, 200, 64, 64});
  expectParts({"f32", 1, 1, 2, 140, 128, 20});
  expectParts({"f64", 1, 1, 1, 150, 16, 64});
}

// Heads that share keys are rows of one block: 64 of them at most; more are blocks of their own.
TEST(Attention, FewRowsOfHeadsThatShareKeys) {
  expectParts({"bf16", 8, 2, 1, 200, 64, 64});
  expectParts({"f16", 6, 1, 3, 190, 16, 16, 150, 130});
  expectParts({"f32", 4, 2, 1, 130, 16, 16});
  expectParts({"bf16", 6, 2, 2, 140, 16, 16, {}, {}, "hmn"});
  expectParts({"bf16", 4, 1, 3, 140, 16, 16, {}, {}, "h1n"});
  expectParts({"bf16", 4, 2, 1, 150, 16, 16, {}, {}, "1mn"});
}

TEST(Attention, PartsOfFewRowsThatCountFewKeys) {
  expectParts({"bf16", 1, 1, 20, 200, 16, 16, 10, 100});
  expectParts({"bf16", 2, 2, 1, 500, 16, 16, {}, 70});  // parts that have no keys
  expectParts({"bf16", 1, 1, 30, 140, 16, 16, {}, -8}); // rows that count none
  expectParts({"f32", 1, 1, 3, 140, 8, 8, {}, -2});
}

// A cache that grows: parts follow from how long it is.
TEST(Attention, PartsOfKeysThatOnlyRunningTells) {
  for (int64_t keys : {0, 1, 64, 200, 700})
    expectParts({"bf16", 4, 2, 1, keys, 16, 16, {}, {}, "", "", "", true, true});
  expectParts({"f16", 2, 2, 2, 90, 16, 16, {}, 80, "1mn", "", "", true, true});
  expectParts({"f32", 1, 1, 1, 130, 16, 16, {}, {}, "", "", "", true, true});
}

TEST(Attention, ForcedParts) {
  for (const char *schedule :
       {"mma_attention, lanes = 64, tile = [32, 16, 16, 2]", "mma_attention, lanes = 32, tile = [32, 16, 32, 7]",
        "mma_attention, lanes = 32, tile = [16, 16, 16, 128]"})
    expectParts({"bf16", 2, 2, 50, 70, 16, 16, 60, 40, "", schedule});
  expectParts({"f32", 1, 1, 40, 50, 16, 16, {}, 20, "", "block_attention, lanes = 32, tile = [16, 8, 4, 3]"});
}

/// By wgmma, which runs beside mma_attention's PTX on a GPU of sm_90a.
static void expectWide(Case c, int64_t rows = 128) {
  std::string schedule =
      "wgmma_attention, lanes = " + std::to_string(128 + 2 * rows) + ", tile = [" + std::to_string(rows) + ", 64, 64]";
  c.forward = schedule.c_str();
  c.isAlone = true;
  expectRight(c);
  EXPECT_EQ(cuda::count("wgmma"), 2u); // it runs twice
  EXPECT_EQ(cuda::report(), "");
}

TEST(WideAttention, SizesAndEdges) {
  expectWide({"bf16", 1, 1, 128, 64, 64, 64});
  expectWide({"f16", 2, 2, 70, 130, 64, 128});
  expectWide({"bf16", 1, 1, 130, 65, 128, 64});
  expectWide({"bf16", 1, 1, 65, 70, 256, 256}, 64);
  expectWide({"f16", 2, 1, 129, 1, 64, 64});
  expectWide({"f16", 1, 1, 66, 65, 192, 192}, 64);
}

/// The kernel beside it, of the same words.
TEST(WideAttention, OtherGpusMultiplyByMma) {
  setenv("SINTER_CUDA_WGMMA", "off", 1);
  Case c{"bf16", 2, 2, 70, 130, 64, 64, {}, 60, "", "wgmma_attention, lanes = 256, tile = [64, 64, 64]"};
  c.isAlone = true;
  expectRight(c);
  unsetenv("SINTER_CUDA_WGMMA");
  EXPECT_EQ(cuda::count("wgmma"), 0u);
}

TEST(WideAttention, MasksBiasesAndGroups) {
  expectWide({"bf16", 4, 2, 140, 140, 64, 64, {}, 0}, 64);
  expectWide({"f16", 1, 1, 150, 300, 64, 64, 40, 100});
  expectWide({"bf16", 1, 1, 150, 20, 64, 64, 10}); // rows that count nothing
  expectWide({"bf16", 2, 2, 66, 70, 64, 64, {}, {}, "hmn"}, 64);
}

/// More tiles than blocks: rings and queries go on from one to the next.
TEST(WideAttention, BlocksTakeTileAfterTile) { expectWide({"bf16", 11, 11, 66, 200, 64, 64, {}, 30}, 64); }

TEST(WideAttention, ATileThatDoesNotFitIsToldWhy) {
  const char *schedules[][2] = {{"lanes = 384, tile = [128, 64]", "its tile requires 3 numbers"},
                                {"lanes = 384, tile = [96, 64, 64]", "64 or 128 rows"},
                                {"lanes = 128, tile = [128, 64, 64]", "the tile's threads"}};
  for (auto [schedule, part] : schedules) {
    std::string forward = std::string("wgmma_attention, ") + schedule;
    test::Program program(textOf({"bf16", 1, 1, 40, 40, 64, 64, {}, {}, "", forward.c_str(), "", true}), 2);
    EXPECT_NE(program.error.find(part), std::string::npos) << schedule << ": " << program.error;
  }
  const char *fits = "wgmma_attention, lanes = 256, tile = [64, 64, 64]";
  for (const Case &c : {Case{"bf16", 1, 1, 40, 40, 32, 64}, Case{"bf16", 2, 1, 20, 40, 64, 64}}) {
    Case given = c;
    given.forward = fits;
    given.isAlone = true;
    EXPECT_NE(test::Program(textOf(given), 2).error, "");
  }
}

/// Where a GPU is full without parts there are none; neither where rows are many.
TEST(Attention, PartsAreForFewRowsOfFewHeads) {
  auto partsOf = [](int64_t heads, int64_t few, int64_t rows, int64_t keys) {
    test::Program program(textOf({"f16", heads, few, rows, keys, 64, 64, {}, {}, "", "", "", true}), 2);
    EXPECT_EQ(program.error, "");
    return cuda::lastCode().find("_attention_join") != std::string::npos;
  };
  EXPECT_TRUE(partsOf(12, 12, 1, 1024));
  EXPECT_TRUE(partsOf(32, 8, 1, 4096));
  EXPECT_FALSE(partsOf(12, 12, 1, 120));
  EXPECT_FALSE(partsOf(2048, 2048, 1, 1024));
  EXPECT_FALSE(partsOf(12, 12, 65, 1024));
}

TEST(Attention, ATileThatDoesNotFitIsToldWhy) {
  const char *schedules[][2] = {{"lanes = 128, tile = [64, 64]", "its tile requires 3 numbers, or 4"},
                                {"lanes = 128, tile = [64, 8, 16]", "powers of two from 16 on"},
                                {"lanes = 128, tile = [64, 64, 8]", "in sixteens for a warp"},
                                {"lanes = 128, tile = [64, 64, 16]", "do not fit into 48 KiB"},
                                {"lanes = 128, tile = [32, 16, 16]", "the tile's 64 threads"},
                                {"lanes = 32, tile = [16, 16, 16, 129]", "2 to 128 parts"},
                                {"lanes = 32, tile = [16, 16, 16, 1]", "other fields"},
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

/// Of wide kernels, two warpgroups that multiply may have 65,536 registers / 384 threads.
TEST(AttentionPtx, WideTilesFitIntoRegisters) {
  if (!cuda::hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  for (int64_t depth : {64, 128, 256})
    for (bool isCausal : {false, true}) {
      Case c{"bf16", 64, 64, 1024, 1024, depth, depth};
      if (isCausal)
        c.after = 0;
      c.isAlone = true;
      cuda::Compiled compiled;
      std::string error;
      ASSERT_TRUE(cuda::compileText(textOf(c), compiled, error)) << error;
      std::remove(compiled.path.c_str());
      size_t at = compiled.code.find("=== sm_90a\n"); // by itself: there are enough blocks
      ASSERT_NE(at, std::string::npos);
      SCOPED_TRACE(depth);
      cuda::expectNoSpills(compiled.code.substr(at + 11), 1, depth < 256 ? 168 : 255, {"sm_90a"});
    }
}

/// Heads of 256 need 16 bytes more than all registers backwards, on sm_100 alone.
TEST(AttentionPtx, TilesFitIntoRegisters) {
  if (!cuda::hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  bool isLong = std::getenv("SINTER_CUDA_LONG");
  std::vector<Case> cases = {{"f16", 8, 8, 512, 512, 128, 128, {}, 0},
                             {"f16", 32, 8, 1, 4096, 128, 128, {}, {}, "", "", "", true}};
  if (isLong)
    cases.insert(cases.end(), {{"bf16", 8, 2, 512, 512, 64, 64, {}, 0},
                               {"bf16", 8, 8, 512, 512, 256, 256, {}, 0},
                               {"f32", 8, 8, 512, 512, 128, 128, {}, 0},
                               {"bf16", 8, 8, 1, 1000, 256, 256, {}, {}, "", "", "", true, true},
                               {"f32", 12, 12, 1, 1024, 64, 64, {}, {}, "", "", "", true}});
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
