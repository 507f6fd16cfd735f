// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of 16-bit numbers by weights of 8-bit floats, whose bytes are read from memory, against sums in f64 of what
// the formats' definitions say of them.

#include "Float8Bytes.h"
#include "ProductCase.h"
#include "Ptxas.h"

using namespace sinter;
using namespace sinter::cuda;

namespace {
struct Weights {
  std::string format, element, result;
  int64_t batch, m, n, k;
  bool transposesB = false, isScaled = false; // a scale for each k
  std::string schedule = "";
  bool isDynamic = false, isLeft = false; // weights are the left operand, [k, n] all the same
};
} // namespace

static std::string textOf(const Weights &c) {
  const bool any = c.isDynamic;
  const std::string x = tensorText({c.batch, c.m, c.k}, c.element, !any);
  auto shaped = [&](const std::string &type) {
    return c.transposesB ? tensorText({c.batch, c.n, c.k}, type, !any) : tensorText({c.batch, c.k, c.n}, type, !any);
  };
  const std::string bytes = shaped("ui8"), numbers = shaped(c.element), scales = tensorText({c.k}, c.element, !any),
                    sums = std::to_string(c.transposesB ? 2 : 1),
                    result = c.isLeft ? tensorText({c.batch, c.n, c.m}, c.result, !any)
                                      : tensorText({c.batch, c.m, c.n}, c.result, !any);
  std::string text = "func.func @f(%x: " + x + ", %y: " + bytes + ", %s: " + scales + ") -> " + result +
                     " {\n  %0 = sinter.kernel contraction(%x, %y, %s)" +
                     (c.schedule.empty() ? "" : " {schedule = #sinter.schedule<" + c.schedule + ">}") + " : (" + x +
                     ", " + bytes + ", " + scales + ") -> " + result + " {\n  ^bb0(%p: " + x + ", %q: " + bytes +
                     ", %t: " + scales + "):\n    %u = sinter.decode_float8 %q {format = " + c.format +
                     ", element_type = " + c.element + "} : (" + bytes + ") -> " + numbers + "\n";
  if (c.isScaled && any)
    text += "    %w = sinter.broadcast %t like(%u) axes = [" + sums + "] {type = " + numbers + "} : (" + scales + ", " +
            numbers + ") -> " + numbers + "\n";
  else if (c.isScaled)
    text += "    %w = sinter.broadcast %t axes = [" + sums + "] {type = " + numbers + "} : (" + scales + ") -> " +
            numbers + "\n";
  if (c.isScaled)
    text += "    %v = sinter.mul %u, %w : (" + numbers + ", " + numbers + ") -> " + numbers + "\n";
  const std::string weights = c.isScaled ? "%v" : "%u", ofX = "array<i64: 2>", ofWeights = "array<i64: " + sums + ">";
  text += "    %d = sinter.dot_general " + (c.isLeft ? weights + ", %p" : "%p, " + weights) +
          " {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = " + (c.isLeft ? ofWeights : ofX) +
          ", rhs_contract = " + (c.isLeft ? ofX : ofWeights) + ", element_type = " + c.result + "} : (" +
          (c.isLeft ? numbers + ", " + x : x + ", " + numbers) + ") -> " + result;
  return text + "\n    sinter.yield(%d) : " + result + "\n  }\n  return %0 : " + result + "\n}\n";
}

