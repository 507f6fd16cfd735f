// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows and reductions that a cluster of blocks computes (sm_90a), by schedules that are forced, against formulas in
// f64; when the cost model chooses them; what a module holds for other GPUs.

#include "Ptxas.h"
#include "RowCase.h"
#include <numeric>

using namespace sinter;
using namespace sinter::cuda;

static std::string rowsBy(int64_t threads, int64_t cluster) {
  return "cluster_row, lanes = " + std::to_string(threads) + ", tile = [" + std::to_string(cluster) + "]";
}

/// The kernel of clusters ran for each of so many runs, or the one beside it.
static void expectClusters(uint64_t launches) {
  EXPECT_EQ(cuda::count("cluster"), launches);
  EXPECT_EQ(cuda::report(), "");
}

static void expectRows(const Operation &op, const std::string &type, int64_t rows, int64_t columns, int64_t threads,
                       int64_t cluster) {
  SCOPED_TRACE(op.name + (" of " + type) + " " + std::to_string(rows) + "x" + std::to_string(columns) + " by " +
               rowsBy(threads, cluster));
  test::Program program(textOf(op, type, rows, columns, rowsBy(threads, cluster)), 2);
  ASSERT_EQ(program.error, "");
  EXPECT_NE(cuda::lastCode().find("\nwide sinter_k0_row_wide " + std::to_string(threads) + " 0 0 " +
                                  std::to_string(cluster) + " 0\n"),
            std::string::npos)
      << cuda::lastCode().substr(0, 400);
  cuda::expectRows(program, op, type, rows, columns);
  expectClusters(1);
}

TEST(Clusters, RowsOfAllTypes) {
  for (const Operation &op : kOperations)
    for (const char *type : {"f16", "bf16", "f32", "f64"})
      expectRows(op, type, 3, 200, 32, type[0] == 'b' ? 3 : 2);
}

/// Rows around the threads of all blocks, whole vectors of them or none; blocks without a column; rows that registers
/// hold, and longer ones.
TEST(Clusters, RowsOfAllLengths) {
  for (int64_t columns : {64, 65, 127, 128, 129, 255, 256, 257, 512, 520, 1000, 1024, 1032, 1025})
    for (const Operation &op : kOperations)
      if (columns % 128 < 2 || &op == &kOperations[0] || &op == &kOperations[2])
        expectRows(op, columns % 2 ? "f16" : "f32", 2, columns, 32, 4);
  for (int64_t cluster : {2, 5, 8}) {
    expectRows(kOperations[0], "f32", 1, 8192, 64, cluster);
    expectRows(kOperations[2], "bf16", 1, 9000, 64, cluster);
    expectRows(kOperations[3], "f32", 1, 8191, 512, cluster);
  }
}

/// More rows than clusters at once: the machine's four multiprocessors have four of them.
TEST(Clusters, TakeRowAfterRow) { expectRows(kOperations[0], "f32", 37, 300, 32, 8); }

TEST(Clusters, RowsOfSizesThatOnlyRunningTells) {
  for (const Operation &op : {kOperations[0], kOperations[2]}) {
    test::Program program(textOf(op, "f32", 0, 0, rowsBy(32, 4), /*isDynamic=*/true), 2);
    ASSERT_EQ(program.error, "");
    EXPECT_NE(cuda::lastCode().find("\nwide sinter_k0_row_wide 32 0 0 4 66\n"), std::string::npos);
    uint64_t launches = 0;
    for (auto [rows, columns] : {std::pair(1, 3), {3, 127}, {2, 128}, {2, 129}, {66, 65}, {67, 65}, {5, 1000}}) {
      SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(columns));
      cuda::expectRows(program, op, "f32", rows, columns);
      expectClusters(launches += rows <= 66); // more have a block each
    }
  }
}

