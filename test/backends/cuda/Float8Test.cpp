// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of 8-bit floats, by schedules that are forced, against sums in f64 of what the formats' definitions say of
// their bytes.

#include "Float8Bytes.h"
#include "ProductCase.h"
#include "Ptxas.h"

using namespace sinter;
using namespace sinter::cuda;

namespace {
struct Bytes {
  std::string formatA, formatB, element, result;
  int64_t batch, m, n, k;
  bool transposesA = false, transposesB = true; // b has its sums inside
  std::string schedule = "";
  bool isDynamic = false, isSmall = false; // numbers below 2, for sums that f16 holds
};
} // namespace

static std::string textOf(const Bytes &c) {
  bool any = c.isDynamic;
  auto shaped = [&](bool isA, const std::string &type) {
    if (isA)
      return c.transposesA ? tensorText({c.batch, c.k, c.m}, type, !any) : tensorText({c.batch, c.m, c.k}, type, !any);
    return c.transposesB ? tensorText({c.batch, c.n, c.k}, type, !any) : tensorText({c.batch, c.k, c.n}, type, !any);
  };
  std::string a = shaped(true, "ui8"), b = shaped(false, "ui8"), x = shaped(true, c.element),
              y = shaped(false, c.element), result = tensorText({c.batch, c.m, c.n}, c.result, !any);
  auto contract = [](bool isFirst) { return std::string("array<i64: ") + (isFirst ? "1" : "2") + ">"; };
  auto decode = [&](const std::string &format) {
    return "{format = " + format + ", element_type = " + c.element + "} : (";
  };
  return "func.func @f(%x: " + a + ", %y: " + b + ") -> " + result + " {\n  %0 = sinter.kernel contraction(%x, %y)" +
         (c.schedule.empty() ? "" : " {schedule = #sinter.schedule<" + c.schedule + ">}") + " : (" + a + ", " + b +
         ") -> " + result + " {\n  ^bb0(%p: " + a + ", %q: " + b + "):\n    %u = sinter.decode_float8 %p " +
         decode(c.formatA) + a + ") -> " + x + "\n    %v = sinter.decode_float8 %q " + decode(c.formatB) + b + ") -> " +
         y + "\n    %d = sinter.dot_general %u, %v {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, " +
         "lhs_contract = " + contract(c.transposesA) + ", rhs_contract = " + contract(!c.transposesB) +
         ", element_type = " + c.result + "} : (" + x + ", " + y + ") -> " + result +
         "\n    sinter.yield(%d) : " + result + "\n  }\n  return %0 : " + result + "\n}\n";
}

static std::string codeFor(const Bytes &c, const char *target) { return compiledCode(textOf(c), target); }

/// What is wrong with the results, empty where they are right; `marks` are bytes of a.
static std::string wrongOf(const Bytes &c, const std::vector<std::pair<size_t, uint8_t>> &marks = {}) {
  test::Program program(textOf(c), 2);
  if (!program.error.empty())
    return program.error;
  std::mt19937 random(uint32_t(c.m * 31 + c.n * 7 + c.k));
  std::vector<uint8_t> a = drawnBytes(random, c.batch * c.m * c.k, c.formatA, c.isSmall),
                       b = drawnBytes(random, c.batch * c.n * c.k, c.formatB, c.isSmall);
  for (auto [place, byte] : marks)
    a[place] = byte;
  std::vector<HostTensor> inputs;
  const llvm::SmallVector<int64_t> shapes[] = {
      c.transposesA ? llvm::SmallVector<int64_t>{c.batch, c.k, c.m} : llvm::SmallVector<int64_t>{c.batch, c.m, c.k},
      c.transposesB ? llvm::SmallVector<int64_t>{c.batch, c.n, c.k} : llvm::SmallVector<int64_t>{c.batch, c.k, c.n}};
  for (auto [i, type] : llvm::enumerate(program.function().getArgumentTypes())) {
    inputs.emplace_back(mlir::getElementTypeOrSelf(type), shapes[i]);
    std::memcpy(inputs.back().data(), (i ? b : a).data(), (i ? b : a).size());
  }
  auto results = program.run(inputs);
  if (!results || !cuda::report().empty())
    return program.error + cuda::report();
  const HostTensor &result = (*results)[0];
  for (int64_t batch = 0, at = 0; batch < c.batch; ++batch)
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j, ++at) {
        double sum = 0, magnitude = 0;
        for (int64_t k = 0; k < c.k; ++k) {
          const double term =
              numberOf(a[size_t(batch * c.m * c.k + (c.transposesA ? k * c.m + i : i * c.k + k))], c.formatA) *
              numberOf(b[size_t(batch * c.n * c.k + (c.transposesB ? j * c.k + k : k * c.n + j))], c.formatB);
          sum += term;
          magnitude += std::fabs(term);
        }
        const double actual = result.getFloat(at), allowed = std::fabs(sum) * epsilonOf(c.result) + magnitude * 1e-6;
        const bool isRight = std::isnan(sum)   ? std::isnan(actual)
                             : std::isinf(sum) ? actual == sum
                                               : std::fabs(actual - sum) <= allowed;
        if (!isRight)
          return "element " + std::to_string(batch) + " " + std::to_string(i) + " " + std::to_string(j) + " is " +
                 std::to_string(actual) + ", not " + std::to_string(sum);
      }
  return "";
}

