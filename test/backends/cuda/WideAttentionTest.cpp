// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention and its backward part by wgmma, which sm_90a has; and what ptxas says of their registers.

#include "AttentionCase.h"
#include "Ptxas.h"
#include <cstdlib>
#include <regex>

using namespace sinter;
using namespace sinter::cuda::attention;

/// `name` with `own` positions of its own a block.
static std::string wideSchedule(const std::string &name, int64_t own) {
  return name + ", lanes = " + std::to_string(128 + 2 * own) + ", tile = [" + std::to_string(own) + ", 64, 64]";
}

static void expectRightByWgmma(const Case &c) {
  expectRight(c);
  EXPECT_EQ(cuda::count("wgmma"), 2u); // it runs twice
  EXPECT_EQ(cuda::report(), "");
}

/// By wgmma, which runs beside mma_attention's PTX on a GPU of sm_90a.
static void expectWide(Case c, int64_t rows = 128) {
  std::string schedule = wideSchedule("wgmma_attention", rows);
  c.forward = schedule.c_str();
  c.isAlone = true;
  expectRightByWgmma(c);
}

TEST(WideAttention, SizesAndEdges) {
  expectWide({"bf16", 1, 1, 128, 64, 64, 64});
  expectWide({"f16", 2, 2, 70, 130, 64, 128});
  expectWide({"bf16", 1, 1, 130, 65, 128, 64});
  expectWide({"bf16", 1, 1, 65, 70, 256, 256}, 64);
  expectWide({"f16", 2, 1, 129, 1, 64, 64});
  expectWide({"f16", 1, 1, 66, 65, 192, 192}, 64);
}

/// `c` where only running tells how many keys, how many rows and keys, and how many batches, too.
static std::vector<Case> openCases(Case c) {
  std::vector<Case> cases(3, c);
  cases[0].isOpen = cases[1].isOpen = cases[2].isOpen = true;
  cases[1].hasOpenRows = cases[2].hasOpenRows = true;
  cases[2].heads *= 3;
  cases[2].few *= 3;
  cases[2].openBatches = 3;
  return cases;
}