/// The same bits each time; other GPUs have the block's kernel, and its bits.
TEST(Clusters, GiveTheSameBits) {
  test::Program program(textOf(kOperations[0], "f32", 2, 5000, rowsBy(64, 8)), 2);
  ASSERT_EQ(program.error, "");
  const std::vector<HostTensor> inputs = {
      tensorOf(program.function().getArgumentTypes()[0], {2, 5000}, drawn(10000, 3))};
  auto first = program.run(inputs), second = program.run(inputs);
  ASSERT_TRUE(first && second) << cuda::report();
  EXPECT_EQ(std::memcmp((*first)[0].data(), (*second)[0].data(), (*first)[0].numBytes()), 0);
  expectClusters(2);
  setenv("SINTER_CUDA_WGMMA", "off", 1);
  test::Program beside(textOf(kOperations[0], "f32", 2, 5000, rowsBy(64, 8)), 2),
      block(textOf(kOperations[0], "f32", 2, 5000, "block_row, lanes = 256"), 2);
  auto others = beside.run(inputs), blocks = block.run(inputs);
  unsetenv("SINTER_CUDA_WGMMA");
  ASSERT_TRUE(others && blocks) << cuda::report();
  EXPECT_EQ(std::memcmp((*others)[0].data(), (*blocks)[0].data(), (*others)[0].numBytes()), 0);
  expectClusters(0);
}

static std::string reduceText(const std::string &type, const std::string &sizes, const std::string &results,
                              const std::string &combiner, const std::string &axes, const std::string &schedule) {
  std::string text = R"(func.func @f(%x: $) -> # {
    %0 = sinter.kernel reduce(%x) {schedule = SCHEDULE} : ($) -> # {
    ^bb0(%a: $):
      %s = sinter.reduce COMBINER %a axes = [AXES] : ($) -> #
      sinter.yield(%s) : #
    }
    return %0 : #
  })";
  for (auto [key, value] : {std::pair("COMBINER", combiner),
                            {"AXES", axes},
                            {"$", "tensor<" + sizes + "x" + type + ">"},
                            {"#", "tensor<" + results + "x" + type + ">"}})
    text = filled(text, key, value);
  return filled(text, "SCHEDULE", "#sinter.schedule<cluster_reduce, " + schedule + ">");
}

static void reduceRows(const std::string &type, const std::string &combiner, int64_t rows, int64_t columns,
                       const std::string &schedule) {
  const std::string text = reduceText(type, std::to_string(rows) + "x" + std::to_string(columns), std::to_string(rows),
                                      combiner, "1", schedule);
  SCOPED_TRACE(text);
  test::Program program(text, 2);
  ASSERT_EQ(program.error, "");
  HostTensor input(mlir::getElementTypeOrSelf(program.function().getArgumentTypes()[0]), {rows, columns});
  const bool isInteger = type[0] == 'i';
  Numbers x;
  for (int64_t i = 0; i < rows * columns; ++i) { // sums are exact in all types but i8, where they wrap
    x.push_back(type == "i1" ? double(i % columns == columns - 1 && i > columns) : double(i * 37 % 5 - 2));
    isInteger ? input.setInt(i, int64_t(x.back())) : input.setFloat(i, x.back());
  }
  auto results = program.run({input});
  ASSERT_TRUE(results) << program.error << cuda::report();
  expectClusters(1);
  for (int64_t row = 0; row < rows; ++row) {
    auto from = x.begin() + row * columns, to = from + columns;
    double wanted = combiner == "add" ? std::accumulate(from, to, 0.0) : *std::max_element(from, to);
    if (type == "i8")
      wanted = double(int8_t(int64_t(wanted)));
    EXPECT_EQ(isInteger ? double((*results)[0].getInt(row)) : (*results)[0].getFloat(row), wanted) << row;
  }
}