static void expectRight(const Bytes &c, const std::vector<std::pair<size_t, uint8_t>> &marks = {}) {
  EXPECT_EQ(wrongOf(c, marks), "") << textOf(c);
}

static std::string warps(const char *tile, int lanes) { return warpSchedule(tile, lanes); }

TEST(Float8, AllFormatsAndEdges) {
  const char *formats[] = {kFine, kCoarse};
  const int64_t sizes[][3] = {{1, 1, 1}, {33, 64, 80}, {40, 32, 72}, {37, 29, 67}, {64, 40, 128}, {3, 8, 0}};
  int number = 0;
  for (const char *a : formats)
    for (const char *b : formats)
      for (const auto &size : sizes) {
        expectRight({a, b, "f32", "f32", 1 + number % 2, size[0], size[1], size[2], number % 3 == 1, number % 5 != 2,
                     warps("32, 32, 64, 16, 16, 3, 1", 128)});
        ++number;
      }
}

TEST(Float8, AllTilesOfTheMenu) {
  for (const char *tile : {"128, 128, 64, 64, 32, 3, 1", "128, 64, 64, 32, 32, 3, 1", "64, 64, 64, 32, 32, 3, 1",
                           "64, 32, 64, 16, 32, 3, 1", "32, 32, 128, 16, 16, 3, 1", "16, 64, 128, 16, 16, 3, 1"}) {
    int64_t rows = 0, columns = 0, down = 0, across = 0;
    std::sscanf(tile, "%ld, %ld, %*d, %ld, %ld", &rows, &columns, &down, &across);
    expectRight({kFine, kCoarse, "f32", "f32", 1, rows + 1, columns + 8, 96, false, true,
                 warps(tile, int(rows / down * (columns / across) * 32))});
  }
}

TEST(Float8, TypesPartsAndSizesOfEachCall) {
  for (const char *element : {"f32", "f16", "bf16"})
    expectRight({kFine, kCoarse, element, element, 1, 33, 40, 160, false, true, warps("32, 32, 64, 16, 16, 3, 4", 128),
                 false, true});
  expectRight({kFine, kFine, "f32", "f32", 2, 37, 45, 99, false, true, warps("32, 32, 64, 16, 16, 3, 1", 128), true});
}

/// Every byte, one in each of 256 rows of 40.
static std::vector<std::pair<size_t, uint8_t>> allBytes() {
  std::vector<std::pair<size_t, uint8_t>> marks;
  for (size_t byte = 0; byte < 256; ++byte)
    marks.emplace_back(byte * 40 + byte * 7 % 40, uint8_t(byte));
  return marks;
}

/// NaN of either sign in each byte of a word.
static std::vector<std::pair<size_t, uint8_t>> allNans() {
  std::vector<std::pair<size_t, uint8_t>> marks;
  for (size_t k = 0; k < 8; ++k)
    marks.emplace_back(k * 3 * 40 + k, uint8_t(k < 4 ? 0x7f : 0xff));
  return marks;
}

static Bytes ofAllBytes(const char *format) {
  return {format, kFine, "f32", "f32", 1, 256, 16, 40, false, true, warps("64, 32, 64, 16, 32, 3, 1", 128)};
}

/// Each byte is the number that its format says: NaN and infinity, too.
TEST(Float8, EachByteIsItsNumber) {
  for (const char *format : {kFine, kCoarse}) {
    expectRight(ofAllBytes(format), allBytes());
    expectRight(ofAllBytes(format), allNans());
  }
}

