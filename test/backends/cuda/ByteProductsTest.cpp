// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of integers of bytes by wgmma, by schedules that are forced, against sums in 64 bits: exactly. Requantized
// results, the ends of what sums hold, mistakes in the code, what ptxas says of it.

#include "ProductCase.h"
#include "Ptxas.h"

using namespace sinter;
using namespace sinter::cuda;

constexpr int64_t kSlab = 128;
constexpr const char *kSigns[] = {"i8", "ui8"};

static std::string groups(int64_t rows, int64_t columns, int64_t stages, int64_t parts = 1) {
  return warpgroupsOf(rows, columns, kSlab, stages, parts);
}

static std::string codeFor(const Case &c, const char *target) { return compiledCode(textOf(c), target); }

/// What is behind the other PTX of a module.
static std::string wideOf(const std::string &code) {
  const std::string marker = "=== sm_90a\n";
  const size_t at = code.find(marker);
  return at == std::string::npos ? "" : code.substr(at + marker.size());
}

static void expectWide(const Case &c, bool isWide = true) {
  expectRight(c, "\nwide ");
  EXPECT_EQ(cuda::count("wgmma"), isWide ? 2u : 0u) << textOf(c); // it runs twice
  EXPECT_EQ(cuda::report(), "");
}

static Case of(const char *a, const char *b, int64_t batch, int64_t m, int64_t n, int64_t k,
               const std::string &schedule, bool isFused = false, bool isDynamic = false) {
  return {{a, b, "i32"}, batch, m, n, k, false, /*transposesB=*/true, isFused, schedule, isDynamic};
}

TEST(ByteProducts, AllPairsAndEdges) {
  const int64_t sizes[][3] = {{64, 64, 128}, {72, 40, 144}, {8, 200, 16}, {136, 72, 400}, {67, 33, 272}, {1, 1, 16}};
  int number = 0;
  for (const char *a : kSigns)
    for (const char *b : kSigns)
      for (const auto &size : sizes) {
        expectWide(of(a, b, 1 + number % 3, size[0], size[1], size[2], groups(64, 64, 3), number % 2 == 1));
        ++number;
      }
  EXPECT_NE(cuda::lastCode().find("wgmma.mma_async.sync.aligned.m64n64k32.s32.u8.u8"), std::string::npos);
}

/// Every tile of the cost model's menu, and the narrowest.
TEST(ByteProducts, AllTilesOfTheMenu) {
  for (auto [rows, columns, stages] :
       {std::tuple(128, 256, 4), std::tuple(128, 128, 6), std::tuple(128, 64, 8), std::tuple(64, 256, 5),
        std::tuple(64, 128, 8), std::tuple(64, 64, 12), std::tuple(64, 32, 2)})
    expectWide(of("ui8", "i8", 1, rows + 8, columns + 8, 272, groups(rows, columns, stages), true));
}

/// More tiles than blocks; parts of k, of which the last may have fewer slabs or none; sizes of each call.
TEST(ByteProducts, TilesPartsAndSizes) {
  expectWide(of("i8", "i8", 3, 320, 192, 272, groups(64, 64, 3)));
  for (auto [k, parts] : {std::pair(16, 4), std::pair(656, 4), std::pair(656, 3), std::pair(1280, 2)}) {
    const Case c = of("ui8", "i8", 2, 72, 104, k, groups(64, 64, 3, parts), k != 656);
    expectWide(c);
    EXPECT_NE(cuda::lastCode().find("\nthen sinter_k0_contraction_join block 256\n\n"), std::string::npos);
    setenv("SINTER_CUDA_WGMMA", "off", 1);
    expectWide(c, /*isWide=*/false);
    unsetenv("SINTER_CUDA_WGMMA");
  }
  expectWide(of("ui8", "i8", 2, 72, 104, 208, groups(64, 64, 3), false, /*isDynamic=*/true));
  expectWide(of("i8", "i8", 1, 40, 40, 41, groups(64, 64, 3), false, /*isDynamic=*/true), /*isWide=*/false);
}