TEST(Clusters, ReductionsOfAllTypesAndLengths) {
  for (const char *type : {"f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64"})
    for (const char *combiner : {"add", "max"})
      reduceRows(type, combiner, 3, 300, "lanes = 32, tile = [4]");
  reduceRows("i1", "or", 3, 300, "lanes = 32, tile = [2]");
  for (int64_t columns : {64, 65, 127, 128, 129, 1023, 1024, 1025, 9000})
    reduceRows("f32", "add", 2, columns, columns > 2000 ? "lanes = 512, tile = [8]" : "lanes = 32, tile = [4]");
}

/// Beside parts of a long sum, whose words and chunks it takes.
TEST(Clusters, ReductionsBesideParts) {
  reduceRows("f32", "add", 2, 20000, "lanes = 64, tile = [8]");
  EXPECT_NE(cuda::lastCode().find("then sinter_k0_reduce_join block 256\nwide sinter_k0_reduce_wide 64 0 0 8 0\n"),
            std::string::npos)
      << cuda::lastCode().substr(0, 400);
}

/// Over two axes, of which the inner one only running tells, and over one that results lie side by side along.
TEST(Clusters, ReductionsOverOtherAxes) {
  for (const char *sizes : {"3x7x?", "3x7x50"}) {
    test::Program program(reduceText("f32", sizes, "3", "add", "1, 2", "lanes = 32, tile = [3]"), 2);
    ASSERT_EQ(program.error, "");
    HostTensor input(mlir::Float32Type::get(&program.context), {3, 7, 50});
    for (int64_t i = 0; i < 1050; ++i)
      input.setFloat(i, double(i));
    auto results = program.run({input});
    ASSERT_TRUE(results) << program.error << cuda::report();
    for (int64_t row = 0; row < 3; ++row)
      EXPECT_EQ((*results)[0].getFloat(row), double(350 * 350 * row + 350 * 349 / 2));
    expectClusters(1);
  }
  test::Program program(reduceText("i32", "500x3", "3", "add", "0", "lanes = 64, tile = [4]"), 2);
  ASSERT_EQ(program.error, "");
  HostTensor input(mlir::IntegerType::get(&program.context, 32), {500, 3});
  for (int64_t i = 0; i < 1500; ++i)
    input.setInt(i, i);
  auto results = program.run({input});
  ASSERT_TRUE(results) << program.error << cuda::report();
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_EQ((*results)[0].getInt(i), 3 * 500 * 499 / 2 + 500 * i);
  expectClusters(1);
}

/// Few long rows are a cluster's; many, or short ones, a block's; other generations have no clusters.
TEST(Clusters, WhenTheyAreChosen) {
  auto rows = [](int64_t rows, int64_t columns, const char *target = "cpu+cuda") {
    return compiledCode(textOf(kOperations[0], "f32", rows, columns), target);
  };
  auto has = [](const std::string &code, const char *part) { return code.find(part) != std::string::npos; };
  const std::string few = rows(4, 65536);
  EXPECT_TRUE(has(few, "\nwide sinter_k0_row_wide 512 0 0 8 0\n") && has(few, "\n=== sm_90a\n") &&
              has(few, ".reqnctapercluster 8"))
      << few.substr(0, 400);
  EXPECT_FALSE(has(few.substr(0, few.find("=== sm_90a")), "cluster"));
  EXPECT_FALSE(has(rows(4, 1000), "\nwide "));
  EXPECT_FALSE(has(rows(1000, 65536), "\nwide "));
  EXPECT_FALSE(has(rows(4, 65536, "cpu+cuda:sm_100"), "\nwide "));
  const std::string alone = rows(4, 65536, "cpu+cuda:sm_90a");
  EXPECT_TRUE(has(alone, ".reqnctapercluster 8") && !has(alone, "=== sm_90a"));
  auto sums = [](int64_t rows, int64_t columns) {
    const std::string x = "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>",
                      y = "tensor<" + std::to_string(rows) + "xf32>";
    return compiledCode("func.func @f(%x: " + x + ") -> " + y + " {\n  %s = sinter.reduce add %x axes = [1] : (" + x +
                        ") -> " + y + "\n  return %s : " + y + "\n}");
  };
  EXPECT_TRUE(has(sums(16, 65536), "\nwide sinter_k0_reduce_wide 512 0 0 8 0\n"));
  EXPECT_FALSE(has(sums(1, 4000000), "\nwide ")); // parts of it are for all multiprocessors
  EXPECT_FALSE(has(sums(16, 1000), "\nwide "));
}