/// Every operation on bits is needed, wherever it stands.
TEST(Float8, MistakesAreCaught) {
  const std::pair<const char *, const char *> mutants[] = {
      {", 2139062143;", ", 2139062142;"}, {", -2139062144;", ", 0;"},
      {", -2147450880;", ", 32768;"},     {", 2139127680;", ", 1065369472;"},
      {", 16843009;", ", 65793;"},        {", 2139127680;", ", 1065385856;"},
      {", 0f47800000;", ", 0f43800000;"}, {"row.col.f32.f16.f16", "row.col.f32.bf16.bf16"}};
  for (auto [text, by] : mutants) {
    size_t made = 0;
    cuda::editCode([&](std::string &code) {
      for (size_t at = 0; (at = code.find(text, at)) != std::string::npos; ++made)
        code.replace(at, std::strlen(text), by);
    });
    EXPECT_NE(wrongOf(ofAllBytes(kFine), allBytes()) + wrongOf(ofAllBytes(kFine), allNans()), "") << text;
    EXPECT_GT(made, 0u) << text;
    cuda::editCode(nullptr);
  }
  expectRight(ofAllBytes(kFine), allBytes());
}

TEST(Float8, InstructionsOfItsOwn) {
  const OnHopper hopper;
  const char *formats[] = {kFine, kCoarse};
  int number = 0;
  for (const char *a : formats)
    for (const char *b : formats) {
      expectRight(
          {a, b, "bf16", "bf16", 2, 37, 45, 200, number % 2 == 1, number < 2, warps("32, 32, 64, 16, 16, 3, 1", 128)});
      expectRight({a, b, "bf16", "bf16", 1, 137, 72, 272, false, true, warps("128, 128, 64, 64, 32, 3, 2", 256)});
      ++number;
      EXPECT_NE(cuda::lastCode().find("mma.sync.aligned.m16n8k32.row.col.f32.e"), std::string::npos);
    }
}

/// GPUs from sm_89 on have an instruction for 8-bit floats, which PTX 8.4 knows. It rounds sums.
TEST(Float8, GenerationsThatMultiplyThem) {
  const char *instruction = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32";
  const Bytes half{
      kFine, kCoarse, "bf16", "bf16", 1, 256, 256, 512, false, true, warps("128, 128, 64, 64, 32, 3, 1", 256)};
  Bytes sharp = half;
  sharp.element = sharp.result = "f32";
  auto isOne = [&](const Bytes &c, const char *target) {
    return codeFor(c, target).find(instruction) != std::string::npos;
  };
  EXPECT_FALSE(isOne(half, "cpu+cuda"));
  EXPECT_FALSE(isOne(sharp, "cpu+cuda:sm_89"));
  for (const char *generation : {"sm_89", "sm_90", "sm_90a", "sm_100", "sm_120"}) {
    const std::string code = codeFor(half, (std::string("cpu+cuda:") + generation).c_str());
    EXPECT_NE(code.find(instruction), std::string::npos) << generation;
    if (hasPtxas())
      expectNoSpills(code.substr(code.find("\n\n")), 1, 255, {generation});
  }
  EXPECT_NE(codeFor(half, "cpu+cuda:sm_89").find(".version 8.4"), std::string::npos);
  EXPECT_NE(codeFor(sharp, "cpu+cuda:sm_89").find(".version 7.8"), std::string::npos);
}

//===- wgmma ----------------------------------------------------------------------------------------------===//

static std::string groups(int64_t rows, int64_t columns, int64_t stages, int64_t parts = 1) {
  return cuda::warpgroupsOf(rows, columns, /*slab=*/128, stages, parts);
}

static void expectWide(const Bytes &c) {
  expectRight(c);
  EXPECT_EQ(cuda::count("wgmma"), 1u) << textOf(c);
}

TEST(Float8, WarpgroupsOfAllFormatsAndEdges) {
  const char *formats[] = {kFine, kCoarse};
  const int64_t sizes[][3] = {{64, 64, 128}, {72, 40, 144}, {8, 200, 16}, {136, 72, 400}};
  int number = 0;
  for (const char *a : formats)
    for (const char *b : formats)
      for (const auto &size : sizes)
        expectWide({a, b, number++ % 2 ? "bf16" : "f16", "bf16", 1 + number % 3, size[0], size[1], size[2], false, true,
                    groups(64, 64, 3)});
}