/// What is wrong with the results, empty where they are right. `bytes` and `xs` are drawn where they are not given.
static std::string wrongOf(const Weights &c, std::vector<uint8_t> bytes = {}, std::vector<double> xs = {}) {
  test::Program program(textOf(c), 2);
  if (!program.error.empty())
    return program.error;
  std::mt19937 random(uint32_t(c.m * 31 + c.n * 7 + c.k));
  if (bytes.empty())
    bytes = drawnBytes(random, c.batch * c.n * c.k, c.format,
                       /*isSmall=*/c.result == "f16" || (c.isScaled && c.element == "f16"));
  using Shape = llvm::SmallVector<int64_t>;
  const Shape shapes[] = {
      {c.batch, c.m, c.k}, c.transposesB ? Shape{c.batch, c.n, c.k} : Shape{c.batch, c.k, c.n}, {c.k}};
  std::vector<HostTensor> inputs;
  std::vector<std::vector<double>> values;
  for (auto [i, type] : llvm::enumerate(program.function().getArgumentTypes())) {
    inputs.emplace_back(mlir::getElementTypeOrSelf(type), shapes[i]);
    values.push_back(i == 0 && !xs.empty() ? xs : drawn(random, inputs.back(), i == 1 ? "ui8" : "f16"));
    if (i == 1)
      std::memcpy(inputs.back().data(), bytes.data(), bytes.size());
    else
      inputs.back().assignFloats(values.back());
  }
  auto results = program.run(inputs);
  if (!results || !cuda::report().empty())
    return program.error + cuda::report();
  const HostTensor &result = (*results)[0];
  for (int64_t batch = 0; batch < c.batch; ++batch)
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t k = 0; k < c.k; ++k) {
          const uint8_t byte = bytes[size_t(batch * c.n * c.k + (c.transposesB ? j * c.k + k : k * c.n + j))];
          const double term = values[0][size_t((batch * c.m + i) * c.k + k)] * numberOf(byte, c.format) *
                              (c.isScaled ? values[2][size_t(k)] : 1);
          sum += term;
          magnitude += std::fabs(term);
        }
        const double actual = result.getFloat(batch * c.m * c.n + (c.isLeft ? j * c.m + i : i * c.n + j)),
                     allowed = std::fabs(sum) * epsilonOf(c.result) +
                               magnitude * (c.isScaled ? epsilonOf(c.element) / 2 : 1e-6);
        const bool isRight = std::isnan(sum)   ? std::isnan(actual)
                             : std::isinf(sum) ? actual == sum
                                               : std::fabs(actual - sum) <= allowed;
        if (!isRight)
          return "element " + std::to_string(batch) + " " + std::to_string(i) + " " + std::to_string(j) + " is " +
                 std::to_string(actual) + ", not " + std::to_string(sum);
      }
  return "";
}

static void expectRight(const Weights &c) { EXPECT_EQ(wrongOf(c), "") << textOf(c); }

static std::string codeFor(const Weights &c, const char *target = "cpu+cuda") {
  return compiledCode(textOf(c), target);
}

static const char *const kElements[] = {"f16", "bf16"}, *const kFormats[] = {kFine, kCoarse};

TEST(Float8Weights, EdgesInBothDirections) {
  const int64_t sizes[][3] = {{1, 1, 1}, {33, 64, 80}, {40, 32, 72}, {37, 29, 67}, {64, 40, 128}, {3, 8, 0}};
  int number = 0;
  for (const char *format : kFormats)
    for (const char *element : kElements)
      for (const auto &size : sizes) {
        expectRight({format, element, number % 4 ? "f32" : element, 1 + number % 2, size[0], size[1], size[2],
                     number % 3 == 1, number % 5 == 2, warpSchedule("32, 32, 32, 16, 16, 3, 1", 128)});
        ++number;
      }
}

TEST(Float8Weights, AllTilesOfTheMenu) {
  int number = 0;
  for (const char *tile : {"128, 128, 32, 64, 32, 3, 1", "128, 64, 32, 32, 32, 3, 1", "64, 64, 32, 32, 32, 3, 1",
                           "64, 32, 32, 16, 32, 3, 1", "32, 32, 64, 16, 16, 3, 1", "16, 64, 64, 16, 16, 3, 1"}) {
    int64_t rows = 0, columns = 0, down = 0, across = 0;
    std::sscanf(tile, "%ld, %ld, %*d, %ld, %ld", &rows, &columns, &down, &across);
    const std::string schedule = warpSchedule(tile, rows / down * (columns / across) * 32);
    for (bool isLeft : {false, true})
      expectRight({kFine, "f16", "f32", 1, rows + 1, columns + 8, 96, number++ % 2 == 1, number % 3 == 0, schedule,
                   false, isLeft});
  }
}

