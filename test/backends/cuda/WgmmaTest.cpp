// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by wgmma, by schedules that are forced, against formulas in f64; where they do not fit, the kernel beside
// them; which PTX a module holds; what is told of mistakes in it.

#include "ProductMutants.h"
#include "Ptxas.h"

using namespace sinter;
using namespace sinter::cuda;

static std::string tiled(int64_t rows, int64_t columns, int64_t stages, int64_t parts = 1) {
  return "wgmma_product, lanes = " + std::to_string(128 * (1 + rows / 64)) + ", tile = [" + std::to_string(rows) +
         ", " + std::to_string(columns) + ", 64, 64, " + std::to_string(columns) + ", " + std::to_string(stages) +
         ", " + std::to_string(parts) + "]";
}

static void expectWide(const Case &c, bool isWide = true) {
  expectRight(c, "\nwide ");
  EXPECT_EQ(cuda::count("wgmma"), isWide ? 2u : 0u) << textOf(c); // it runs twice
  EXPECT_EQ(cuda::report(), "");
}

/// Sizes around tiles, each operand in either direction; rows are multiples of 16 bytes apart.
TEST(Wgmma, AllEdgesAndDirections) {
  const int64_t sizes[][3] = {{64, 64, 64}, {72, 40, 136}, {8, 200, 8}, {136, 72, 328}};
  for (auto [number, size] : llvm::enumerate(sizes))
    for (int64_t turns = 0; turns < 4; ++turns)
      expectWide({turns % 2 ? kF16F32 : kBF16, 1 + int64_t(number) % 3, size[0], size[1], size[2], turns % 2 == 1,
                  turns / 2 == 1, number % 2 == 1, tiled(64, 64, 3)});
}

/// Rows and columns need be no multiples of anything where they do not lie side by side.
TEST(Wgmma, OddRowsAndColumns) {
  expectWide({kBF16, 2, 67, 33, 72, false, true, true, tiled(64, 32, 2)});
  expectWide({kF16, 1, 1, 1, 16, false, true, false, tiled(64, 64, 4)});
}

/// Every tile of the cost model's menu, a little over one tile large.
TEST(Wgmma, AllTilesOfTheMenu) {
  for (auto [rows, columns, stages] : {std::tuple(128, 256, 4), std::tuple(128, 128, 6), std::tuple(128, 64, 8),
                                       std::tuple(64, 256, 5), std::tuple(64, 128, 8), std::tuple(64, 64, 12)})
    expectWide({kBF16, 1, rows + 8, columns + 8, 200, rows == 64, columns == 128, true, tiled(rows, columns, stages)});
}

/// More tiles than blocks: the ring goes on from one to the next, whatever its phase.
TEST(Wgmma, BlocksTakeTileAfterTile) { expectWide({kBF16, 3, 320, 192, 200, false, true, false, tiled(64, 64, 3)}); }

/// The last parts may have fewer slabs than others, or none; other GPUs add as many parts of mma.sync.
TEST(Wgmma, PartsOfKAreAddedInOrder) {
  for (auto [k, parts] : {std::pair(8, 4), std::pair(328, 4), std::pair(328, 3), std::pair(640, 2)}) {
    const Case c{parts == 4 ? kF16F32 : kBF16, 2, 72, 104, k, k == 8, k == 640, k != 640, tiled(64, 64, 3, parts)};
    expectWide(c);
    EXPECT_NE(cuda::lastCode().find("\nthen sinter_k0_contraction_join block 256\n\n"), std::string::npos);
    setenv("SINTER_CUDA_WGMMA", "off", 1);
    expectWide(c, /*isWide=*/false);
    unsetenv("SINTER_CUDA_WGMMA");
  }
}

/// Sizes that only running tells are words of a launch, which its maps are made of.
TEST(Wgmma, SizesThatOnlyRunningTells) {
  for (bool turned : {false, true})
    expectWide({kBF16, 2, 72, 104, 200, turned, turned, false, tiled(64, 64, 3, turned ? 2 : 1), /*isDynamic=*/true});
  expectWide({kBF16, 1, 40, 40, 41, false, false, false, tiled(64, 64, 3), /*isDynamic=*/true}, /*isWide=*/false);
}

namespace {
/// Sums over the last axis of x [batch, rows, heads, k] and y [batch, columns, heads, k], of which the head, too, is a
/// batch: these are at two distances.
struct Heads {
  std::string batch, rows;  // as types have them
  bool sharesHeads = false; // y [batch, columns, k]
  int64_t columns = 40, heads = 3, k = 72;
};
} // namespace