/// Sizes are words of the launch, which tensor maps and bounds are made of.
TEST(WideAttention, SizesThatOnlyRunningTells) {
  for (int64_t keys : {1, 63, 64, 65, 127, 129})
    for (const Case &c : openCases({"bf16", 1, 1, keys == 64 ? 1 : 70, keys, 64, 64}))
      expectWide(c, 64);
  for (int64_t rows : {1, 63, 64, 128, 129})
    expectWide({.type = "f16",
                .heads = 2,
                .few = 1,
                .rows = rows,
                .keys = 130,
                .depth = 64,
                .width = 128,
                .isOpen = true,
                .hasOpenRows = true});
  for (const Case &c : openCases({"bf16", 2, 1, 129, 129, 64, 64, {}, 0}))
    expectWide(c);
  for (const Case &c : openCases({"f16", 1, 1, 150, 200, 128, 64, 40, 100}))
    expectWide(c);
  for (const Case &c : openCases({"bf16", 2, 2, 66, 70, 64, 64, {}, 30, "hmn"}))
    expectWide(c, 64);
  for (const Case &c : openCases({"bf16", 4, 4, 66, 70, 64, 64, {}, 30})) // more tiles than blocks
    expectWide(c, 64);
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

/// The backward part by wgmma, beside mma_attention_gradient's PTX.
static void expectWideBackward(Case c, int64_t own = 128) {
  std::string schedule = wideSchedule("wgmma_attention_gradient", own);
  c.backward = schedule.c_str();
  expectRightByWgmma(c);
}

TEST(WideAttentionGradient, SizesAndEdges) {
  expectWideBackward({"bf16", 1, 1, 128, 128, 64, 64});
  expectWideBackward({"f16", 2, 2, 70, 130, 64, 128});
  expectWideBackward({"bf16", 1, 1, 130, 65, 128, 64});
  expectWideBackward({"f16", 1, 1, 140, 200, 128, 128});
  expectWideBackward({"bf16", 2, 2, 1, 129, 64, 64}, 64);
  expectWideBackward({"f16", 1, 1, 129, 1, 64, 64});
}

/// dk and dv are summed one after the other.
TEST(WideAttentionGradient, HeadsWhoseSumsDoNotFitTogether) {
  expectWideBackward({"bf16", 1, 1, 65, 70, 256, 256}, 64);
  expectWideBackward({"f16", 1, 1, 66, 65, 192, 192}, 64);
  expectWideBackward({"f16", 1, 1, 20, 100, 128, 256}, 64);
}

TEST(WideAttentionGradient, MasksBiasesAndGroups) {
  expectWideBackward({"bf16", 4, 2, 140, 140, 64, 64, {}, 0}, 64);
  expectWideBackward({"f16", 1, 1, 150, 300, 64, 64, 40, 100});
  expectWideBackward({"bf16", 1, 1, 150, 20, 64, 64, 10});     // rows that count nothing
  expectWideBackward({"bf16", 1, 1, 66, 130, 64, 64, {}, -8}); // and keys that no row counts
  for (const char *bias : {"hmn", "1m1"})
    expectWideBackward({"bf16", 2, 2, 66, 70, 64, 64, {}, {}, bias}, 64);
}

/// More tiles than blocks: rings and own rows go on from one to the next, and from one task to the next.
TEST(WideAttentionGradient, BlocksTakeTileAfterTile) {
  expectWideBackward({"bf16", 11, 11, 66, 200, 64, 64, {}, 30}, 64);
}

TEST(WideAttentionGradient, SizesThatOnlyRunningTells) {
  for (auto [keys, which] : {std::pair(1, 0), {63, 1}, {64, 2}, {65, 0}, {127, 1}, {129, 2}})
    expectWideBackward(openCases({"bf16", 1, 1, keys == 64 ? 1 : 70, keys, 64, 64})[size_t(which)], 64);
  for (int64_t rows : {1, 63, 64, 128, 129})
    expectWideBackward({.type = "f16",
                        .heads = 2,
                        .few = 1,
                        .rows = rows,
                        .keys = 130,
                        .depth = 64,
                        .width = 64,
                        .isOpen = true,
                        .hasOpenRows = true});
  for (const Case &c : openCases({"bf16", 2, 1, 129, 129, 64, 64, {}, 0}))
    expectWideBackward(c);
  for (const Case &c : openCases({"f16", 1, 1, 150, 200, 128, 64, 40, 100}))
    expectWideBackward(c);
  for (const Case &c : openCases({"bf16", 2, 2, 66, 70, 64, 64, {}, 30, "hmn"}))
    expectWideBackward(c, 64);
  expectWideBackward(openCases({"bf16", 1, 1, 65, 70, 256, 256})[2], 64); // dk and dv one after the other
}

/// Where there are no keys no map describes them: the kernel beside runs.
TEST(WideAttention, NoKeysInACallRunBeside) {
  Case c{"bf16", 1, 1, 70, 0, 64, 64, {}, {}, "", "wgmma_attention, lanes = 256, tile = [64, 64, 64]"};
  c.isAlone = c.isOpen = true;
  expectRight(c);
  EXPECT_EQ(cuda::count("wgmma"), 0u);
}

/// A fourth number of the tile: from so many blocks on it runs, as the runtime finds in each call.
TEST(WideAttention, FewBlocksOfACallRunBeside) {
  for (auto [rows, runs] : {std::pair(129, 2u), std::pair(128, 0u)}) {
    Case c{"bf16", 1, 1, rows, 70, 64, 64, {}, {}, "", "wgmma_attention, lanes = 256, tile = [64, 64, 64, 3]"};
    c.isAlone = c.isOpen = c.hasOpenRows = true;
    expectRight(c);
    EXPECT_EQ(cuda::count("wgmma"), runs);
  }
}

/// Without a schedule: by wgmma where there are blocks for all multiprocessors, which only running tells.
TEST(WideAttention, SizesThatOnlyRunningTellsAreChosen) {
  Case c{"bf16", 8, 8, 128, 128, 64, 64};
  c.isOpen = c.hasOpenRows = true;
  cuda::Compiled compiled;
  std::string error;
  ASSERT_TRUE(cuda::compileText(textOf(c), compiled, error)) << error;
  std::remove(compiled.path.c_str());
  std::regex line("wide \\S+ 384 [0-9]+ ([0-9]+)\n");
  std::vector<std::string> least;
  for (std::sregex_iterator it(compiled.code.begin(), compiled.code.end(), line), end; it != end; ++it)
    least.push_back((*it)[1]);
  EXPECT_EQ(least, (std::vector<std::string>{"132", "264"})); // blocks of 128 and 64 rows beside
  EXPECT_NE(compiled.code.find("bf16 64,1*w"), std::string::npos) << compiled.code.substr(0, 800);
  // Few rows: parts of the keys make more blocks.
  Case few{"bf16", 8, 8, 1, 128, 64, 64};
  few.isOpen = few.isAlone = true;
  ASSERT_TRUE(cuda::compileText(textOf(few), compiled, error)) << error;
  std::remove(compiled.path.c_str());
  EXPECT_EQ(compiled.code.find("wide "), std::string::npos);
}

/// Both parts by wgmma; and the kernels beside them, of the same words.
TEST(WideAttentionGradient, OtherGpusMultiplyByMma) {
  Case c{"bf16",
         2,
         1,
         70,
         130,
         64,
         64,
         {},
         60,
         "",
         "wgmma_attention, lanes = 256, tile = [64, 64, 64]",
         "wgmma_attention_gradient, lanes = 384, tile = [128, 64, 64]"};
  expectRight(c);
  EXPECT_EQ(cuda::count("wgmma"), 4u); // each part runs twice
  setenv("SINTER_CUDA_WGMMA", "off", 1);
  expectRight(c);
  unsetenv("SINTER_CUDA_WGMMA");
  EXPECT_EQ(cuda::count("wgmma"), 0u);
}

TEST(WideAttentionGradient, ATileThatDoesNotFitIsToldWhy) {
  const char *schedules[][2] = {{"lanes = 384, tile = [128, 64]", "its tile requires 3 numbers"},
                                {"lanes = 384, tile = [96, 64, 64]", "64 or 128 own keys or rows"},
                                {"lanes = 128, tile = [128, 64, 64]", "the tile's threads"}};
  for (auto [schedule, part] : schedules) {
    std::string backward = std::string("wgmma_attention_gradient, ") + schedule;
    test::Program program(textOf({"bf16", 1, 1, 40, 40, 64, 64, {}, {}, "", "", backward.c_str()}), 2);
    EXPECT_NE(program.error.find(part), std::string::npos) << schedule << ": " << program.error;
  }
  const char *large = "wgmma_attention_gradient, lanes = 384, tile = [128, 64, 64]";
  test::Program program(textOf({"bf16", 1, 1, 40, 40, 256, 256, {}, {}, "", "", large}), 2);
  EXPECT_NE(program.error.find("do not fit into 227 KiB"), std::string::npos) << program.error;
}

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

/// Of wide kernels, two warpgroups that multiply may have 65,536 registers / 384 threads.
TEST(AttentionPtx, WideTilesFitIntoRegisters) {
  if (!cuda::hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  for (int64_t depth : {64, 128, 256})
    for (auto [isCausal, isOpen] : {std::pair(false, false), std::pair(true, false), std::pair(true, true)}) {
      Case c{"bf16", 64, isCausal ? 16 : 64, 1024, 1024, depth, depth};
      c.isOpen = c.hasOpenRows = isOpen;
      c.openBatches = isOpen ? 8 : 0;
      if (isCausal)
        c.after = 0;
      else
        c.bias = "hmn";
      const std::string code = cuda::compiledCode(textOf(c));
      size_t at = code.find("=== sm_90a\n"); // by itself: there are enough blocks
      ASSERT_NE(at, std::string::npos);
      SCOPED_TRACE(depth);
      cuda::expectNoSpills(code.substr(at + 11), 2, depth < 256 ? 168 : 255, {"sm_90a"});
    }
}
