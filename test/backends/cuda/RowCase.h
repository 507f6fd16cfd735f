// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Softmax and norms of rows, run by a form and compared with formulas in f64.

#ifndef SINTER_TEST_BACKENDS_CUDA_ROWCASE_H
#define SINTER_TEST_BACKENDS_CUDA_ROWCASE_H

#include "CudaProgram.h"
#include "test/backends/cpu/Execute.h"
#include <cmath>
#include <random>

namespace sinter::cuda {

using Numbers = std::vector<double>;
/// One row of a result from one row of the first input and all of the others.
using Formula = Numbers (*)(const Numbers &row, const std::vector<Numbers> &others);

struct Operation {
  const char *name, *text; // $: a row's matrix, #: its parameters, &: its statistics
  unsigned parameters;
  Formula formula;
};

inline Numbers softmax(const Numbers &row, const std::vector<Numbers> &) {
  double most = *std::max_element(row.begin(), row.end()), total = 0;
  Numbers result;
  for (double x : row)
    total += std::exp(x - most);
  for (double x : row)
    result.push_back(std::exp(x - most) / total);
  return result;
}

inline Numbers logSoftmax(const Numbers &row, const std::vector<Numbers> &others) {
  Numbers result = softmax(row, others);
  for (double &x : result)
    x = std::log(x);
  return result;
}

inline Numbers normalized(const Numbers &row, const std::vector<Numbers> &parameters, bool isCentered) {
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

inline Numbers layerNorm(const Numbers &row, const std::vector<Numbers> &parameters) {
  return normalized(row, parameters, true);
}
inline Numbers rmsNorm(const Numbers &row, const std::vector<Numbers> &parameters) {
  return normalized(row, parameters, false);
}

inline const Operation kOperations[] = {
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

/// At the graph level, or one kernel with a schedule; sizes that only running tells where `isDynamic`.
inline std::string textOf(const Operation &op, const std::string &type, int64_t rows, int64_t columns,
                          const std::string &schedule = "", bool isDynamic = false) {
  std::string inputs = "%p", types = "$", outer = "%p: $", arguments = "%x: $";
  for (unsigned i = 0; i < op.parameters; ++i) {
    inputs += std::string(", %") + "qr"[i];
    outer += std::string(", %") + "qr"[i] + ": #";
    types += ", #";
    arguments += std::string(", %") + "ab"[i] + ": #";
  }
  std::string text;
  if (schedule.empty())
    text = "func.func @f(" + arguments + ") -> $ {\n  " + op.text + "\n  return %y : $\n}";
  else
    text = "func.func @f(" + outer + ") -> $ {\n  %s = sinter.kernel row(" + inputs + ") {schedule = SCHEDULE} : (" +
           types + ") -> $ {\n  ^bb0(" + arguments + "):\n    " + op.text +
           "\n    sinter.yield(%y) : $\n  }\n  return %s : $\n}";
  std::string width = isDynamic ? "?" : std::to_string(columns), height = isDynamic ? "?" : std::to_string(rows);
  text = filled(text, "$", "tensor<" + height + "x" + width + "x" + type + ">");
  text = filled(text, "&", "tensor<" + height + "x1x" + type + ">");
  text = filled(text, "#", "tensor<" + width + "x" + type + ">");
  return filled(text, "SCHEDULE", "#sinter.schedule<" + schedule + ">");
}

/// Half of the last place of 1, and what f32 inside is off by.
inline double roundingOf(const std::string &type) {
  return type == "f16" ? 0x1p-11 : type == "bf16" ? 0x1p-8 : type == "f32" ? 0x1p-24 : 0x1p-53;
}

/// Numbers that every type holds.
inline Numbers drawn(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  Numbers x;
  for (int64_t i = 0; i < count; ++i)
    x.push_back(double(int(random() % 255) - 127) / 32);
  return x;
}

inline HostTensor tensorOf(mlir::Type type, const Numbers &numbers) {
  auto tensor = mlir::cast<mlir::RankedTensorType>(type);
  HostTensor result(tensor.getElementType(), tensor.getShape());
  result.assignFloats(numbers);
  return result;
}

inline HostTensor tensorOf(mlir::Type type, const std::vector<int64_t> &sizes, const Numbers &numbers) {
  HostTensor result(mlir::getElementTypeOrSelf(type), sizes);
  result.assignFloats(numbers);
  return result;
}

/// A run of the program, against the formula in f64.
inline void expectRows(test::Program &program, const Operation &op, const std::string &type, int64_t rows,
                       int64_t columns) {
  auto types = program.function().getArgumentTypes();
  Numbers x = drawn(rows * columns, 1);
  std::vector<Numbers> parameters;
  std::vector<HostTensor> inputs = {tensorOf(types[0], {rows, columns}, x)};
  for (unsigned i = 0; i < op.parameters; ++i) {
    parameters.push_back(drawn(columns, 2 + i));
    inputs.push_back(tensorOf(types[1 + i], {columns}, parameters.back()));
  }
  auto results = program.run(inputs);
  ASSERT_TRUE(results) << program.error << report();
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

} // namespace sinter::cuda

#endif
