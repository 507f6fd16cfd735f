// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Softmax and norms, of rows that a block has in registers or reads again, in vectors of 16 bytes or element by
// element, against formulas in f64: f16 and bf16 are f32 inside and rounded once.

#include "Ptxas.h"
#include "RowCase.h"

using namespace sinter;
using namespace sinter::cuda;

static void expectRows(const Operation &op, const std::string &type, int64_t rows, int64_t columns) {
  SCOPED_TRACE(op.name + (" of " + type) + " " + std::to_string(rows) + "x" + std::to_string(columns));
  test::Program program(textOf(op, type, rows, columns), 2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  EXPECT_NE(cuda::lastCode().find("_row block "), std::string::npos) << cuda::lastCode().substr(0, 400);
  EXPECT_EQ(cuda::lastCode().find("kernel ", 8), std::string::npos) << "one kernel does all";
  cuda::expectRows(program, op, type, rows, columns);
}

TEST(BlockRows, OfAllTypes) {
  for (const Operation &op : kOperations)
    for (const char *type : {"f16", "bf16", "f32", "f64"})
      expectRows(op, type, 3, 200);
}

/// Columns that vectors of 8, 4 and 2 divide, or none; rows of a warp, of one or several vectors a thread, the last of
/// which some threads lack, and longer ones than registers hold.
TEST(BlockRows, OfAllLengths) {
  for (int64_t columns : {64, 65, 66, 68, 72, 256, 264, 1000, 2048, 2056, 4104, 8192, 8200})
    for (const Operation &op : kOperations)
      if (columns < 2000 || &op == &kOperations[0] || &op == &kOperations[2])
        expectRows(op, columns % 16 == 8 ? "bf16" : "f16", columns > 2000 ? 1 : 2, columns);
  expectRows(kOperations[0], "f32", 2, 8192);
  expectRows(kOperations[2], "f32", 2, 9000);
}

/// Statistics of a norm that are asked for have the type of its rows.
TEST(BlockRows, StatisticsAreRounded) {
  for (const char *type : {"f16", "f32"}) {
    std::string text = filled(R"(func.func @f(%x: tensor<2x96x$>) -> (tensor<2x96x$>, tensor<2x1x$>, tensor<2x1x$>) {
      %y, %m, %d = sinter.layer_norm %x {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x96x$>) -> (tensor<2x96x$>, tensor<2x1x$>, tensor<2x1x$>)
      return %y, %m, %d : tensor<2x96x$>, tensor<2x1x$>, tensor<2x1x$>
    })",
                              "$", type);
    test::Program program(text, 2, 1, /*isGraph=*/true);
    ASSERT_EQ(program.error, "");
    std::vector<HostTensor> inputs = {tensorOf(program.function().getArgumentTypes()[0], {2, 96}, drawn(192, 5))};
    auto results = program.run(inputs);
    auto expected = program.evaluate(inputs);
    ASSERT_TRUE(results && llvm::succeeded(expected)) << program.error << cuda::report();
    for (size_t i = 1; i < 3; ++i)
      for (int64_t row = 0; row < 2; ++row)
        EXPECT_NEAR((*results)[i].getFloat(row), (*expected)[i].getFloat(row),
                    1.01 * roundingOf(type) * std::fabs((*expected)[i].getFloat(row)) + 1e-6);
  }
}

/// Slices that a loop of the host reads where they lie begin at multiples of 8 bytes: no vectors of 16 are read there.
TEST(BlockRows, OfSlicesThatAreNotAligned) {
  test::Program program(
      R"(func.func @f(%h: tensor<68xf16>, %s: tensor<?x68xf16>) -> (tensor<68xf16>, tensor<?x68xf16>) {
    %c, %y = sinter.scan(%h) over(%s) captures() {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>}
        : (tensor<68xf16>, tensor<?x68xf16>) -> (tensor<68xf16>, tensor<?x68xf16>) body {
    ^bb0(%a: tensor<68xf16>, %e: tensor<68xf16>):
      %p = sinter.softmax %e {axis = 0 : i64} : (tensor<68xf16>) -> tensor<68xf16>
      %n = sinter.add %a, %p : (tensor<68xf16>, tensor<68xf16>) -> tensor<68xf16>
      sinter.yield(%n, %p) : tensor<68xf16>, tensor<68xf16>
    }
    return %c, %y : tensor<68xf16>, tensor<?x68xf16>
  })",
      2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  mlir::Type f16 = mlir::Float16Type::get(&program.context);
  Numbers x = drawn(5 * 68, 9);
  std::vector<HostTensor> inputs = {test::makeInput(f16, {{68}, Numbers(68, 0)}), test::makeInput(f16, {{5, 68}, x})};
  auto results = program.run(inputs);
  ASSERT_TRUE(results) << program.error << cuda::report();
  for (int64_t row = 0; row < 5; ++row) {
    Numbers expected = softmax(Numbers(x.begin() + row * 68, x.begin() + (row + 1) * 68), {});
    for (int64_t i = 0; i < 68; ++i)
      EXPECT_NEAR((*results)[1].getFloat(row * 68 + i), expected[size_t(i)], 0x1p-11 * expected[size_t(i)] + 1e-6);
  }
}

/// What is read and written at once, and that nothing of a row is kept in local memory.
TEST(BlockRows, ReadVectorsAndSpillNothing) {
  for (const Operation &op : kOperations)
    for (auto [type, columns] : {std::pair("f16", 1024), {"bf16", 4096}, {"f32", 1024}, {"f16", 50264}}) {
      SCOPED_TRACE(op.name + std::string(" of ") + type + " " + std::to_string(columns));
      const std::string code = compiledCode(textOf(op, type, 64, columns));
      std::string ptx = code.substr(code.find("\n\n") + 2);
      ptx = ptx.substr(0, ptx.find("\n=== ")); // without clusters
      EXPECT_NE(ptx.find("ld.global.v4."), std::string::npos);
      EXPECT_NE(ptx.find("st.global.v4."), std::string::npos);
      if (cuda::hasPtxas())
        cuda::expectNoSpills(ptx, 1, 96, {"sm_80", "sm_89", "sm_90", "sm_100"});
    }
}