TEST(Float8Weights, PartsAndSizesOfEachCall) {
  expectRight({kFine, "bf16", "bf16", 1, 33, 40, 160, true, false, warpSchedule("32, 32, 32, 16, 16, 3, 4", 128)});
  for (int64_t k : {96, 99})
    for (int64_t n : {40, 45})
      expectRight(
          {kFine, "f16", "f32", 2, 37, n, k, k == 96, n == 40, warpSchedule("32, 32, 32, 16, 16, 3, 1", 128), true});
}

/// Column j has byte j at one k, and zeros (of either sign) elsewhere; x is all ones: sums are the bytes' numbers.
static std::string wrongOfAllBytes(const char *format, const char *element, bool transposesB,
                                   const std::string &schedule = warpSchedule("16, 64, 64, 16, 16, 3, 1", 128)) {
  const int64_t n = 256, k = 40;
  const Weights c{format, element, "f32", 1, 16, n, k, transposesB, false, schedule};
  std::vector<uint8_t> bytes(size_t(n * k));
  for (int64_t j = 0; j < n; ++j) {
    const int64_t at = j * 7 % k;
    bytes[size_t(transposesB ? j * k + at : at * n + j)] = uint8_t(j);
  }
  return wrongOf(c, bytes, std::vector<double>(size_t(16 * k), 1));
}

/// NaN and infinity, too: by operations on bits, and for sm_90 by the instruction for two of them.
TEST(Float8Weights, EachByteIsItsNumber) {
  for (const char *format : kFormats)
    for (const char *element : kElements)
      for (bool transposesB : {false, true})
        EXPECT_EQ(wrongOfAllBytes(format, element, transposesB), "") << format << " " << element;
  const OnHopper hopper;
  for (bool transposesB : {false, true}) {
    EXPECT_EQ(wrongOfAllBytes(kFine, "f16", transposesB), "");
    EXPECT_NE(cuda::lastCode().find("cvt.rn.f16x2.e4m3x2"), std::string::npos);
  }
}

/// Every operation on bits is needed.
TEST(Float8Weights, MistakesAreCaught) {
  const std::tuple<const char *, const char *, const char *, const char *> mutants[] = {
      {kFine, "f16", ", 0x1404U;", ", 0x4140U;"},       {kFine, "f16", ", 0x3424U;", ", 0x2434U;"},
      {kFine, "f16", ", 2130738944;", ", 2130706432;"}, {kFine, "f16", ", -2147450880;", ", 32768;"},
      {kFine, "f16", ", 16777472;", ", 256;"},          {kFine, "bf16", ", 16777472;", ", 256;"},
      {kCoarse, "bf16", ", 67109888;", ", 67108864;"},  {kFine, "f16", "mul.rn.f16x2", "add.rn.f16x2"}};
  for (auto [format, element, text, by] : mutants) {
    size_t made = 0;
    cuda::editCode([&, text = text, by = by](std::string &code) {
      for (size_t at = 0; (at = code.find(text, at)) != std::string::npos; at += std::strlen(by), ++made)
        code.replace(at, std::strlen(text), by);
    });
    EXPECT_NE(wrongOfAllBytes(format, element, false), "") << text;
    EXPECT_GT(made, 0u) << text;
    cuda::editCode(nullptr);
  }
}

/// Bytes are what memory holds, eight of them at once.
TEST(Float8Weights, AreReadAsBytes) {
  const std::string code = codeFor({kFine, "f16", "f32", 1, 256, 256, 512, true});
  EXPECT_NE(code.find("_contraction block"), std::string::npos);
  EXPECT_NE(code.find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), std::string::npos);
  EXPECT_NE(code.find("ld.global.b64"), std::string::npos);
  EXPECT_NE(code.find("cp.async"), std::string::npos); // of the other operand
}