//===- Ends of ranges -------------------------------------------------------------------------------------===//

/// All of a and all of b one byte, k times: sums are modulo 2^32.
static void expectSum(const char *a, const char *b, int64_t x, int64_t y, int64_t k) {
  const Case c = of(a, b, 1, 8, 8, k, groups(64, 32, 4));
  test::Program program(textOf(c), 2);
  ASSERT_EQ(program.error, "");
  std::vector<HostTensor> inputs;
  const llvm::SmallVector<int64_t> shapes[] = {{1, 8, k}, {1, 8, k}, {8}, {1, 8, 8}};
  const int64_t values[] = {x, y, 0, 0};
  for (auto [i, type] : llvm::enumerate(program.function().getArgumentTypes())) {
    inputs.emplace_back(mlir::getElementTypeOrSelf(type), shapes[i]);
    for (int64_t at = 0; at < inputs.back().numElements(); ++at)
      inputs.back().setInt(at, values[i]);
  }
  auto results = program.run(inputs);
  ASSERT_TRUE(results) << program.error << cuda::report();
  EXPECT_EQ(cuda::count("wgmma"), 1u);
  for (int64_t at = 0; at < 64; ++at)
    ASSERT_EQ((*results)[0].getInt(at), int32_t(uint32_t(uint64_t(x * y * k))))
        << a << " " << b << " " << x << " " << y;
}

TEST(ByteProducts, EndsOfRanges) {
  for (int64_t k : {16, 4096}) {
    expectSum("i8", "i8", -128, -128, k);
    expectSum("i8", "i8", -128, 127, k);
    expectSum("ui8", "i8", 255, -128, k);
    expectSum("i8", "ui8", -128, 255, k);
    expectSum("ui8", "ui8", 255, 255, k);
  }
  // All bits of an i32: the least number, and one that is beyond the largest.
  expectSum("ui8", "i8", 255, -128, 65792);
  expectSum("ui8", "ui8", 255, 255, 33040);
}

//===- Requantization -------------------------------------------------------------------------------------===//

/// round((sum (a - 7) (b - 0)) 2^-9) + 3 as bytes: what zero points add is a number for each column, `fix`.
static std::string requantized(int64_t m, int64_t n, int64_t k, const std::string &schedule) {
  auto shaped = [](int64_t rows, int64_t columns, const char *type) { return tensorText({rows, columns}, type); };
  const std::string x = shaped(m, k, "ui8"), y = shaped(n, k, "i8"), sums = shaped(m, n, "i32"),
                    numbers = shaped(m, n, "f32"), result = shaped(m, n, "ui8"), fix = tensorText({n}, "i32");
  auto spread = [](const char *name, const std::string &value, const std::string &axes, const std::string &from,
                   const std::string &to) {
    return std::string("    %") + name + " = sinter.broadcast %" + value + " axes = [" + axes + "] {type = " + to +
           "} : (" + from + ") -> " + to + "\n";
  };
  auto binary = [](const char *op, const char *name, const char *a, const char *b, const std::string &type) {
    return std::string("    %") + name + " = sinter." + op + " %" + a + ", %" + b + " : (" + type + ", " + type +
           ") -> " + type + "\n";
  };
  return "func.func @f(%x: " + x + ", %y: " + y + ", %z: " + fix + ") -> " + result +
         " {\n  %0 = sinter.kernel contraction(%x, %y, %z) {schedule = #sinter.schedule<" + schedule + ">} : (" + x +
         ", " + y + ", " + fix + ") -> " + result + " {\n  ^bb0(%p: " + x + ", %q: " + y + ", %t: " + fix +
         "):\n    %d = sinter.dot_general %p, %q {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = " +
         "array<i64: 1>, rhs_contract = array<i64: 1>, element_type = i32} : (" + x + ", " + y + ") -> " + sums + "\n" +
         spread("s", "t", "1", fix, sums) + binary("sub", "e", "d", "s", sums) +
         "    %g = sinter.convert %e {element_type = f32} : (" + sums + ") -> " + numbers +
         "\n    %scale = sinter.constant dense<0.001953125> : tensor<f32>\n    %three = sinter.constant dense<3.0> : " +
         "tensor<f32>\n" + spread("h", "scale", "", "tensor<f32>", numbers) + binary("mul", "i", "g", "h", numbers) +
         "    %j = sinter.round %i : (" + numbers + ") -> " + numbers + "\n" +
         spread("l", "three", "", "tensor<f32>", numbers) + binary("add", "o", "j", "l", numbers) +
         "    %r = sinter.convert %o {element_type = ui8} : (" + numbers + ") -> " + result +
         "\n    sinter.yield(%r) : " + result + "\n  }\n  return %0 : " + result + "\n}\n";
}

