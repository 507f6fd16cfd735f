// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions by tiles, by schedules that are forced, against the sum that defines them; and what ptxas says of tiles.

#include "CudaProgram.h"
#include "Ptxas.h"
#include "test/backends/cpu/Execute.h"
#include <cmath>
#include <random>

using namespace sinter;

namespace {
struct Case {
  const char *type; // of pixels; bytes are multiplied with signed ones, to sums of i32
  int64_t images, channels, features, groups;
  int64_t size[2], taps[2], strides[2], low[2], high[2], spacing[2], dilation[2];
  const char *schedule;
  bool isDynamic = false; // images and their sizes are told when it runs
};

bool isBytes(const Case &c) { return c.type == std::string("i8") || c.type == std::string("ui8"); }

std::string pair(const int64_t (&values)[2]) {
  return "array<i64: " + std::to_string(values[0]) + ", " + std::to_string(values[1]) + ">";
}

std::string tensorOf(const Case &c, const char *type, int64_t first, int64_t channels, const int64_t (&size)[2],
                     bool isFilter = false) {
  std::string text = "tensor<";
  for (int64_t each : {first, size[0], size[1]})
    text += (c.isDynamic && !isFilter ? "?" : std::to_string(each)) + "x";
  return text + std::to_string(channels) + "x" + type + ">";
}

/// Position of (first, channel, y, x) in such a tensor.
size_t at(int64_t channels, const int64_t (&size)[2], int64_t first, int64_t channel, int64_t y, int64_t x) {
  return size_t(((first * size[0] + y) * size[1] + x) * channels + channel);
}

/// Sizes of the result.
std::array<int64_t, 2> sizesOf(const Case &c) {
  std::array<int64_t, 2> out;
  for (size_t i = 0; i < 2; ++i)
    out[i] = ((c.size[i] - 1) * c.spacing[i] + 1 + c.low[i] + c.high[i] - ((c.taps[i] - 1) * c.dilation[i] + 1)) /
                 c.strides[i] +
             1;
  return out;
}

std::string textOf(const Case &c) {
  const std::array<int64_t, 2> sizes = sizesOf(c);
  const int64_t out[2] = {sizes[0], sizes[1]};
  const char *ofFilter = isBytes(c) ? "i8" : c.type, *sum = isBytes(c) ? "i32" : c.type;
  std::string input = tensorOf(c, c.type, c.images, c.channels, c.size);
  std::string filter = tensorOf(c, ofFilter, c.features, c.channels / c.groups, c.taps, /*isFilter=*/true);
  std::string result = tensorOf(c, sum, c.images, c.features, out);
  std::string types = " : (" + input + ", " + filter + ") -> " + result;
  const std::string schedule =
      *c.schedule ? std::string(" {schedule = #sinter.schedule<") + c.schedule + ">}" : std::string();
  return "func.func @f(%x: " + input + ", %w: " + filter + ") -> " + result +
         " {\n  %0 = sinter.kernel convolution(%x, %w)" + schedule + types + " {\n  ^bb0(%a: " + input +
         ", %b: " + filter + "):\n" + "    %c = sinter.convolution %a, %b {strides = " + pair(c.strides) +
         ", low = " + pair(c.low) + ", high = " + pair(c.high) + ", input_dilation = " + pair(c.spacing) +
         ", dilation = " + pair(c.dilation) + ", groups = " + std::to_string(c.groups) + " : i64, " +
         "layout = #sinter<conv_layout channels_last>, " + "element_type = " + sum + "}" + types +
         "\n    sinter.yield(%c) : " + result + "\n  }\n  return %0 : " + result + "\n}\n";
}

void expectRight(const Case &c) {
  const std::array<int64_t, 2> sizes = sizesOf(c);
  const int64_t out[2] = {sizes[0], sizes[1]};
  const std::string text = textOf(c);
  SCOPED_TRACE(text);
  test::Program program(text, 2);
  ASSERT_EQ(program.error, "");
  ASSERT_NE(cuda::lastCode().find("_convolution block "), std::string::npos);
  std::mt19937 random(7);
  std::vector<HostTensor> inputs;
  std::vector<std::vector<double>> values;
  const std::vector<int64_t> shapes[] = {{c.images, c.size[0], c.size[1], c.channels},
                                         {c.features, c.taps[0], c.taps[1], c.channels / c.groups}};
  for (auto [type, shape] : llvm::zip(program.function().getArgumentTypes(), shapes)) {
    inputs.emplace_back(mlir::getElementTypeOrSelf(type), shape);
    values.emplace_back();
    for (int64_t i = 0; i < inputs.back().numElements(); ++i)
      values.back().push_back(isBytes(c) ? double(random() % 256) - (c.type[0] == 'u' && values.size() == 1 ? 0 : 128)
                                         : double(int(random() % 33) - 16) / 8);
    if (isBytes(c))
      inputs.back().assignInts(std::vector<int64_t>(values.back().begin(), values.back().end()));
    else
      inputs.back().assignFloats(values.back());
  }
  auto results = program.run(inputs);
  ASSERT_TRUE(results) << program.error << cuda::report();
  EXPECT_EQ(cuda::report(), "");
  const std::string form = c.schedule;
  EXPECT_EQ(cuda::count("wgmma"), form.starts_with("wgmma") || form.starts_with("cluster") ? 1u : 0u);
  int64_t inGroup = c.channels / c.groups, ofGroup = c.features / c.groups;
  double epsilon = c.type[0] == 'b' ? 0x1p-7 : c.type == std::string("f16") ? 0x1p-10 : 1e-6;
  for (int64_t n = 0; n < c.images; ++n)
    for (int64_t o = 0; o < c.features; ++o)
      for (int64_t y = 0; y < out[0]; ++y)
        for (int64_t x = 0; x < out[1]; ++x) {
          double sum = 0;
          for (int64_t channel = 0; channel < inGroup; ++channel)
            for (int64_t v = 0; v < c.taps[0]; ++v)
              for (int64_t u = 0; u < c.taps[1]; ++u) {
                int64_t row = y * c.strides[0] + v * c.dilation[0] - c.low[0];
                int64_t column = x * c.strides[1] + u * c.dilation[1] - c.low[1];
                if (row < 0 || column < 0 || row % c.spacing[0] || column % c.spacing[1] ||
                    row / c.spacing[0] >= c.size[0] || column / c.spacing[1] >= c.size[1])
                  continue;
                sum += values[0][at(c.channels, c.size, n, o / ofGroup * inGroup + channel, row / c.spacing[0],
                                    column / c.spacing[1])] *
                       values[1][at(inGroup, c.taps, o, channel, v, u)];
              }
          const int64_t place = int64_t(at(c.features, out, n, o, y, x));
          if (isBytes(c))
            ASSERT_EQ((*results)[0].getInt(place), int64_t(sum)) << n << " " << o << " " << y << " " << x;
          else
            ASSERT_NEAR((*results)[0].getFloat(place), sum, epsilon * (1 + std::fabs(sum)))
                << n << " " << o << " " << y << " " << x;
        }
}

const char kThreads[] = "product, lanes = 64, tile = [32, 32, 16, 4, 4, 2, 1]";
const char kParts[] = "product, lanes = 64, tile = [32, 32, 16, 4, 4, 2, 3]";
const char kWarps[] = "mma_product, lanes = 128, tile = [32, 32, 32, 16, 16, 3, 1]";
const char kWide[] = "wgmma_product, lanes = 256, tile = [64, 64, 64, 64, 64, 3, 1]";
const char kWideTwo[] = "wgmma_product, lanes = 384, tile = [128, 64, 64, 64, 64, 5, 1]";
const char kWideParts[] = "wgmma_product, lanes = 256, tile = [64, 64, 64, 64, 64, 4, 3]";
const char kPairs[] = "cluster_product, lanes = 256, tile = [64, 64, 64, 64, 64, 3, 1]";
const char kWideBytes[] = "wgmma_product, lanes = 256, tile = [64, 64, 128, 64, 64, 3, 1]";
const char kWideTwoBytes[] = "wgmma_product, lanes = 384, tile = [128, 64, 128, 64, 64, 5, 1]";
const char kWidePartsOfBytes[] = "wgmma_product, lanes = 256, tile = [64, 64, 128, 64, 64, 4, 3]";
} // namespace