static std::string textOf(const Heads &c) {
  const std::string n = std::to_string(c.columns), h = std::to_string(c.heads), k = std::to_string(c.k);
  const std::string x = "tensor<" + c.batch + "x" + c.rows + "x" + h + "x" + k + "xbf16>",
                    wide = "tensor<" + c.batch + "x" + n + "x" + h + "x" + k + "xbf16>",
                    y = c.sharesHeads ? "tensor<" + c.batch + "x" + n + "x" + k + "xbf16>" : wide,
                    r = "tensor<" + c.batch + "x" + h + "x" + c.rows + "x" + n + "xf32>";
  std::string text = "func.func @f(%x: " + x + ", %y: " + y + ") -> " + r +
                     " {\n  %0 = sinter.kernel contraction(%x, " + "%y) {schedule = #sinter.schedule<" +
                     tiled(64, 64, 3) + ">} : (" + x + ", " + y + ") -> " + r + " {\n  ^bb0(%p: " + x + ", %q: " + y +
                     "):\n";
  if (c.sharesHeads)
    text += "    %w = sinter.broadcast %q axes = [0, 1, 3] {type = " + wide + "} : (" + y + ") -> " + wide + "\n";
  return text + "    %d = sinter.dot_general %p, " + (c.sharesHeads ? "%w" : "%q") +
         " {lhs_batch = array<i64: 0, 2>, rhs_batch = array<i64: 0, 2>, lhs_contract = array<i64: 3>, " +
         "rhs_contract = array<i64: 3>, element_type = f32} : (" + x + ", " + wide + ") -> " + r +
         "\n    sinter.yield(%d) : " + r + "\n  }\n  return %0 : " + r + "\n}\n";
}

/// A run of the program, by wgmma, against the sums in f64.
static void expectHeads(test::Program &program, const Heads &c, int64_t batch, int64_t rows) {
  SCOPED_TRACE(textOf(c) + std::to_string(batch) + " " + std::to_string(rows));
  std::mt19937 random(uint32_t(batch * 100 + rows));
  std::vector<HostTensor> inputs;
  std::vector<std::vector<double>> values;
  std::vector<int64_t> ofY = {batch, c.columns, c.heads, c.k};
  if (c.sharesHeads)
    ofY.erase(ofY.begin() + 2);
  for (const std::vector<int64_t> &shape : {std::vector{batch, rows, c.heads, c.k}, ofY}) {
    inputs.emplace_back(mlir::BFloat16Type::get(&program.context), shape);
    values.push_back(drawn(random, inputs.back(), "bf16"));
    inputs.back().assignFloats(values.back());
  }
  const uint64_t before = cuda::count("wgmma");
  auto results = program.run(inputs);
  ASSERT_TRUE(results) << program.error << cuda::report();
  EXPECT_EQ(cuda::count("wgmma"), before + 1);
  EXPECT_EQ(cuda::report(), "");
  int64_t at = 0;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < c.heads; ++h)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < c.columns; ++j, ++at) {
          double sum = 0;
          for (int64_t k = 0; k < c.k; ++k)
            sum += values[0][size_t(((b * rows + i) * c.heads + h) * c.k + k)] *
                   values[1][size_t(c.sharesHeads ? (b * c.columns + j) * c.k + k
                                                  : ((b * c.columns + j) * c.heads + h) * c.k + k)];
          ASSERT_NEAR((*results)[0].getFloat(at), sum, 1e-4) << b << " " << h << " " << i << " " << j;
        }
}

/// Operands that some batches share have no axis for these in their map.
TEST(Wgmma, BatchesAtSeveralDistances) {
  for (bool sharesHeads : {false, true}) {
    const Heads c{"2", "70", sharesHeads};
    test::Program program(textOf(c), 2);
    ASSERT_EQ(program.error, "") << textOf(c);
    expectHeads(program, c, 2, 70);
  }
}

/// One module, and one graph whose maps change.
TEST(Wgmma, RowsAndBatchesOfEachCall) {
  const Heads c{"?", "?"};
  test::Program program(textOf(c), 2);
  ASSERT_EQ(program.error, "") << textOf(c);
  EXPECT_NE(cuda::lastCode().find("map 0 bf16 72,3,1*w4,1*w3 144,432,432*w4 64,1,64,1\n"), std::string::npos)
      << cuda::lastCode().substr(0, 400);
  for (auto [batch, rows] : {std::pair(1, 64), std::pair(3, 1), std::pair(2, 130), std::pair(1, 64)})
    expectHeads(program, c, batch, rows);
}