static void expectRequantized(int64_t m, int64_t n, int64_t k, const std::string &schedule) {
  const std::string text = requantized(m, n, k, schedule);
  SCOPED_TRACE(text);
  test::Program program(text, 2);
  ASSERT_EQ(program.error, "");
  std::mt19937 random(11);
  std::vector<HostTensor> inputs;
  const llvm::SmallVector<int64_t> shapes[] = {{m, k}, {n, k}, {n}};
  for (auto [i, type] : llvm::enumerate(program.function().getArgumentTypes())) {
    inputs.emplace_back(mlir::getElementTypeOrSelf(type), shapes[i]);
    for (int64_t at = 0; at < inputs.back().numElements(); ++at)
      inputs.back().setInt(at, i == 0 ? int64_t(random() % 256) : i == 1 ? int64_t(random() % 256) - 128 : 0);
  }
  for (int64_t j = 0; j < n; ++j) {
    int64_t sum = 0;
    for (int64_t i = 0; i < k; ++i)
      sum += inputs[1].getInt(j * k + i);
    inputs[2].setInt(j, 7 * sum);
  }
  auto results = program.run(inputs);
  ASSERT_TRUE(results) << program.error << cuda::report();
  EXPECT_EQ(cuda::report(), "");
  EXPECT_EQ(cuda::count("wgmma"), 1u);
  bool hasMiddle = false;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      int64_t sum = 0;
      for (int64_t at = 0; at < k; ++at)
        sum += (inputs[0].getInt(i * k + at) - 7) * inputs[1].getInt(j * k + at);
      const double wanted = std::clamp(std::nearbyint(double(sum) / 512) + 3, 0.0, 255.0); // ties to even
      hasMiddle |= wanted > 0 && wanted < 255;
      ASSERT_EQ((*results)[0].getInt(i * n + j), int64_t(wanted)) << i << " " << j;
    }
  EXPECT_TRUE(hasMiddle);
}

TEST(ByteProducts, RequantizedAtOnce) {
  expectRequantized(72, 104, 144, groups(64, 64, 3));
  expectRequantized(67, 33, 272, groups(64, 32, 3)); // columns one by one
  expectRequantized(136, 264, 144, groups(128, 256, 4));
  expectRequantized(72, 104, 656, groups(64, 64, 3, 3));
}

//===- Choices ----------------------------------------------------------------------------------------------===//