TEST(Convolutions, OfAllForms) {
  // Channels in whole chunks, with padding; other channels; strides, spaces and dilations; groups; a filter alone.
  expectRight({"f32", 2, 8, 12, 1, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, kThreads});
  expectRight({"bf16", 2, 16, 24, 1, {5, 9}, {3, 2}, {2, 1}, {1, 0}, {1, 1}, {1, 1}, {1, 2}, kWarps});
  expectRight({"f32", 1, 5, 9, 1, {5, 4}, {2, 3}, {1, 2}, {2, -1}, {1, 3}, {2, 3}, {2, 1}, kParts});
  expectRight({"bf16", 1, 6, 10, 2, {7, 5}, {1, 3}, {1, 1}, {0, 1}, {0, 1}, {1, 1}, {1, 1}, kWarps});
}

/// Pixels that threads copy: with padding, strides, dilations, groups; slabs of several taps and taps of several slabs;
/// more tiles than blocks; as few slabs at once as there can be.
TEST(Convolutions, OfWarpgroups) {
  expectRight({"bf16", 2, 16, 24, 1, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, kWide});
  expectRight({"f16", 1, 72, 72, 1, {9, 8}, {3, 2}, {2, 1}, {1, 0}, {1, 1}, {1, 1}, {1, 2}, kWideTwo});
  expectRight({"f16", 3, 32, 80, 2, {7, 5}, {1, 3}, {1, 1}, {0, 1}, {0, 1}, {1, 1}, {1, 1}, kWide});
  expectRight({"bf16", 2, 64, 40, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, kWideParts});
  expectRight({"bf16", 2, 64, 40, 1, {9, 9}, {1, 1}, {2, 2}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, kWideTwo});
  expectRight({"f16", 12, 16, 64, 1, {32, 32}, {2, 2}, {1, 1}, {0, 0}, {1, 1}, {1, 1}, {1, 1}, kWide});
  expectRight({"bf16",
               1,
               8,
               8,
               1,
               {3, 3},
               {3, 3},
               {1, 1},
               {1, 1},
               {1, 1},
               {1, 1},
               {1, 1},
               "wgmma_product, lanes = 256, tile = [64, 64, 64, 64, 64, 2, 1]"});
}