TEST(Float8Weights, PtxasFindsNoSpills) {
  if (!hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  const std::string schedule = warpSchedule("128, 128, 32, 64, 32, 3, 1", 256);
  for (const char *element : kElements)
    for (bool transposesB : {false, true})
      for (bool isScaled : {false, true}) {
        const std::string code = codeFor({kFine, element, "f32", 1, 4096, 4096, 4096, transposesB, isScaled, schedule});
        expectNoSpills(code.substr(code.find("\n\n")), 1, 255, {"sm_80", "sm_89", "sm_90", "sm_100"});
      }
}

//===- wgmma ----------------------------------------------------------------------------------------------===//

static std::string groups(int64_t rows, int64_t columns, int64_t stages, int64_t parts = 1) {
  return cuda::warpgroupsOf(rows, columns, /*slab=*/64, stages, parts);
}

static void expectWide(const Weights &c) {
  expectRight(c);
  EXPECT_EQ(cuda::count("wgmma"), 1u) << textOf(c);
}

TEST(Float8Weights, WarpgroupsOfEdgesInBothDirections) {
  const int64_t sizes[][3] = {{64, 64, 64}, {70, 40, 72}, {8, 200, 16}, {136, 72, 200}};
  int number = 0;
  for (const char *format : kFormats)
    for (const char *element : kElements)
      for (const auto &size : sizes) {
        const bool isLeft = number % 4 == 3;
        expectWide({format, element, number % 3 ? "f32" : element, 1 + number % 2, isLeft ? size[0] / 8 * 8 : size[0],
                    size[1], size[2], number % 2 == 1, number % 5 == 2, groups(64, 64, 3), false, isLeft});
        ++number;
      }
}

TEST(Float8Weights, WarpgroupsOfAllTilesOfTheMenu) {
  int number = 0;
  for (auto [rows, columns, stages] :
       {std::tuple(128, 128, 6), std::tuple(128, 64, 8), std::tuple(64, 128, 8), std::tuple(64, 64, 12)}) {
    const bool isLeft = number % 2 == 1; // then weights are the rows
    expectWide({kFine, "f16", "f32", 1, isLeft ? columns + 8 : rows + 8, isLeft ? rows + 8 : columns + 8, 136,
                number % 3 == 0, false, groups(rows, columns, stages), false, isLeft});
    ++number;
  }
  // More tiles than blocks, parts of k, columns of one box, sizes of each call: bytes at any address, too.
  expectWide({kFine, "bf16", "f32", 3, 320, 192, 136, false, false, groups(64, 64, 3)});
  expectWide({kFine, "bf16", "f32", 2, 72, 104, 656, true, false, groups(64, 64, 3, 4)});
  expectWide({kCoarse, "f16", "f32", 1, 72, 104, 144, true, true, groups(64, 32, 3)});
  for (int64_t n : {104, 45})
    expectWide({kFine, "f16", "f32", 1, 72, n, 144, false, n == 45, groups(64, 64, 3), true});
}

TEST(Float8Weights, WarpgroupsOfAllBytes) {
  for (const char *format : kFormats)
    for (const char *element : kElements) {
      EXPECT_EQ(wrongOfAllBytes(format, element, true, groups(64, 64, 3)), "") << format << " " << element;
      EXPECT_EQ(cuda::count("wgmma"), 1u);
      EXPECT_EQ(cuda::lastCode().find("cvt.rn.f16x2.e4m3x2") != std::string::npos,
                format == kFine && element == kElements[0]);
    }
}

/// Large products are by wgmma: memory bounds small ones.
TEST(Float8Weights, WarpgroupsAreChosen) {
  auto isWide = [](int64_t m, int64_t n, int64_t k) {
    return codeFor({kFine, "bf16", "bf16", 1, m, n, k, true}).find("\nwide ") != std::string::npos;
  };
  EXPECT_TRUE(isWide(4096, 4096, 4096));
  EXPECT_FALSE(isWide(16, 256, 256));
}

TEST(Float8Weights, AWarpgroupsProductThatDoesNotFitIsToldWhy) {
  auto reasonOf = [](const Weights &c) { return test::Program(textOf(c), 2).error; };
  EXPECT_NE(reasonOf({kFine, "f16", "f32", 1, 64, 64, 64, true, false, groups(64, 256, 3)})
                .find("bytes that become numbers of 16 bits take registers: 128 columns at most"),
            std::string::npos);
  EXPECT_NE(reasonOf({kFine, "f16", "f32", 1, 64, 64, 68, true, false, groups(64, 64, 3)})
                .find("rows of 8-bit floats are no multiples of 8 bytes apart"),
            std::string::npos);
  const std::string text =
      "func.func @f(%x: tensor<64x64xui8>, %s: tensor<64xf16>) -> tensor<64x64xf16> {\n"
      "  %0 = sinter.kernel contraction(%x, %s) {schedule = #sinter.schedule<" +
      groups(64, 64, 3) +
      ">} : (tensor<64x64xui8>, tensor<64xf16>) -> tensor<64x64xf16> {\n"
      "  ^bb0(%p: tensor<64x64xui8>, %t: tensor<64xf16>):\n"
      "    %u = sinter.decode_float8 %p {format = f8E5M2, element_type = f16} : (tensor<64x64xui8>) -> "
      "tensor<64x64xf16>\n"
      "    %w = sinter.broadcast %t axes = [1] {type = tensor<64x64xf16>} : (tensor<64xf16>) -> tensor<64x64xf16>\n"
      "    %v = sinter.mul %u, %w : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>\n"
      "    %d = sinter.dot_general %v, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = "
      "array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f16} : (tensor<64x64xf16>, tensor<64x64xf16>) -> "
      "tensor<64x64xf16>\n"
      "    sinter.yield(%d) : tensor<64x64xf16>\n  }\n  return %0 : tensor<64x64xf16>\n}\n";
  EXPECT_NE(test::Program(text, 2).error.find("both operands are made of bytes"), std::string::npos);
}

/// Threads that make numbers of bytes: what they wrote is shown to wgmma before it is told to be there.
TEST(Float8Weights, WarpgroupsMistakesAreCaught) {
  const Weights c{kFine, "bf16", "f32", 1, 72, 72, 200, true, false, groups(64, 64, 3)};
  const std::pair<const char *, const char *> mutants[] = {{"fence.proxy.async.shared::cta;", ""}, // of all
                                                           {"\tmov.b32 \t%r", nullptr}, // an arrival too few, below
                                                           {"0x1404U", "0x1424U"}};
  for (auto [text, by] : mutants) {
    size_t made = 0;
    cuda::editCode([&, text = text, by = by](std::string &code) {
      const size_t wide = code.find("=== sm_90a");
      std::regex arrivals(R"((\tmov\.b32 \t%r[0-9]+), 5;)");
      if (!by) {
        std::string head = code.substr(0, wide), rest = code.substr(wide);
        made += std::regex_search(rest, arrivals);
        code = head + std::regex_replace(rest, arrivals, "$1, 4;");
        return;
      }
      for (size_t at = wide; (at = code.find(text, at)) != std::string::npos; at += std::strlen(by), ++made)
        code.replace(at, std::strlen(text), by);
    });
    EXPECT_NE(wrongOf(c), "") << text;
    EXPECT_GT(made, 0u) << text;
    cuda::editCode(nullptr);
  }
  EXPECT_EQ(wrongOf(c), "");
}

/// Two warpgroups that multiply may have 65,536 registers / 384 threads.
TEST(Float8Weights, PtxasFindsNoSpillsInWarpgroups) {
  if (!hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  for (auto [rows, columns, stages] : {std::tuple(128, 128, 6), std::tuple(64, 128, 8)})
    for (const char *element : kElements)
      for (bool transposesB : {false, true})
        for (bool isScaled : {false, true}) {
          const std::string code = codeFor(
              {kFine, element, "f32", 1, 4096, 4096, 4096, transposesB, isScaled, groups(rows, columns, stages)});
          expectNoSpills(code.substr(code.find("=== sm_90a\n") + 11), 1, rows == 128 ? 168 : 255, {"sm_90a"});
        }
}