TEST(ByteProducts, ATileThatDoesNotFitIsToldWhy) {
  auto told = [](const char *part, Case c) {
    const std::string error = test::Program(textOf(c), 2).error;
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  Case turned = of("i8", "i8", 1, 64, 64, 128, groups(64, 64, 3));
  turned.transposesB = false;
  told("it multiplies bytes whose k lies inside", turned);
  turned.transposesA = turned.transposesB = true;
  told("it multiplies bytes whose k lies inside", turned);
  told("its slab is 128, which are 128 bytes", of("i8", "i8", 1, 64, 64, 128, warpgroupsOf(64, 64, 64, 3)));
  told("no multiples of 16 bytes apart", of("i8", "i8", 1, 64, 64, 120, groups(64, 64, 3)));
  told("do not fit into 227 KiB", of("i8", "i8", 1, 64, 64, 128, groups(128, 256, 5)));
}

/// A large product is one of wgmma beside one of mma.sync; a small one, and those of other generations, of the latter.
TEST(ByteProducts, WhichAreChosen) {
  auto has = [](const std::string &code, const char *part) { return code.find(part) != std::string::npos; };
  const std::string code = codeFor(of("ui8", "i8", 1, 4096, 4096, 4096, ""), "cpu+cuda");
  EXPECT_TRUE(has(code, "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8") &&
              has(code, "map 0 u8 4096,4096 4096 128,128\n"));
  EXPECT_TRUE(has(wideOf(code), "wgmma.mma_async.sync.aligned.m64n256k32.s32.u8.s8"));
  EXPECT_TRUE(has(codeFor(of("i8", "i8", 1, 512, 512, 8192, ""), "cpu+cuda"), "\nwide sinter_k0_contraction_wide "));
  EXPECT_FALSE(has(codeFor(of("i8", "i8", 1, 128, 128, 128, ""), "cpu+cuda"), "sm_90a"));
  EXPECT_FALSE(has(codeFor(of("i8", "i8", 1, 4096, 4096, 4096, ""), "cpu+cuda:sm_100"), "sm_90a"));
}

/// Bytes of both signs are of PTX 8.4: a driver that does not know it has the kernels beside them run.
TEST(ByteProducts, DriversThatDoNotMixSigns) {
  const Case same = of("i8", "i8", 1, 72, 104, 144, groups(64, 64, 3)),
             mixed = of("ui8", "i8", 1, 72, 104, 144, groups(64, 64, 3));
  auto versionOf = [](const std::string &ptx) { return ptx.substr(ptx.find(".version"), 12); };
  EXPECT_EQ(versionOf(wideOf(codeFor(same, "cpu+cuda"))), ".version 8.0");
  EXPECT_EQ(versionOf(wideOf(codeFor(mixed, "cpu+cuda"))), ".version 8.4");
  EXPECT_EQ(versionOf(codeFor(mixed, "cpu+cuda")), ".version 7.0");
  EXPECT_EQ(versionOf(codeFor(same, "cpu+cuda:sm_90a")), ".version 8.0");
  EXPECT_EQ(versionOf(codeFor(mixed, "cpu+cuda:sm_90a")), ".version 8.4");
  setenv("SINTER_PTX_VERSION", "8.3", 1);
  expectWide(same);
  expectWide(mixed, /*isWide=*/false);
  unsetenv("SINTER_PTX_VERSION");
  expectWide(mixed);
}

/// Other results than i32 of bytes are threads'.
TEST(ByteProducts, OtherSumsAreOfThreads) {
  const Case c{{"i8", "i8", "i8"}, 1, 64, 64, 128, false, true, false, groups(64, 64, 3)};
  const std::string error = test::Program(textOf(c), 2).error;
  EXPECT_NE(error.find("it multiplies f16, bf16 and bytes alone"), std::string::npos) << error;
}

//===- ptxas ------------------------------------------------------------------------------------------------===//

TEST(ByteProducts, PtxasFindsNoSpills) {
  if (!hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  for (auto [rows, columns, stages] : {std::tuple(128, 256, 4), std::tuple(128, 128, 6), std::tuple(128, 64, 8),
                                       std::tuple(64, 256, 5), std::tuple(64, 128, 8), std::tuple(64, 64, 12)}) {
    SCOPED_TRACE(groups(rows, columns, stages));
    const int registers = rows == 128 ? 168 : 255;
    for (int64_t parts : {1, 4})
      expectNoSpills(
          wideOf(codeFor(of("i8", "ui8", 2, 4096, 4096, 4096, groups(rows, columns, stages, parts), true), "cpu+cuda")),
          1, registers, {"sm_90a"});
    const std::string code = compiledCode(requantized(4096, 4096, 4096, groups(rows, columns, stages)));
    expectNoSpills(wideOf(code), 1, registers, {"sm_90a"});
  }
  expectNoSpills(wideOf(codeFor(of("ui8", "i8", 1, 1, 1, 1, groups(128, 256, 4), false, true), "cpu+cuda")), 1, 168,
                 {"sm_90a"});
}

//===- Mistakes ---------------------------------------------------------------------------------------------===//

/// What is wrong with a product of two tiles and six slabs whose code is changed so; empty for nothing.
static std::string wrongOf(const std::function<void(std::string &)> &edit) {
  cuda::editCode(edit);
  const Case c = of("ui8", "i8", 1, 128, 64, 720, groups(64, 64, 3));
  test::Program program(textOf(c), 2);
  cuda::editCode(nullptr);
  if (!program.error.empty())
    return program.error;
  std::mt19937 random(5);
  std::vector<HostTensor> inputs;
  const llvm::SmallVector<int64_t> shapes[] = {{1, c.m, c.k}, {1, c.n, c.k}, {c.n}, {1, c.m, c.n}};
  for (auto [i, type] : llvm::enumerate(program.function().getArgumentTypes())) {
    inputs.emplace_back(mlir::getElementTypeOrSelf(type), shapes[i]);
    for (int64_t at = 0; at < inputs.back().numElements(); ++at)
      inputs.back().setInt(at, int64_t(random() % 256) - (i == 0 ? 0 : 128));
  }
  auto expected = program.evaluate(inputs);
  auto actual = program.run(inputs);
  if (!actual || !cuda::report().empty())
    return program.error + cuda::report();
  for (int64_t i = 0; i < (*actual)[0].numElements(); ++i)
    if ((*actual)[0].getInt(i) != (*expected)[0].getInt(i))
      return "element " + std::to_string(i);
  return "";
}

TEST(ByteProducts, MistakesAreCaught) {
  EXPECT_EQ(wrongOf(nullptr), "");
  const std::tuple<const char *, const char *, const char *> mutants[] = {
      {"a with a sign", "k32\\.s32\\.u8\\.s8", "k32.s32.s8.s8"},
      {"b without a sign", "k32\\.s32\\.u8\\.s8", "k32.s32.u8.u8"},
      {"sums that begin anew", "(wgmma\\.mma_async.*\\}, a, b, )1;", "$010;"},
      {"half of a step of k", "(add\\.s64 a, .*), 2;", "$1, 1;"},
      {"a step of k too far", "(add\\.s64 b, .*), 4;", "$1, 6;"},
      {"the same 32 k twice", "(add\\.s64 a, .*), 6;", "$1, 4;"},
      {"a product that is not waited for", "wgmma\\.wait_group\\.sync\\.aligned 0;", ""},
      {"two under way where a place is given", "wgmma\\.wait_group\\.sync\\.aligned 1;",
       "wgmma.wait_group.sync.aligned 2;"},
      {"no fence of registers", "wgmma\\.fence\\.sync\\.aligned;", ""},
      {"boxes of half the k", "(map 0 u8 .*) 128,64", "$1 64,64"},
      {"another stride", "map 1 u8 720,64 720", "map 1 u8 720,64 736"},
      {"rows that are not there", "map 0 u8 720,128 720", "map 0 u8 720,120 720"},
      {"k that is not there", "map 1 u8 720,64", "map 1 u8 704,64"},
  };
  for (auto [what, pattern, by] : mutants) {
    bool isMade = false;
    const std::string told = wrongOf([&](std::string &code) {
      const size_t at = code.find("\nwide "); // what is before is not run
      const std::string changed =
          std::regex_replace(code.substr(at), std::regex(pattern), by, std::regex_constants::format_first_only);
      isMade = changed != code.substr(at);
      code = code.substr(0, at) + changed;
    });
    EXPECT_TRUE(isMade) << what << "\n" << wideOf(cuda::lastCode());
    EXPECT_NE(told, "") << what;
  }
  codeFor(of("i8", "i8", 1, 8, 8, 16, ""), "cpu+cuda"); // forgets what the machine told, which was asked for
}
