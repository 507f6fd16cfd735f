// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention and its backward part in one kernel each, against the evaluator and the sums that define them, in f64;
// and what ptxas says of their registers.

#include "AttentionCase.h"
#include "Ptxas.h"

using namespace sinter;
using namespace sinter::cuda::attention;

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
    std::string q = cuda::tensorText({1, 40, depth}, type);
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
    const std::string code = cuda::compiledCode(textOf(c));
    std::vector<const char *> generations = {"sm_80", "sm_90"};
    if (isLong)
      generations.push_back("sm_89");
    if (isLong && c.depth < 256)
      generations.push_back("sm_100");
    cuda::expectNoSpills(code.substr(code.find("\n\n") + 2), 2, 255, generations);
  }
}
