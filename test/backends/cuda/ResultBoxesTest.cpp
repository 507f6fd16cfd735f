// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of products by wgmma that are stored in boxes of tensor maps: in all widths and at all edges, against
// formulas; which are not; mistakes in the code.

#include "ProductCase.h"
#include "Ptxas.h"

using namespace sinter;
using namespace sinter::cuda;

constexpr const char *kStore = ".global.shared::cta.bulk_group [";

static bool storesBoxes() { return cuda::lastCode().find(kStore) != std::string::npos; }

static void expectBoxes(const Case &c, bool isBoxes = true) {
  expectRight(c, "\nwide ");
  EXPECT_EQ(storesBoxes(), isBoxes) << textOf(c);
  EXPECT_EQ(cuda::count("wgmma"), 2u) << textOf(c); // it runs twice
  EXPECT_EQ(cuda::report(), "");
}

static std::string halves(int64_t rows, int64_t columns, int64_t stages, int64_t parts = 1) {
  return warpgroupsOf(rows, columns, 64, stages, parts);
}

/// One box of a tile, two, four and eight; the last rows and columns are there in part.
TEST(ResultBoxes, AllWidthsAndEdges) {
  for (auto [rows, columns, stages] : {std::tuple(64, 64, 3), std::tuple(128, 128, 4), std::tuple(128, 256, 4)})
    for (const Types &types : {kBF16, kF16F32})
      expectBoxes({types, 2, rows + 24, columns + 8, 72, false, true, columns != 128, halves(rows, columns, stages)});
  expectBoxes({{"ui8", "i8", "i32"}, 1, 72, 132, 144, false, true, true, warpgroupsOf(64, 128, 128, 4)});
}

/// More tiles than blocks: places of results are filled again while those of the tile before may be read.
TEST(ResultBoxes, TileAfterTile) {
  expectBoxes({kBF16, 3, 320, 192, 72, false, true, false, halves(64, 64, 3)});
  expectBoxes({kF16F32, 2, 320, 384, 72, false, true, true, halves(64, 128, 3)});
}

/// Rows that are no multiples of 16 bytes, or of a size that only running tells; parts; tiles whose rows are shorter
/// than a box; tiles that leave no shared memory.
TEST(ResultBoxes, OthersAreStoredByThreads) {
  expectBoxes({kBF16, 1, 72, 68, 72, false, true, true, halves(64, 64, 3)}, false);
  expectBoxes({kBF16, 1, 72, 72, 72, false, true, false, halves(64, 64, 3), /*isDynamic=*/true}, false);
  expectBoxes({kBF16, 1, 72, 72, 200, false, true, false, halves(64, 64, 3, 2)}, false);
  expectBoxes({kBF16, 1, 72, 72, 72, false, true, false, halves(64, 32, 3)}, false);
  expectBoxes({kBF16, 1, 72, 72, 72, false, true, false, halves(64, 64, 14)}, false);
  // A residual in bf16 and the sums in f32, which are two results.
  const std::string x = "tensor<64x64xbf16>", r = "tensor<64x64xf32>", types = " : (" + x + ", " + x + ") -> ";
  test::Program program(
      "func.func @f(%x: " + x + ", %y: " + x + ") -> (" + r + ", " + r +
          ") {\n  %0:2 = sinter.kernel contraction(%x, %y) {schedule = #sinter.schedule<" + halves(64, 64, 3) + ">}" +
          types + "(" + r + ", " + r + ") {\n  ^bb0(%p: " + x + ", %q: " + x +
          "):\n    %d = sinter.dot_general %p, %q {lhs_batch = array<i64>, rhs_batch = array<i64>" +
          ", lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32}" + types + r +
          "\n    %e = sinter.neg %d : (" + r + ") -> " + r + "\n    sinter.yield(%d, %e) : " + r + ", " + r +
          "\n  }\n  return %0#0, %0#1 : " + r + ", " + r + "\n}\n",
      2);
  EXPECT_EQ(program.error, "");
  EXPECT_FALSE(storesBoxes());
}