TEST(Float8, WarpgroupsOfAllTilesOfTheMenu) {
  for (auto [rows, columns, stages] :
       {std::tuple(128, 128, 6), std::tuple(128, 64, 8), std::tuple(64, 128, 8), std::tuple(64, 64, 12)})
    expectWide(
        {kFine, kCoarse, "bf16", "bf16", 1, rows + 8, columns + 8, 272, false, true, groups(rows, columns, stages)});
  // More tiles than blocks, parts of k, sizes of each call.
  expectWide({kFine, kFine, "bf16", "bf16", 3, 320, 192, 272, false, true, groups(64, 64, 3)});
  expectWide({kFine, kFine, "bf16", "bf16", 2, 72, 104, 656, false, true, groups(64, 64, 3, 4)});
  expectWide({kFine, kFine, "bf16", "bf16", 1, 72, 104, 144, false, true, groups(64, 64, 3), true});
}

/// Blocks that share slabs, of which each has sums of its own.
TEST(Float8, ClustersOfAllFormats) {
  const char *formats[] = {kFine, kCoarse};
  for (const char *a : formats)
    for (const char *b : formats)
      expectWide({a, b, "bf16", "bf16", 2, 136, 72, 400, false, true, cuda::clustersOf(64, 64, 128, 3)});
  expectWide({kFine, kCoarse, "bf16", "bf16", 1, 264, 136, 272, false, true, cuda::clustersOf(128, 128, 128, 6)});
}

/// Instructions for 8-bit floats keep fewer bits of sums: only where a product is not one of f32, or f32 may be
/// rounded.
TEST(Float8, WarpgroupsOfWhatMayBeRounded) {
  auto isWide = [](const Bytes &c, const std::string &policy = "") {
    const std::string code = compiledCode("module" + policy + " {\n" + textOf(c) + "}\n");
    return code.find("wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e5m2") != std::string::npos;
  };
  const Bytes sharp{kFine, kCoarse, "f32", "f32", 1, 4096, 4096, 4096},
      half{kFine, kCoarse, "bf16", "bf16", 1, 4096, 4096, 4096};
  EXPECT_FALSE(isWide(sharp));
  EXPECT_TRUE(isWide(sharp, " attributes {sinter.precision = {dot_general = \"tf32\"}}"));
  EXPECT_TRUE(isWide(half));
}

TEST(Float8, AWarpgroupsTileThatDoesNotFitIsToldWhy) {
  auto reasonOf = [](const std::string &schedule, const char *type, bool transposesB, int64_t k) {
    const Bytes c{kFine, kFine, type, type, 1, 64, 64, k, false, transposesB, schedule};
    return test::Program(textOf(c), 2).error;
  };
  auto told = [&](const char *part, const std::string &schedule, const char *type = "bf16", bool transposesB = true,
                  int64_t k = 128) {
    const std::string reason = reasonOf(schedule, type, transposesB, k);
    EXPECT_NE(reason.find(part), std::string::npos) << reason;
  };
  told("nobody allows to round them", groups(64, 64, 3), "f32");
  told("its slab is 128, which are 128 bytes", "wgmma_product, lanes = 256, tile = [64, 64, 64, 64, 64, 3, 1]");
  told("128 columns at most", groups(64, 256, 3));
  told("128 columns at most", cuda::clustersOf(64, 256, 128, 3));
  told("whose k lies inside", groups(64, 64, 3), "bf16", false);
  told("no multiples of 16 bytes apart", groups(64, 64, 3), "bf16", true, 120);
}

/// Without a schedule: the product reads bytes.
TEST(Float8, IsChosen) {
  const Bytes c{kFine, kFine, "f32", "f32", 1, 256, 256, 512};
  const std::string code = codeFor(c, "cpu+cuda");
  EXPECT_NE(code.find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), std::string::npos);
  EXPECT_NE(code.find("cp.async"), std::string::npos);
  expectRight({kFine, kFine, "f32", "f32", 1, 70, 66, 130});
}

TEST(Float8, PtxasFindsNoSpills) {
  if (!hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  const std::string schedule = warps("128, 128, 64, 64, 32, 3, 1", 256);
  for (const char *a : {kFine, kCoarse}) {
    const std::string code = codeFor({a, kFine, "f32", "f32", 1, 4096, 4096, 4096, false, true, schedule}, "cpu+cuda");
    expectNoSpills(code.substr(code.find("\n\n")), 1, 255, {"sm_80", "sm_89", "sm_90", "sm_100"});
  }
}
