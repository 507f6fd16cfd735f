// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Softmax and norms, of rows that a block has in registers or reads again, in vectors of 16 bytes or element by
// element, against formulas in f64: f16 and bf16 are f32 inside and rounded once.

#include "CudaProgram.h"
#include "Ptxas.h"
#include "test/backends/cpu/Execute.h"
#include <cmath>
#include <random>

using namespace sinter;

using Numbers = std::vector<double>;
/// One row of a result from one row of the first input and all of the others.
using Formula = Numbers (*)(const Numbers &row, const std::vector<Numbers> &others);

namespace {
struct Operation {
  const char *name, *text; // $: a row's matrix, #: its parameters, &: its statistics
  unsigned parameters;
  Formula formula;
};
} // namespace

static std::string filled(std::string text, const std::string &key, const std::string &value) {
  for (size_t at; (at = text.find(key)) != std::string::npos;)
    text.replace(at, key.size(), value);
  return text;
}

static Numbers softmax(const Numbers &row, const std::vector<Numbers> &) {
  double most = *std::max_element(row.begin(), row.end()), total = 0;
  Numbers result;
  for (double x : row)
    total += std::exp(x - most);
  for (double x : row)
    result.push_back(std::exp(x - most) / total);
  return result;
}

static Numbers logSoftmax(const Numbers &row, const std::vector<Numbers> &others) {
  Numbers result = softmax(row, others);
  for (double &x : result)
    x = std::log(x);
  return result;
}

static Numbers normalized(const Numbers &row, const std::vector<Numbers> &parameters, bool isCentered) {
  double mean = 0, square = 0;
  for (double x : row)
    mean += isCentered ? x / static_cast<double>(row.size()) : 0;
  for (double x : row)
    square += (x - mean) * (x - mean) / static_cast<double>(row.size());
  Numbers result;
  for (size_t i = 0; i < row.size(); ++i)
    result.push_back((row[i] - mean) / std::sqrt(square + 1e-5) * parameters[0][i] +
                     (parameters.size() > 1 ? parameters[1][i] : 0));
  return result;
}

static Numbers layerNorm(const Numbers &row, const std::vector<Numbers> &parameters) {
  return normalized(row, parameters, true);
}
static Numbers rmsNorm(const Numbers &row, const std::vector<Numbers> &parameters) {
  return normalized(row, parameters, false);
}

static const Operation kOperations[] = {
    {"softmax", "%y = sinter.softmax %x {axis = 1 : i64} : ($) -> $", 0, softmax},
    {"log softmax", "%y = sinter.softmax %x {axis = 1 : i64, logarithm = true} : ($) -> $", 0, logSoftmax},
    {"layer norm",
     "%y, %m, %d = sinter.layer_norm %x scale(%a) bias(%b) {axis = 1 : i64, epsilon = 1.0e-5 : f64} : ($, #, #) -> "
     "($, &, &)",
     2, layerNorm},
    {"RMS norm",
     "%y, %m, %d = sinter.layer_norm %x scale(%a) {axis = 1 : i64, epsilon = 1.0e-5 : f64, center = false} : ($, #) -> "
     "($, &, &)",
     1, rmsNorm}};

static std::string graphOf(const Operation &op, const std::string &type, int64_t rows, int64_t columns) {
  std::string text = "func.func @f(%x: $";
  for (unsigned i = 0; i < op.parameters; ++i)
    text += std::string(", %") + "ab"[i] + ": #";
  text += std::string(") -> $ {\n  ") + op.text + "\n  return %y : $\n}";
  std::string width = std::to_string(columns), height = std::to_string(rows);
  text = filled(text, "$", "tensor<" + height + "x" + width + "x" + type + ">");
  text = filled(text, "&", "tensor<" + height + "x1x" + type + ">");
  return filled(text, "#", "tensor<" + width + "x" + type + ">");
}

/// Half of the last place of 1, and what f32 inside is off by.
static double roundingOf(const std::string &type) {
  return type == "f16" ? 0x1p-11 : type == "bf16" ? 0x1p-8 : type == "f32" ? 0x1p-24 : 0x1p-53;
}

/// Numbers that every type holds.
static Numbers drawn(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  Numbers x;
  for (int64_t i = 0; i < count; ++i)
    x.push_back(double(int(random() % 255) - 127) / 32);
  return x;
}

static HostTensor tensorOf(mlir::Type type, const Numbers &numbers) {
  auto tensor = mlir::cast<mlir::RankedTensorType>(type);
  HostTensor result(tensor.getElementType(), tensor.getShape());
  result.assignFloats(numbers);
  return result;
}

static void expectRows(const Operation &op, const std::string &type, int64_t rows, int64_t columns) {
  SCOPED_TRACE(op.name + (" of " + type) + " " + std::to_string(rows) + "x" + std::to_string(columns));
  test::Program program(graphOf(op, type, rows, columns), 2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  EXPECT_NE(cuda::lastCode().find("_row block "), std::string::npos) << cuda::lastCode().substr(0, 400);
  EXPECT_EQ(cuda::lastCode().find("kernel ", 8), std::string::npos) << "one kernel does all";
  auto types = program.function().getArgumentTypes();
  Numbers x = drawn(rows * columns, 1);
  std::vector<Numbers> parameters;
  std::vector<HostTensor> inputs = {tensorOf(types[0], x)};
  for (unsigned i = 0; i < op.parameters; ++i) {
    parameters.push_back(drawn(columns, 2 + i));
    inputs.push_back(tensorOf(types[1 + i], parameters.back()));
  }
  auto results = program.run(inputs);
  ASSERT_TRUE(results) << program.error << cuda::report();
  double inside = type == "f64" ? 1e-14 : 2e-6;
  for (int64_t row = 0; row < rows; ++row) {
    Numbers expected = op.formula(Numbers(x.begin() + row * columns, x.begin() + (row + 1) * columns), parameters);
    for (int64_t i = 0; i < columns; ++i) {
      double value = expected[size_t(i)];
      ASSERT_NEAR((*results)[0].getFloat(row * columns + i), value,
                  1.01 * roundingOf(type) * std::fabs(value) + inside * std::max(1.0, std::fabs(value)) +
                      (type == "f16" ? 0x1p-24 : 0))
          << "row " << row << ", column " << i;
    }
  }
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
    std::vector<HostTensor> inputs = {tensorOf(program.function().getArgumentTypes()[0], drawn(192, 5))};
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
      cuda::Compiled compiled;
      std::string error;
      ASSERT_TRUE(cuda::compileText(graphOf(op, type, 64, columns), compiled, error)) << error;
      std::remove(compiled.path.c_str());
      std::string ptx = compiled.code.substr(compiled.code.find("\n\n") + 2);
      EXPECT_NE(ptx.find("ld.global.v4."), std::string::npos);
      EXPECT_NE(ptx.find("st.global.v4."), std::string::npos);
      if (cuda::hasPtxas())
        cuda::expectNoSpills(ptx, 1, 96, {"sm_80", "sm_89", "sm_90", "sm_100"});
    }
}