TEST(Wgmma, ATileThatDoesNotFitIsToldWhy) {
  const char *schedules[][3] = {
      {"wgmma_product, lanes = 256, tile = [32, 64, 64, 32, 64, 3, 1]", "bf16", "its tile has 64 or 128 rows"},
      {"wgmma_product, lanes = 256, tile = [64, 96, 64, 64, 96, 3, 1]", "bf16", "32, 64, 128 or 256 columns"},
      {"wgmma_product, lanes = 256, tile = [64, 32, 64, 64, 32, 3, 1]", "bf16", "come 64 at once"},
      {"wgmma_product, lanes = 256, tile = [64, 64, 32, 64, 64, 3, 1]", "bf16", "its slab is 64"},
      {"wgmma_product, lanes = 256, tile = [128, 64, 64, 128, 64, 3, 1]", "bf16", "64 rows of all columns"},
      {"wgmma_product, lanes = 256, tile = [64, 64, 64, 64, 64, 17, 1]", "bf16", "2 to 16 slabs"},
      {"wgmma_product, lanes = 256, tile = [64, 64, 64, 64, 64, 3, 65]", "bf16", "k has 1 to 64 parts"},
      {"wgmma_product, lanes = 384, tile = [128, 256, 64, 64, 256, 5, 1]", "bf16", "do not fit into 227 KiB"},
      {"wgmma_product, lanes = 128, tile = [64, 64, 64, 64, 64, 3, 1]", "bf16", "the tile's 256 threads"},
      {"wgmma_product, lanes = 256, tile = [64, 64, 64, 64, 64, 3, 1]", "f32",
       "it multiplies f16, bf16 and bytes alone"}};
  for (auto [given, type, part] : schedules) {
    test::Program program(textOf({{type, type, type}, 1, 40, 40, 40, false, false, false, given}), 2);
    EXPECT_NE(program.error.find(part), std::string::npos) << given << ": " << program.error;
  }
  test::Program program(textOf({kBF16, 1, 40, 40, 41, false, false, false, tiled(64, 64, 3)}), 2);
  EXPECT_NE(program.error.find("no multiples of 16 bytes apart"), std::string::npos) << program.error;
  const std::string x = "tensor<2x2x2x2x8x8xbf16>", types = " : (" + x + ", " + x + ") -> " + x;
  test::Program many("func.func @f(%x: " + x + ", %y: " + x + ") -> " + x +
                         " {\n  %0 = sinter.kernel contraction(%x, " + "%y) {schedule = #sinter.schedule<" +
                         tiled(64, 64, 3) + ">}" + types + " {\n  ^bb0(%p: " + x + ", %q: " + x +
                         "):\n    %d = sinter.dot_general %p, %q {lhs_batch = array<i64: 3, 2, 1, 0>, " +
                         "rhs_batch = array<i64: 0, 1, 2, 3>, lhs_contract = array<i64: 5>, rhs_contract = " +
                         "array<i64: 5>, element_type = bf16}" + types + "\n    sinter.yield(%d) : " + x +
                         "\n  }\n  return %0 : " + x + "\n}\n",
                     2);
  EXPECT_NE(many.error.find("at more than three distances"), std::string::npos) << many.error;
}

static std::string codeFor(const Case &c, const char *target) { return compiledCode(textOf(c), target); }

/// A large product has PTX for sm_80, and for sm_90a beside it; a small one, and other generations, the one alone.
TEST(Wgmma, WhatAModuleHolds) {
  const Case large{kBF16, 1, 4096, 4096, 4096}, small{kBF16, 1, 128, 128, 128};
  auto has = [](const std::string &code, const char *part) { return code.find(part) != std::string::npos; };
  const std::string both = codeFor(large, "cpu+cuda");
  EXPECT_TRUE(has(both, ".target sm_80") && has(both, "mma.sync") && has(both, "\n=== sm_90a\n") &&
              has(both, ".target sm_90a") && has(both, "wgmma.mma_async") &&
              has(both, "map 0 bf16 4096,4096 8192 64,128\n"));
  EXPECT_FALSE(has(both.substr(0, both.find("=== sm_90a")), "wgmma.mma"));
  const std::string alone = codeFor(large, "cpu+cuda:sm_90a");
  EXPECT_TRUE(has(alone, ".target sm_90a") && has(alone, "wgmma.mma_async") && has(alone, "mma.sync") &&
              !has(alone, "=== sm_90a"));
  // Few tiles of a long k are cut into parts, on either GPU.
  const std::string parted = codeFor({kBF16, 1, 512, 512, 4096}, "cpu+cuda");
  EXPECT_TRUE(has(parted, "\nwide sinter_k0_contraction_wide ") &&
              has(parted, "\nthen sinter_k0_contraction_join block 256\n\n"));
  EXPECT_FALSE(has(codeFor(small, "cpu+cuda"), "sm_90a"));
  EXPECT_FALSE(has(codeFor(large, "cpu+cuda:sm_100"), "sm_90a"));
}

