// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products and convolutions by tiles, by schedules that are forced, against formulas in f64 (or integers modulo 2^n).

#include "ProductCase.h"

using namespace sinter;
using namespace sinter::cuda;

/// Sizes around tiles and chunks of 16 bytes, each operand in either direction.
static void allEdges(const Types &types, const std::string &schedule, const char *form) {
  const int64_t sizes[][3] = {{1, 1, 1}, {33, 64, 40}, {40, 32, 72}, {37, 29, 67}, {64, 40, 128}, {3, 8, 0}};
  for (auto [number, size] : llvm::enumerate(sizes))
    expectRight({types, 1 + int64_t(number) % 2, size[0], size[1], size[2], number % 2 == 1, number / 2 % 2 == 1,
                 number % 3 == 1, schedule},
                form);
}

TEST(Products, ThreadsOfAllEdgesF32) {
  allEdges(kF32, threadSchedule("32, 32, 16, 4, 4, 3, 1", 64), "contraction block");
}
TEST(Products, ThreadsOfAllEdgesF64) {
  allEdges(kF64, threadSchedule("16, 32, 16, 4, 4, 2, 1", 32), "contraction block");
}
TEST(Products, WarpsOfAllEdgesBF16) {
  allEdges(kBF16, warpSchedule("32, 32, 32, 16, 16, 3, 1", 128), "contraction block");
}
TEST(Products, WarpsOfAllEdgesF16) {
  allEdges(kF16F32, warpSchedule("16, 32, 64, 16, 16, 2, 1", 64), "contraction block");
}

/// Of numbers that tf32 has, nothing is rounded.
TEST(Products, WarpsOfAllEdgesTf32) {
  allEdges(kF32, "tf32_" + threadSchedule("32, 32, 16, 16, 16, 3, 1", 128), "contraction block");
}

/// To nearest with 10 bits behind the point, ties away from zero; sums are f32.
TEST(Products, Tf32RoundsOperands) {
  std::string x = "tensor<4x8xf32>", y = "tensor<8x4xf32>", r = "tensor<4x4xf32>",
              types = " : (" + x + ", " + y + ") -> " + r;
  std::string text =
      "func.func @f(%x: " + x + ", %y: " + y + ") -> " + r + " {\n  %0 = sinter.kernel contraction(%x, %y) " +
      "{schedule = #sinter.schedule<tf32_product, lanes = 128, tile = [32, 32, 16, 16, 16, 2, 1]>}" + types +
      " {\n  ^bb0(%p: " + x + ", %q: " + y + "):\n    %d = sinter.dot_general %p, %q {lhs_batch = array<i64>, " +
      "rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32}" +
      types + "\n    sinter.yield(%d) : " + r + "\n  }\n  return %0 : " + r + "\n}\n";
  test::Program program(text, 2);
  ASSERT_EQ(program.error, "");
  const double given[] = {1 + 0x1p-10, 1 + 0x1p-11, 1 + 0x1p-12, -1 - 0x1p-11},
               wanted[] = {1 + 0x1p-10, 1 + 0x1p-10, 1, -1 - 0x1p-10};
  HostTensor a(mlir::Float32Type::get(&program.context), {4, 8}), b(mlir::Float32Type::get(&program.context), {8, 4});
  std::vector<double> ofA(32), ofB(32);
  for (size_t i = 0; i < 4; ++i) {
    ofA[8 * i] = given[i];
    ofA[8 * i + 1] = 0x1p-20; // which the sum keeps
    ofB[i] = ofB[4 + i] = 1;
  }
  a.assignFloats(ofA);
  b.assignFloats(ofB);
  auto results = program.run({a, b});
  ASSERT_TRUE(results) << program.error << cuda::report();
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ((*results)[0].getFloat(4 * i), wanted[i] + 0x1p-20) << i;
}