/// What a thread asks of such stores beside `mma_product`: one conversion and one store to shared memory for a pair.
TEST(ResultBoxes, TakesFewInstructions) {
  Compiled compiled;
  std::string error;
  const Case c{kBF16, 1, 4096, 4096, 4096, false, true, false, halves(128, 256, 4)};
  ASSERT_TRUE(cuda::compileText(textOf(c), compiled, error)) << error;
  std::remove(compiled.path.c_str());
  const std::string ptx = compiled.code.substr(compiled.code.find("=== sm_90a"));
  auto countOf = [&](const std::string &part) {
    size_t found = 0;
    for (size_t at = ptx.find(part); at != std::string::npos; at = ptx.find(part, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(countOf("cvt.rn.bf16x2.f32"), 64u);
  EXPECT_EQ(countOf("st.shared.b32"), 64u);
  EXPECT_EQ(countOf("st.global"), 0u);
  EXPECT_EQ(countOf(kStore), 4u);
}

//===- Mistakes -----------------------------------------------------------------------------------------===//

/// What is wrong with a product of two boxes a tile, and two tiles a block, whose code is changed so; empty for
/// nothing.
static std::string wrongOf(const std::function<void(std::string &)> &edit) {
  cuda::editCode(edit);
  const Case c{kF16F32, 1, 640, 1792, 16, false, true, false, halves(64, 64, 2)};
  test::Program program(textOf(c), 2);
  cuda::editCode(nullptr);
  if (!program.error.empty())
    return program.error;
  std::vector<HostTensor> inputs;
  const llvm::SmallVector<int64_t> shapes[] = {{1, c.m, c.k}, {1, c.n, c.k}, {c.n}, {1, c.m, c.n}};
  for (auto [type, shape] : llvm::zip(program.function().getArgumentTypes(), shapes))
    inputs.push_back(test::makeInput(mlir::getElementTypeOrSelf(type), {shape, {0.5, -0.25, 1, 0.75, 2, 3, -1}}));
  auto expected = program.evaluate(inputs);
  auto actual = program.run(inputs);
  if (!actual || !cuda::report().empty())
    return program.error + cuda::report();
  for (int64_t i = 0; i < (*actual)[0].numElements(); ++i)
    if (!(std::fabs((*actual)[0].getFloat(i) - (*expected)[0].getFloat(i)) <= 1e-3))
      return "element " + std::to_string(i);
  return "";
}

/// The text with match number `n` of the pattern replaced; empty without one.
static std::string replaced(const std::string &text, const std::regex &pattern, const std::string &by, int n) {
  std::sregex_iterator at(text.begin(), text.end(), pattern), end;
  for (; n > 0 && at != end; --n)
    ++at;
  if (at == end)
    return "";
  return text.substr(0, size_t(at->position())) + at->format(by) + text.substr(size_t(at->position() + at->length()));
}

TEST(ResultBoxes, MistakesAreCaught) {
  EXPECT_EQ(wrongOf(nullptr), "");
  const std::tuple<const char *, const char *, const char *, int> mutants[] = {
      {"places that are not waited for", "cp\\.async\\.bulk\\.wait_group\\.read 1;", "", 0},
      {"the second place, which is not waited for", "cp\\.async\\.bulk\\.wait_group\\.read 1;",
       "cp.async.bulk.wait_group.read 2;", 1},
      {"an end that does not wait", "cp\\.async\\.bulk\\.wait_group\\.read 0;", "", 0},
      {"no fence", "fence\\.proxy\\.async\\.shared::cta;", "", 0},
      {"boxes of half a warp's rows", "(map 4 u8 7168,640 7168 128),16", "$1,8", 0},
      {"boxes that are not swizzled so", "(map 4 u8 7168,640 7168) 128,", "$1 64,", 0},
      {"another box of the row", "(bulk_group \\[%rd[0-9]+, \\{)(%r[0-9]+), (%r[0-9]+)", "$1$3, $2", 1},
      {"all threads store", "setp\\.ne\\.b32 here, (%r[0-9]+), 0;\n@here cp\\.async\\.bulk\\.tensor\\.2d\\.global",
       "setp.ne.b32 here, $1, 7;\n@here cp.async.bulk.tensor.2d.global", 0},
      {"no store", "@here cp\\.async\\.bulk\\.tensor\\.2d\\.global.*", "", 1},
  };
  for (auto [what, pattern, by, n] : mutants) {
    bool isMade = false;
    const std::string told = wrongOf([&](std::string &code) {
      const size_t at = code.find("\nwide "), ptx = code.find("=== sm_90a");
      const size_t from = std::string(pattern).find("map") < 3 ? at : ptx; // what is before is not run
      const std::string changed = replaced(code.substr(from), std::regex(pattern), by, n);
      isMade = !changed.empty();
      if (isMade)
        code = code.substr(0, from) + changed;
    });
    EXPECT_TRUE(isMade) << what << "\n" << cuda::lastCode().substr(cuda::lastCode().find("=== sm_90a"));
    EXPECT_NE(told, "") << what;
  }
  expectBoxes({kBF16, 1, 64, 64, 64, false, true, false, halves(64, 64, 2)}); // forgets what was told
}