TEST(Clusters, AScheduleThatDoesNotFitIsToldWhy) {
  for (const char *schedule : {"cluster_row, lanes = 64, tile = [9]", "cluster_row, lanes = 64, tile = [1]",
                               "cluster_row, lanes = 64", "cluster_row, lanes = 96, tile = [2]",
                               "cluster_row, lanes = 1024, tile = [2]", "cluster_row, lanes = 64, tile = [2, 2]"}) {
    test::Program program(textOf(kOperations[0], "f32", 2, 100, schedule), 2);
    EXPECT_NE(program.error.find("require a power of two from 32 to 512, and its tile is the number of blocks of a "
                                 "cluster, 2 to 8"),
              std::string::npos)
        << schedule << ": " << program.error;
  }
  Compiled compiled;
  std::string error;
  EXPECT_FALSE(
      cuda::compileText(textOf(kOperations[0], "f32", 2, 100, rowsBy(32, 2)), compiled, error, "cpu+cuda:sm_100"));
  EXPECT_NE(error.find("sm_90a alone has clusters"), std::string::npos) << error;
}

/// Each barrier of the cluster is needed: before a row, and between sending and reading each of its two values.
TEST(Clusters, EachBarrierIsNeeded) {
  const std::string barrier = "\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n";
  for (int dropped = 0; dropped < 3; ++dropped) {
    bool isMade = false;
    cuda::editCode([&](std::string &code) {
      size_t at = 0;
      for (int i = 0; i <= dropped && at != std::string::npos; ++i)
        at = code.find(barrier, at + 1);
      if ((isMade = at != std::string::npos))
        code.erase(at, barrier.size());
    });
    test::Program program(textOf(kOperations[0], "f32", 9, 201, rowsBy(64, 4)), 2); // several rows for a cluster
    cuda::editCode(nullptr);
    ASSERT_EQ(program.error, "");
    EXPECT_TRUE(isMade);
    auto type = program.function().getArgumentTypes()[0];
    (void)program.run({tensorOf(type, {9, 201}, drawn(9 * 201, 1))});
    const std::string told = cuda::report();
    EXPECT_TRUE(told.starts_with("race: ") || told.starts_with("uninitialised memory: ")) << dropped << ": " << told;
  }
  Compiled none; // what the machine told was asked for
  std::string error;
  ASSERT_TRUE(cuda::compileText(textOf(kOperations[0], "f32", 2, 64), none, error)) << error;
  std::remove(none.path.c_str());
}

TEST(Clusters, SpillNothing) {
  if (!cuda::hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  for (const Operation &op : kOperations)
    for (auto [type, columns, threads] : {std::tuple("f32", 131072, 512),
                                          {"bf16", 131072, 512},
                                          {"f16", 262152, 256},
                                          {"f32", 32768, 128},
                                          {"f64", 65536, 512}}) {
      SCOPED_TRACE(op.name + std::string(" of ") + type + " " + std::to_string(columns));
      const std::string code = compiledCode(textOf(op, type, 4, columns, rowsBy(threads, 8)));
      cuda::expectNoSpills(code.substr(code.find("\n=== sm_90a\n") + 12), 1, 128, {"sm_90a"});
    }
  for (const char *type : {"f32", "bf16", "i8", "f64"}) {
    const std::string code = compiledCode(reduceText(type, "8x65536", "8", "add", "1", "lanes = 512, tile = [8]"));
    cuda::expectNoSpills(code.substr(code.find("\n=== sm_90a\n") + 12), 1, 128, {"sm_90a"});
  }
}