//===- ptxas --------------------------------------------------------------------------------------------===//

/// No spill, and what two warpgroups that multiply may have: 65,536 registers / 384 threads.
TEST(Wgmma, PtxasFindsNoSpills) {
  if (!hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  for (auto [rows, columns, stages] : {std::tuple(128, 256, 4), std::tuple(128, 128, 6), std::tuple(128, 64, 8),
                                       std::tuple(64, 256, 5), std::tuple(64, 128, 8), std::tuple(64, 64, 12)})
    for (bool turned : {false, true}) {
      // Sums of parts are stored where others have what follows the product.
      const int64_t parts = turned && rows * columns == 128 * 256 ? 4 : 1;
      const std::string code =
          codeFor({kBF16, 2, 4096, 4096, 4096, turned, turned, true, tiled(rows, columns, stages, parts)}, "cpu+cuda");
      const size_t at = code.find("=== sm_90a\n");
      ASSERT_NE(at, std::string::npos);
      SCOPED_TRACE(tiled(rows, columns, stages));
      expectNoSpills(code.substr(at + 11), 1, rows == 128 ? 168 : 255, {"sm_90a"});
    }
  const std::string code =
      codeFor({kBF16, 1, 1, 1, 1, false, false, false, tiled(128, 256, 4), /*isDynamic=*/true}, "cpu+cuda");
  expectNoSpills(code.substr(code.find("=== sm_90a\n") + 11), 1, 168, {"sm_90a"});
}

//===- Mistakes -----------------------------------------------------------------------------------------===//

/// A product of two tiles.
static Case two(int64_t parts, bool isDynamic) {
  return {kBF16, 1, 128, 64, 328, false, false, false, tiled(64, 64, 3, parts), isDynamic};
}

TEST(Wgmma, MistakesAreCaught) {
  for (auto [parts, isDynamic] : {std::pair(1, false), std::pair(2, false), std::pair(1, true)})
    EXPECT_EQ(wrongOf(two(parts, isDynamic), nullptr), "");
  const Mutant mutants[] = {
      {"slabs that are not waited for", "^@done bra DONE;", "bra DONE;", 0},
      {"places that are not waited for", "^@done bra DONE;", "bra DONE;", 4},
      {"a product that is not waited for", "wgmma.wait_group.sync.aligned 0;", ""},
      {"two products under way where a place is given", "wgmma.wait_group.sync.aligned 1;",
       "wgmma.wait_group.sync.aligned 2;"},
      {"no fence of registers", "^wgmma.fence.sync.aligned;", ""},
      {"no fence behind mbarriers", "fence.mbarrier_init.release.cluster;", ""},
      {"bytes that never come", "(mbarrier.arrive.expect_tx.*), (%r[0-9]+);", "add.u32 $2, $2, 16; $1, $2;"},
      {"bytes that nobody expects", "(mbarrier.arrive.expect_tx.*), (%r[0-9]+);", "sub.u32 $2, $2, 8192; $1, $2;"},
      {"a swizzle of 64 bytes", "\\b4611686293305360384\\b|\\b4611686293338849280\\b|0x4000004000",
       "-9223371761976803328"},
      {"a step of k too far", "^(add.s64 a, .*), 2;", "$1, 4;"},
      {"operands that are not turned", "(wgmma.mma_async.*), 0, 1;", "$1, 0, 0;"},
      {"a box of the next row", "(map 0 bf16 .*) 64,64", "$1 64,56"},
      {"another stride", "map 0 bf16 328,128 656", "map 0 bf16 328,128 672"},
      {"parts that are not joined", "^then .*", "", 0, 2},
      {"slabs of another part", "(mul.lo.s32 .*), 192;", "$1, 128;", 0, 2},
      {"rows of another size", "(map 0 bf16 1.w7),1.w6", "$1,1*w5", 0, 1, true},
      {"a part's sums in another's place", "(and.b64 .*), 8192;", "$1, 4096;", 0, 2},
  };
  for (const Mutant &mutant : mutants)
    expectCaught(two(mutant.parts, mutant.isDynamic), mutant);
  codeFor({kBF16, 1, 8, 8, 8}, "cpu+cuda"); // forgets what the machine told, which was asked for
}