/// Only where the module's policy says so.
TEST(Products, Tf32IsAskedFor) {
  auto codeOf = [](const std::string &policy) {
    std::string type = "tensor<64x64xf32>";
    std::string text =
        "module" + policy + " {\nfunc.func @f(%x: " + type + ") -> " + type + " {\n  %0 = sinter.dot_general %x, %x " +
        "{lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: " +
        "0>, element_type = f32} : (" + type + ", " + type + ") -> " + type + "\n  return %0 : " + type + "\n}\n}\n";
    const std::string code = compiledCode(text);
    return code.find(".tf32.") != std::string::npos;
  };
  EXPECT_TRUE(codeOf(" attributes {sinter.precision = {dot_general = \"tf32\"}}"));
  EXPECT_FALSE(codeOf(" attributes {sinter.precision = {convolution = \"tf32\"}}"));
  EXPECT_FALSE(codeOf(""));
}

TEST(Products, WarpsOfAllBytes) {
  for (const char *a : {"i8", "ui8"})
    for (const char *b : {"i8", "ui8"})
      expectRight({{a, b, "i32"},
                   2,
                   37,
                   33,
                   80,
                   a[0] == 'u',
                   b[0] == 'i',
                   a[0] == b[0],
                   warpSchedule("32, 32, 64, 16, 16, 3, 1", 128)},
                  "contraction block");
}

TEST(Products, ThreadsOfAllTypes) {
  for (const Types &types : {kI32, kI64, Types{"i8", "i8", "i8"}, Types{"i16", "i16", "i32"},
                             Types{"bf16", "bf16", "bf16"}, Types{"f16", "f32", "f32"}, Types{"ui8", "ui8", "ui32"}}) {
    bool isSmall = types.result == "i8";
    expectRight({types, 1, 18, 20, isSmall ? int64_t(0) : 21, false, false, !isSmall && types.result != "ui32",
                 threadSchedule("16, 32, 16, 4, 4, 2, 1", 32)},
                "contraction block");
  }
}

/// Every tile of the cost model's menus, a little over one tile large.
TEST(Products, AllTilesOfTheMenus) {
  for (const char *tile : {"128, 128, 16, 8, 8, 2, 1", "64, 128, 16, 8, 8, 2, 1", "64, 64, 16, 4, 4, 2, 1",
                           "32, 64, 16, 4, 4, 2, 1", "16, 64, 32, 4, 4, 2, 1"}) {
    int64_t rows = 0, columns = 0, down = 0, across = 0;
    std::sscanf(tile, "%ld, %ld, %*d, %ld, %ld", &rows, &columns, &down, &across);
    expectRight({kF32, 1, rows + 1, columns + 4, 20, false, false, true,
                 threadSchedule(tile, rows / down * (columns / across))},
                "contraction block");
  }
  for (const char *tile : {"128, 128, 32, 64, 32, 3, 1", "128, 64, 32, 32, 32, 3, 1", "64, 64, 32, 32, 32, 3, 1",
                           "64, 32, 32, 16, 32, 3, 1", "16, 64, 64, 16, 16, 3, 1"}) {
    int64_t rows = 0, columns = 0, down = 0, across = 0;
    std::sscanf(tile, "%ld, %ld, %*d, %ld, %ld", &rows, &columns, &down, &across);
    expectRight({kBF16, 1, rows + 1, columns + 8, 40, false, false, true,
                 warpSchedule(tile, rows / down * (columns / across) * 32)},
                "contraction block");
  }
}

TEST(Products, PartsOfKAreAddedInOrder) {
  for (int64_t k : {1, 200, 1000}) {
    expectRight({kF32, 2, 20, 36, k, false, k == 200, true, threadSchedule("32, 32, 16, 4, 4, 3, 4", 64)},
                "_join block 256");
    expectRight({kBF16, 1, 20, 36, k, false, k == 200, true, warpSchedule("32, 32, 32, 16, 16, 3, 8", 128)},
                "_join block 256");
  }
}

