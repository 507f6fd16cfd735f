// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of blocks that share slabs (sm_90a: clusters, multicast), by schedules that are forced, against formulas in
// f64; what they ask of memory; when the cost model chooses them; what is told of mistakes in them.

#include "ProductMutants.h"
#include "Ptxas.h"

using namespace sinter;
using namespace sinter::cuda;

static std::string pairs(int64_t rows, int64_t columns, int64_t stages, int64_t parts = 1) {
  return clustersOf(rows, columns, /*slab=*/64, stages, parts);
}

static void expectPairs(const Case &c, bool isWide = true) {
  expectRight(c, "\nwide ");
  EXPECT_EQ(cuda::count("wgmma"), isWide ? 2u : 0u) << textOf(c); // it runs twice
  EXPECT_EQ(cuda::count("cluster"), isWide ? 2u : 0u) << textOf(c);
  EXPECT_EQ(cuda::report(), "");
}

/// Sizes around tiles, of which one, two or three lie one above the other; each operand in either direction.
TEST(ClusterProducts, AllEdgesAndDirections) {
  const int64_t sizes[][3] = {{64, 64, 64}, {72, 40, 136}, {8, 200, 8}, {136, 72, 328}, {256, 136, 72}};
  for (auto [number, size] : llvm::enumerate(sizes))
    for (int64_t turns = 0; turns < 4; ++turns) // b's columns side by side come in halves of 64
      expectPairs({turns % 2 ? kF16F32 : kBF16, 1 + int64_t(number) % 3, size[0], size[1], size[2], turns % 2 == 1,
                   turns / 2 == 1, number % 2 == 1, pairs(64, turns / 2 == 1 ? 64 : 128, 3)});
}

/// Rows and columns need be no multiples of anything where they do not lie side by side.
TEST(ClusterProducts, OddRowsAndColumns) {
  expectPairs({kBF16, 2, 67, 33, 72, false, true, true, pairs(64, 32, 2)});
  expectPairs({kF16, 1, 1, 1, 16, false, true, false, pairs(64, 64, 4)});
  expectPairs({kBF16, 1, 131, 301, 80, false, true, true, pairs(64, 128, 4)});
}

/// Every tile of the cost model's menu; a little over two tiles of rows, so that the fourth is empty.
TEST(ClusterProducts, AllTilesOfTheMenu) {
  for (auto [rows, columns, stages] : {std::tuple(128, 256, 4), std::tuple(128, 128, 6), std::tuple(128, 64, 8),
                                       std::tuple(64, 256, 5), std::tuple(64, 128, 8), std::tuple(64, 64, 12)})
    expectPairs(
        {kBF16, 1, 2 * rows + 8, columns + 8, 200, rows == 64, columns != 256, true, pairs(rows, columns, stages)});
}

/// More tiles than clusters (the machine's four multiprocessors have two): the ring goes on from one to the next.
TEST(ClusterProducts, ClustersTakePairAfterPair) {
  expectPairs({kBF16, 3, 320, 192, 200, false, true, false, pairs(64, 64, 3)});
  expectPairs({kF16F32, 2, 640, 256, 136, true, false, true, pairs(128, 128, 2)});
}

/// The last parts may have fewer slabs than others, or none.
TEST(ClusterProducts, PartsOfKAreAddedInOrder) {
  for (auto [k, parts] : {std::pair(8, 4), std::pair(328, 3), std::pair(640, 2)}) {
    const Case c{kBF16, 2, 72, 104, k, k == 8, k != 640, k != 640, pairs(64, k == 640 ? 128 : 64, 3, parts)};
    expectPairs(c);
    EXPECT_NE(cuda::lastCode().find("\nthen sinter_k0_contraction_join block 256\n\n"), std::string::npos);
    setenv("SINTER_CUDA_WGMMA", "off", 1);
    expectPairs(c, /*isWide=*/false);
    unsetenv("SINTER_CUDA_WGMMA");
  }
}

/// Sizes that only running tells are words of a launch. Rows that no map describes are the kernel's beside it.
TEST(ClusterProducts, SizesThatOnlyRunningTells) {
  for (auto [batch, m, n, k] : {std::tuple(2, 72, 104, 200), std::tuple(1, 264, 8, 64), std::tuple(3, 8, 136, 8)})
    for (bool turned : {false, true})
      expectPairs({kBF16, batch, m, n, k, turned, turned, false, pairs(64, 128, 3, turned ? 2 : 1),
                   /*isDynamic=*/true});
  expectPairs({kBF16, 1, 40, 40, 41, false, false, false, pairs(64, 128, 3), /*isDynamic=*/true}, /*isWide=*/false);
}

/// Integers of bytes, exactly; 8-bit floats are in Float8Test, pixels of one tap in ConvolutionsTest.
TEST(ClusterProducts, Bytes) {
  for (const char *a : {"i8", "ui8"})
    for (auto [m, n, k] : {std::tuple(64, 64, 128), std::tuple(136, 72, 400), std::tuple(67, 33, 272)})
      expectPairs({{a, "i8", "i32"}, 2, m, n, k, false, true, m != 67, clustersOf(64, 64, 128, 3)});
}

