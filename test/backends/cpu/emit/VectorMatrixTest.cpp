// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of matrices and vectors in loops, whose matrices are copied into aligned rows, and outside of them, at sizes
// below, at and beyond whole vectors.

#include "test/backends/cpu/Execute.h"

using sinter::HostTensor;
using sinter::test::Feed;
using sinter::test::Program;

/// dot_general of a matrix and a vector, in this order or the other; `axis` of the matrix is summed.
static std::string product(bool matrixFirst, int axis, const std::string &matrix, const std::string &vector,
                           const std::string &element, const std::string &matrixType, const std::string &vectorType,
                           const std::string &resultType) {
  std::string first = matrixFirst ? matrix : vector, second = matrixFirst ? vector : matrix;
  std::string contracts[] = {std::to_string(axis), "0"};
  std::string types[] = {matrixType, vectorType};
  return "sinter.dot_general " + first + ", " + second +
         " {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: " + contracts[!matrixFirst] +
         ">, rhs_contract = array<i64: " + contracts[matrixFirst] + ">, element_type = " + element + "} : (" +
         types[!matrixFirst] + ", " + types[matrixFirst] + ") -> " + resultType + "\n";
}

/// x <- 0.9 x + 0.1 tanh(s A x + b), nine times with each order and axis after another; then A x outside.
static std::string loops(int size, const std::string &element) {
  std::string n = std::to_string(size), vectorType = "tensor<" + n + "x" + element + ">",
              matrixType = "tensor<" + n + "x" + n + "x" + element + ">", scalar = "tensor<i64>", text;
  text = "func.func @f(%a: " + matrixType + ", %b: " + vectorType + ", %x0: " + vectorType + ") -> (" + vectorType +
         ", " + vectorType + ") {\n";
  text += "%zero = sinter.constant dense<0> : tensor<i64>\n%nine = sinter.constant dense<9> : tensor<i64>\n"
          "%one = sinter.constant dense<1> : tensor<i64>\n";
  int next = 0;
  for (bool matrixFirst : {true, false})
    for (int axis : {0, 1}) {
      std::string from = "%x" + std::to_string(next), to = "%x" + std::to_string(++next);
      text += to + " = sinter.for %zero to %nine step %one (" + from + ") captures(%a, %b) : (" + scalar + ", " +
              scalar + ", " + scalar + ", " + vectorType + ", " + matrixType + ", " + vectorType + ") -> " +
              vectorType + " body {\n^bb0(%i: tensor<i64>, %x: " + vectorType + ", %m: " + matrixType +
              ", %c: " + vectorType + "):\n";
      text += "%scale = sinter.constant dense<0.01> : " + vectorType +
              "\n%keep = sinter.constant dense<0.9> : " + vectorType +
              "\n%step = sinter.constant dense<0.1> : " + vectorType + "\n";
      text += "%p = " + product(matrixFirst, axis, "%m", "%x", element, matrixType, vectorType, vectorType);
      auto binary = [&](const char *result, const char *op, const char *lhs, const char *rhs) {
        text += std::string(result) + " = sinter." + op + " " + lhs + ", " + rhs + " : (" + vectorType + ", " +
                vectorType + ") -> " + vectorType + "\n";
      };
      binary("%q", "mul", "%p", "%scale");
      binary("%s", "add", "%q", "%c");
      text += "%t = sinter.tanh %s : (" + vectorType + ") -> " + vectorType + "\n";
      binary("%u", "mul", "%t", "%step");
      binary("%v", "mul", "%x", "%keep");
      binary("%w", "add", "%u", "%v");
      text += "sinter.yield(%w) : " + vectorType + "\n}\n";
    }
  text += "%y = " + product(true, 0, "%a", "%b", element, matrixType, vectorType, vectorType);
  text += "return %x4, %y : " + vectorType + ", " + vectorType + "\n}\n";
  return text;
}

TEST(VectorMatrix, AllSizesOrdersAndAxes) {
  for (const char *element : {"f32", "f64"})
    for (int64_t size : {1, 7, 15, 16, 17, 60, 61, 128, 257}) {
      std::string text = loops(static_cast<int>(size), element);
      SCOPED_TRACE(text);
      sinter::test::expectMatches(text, {{{{size, size}, {}}, {{size}, {}}, {{size}, {}}}}, 2e-5, /*isGraph=*/true);
    }
}

TEST(VectorMatrix, FewRowsOrColumns) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{3, 100}, {100, 3}, {1, 40}, {40, 1}, {2, 200}, {300, 20}}) {
    std::string m = std::to_string(rows), n = std::to_string(columns), matrix = "tensor<" + m + "x" + n + "xf32>",
                left = "tensor<" + m + "xf32>", right = "tensor<" + n + "xf32>";
    std::string text = "func.func @f(%a: " + matrix + ", %x: " + left + ", %y: " + right + ") -> (" + right + ", " +
                       left + ") {\n%p = " + product(false, 0, "%a", "%x", "f32", matrix, left, right) +
                       "%q = " + product(true, 1, "%a", "%y", "f32", matrix, right, left) + "return %p, %q : " + right +
                       ", " + left + "\n}\n";
    SCOPED_TRACE(text);
    sinter::test::expectMatches(text, {{{{rows, columns}, {}}, {{rows}, {}}, {{columns}, {}}}}, 2e-5, /*isGraph=*/true);
  }
}

TEST(VectorMatrix, BitsDoNotDependOnThreads) {
  std::string matrix = "tensor<500x900xf32>", left = "tensor<500xf32>", right = "tensor<900xf32>";
  std::string text = "func.func @f(%a: " + matrix + ", %x: " + left + ") -> " + right +
                     " {\n%p = " + product(false, 0, "%a", "%x", "f32", matrix, left, right) + "return %p : " + right +
                     "\n}\n";
  std::vector<HostTensor> first;
  for (unsigned threads : {1, 2, 3}) {
    Program program(text, 2, threads, /*isGraph=*/true);
    ASSERT_EQ(program.error, "");
    std::vector<HostTensor> inputs;
    for (auto [shape, type] : llvm::zip(llvm::SmallVector<llvm::SmallVector<int64_t>>{{500, 900}, {500}},
                                        program.function().getArgumentTypes()))
      inputs.push_back(sinter::test::makeInput(mlir::getElementTypeOrSelf(type), {shape, {0.1, -0.7, 1.3, 0.9, -2.1}}));
    auto outputs = program.run(inputs);
    ASSERT_TRUE(outputs) << program.error;
    if (first.empty())
      first = *outputs;
    ASSERT_EQ(std::memcmp(first[0].data(), (*outputs)[0].data(), first[0].numBytes()), 0) << threads << " threads";
  }
}