/// Sums of equal terms round the same way each time: no chain may be long.
TEST(Products, LongSumsStayAccurate) {
  std::string text = R"(func.func @f(%x: tensor<16x8192xf32>, %y: tensor<8192x32xf32>) -> tensor<16x32xf32> {
    %0 = sinter.kernel contraction(%x, %y) {schedule = #sinter.schedule<product, lanes = 32, tile = [16, 32, 32, 4, 4, 2, 1]>}
        : (tensor<16x8192xf32>, tensor<8192x32xf32>) -> tensor<16x32xf32> {
    ^bb0(%p: tensor<16x8192xf32>, %q: tensor<8192x32xf32>):
      %d = sinter.dot_general %p, %q {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<16x8192xf32>, tensor<8192x32xf32>) -> tensor<16x32xf32>
      sinter.yield(%d) : tensor<16x32xf32>
    }
    return %0 : tensor<16x32xf32>
  })";
  test::Program program(text, 2);
  ASSERT_EQ(program.error, "");
  std::vector<HostTensor> inputs;
  double x = double(0.1f), y = double(0.7f);
  for (auto [i, type] : llvm::enumerate(program.function().getArgumentTypes())) {
    auto tensor = mlir::cast<mlir::RankedTensorType>(type);
    inputs.emplace_back(tensor.getElementType(), tensor.getShape());
    inputs.back().assignFloats(std::vector<double>(size_t(inputs.back().numElements()), i ? y : x));
  }
  auto results = program.run(inputs);
  ASSERT_TRUE(results) << program.error << cuda::report();
  EXPECT_NEAR((*results)[0].getFloat(77), 8192 * x * y, 8192 * x * y * 1e-5);
}

TEST(Products, ATileThatDoesNotFitIsToldWhy) {
  const char *schedules[][3] = {
      {"product, lanes = 64, tile = [32, 32]", "f32", "its tile requires 7 numbers"},
      {"product, lanes = 64, tile = [24, 32, 16, 4, 4, 2, 1]", "f32", "its tile requires powers of two from 8 on"},
      {"product, lanes = 64, tile = [32, 32, 16, 5, 4, 2, 1]", "f32", "has to divide the tile"},
      {"product, lanes = 64, tile = [32, 32, 16, 4, 4, 5, 1]", "f32", "2 to 4 slabs are held at once"},
      {"product, lanes = 64, tile = [32, 32, 16, 4, 4, 2, 65]", "f32", "k has 1 to 64 parts"},
      {"product, lanes = 16, tile = [32, 32, 16, 8, 8, 2, 1]", "f32", "a warp has 4 x 8 threads"},
      {"product, lanes = 32, tile = [64, 128, 16, 16, 16, 2, 1]", "f32", "64 words of sums at most"},
      {"product, lanes = 1024, tile = [128, 128, 16, 4, 4, 2, 1]", "f32", "512 threads at most"},
      {"product, lanes = 256, tile = [128, 128, 32, 8, 8, 2, 1]", "f32", "do not fit into 48 KiB"},
      {"product, lanes = 32, tile = [32, 32, 16, 4, 4, 2, 1]", "f32", "the tile's 64 threads"},
      {"mma_product, lanes = 128, tile = [32, 32, 16, 8, 16, 3, 1]", "bf16", "a warp takes multiples of 16"},
      {"mma_product, lanes = 128, tile = [32, 32, 32, 16, 16, 3, 1]", "f32", "no mma.sync multiplies its types"}};
  for (auto [schedule, type, part] : schedules) {
    test::Program program(textOf({{type, type, type}, 1, 40, 40, 40, false, false, false, schedule}), 2);
    EXPECT_NE(program.error.find(part), std::string::npos) << schedule << ": " << program.error;
  }
}

/// Without a schedule: few results of long sums in parts, bf16 by warps, small products as they were.
TEST(Products, TheCostModelChooses) {
  auto codeOf = [](const Case &c) {
    EXPECT_EQ(test::Program(textOf(c), 2).error, "");
    return cuda::lastCode();
  };
  EXPECT_NE(codeOf({kF32, 1, 32, 32, 8192}).find("then "), std::string::npos);
  EXPECT_EQ(codeOf({kF32, 1, 2048, 2048, 256}).find("then "), std::string::npos);
  EXPECT_NE(codeOf({kBF16, 1, 64, 64, 64}).find("mma.sync"), std::string::npos);
  EXPECT_NE(codeOf({kF32, 1, 4, 4, 16}).find("_contraction thread "), std::string::npos);
}