static std::string codeFor(const Case &c, const char *target = "cpu+cuda") { return compiledCode(textOf(c), target); }

static bool has(const std::string &code, const char *part) { return code.find(part) != std::string::npos; }

/// A slab of b comes once for two blocks: half the bytes.
TEST(ClusterProducts, AskForEachSlabOfBOnce) {
  for (bool turned : {false, true}) {
    constexpr uint64_t kTiles = 4 * 2, kSlabs = 5, kRows = 64, kColumns = 128, kBytes = 128, kRuns = 2;
    const Case c{kBF16, 1, 256, 256, 320, false, turned, false, pairs(64, 128, 3)};
    expectPairs(c);
    EXPECT_EQ(cuda::count("bulk byte"), kRuns * kTiles * kSlabs * (kRows + kColumns / 2) * kBytes);
    Case alone = c;
    alone.schedule = warpgroupsOf(64, 128, 64, 3);
    expectRight(alone, "\nwide ");
    EXPECT_EQ(cuda::count("bulk byte"), kRuns * kTiles * kSlabs * (kRows + kColumns) * kBytes);
  }
}

/// Large products, whose rows are many and known; others bring their own slabs.
TEST(ClusterProducts, WhenTheyAreChosen) {
  const std::string large = codeFor({kBF16, 1, 4096, 4096, 4096});
  EXPECT_TRUE(has(large, "\nwide sinter_k0_contraction_wide 384 ") && has(large, " 0 2\nmap 0 bf16 4096,4096 ") &&
              has(large, ".multicast::cluster") && has(large, ".reqnctapercluster 2"))
      << large.substr(0, 400);
  EXPECT_FALSE(has(large.substr(0, large.find("=== sm_90a")), "cluster"));
  const std::string hopper = codeFor({kBF16, 1, 4096, 4096, 4096}, "cpu+cuda:sm_90a");
  EXPECT_TRUE(has(hopper, ".reqnctapercluster 2") && !has(hopper, "=== sm_90a"));
  auto shares = [](const Case &c, const char *target = "cpu+cuda") { return has(codeFor(c, target), ".multicast"); };
  EXPECT_TRUE(shares({kF16, 4, 2048, 2048, 1024, false, true, true}));
  EXPECT_FALSE(shares({kBF16, 1, 4096, 4096, 4096}, "cpu+cuda:sm_100"));
  EXPECT_FALSE(shares({kBF16, 1, 512, 512, 512}));
  EXPECT_FALSE(shares({kBF16, 1, 128, 65536, 1024})); // the second block would have no rows
  EXPECT_FALSE(shares({kBF16, 1, 1, 1, 1, false, false, false, "", /*isDynamic=*/true}));
}

TEST(ClusterProducts, AScheduleThatDoesNotFitIsToldWhy) {
  const std::tuple<std::string, bool, const char *> schedules[] = {
      {pairs(64, 64, 3), false, "come 64 at once, and a block brings half of them"},
      {pairs(32, 128, 3), true, "its tile has 64 or 128 rows"},
      {pairs(128, 256, 5), true, "do not fit into 227 KiB"},
      {"cluster_product, lanes = 128, tile = [64, 128, 64, 64, 128, 3, 1]", true, "the tile's 256 threads"}};
  for (const auto &[given, turned, part] : schedules) {
    test::Program program(textOf({kBF16, 1, 128, 128, 128, false, turned, false, given}), 2);
    EXPECT_TRUE(has(program.error, part)) << given << ": " << program.error;
  }
  Compiled compiled;
  std::string error;
  const Case c{kBF16, 1, 128, 128, 128, false, false, false, pairs(64, 128, 3)};
  EXPECT_FALSE(cuda::compileText(textOf(c), compiled, error, "cpu+cuda:sm_100"));
  EXPECT_TRUE(has(error, "sm_90a alone has wgmma")) << error;
}

//===- ptxas --------------------------------------------------------------------------------------------===//