/// The same of bytes, exactly.
TEST(Convolutions, OfWarpgroupsAndBytes) {
  expectRight({"i8", 2, 32, 24, 1, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, kWideBytes});
  expectRight({"ui8", 1, 144, 72, 1, {9, 8}, {3, 2}, {2, 1}, {1, 0}, {1, 1}, {1, 1}, {1, 2}, kWideTwoBytes});
  expectRight({"ui8", 3, 64, 80, 2, {7, 5}, {1, 3}, {1, 1}, {0, 1}, {0, 1}, {1, 1}, {1, 1}, kWideBytes});
  expectRight({"i8", 2, 128, 40, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, kWidePartsOfBytes});
  expectRight({"ui8", 2, 128, 40, 1, {9, 9}, {1, 1}, {2, 2}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, kWideTwoBytes});
  expectRight({"i8", 12, 16, 64, 1, {32, 32}, {2, 2}, {1, 1}, {0, 0}, {1, 1}, {1, 1}, {1, 1}, kWideBytes});
  expectRight({"ui8", 2, 48, 40, 1, {6, 7}, {3, 3}, {2, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, kWideBytes, true});
  // Of one tap that goes to each pixel, maps bring both operands.
  expectRight({"ui8", 2, 144, 80, 1, {6, 7}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, kWideBytes});
  EXPECT_NE(cuda::lastCode().find("map 0 u8 144,84 144 128,64\n"), std::string::npos);
  expectRight({"i8", 2, 48, 40, 1, {6, 7}, {3, 3}, {2, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, kWarps});
}

TEST(Convolutions, OfWarpgroupsWithSizesThatOnlyRunningTells) {
  expectRight({"bf16", 2, 24, 40, 1, {6, 7}, {3, 3}, {2, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, kWide, true});
  expectRight({"f16", 3, 64, 72, 1, {5, 9}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, kWideTwo, true});
}

/// The convolution that gives the gradient of an input: what lies between its elements is zero.
TEST(Convolutions, OfWarpgroupsWithSpacesBetweenPixels) {
  expectRight({"bf16", 2, 24, 16, 1, {4, 5}, {3, 3}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {1, 1}, kWide});
  expectRight({"f16", 1, 64, 72, 1, {5, 4}, {2, 3}, {1, 2}, {2, -1}, {1, 3}, {2, 3}, {2, 1}, kWideTwo});
}

/// Of one tap that goes to each pixel, maps bring both operands.
TEST(Convolutions, OfWarpgroupsWithOneTap) {
  for (int64_t groups : {1, 2}) {
    expectRight({"bf16", 2, 144, 80, groups, {6, 7}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, kWide});
    EXPECT_EQ(cuda::lastCode().find("cp.async.cg", cuda::lastCode().find("=== sm_90a")), std::string::npos);
    EXPECT_NE(
        cuda::lastCode().find(groups == 1 ? "map 0 bf16 144,84 288 64,64\n" : "map 0 bf16 72,2,84 144,288 64,1,64\n"),
        std::string::npos)
        << cuda::lastCode().substr(0, 400);
  }
}

/// Which blocks may share.
TEST(Convolutions, OfClustersWithOneTap) {
  for (int64_t groups : {1, 2})
    expectRight({"bf16", 2, 144, 80, groups, {6, 7}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, kPairs});
  expectRight({"f16", 3, 64, 72, 1, {5, 9}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}, kPairs, true});
  const Case several{"bf16", 2, 16, 24, 1, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, kPairs};
  const std::string reason = test::Program(textOf(several), 2).error;
  EXPECT_NE(reason.find("blocks share what tensor maps bring"), std::string::npos) << reason;
}

namespace {
std::string codeOf(const Case &c, const char *target = "cpu+cuda") { return cuda::compiledCode(textOf(c), target); }
} // namespace

/// Convolutions of ResNet-50 with a batch of 64 multiply by wgmma, but the first, which has three channels; so do few
/// pixels with long sums, in parts; what fills few multiprocessors stays with mma.sync.
TEST(Convolutions, WhichAreOfWarpgroups) {
  const char *type = "bf16";
  auto isWide = [&](int64_t images, int64_t size, int64_t channels, int64_t features, int64_t taps, int64_t stride) {
    const int64_t low = taps / 2;
    return codeOf({type,
                   images,
                   channels,
                   features,
                   1,
                   {size, size},
                   {taps, taps},
                   {stride, stride},
                   {low, low},
                   {low, low},
                   {1, 1},
                   {1, 1},
                   ""})
               .find("wgmma.mma_async") != std::string::npos;
  };
  for (auto [size, channels, features, taps, stride] :
       {std::tuple(56, 64, 64, 3, 1), std::tuple(56, 256, 64, 1, 1), std::tuple(56, 128, 128, 3, 2),
        std::tuple(28, 128, 128, 3, 1), std::tuple(28, 512, 1024, 1, 2), std::tuple(14, 256, 256, 3, 1),
        std::tuple(7, 512, 512, 3, 1), std::tuple(7, 512, 2048, 1, 1)})
    EXPECT_TRUE(isWide(64, size, channels, features, taps, stride)) << size << " " << channels << " " << taps;
  EXPECT_FALSE(isWide(64, 224, 3, 64, 7, 2));
  EXPECT_TRUE(isWide(1, 7, 512, 512, 3, 1));
  EXPECT_FALSE(isWide(1, 56, 64, 64, 3, 1));
  EXPECT_FALSE(isWide(2, 7, 64, 64, 3, 1));
  type = "ui8";
  EXPECT_TRUE(isWide(64, 14, 256, 256, 3, 1));
  EXPECT_TRUE(isWide(64, 14, 1024, 256, 1, 1));
  EXPECT_FALSE(isWide(64, 224, 3, 64, 7, 2));
  EXPECT_FALSE(isWide(64, 56, 24, 64, 3, 1)); // chunks of 16 channels
}

TEST(Convolutions, ATileOfWarpgroupsThatDoesNotFitIsToldWhy) {
  const Case c{"bf16", 1, 12, 16, 1, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, kWide};
  test::Program program(textOf(c), 2);
  EXPECT_NE(program.error.find("channels of pixels are no multiples of 16 bytes"), std::string::npos) << program.error;
}

/// No spill, and what two warpgroups that multiply may have beside one that copies.
TEST(ConvolutionPtx, TilesOfWarpgroupsFitIntoRegisters) {
  if (!cuda::hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  for (auto [rows, columns, stages] :
       {std::tuple(128, 256, 4), std::tuple(128, 128, 6), std::tuple(64, 256, 5), std::tuple(64, 64, 12)})
    for (bool isDynamic : {false, true})
      for (int64_t spacing = 1; spacing <= (columns == 256 ? 2 : 1); ++spacing) {
        const std::string schedule = "wgmma_product, lanes = " + std::to_string(128 * (1 + rows / 64)) + ", tile = [" +
                                     std::to_string(rows) + ", " + std::to_string(columns) + ", 64, 64, " +
                                     std::to_string(columns) + ", " + std::to_string(stages) + ", 1]";
        const std::string code = codeOf({"bf16",
                                         64,
                                         64,
                                         256,
                                         1,
                                         {56, 56},
                                         {3, 3},
                                         {1, 1},
                                         {1, 1},
                                         {1, 1},
                                         {spacing, spacing},
                                         {1, 1},
                                         schedule.c_str(),
                                         isDynamic});
        const size_t at = code.find("=== sm_90a\n");
        ASSERT_NE(at, std::string::npos);
        SCOPED_TRACE(schedule + (isDynamic ? " dynamic" : ""));
        const std::string ptx = code.substr(at + 11);
        // Copies, the fence that shows them to products, and boxes of the filter alone.
        for (const char *part : {"cp.async.cg.shared.global", "cp.async.wait_group", "fence.proxy.async.shared::cta",
                                 "cp.async.bulk.tensor.2d", "wgmma.mma_async.sync.aligned.m64n"})
          EXPECT_NE(ptx.find(part), std::string::npos) << part;
        cuda::expectNoSpills(ptx, 1, rows == 128 ? 168 : 255, {"sm_90a"});
      }
}

/// The tiles that large products get: no spills, registers within what lets the block run, and the instructions that
/// they are for.
TEST(ProductPtx, TilesFitIntoRegisters) {
  if (!cuda::hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  std::string text =
      R"(func.func @f(%x: tensor<512x512xf32>, %z: tensor<512x512xf64>, %w: tensor<512x512xi8>, %v: tensor<512x512xbf16>, %u: tensor<512x512xf32>)
      -> (tensor<512x512xf32>, tensor<512x512xf64>, tensor<512x512xi32>, tensor<512x512xbf16>, tensor<512x512xf32>) {
)";
  const char *kernels[][5] = {
      {"x", "f32", "f32", "product, lanes = 256, tile = [128, 128, 16, 8, 8, 2, 1]", "0"},
      {"z", "f64", "f64", "product, lanes = 256, tile = [64, 64, 16, 4, 4, 2, 1]", "0"},
      {"w", "i8", "i32", "mma_product, lanes = 256, tile = [128, 128, 64, 64, 32, 3, 1]", "1"},
      {"v", "bf16", "bf16", "mma_product, lanes = 256, tile = [128, 128, 32, 64, 32, 3, 1]", "0"},
      {"u", "f32", "f32", "tf32_product, lanes = 256, tile = [128, 128, 16, 64, 32, 3, 1]", "0"}};
  for (auto [name, type, result, schedule, axis] : kernels) {
    std::string from = std::string("tensor<512x512x") + type + ">", to = std::string("tensor<512x512x") + result + ">";
    std::string types = " : (" + from + ", " + from + ") -> " + to;
    text += std::string("  %r") + name + " = sinter.kernel contraction(%" + name + ", %" + name +
            ") {schedule = #sinter.schedule<" + schedule + ">}" + types + " {\n  ^bb0(%a: " + from + ", %b: " + from +
            "):\n    %d = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = " +
            "array<i64: 1>, rhs_contract = array<i64: " + axis + ">, element_type = " + result + "}" + types +
            "\n    sinter.yield(%d) : " + to + "\n  }\n";
  }
  text += "  return %rx, %rz, %rw, %rv, %ru : tensor<512x512xf32>, tensor<512x512xf64>, tensor<512x512xi32>, "
          "tensor<512x512xbf16>, tensor<512x512xf32>\n}\n";
  cuda::Compiled compiled;
  std::string error;
  ASSERT_TRUE(cuda::compileText(text, compiled, error)) << error << text;
  std::remove(compiled.path.c_str());
  EXPECT_EQ(compiled.onHost, 0u);
  std::string ptx = compiled.code.substr(compiled.code.find("\n\n") + 2);
  for (const char *part :
       {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "cvt.rna.tf32.f32",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
        "cp.async.cg.shared.global", "cp.async.wait_group", "cvta.to.global.u64", "st.global.v4", "ld.shared.v4"})
    EXPECT_NE(ptx.find(part), std::string::npos) << part;
  cuda::expectNoSpills(ptx, 5, 240); // 256 threads have 255 each
}

/// Pixels whose sizes only running tells are found by divisions, which are calls of a subroutine to ptxas: their blocks
/// of 64 threads have the registers for it, though shared memory would hold more blocks.
TEST(ProductPtx, BlocksOfFewThreadsFitIntoRegisters) {
  if (!cuda::hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  std::string input = "tensor<?x?x?x16xf32>", filter = "tensor<24x1x1x16xf32>", result = "tensor<?x?x?x24xf32>";
  std::string bias = "tensor<24xf32>", taken = "(" + input + ", " + filter + ", " + bias + ") -> " + result;
  std::string text =
      "func.func @f(%x: " + input + ", %w: " + filter + ", %v: " + bias + ") -> " + result +
      " {\n  %0 = sinter.kernel convolution(%x, %w, %v) {schedule = #sinter.schedule<product, lanes = 64, tile = "
      "[32, " +
      "32, 32, 4, 4, 2, 1]>} : " + taken + " {\n  ^bb0(%a: " + input + ", %b: " + filter + ", %d: " + bias +
      "):\n    %c = sinter.convolution %a, %b {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, " +
      "high = array<i64: 0, 0>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, " +
      "layout = #sinter<conv_layout channels_last>, element_type = f32} : (" + input + ", " + filter + ") -> " +
      result + "\n    %s = sinter.broadcast %d like(%c) axes = [3] {type = " + result + "} : (" + bias + ", " + result +
      ") -> " + result + "\n    %r = sinter.add %c, %s : (" + result + ", " + result + ") -> " + result +
      "\n    sinter.yield(%r) : " + result + "\n  }\n  return %0 : " + result + "\n}\n";
  const std::string code = cuda::compiledCode(text);
  std::string ptx = code.substr(code.find("\n\n") + 2);
  EXPECT_NE(ptx.find(".minnctapersm 4"), std::string::npos); // 256 threads of a multiprocessor
  cuda::expectNoSpills(ptx, 1, 255);
}

/// Elements of both operands on their way to shared memory, one by one (rows of 15), beside 64 sums and sizes that only
/// running tells.
TEST(ProductPtx, ElementsOfBothOperandsFitIntoRegisters) {
  if (!cuda::hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  const std::string x = "tensor<?x8x?x15xf32>", y = "tensor<?x8x?x?xf32>", types = " : (" + x + ", " + x + ") -> " + y;
  cuda::Compiled compiled;
  std::string error;
  const std::string text =
      "func.func @f(%x: " + x + ", %y: " + x + ") -> " + y + " {\n  %0 = sinter.kernel contraction(%x, %y) " +
      "{schedule = #sinter.schedule<product, lanes = 256, tile = [128, 128, 16, 8, 8, 2, 1]>}" + types +
      " {\n  ^bb0(%a: " + x + ", %b: " + x + "):\n    %d = sinter.dot_general %a, %b {lhs_batch = array<i64: 0, 1>, " +
      "rhs_batch = array<i64: 0, 1>, lhs_contract = array<i64: 3>, rhs_contract = array<i64: 3>, element_type = f32}" +
      types + "\n    sinter.yield(%d) : " + y + "\n  }\n  return %0 : " + y + "\n}\n";
  ASSERT_TRUE(cuda::compileText(text, compiled, error)) << error << text;
  std::remove(compiled.path.c_str());
  cuda::expectNoSpills(compiled.code.substr(compiled.code.find("\n\n") + 2), 1, 255,
                       {"sm_80", "sm_89", "sm_90", "sm_100"});
}