TEST(ClusterProducts, PtxasFindsNoSpills) {
  if (!hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  auto expectFew = [](const Case &c, int64_t rows) {
    SCOPED_TRACE(textOf(c));
    const std::string code = codeFor(c);
    const size_t at = code.find("=== sm_90a\n");
    ASSERT_NE(at, std::string::npos);
    expectNoSpills(code.substr(at + 11), 1, rows == 128 ? 168 : 255, {"sm_90a"});
  };
  for (auto [rows, columns, stages] :
       {std::tuple(128, 256, 4), std::tuple(128, 128, 6), std::tuple(64, 256, 5), std::tuple(64, 128, 8)})
    for (bool turned : {false, true}) {
      const int64_t parts = turned && rows * columns == 128 * 256 ? 4 : 1;
      expectFew({kBF16, 2, 4096, 4096, 4096, turned, turned, true, pairs(rows, columns, stages, parts)}, rows);
    }
  for (bool turned : {false, true})
    expectFew({kBF16, 1, 1, 1, 1, turned, turned, false, pairs(128, 256, 4), /*isDynamic=*/true}, 128);
  expectFew({{"ui8", "i8", "i32"}, 1, 4096, 4096, 4096, false, true, true, clustersOf(128, 256, 128, 4)}, 128);
}

//===- Mistakes -----------------------------------------------------------------------------------------===//

/// Two pairs of tiles for each of the machine's two clusters, of twice as many slabs as there are at once.
static const Case kFour{kBF16, 1, 256, 256, 328, false, false, false, pairs(64, 128, 3)};

/// `change` makes the mistake in the PTX of clusters, or gives nothing.
static void expectTold(const char *what, const std::function<std::string(const std::string &)> &change) {
  expectCaught(kFour, what, [&](const std::string &code) -> std::string {
    const size_t at = code.find("=== sm_90a\n");
    const std::string changed = change(code.substr(at));
    return changed.empty() ? "" : code.substr(0, at) + changed;
  });
}

/// All lines that fit, from the `from`th `mark` on, are changed; empty for none.
static std::string replaced(const std::string &ptx, const char *pattern, const char *by, const char *mark = ".entry",
                            int from = 0) {
  size_t at = ptx.find(mark);
  for (; from > 0; --from)
    at = ptx.find(mark, at + 1);
  const std::string changed = ptx.substr(0, at) + std::regex_replace(ptx.substr(at), std::regex(pattern), by);
  return changed == ptx ? "" : changed;
}

TEST(ClusterProducts, MistakesAreCaught) {
  EXPECT_EQ(wrongOf(kFour, nullptr), "");
  const std::tuple<const char *, const char *, const char *> mutants[] = {
      {"arrivals at its own mbarriers alone", "mapa\\.shared::cluster\\.u32 there, (%r[0-9]+), %r[0-9]+;",
       "mov.b32 there, $1;"},
      {"arrivals at those of one block", "(mapa\\.shared::cluster\\.u32 there, %r[0-9]+), %r[0-9]+;", "$1, 0;"},
      {"half of the arrivals", "(mov\\.b32 \t%r[0-9]+), 8;", "$1, 4;"},
      {"arrivals that say nothing", "arrive\\.release\\.cluster", "arrive.relaxed.cluster"},
      {"arrivals that tell nobody else", "arrive\\.release\\.cluster", "arrive.release.cta"},
      {"waits that know nothing of the other block", "parity\\.acquire\\.cluster", "parity"},
      {"a mask of one block", "(mov\\.b16 \t%rs[0-9]+), 3;", "$1, 1;"},
      {"a mask of the other block", "(mov\\.b16 \t%rs[0-9]+), 3;", "$1, 2;"},
      {"a mask of three blocks", "(mov\\.b16 \t%rs[0-9]+), 3;", "$1, 7;"},
      {"one half of columns twice", "(cp\\.async.*\\.multicast::cluster \\[%r[0-9]+\\], \\[%rd[0-9]+, \\{)(%r[0-9]+)",
       "and.b32 $2, $2, -65;\n$1$2"},
      {"bytes of its own half alone", "(mov\\.b32 \t%r[0-9]+), 24576;", "$1, 16384;"},
      {"halves for the block itself", "\\.multicast::cluster( .*), %rs[0-9]+;", "$1;"},
      {"no fence behind mbarriers", "fence\\.mbarrier_init\\.release\\.cluster;", ""},
      {"tiles of other clusters", "%clusterid", "%ctaid"},
      {"a step of blocks", "%nclusterid", "%nctaid"},
  };
  for (auto [what, pattern, by] : mutants)
    expectTold(what, [&, pattern = pattern, by = by](const std::string &ptx) { return replaced(ptx, pattern, by); });
  // Warps that multiply ask for their rank first, then the one that brings slabs.
  const char *rank = "%cluster_ctarank";
  expectTold("slabs that are not waited for",
             [&](const std::string &ptx) { return replaced(ptx, "@done bra DONE;", "bra DONE;"); });
  expectTold("places that are not waited for",
             [&](const std::string &ptx) { return replaced(ptx, "@done bra DONE;", "bra DONE;", rank, 1); });
  expectTold("one half of a slab twice",
             [&](const std::string &ptx) { return replaced(ptx, "%cluster_ctarank", "0", rank, 1); });
  expectTold("results of one block", [&](const std::string &ptx) {
    std::string changed = ptx;
    return changed.replace(changed.find(rank), std::strlen(rank), "0");
  });
  // The blocks meet at the beginning and at the end.
  const std::string meeting = "\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n";
  for (bool isLast : {false, true})
    expectTold(isLast ? "an end without the other block" : "a beginning without the other block",
               [&](const std::string &ptx) {
                 std::string changed = ptx;
                 const size_t at = isLast ? changed.rfind(meeting) : changed.find(meeting);
                 return at == std::string::npos ? "" : changed.erase(at, meeting.size());
               });
  codeFor({kBF16, 1, 8, 8, 8}); // forgets what the machine told, which was asked for
}
