// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table's rows as programs: all calls of a family on one element type, with their operands.

#ifndef SINTER_TEST_NUMERICS_PROGRAM_H
#define SINTER_TEST_NUMERICS_PROGRAM_H

#include "Functions.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace sinter::numerics {

inline double epsilonOf(DType dtype) {
  return dtype == DType::f64    ? 0x1p-52
         : dtype == DType::f32  ? 0x1p-23
         : dtype == DType::f16  ? 0x1p-10
         : dtype == DType::bf16 ? 0x1p-7
                                : 0;
}

struct Call {
  const Row *row;
  std::string key; // NAME/ROW/CASE: the function, its how manieth row (from 0), and the row's case
  std::vector<size_t> operands;
  size_t firstResult, numResults;
};

/// All calls of a family's rows on one element type.
class Program {
public:
  Program(const std::vector<Row> &rows, DType dtype) : dtype(dtype) {
    std::map<std::string, int> seen;
    for (const Row &row : rows) {
      int number = seen[row.name]++;
      auto place = size_t(std::find(row.dtypes.begin(), row.dtypes.end(), dtype) - row.dtypes.begin());
      for (size_t turn = 0; turn < row.cases.size() && place < row.dtypes.size(); ++turn) {
        if (!isFirstOfKind(row.dtypes, place) && row.cases.size() > 1 && (turn + place) % 3 != 0)
          continue; // all cases on one element type of each kind, some on each of the others
        Call call{&row, std::string(row.name) + "/" + std::to_string(number) + "/" + std::to_string(turn), {}, 0, 0};
        for (const Shape &shape : row.cases[turn])
          call.operands.push_back(operand(row, shape, int(call.operands.size())));
        calls.push_back(call);
      }
    }
  }
  /// Eager when `inputs` have elements, else into the trace.
  Tensors run(const Tensors &inputs) {
    Tensors results;
    for (Call &call : calls) {
      Tensors operands;
      for (size_t k : call.operands)
        operands.push_back(inputs[k]);
      SCOPED_TRACE(describe(call));
      call.firstResult = results.size();
      try {
        for (const Tensor &result : call.row->apply(operands).list)
          results.push_back(result);
      } catch (const Error &error) {
        ADD_FAILURE() << error.what();
      }
      call.numResults = results.size() - call.firstResult;
    }
    return results;
  }
  /// The same as a graph.
  Graph trace() {
    std::vector<Spec> specs;
    for (const Tensor &input : inputs)
      specs.push_back(spec_of(input));
    auto function = [&](const Tensors &operands) { return run(operands); };
    return traceWith(function, std::tuple<Tensors>(inputs), std::span<const Spec>(specs), "main", {}, {},
                     Where::current());
  }
  std::string describe(const Call &call) const {
    std::string text = std::string(call.row->name) + " of";
    for (size_t k : call.operands)
      text += " " + inputs[k].type().str();
    return text;
  }

  DType dtype;
  Tensors inputs;
  std::vector<Call> calls;

private:
  /// Floats of each width, integers and booleans are the kinds.
  static bool isFirstOfKind(const std::vector<DType> &dtypes, size_t place) {
    auto kindOf = [](DType dtype) {
      return is_float(dtype) ? dtype_bytes(dtype) : dtype == DType::boolean ? int64_t(-1) : int64_t(0);
    };
    return std::none_of(dtypes.begin(), dtypes.begin() + std::ptrdiff_t(place),
                        [&](DType earlier) { return kindOf(earlier) == kindOf(dtypes[place]); });
  }

  /// The input of that shape and range, shared by all rows that want one.
  size_t operand(const Row &row, const Shape &shape, int position) {
    bool isSmooth = row.tolerance > 0;
    std::string key = shape.str() + " " + std::to_string(row.low) + " " + std::to_string(row.high) + " " +
                      std::to_string(position) + (isSmooth ? "s" : "");
    auto [at, isNew] = known.try_emplace(key, inputs.size());
    if (!isNew)
      return at->second;
    std::mt19937 random(uint32_t(inputs.size() + 1));
    std::vector<double> values;
    for (int64_t k = 0; k < shape.elements(); ++k) {
      double value = row.low + (row.high - row.low) * double(random() % 65537) / 65536;
      if (!isSmooth && is_float(dtype))
        value = std::round(value * 4) / 4; // so that equal elements occur
      if (!is_float(dtype))
        value = std::round(value);
      if (is_unsigned_integer(dtype))
        value = std::abs(value);
      values.push_back(dtype == DType::boolean ? value > (row.low + row.high) / 2 : value);
    }
    inputs.push_back(astype(Tensor(values, shape), dtype));
    return at->second;
  }

  std::map<std::string, size_t> known;
};

/// Compares what NumPy says (goldens/FAMILY.npz, made by oracle.py). Every row has an answer there, or stands in
/// oracle.py with the reason why NumPy has none.
void compareWithGoldens(const Program &program, const Tensors &results, const std::string &family);

/// Runs function `main` of a graph.
using RunGraph = std::function<Tensors(const Graph &graph, const Tensors &inputs)>;
/// Compares the gradients of the calls that have one with differences of NumPy's functions (goldens/gradients.npz): on
/// the evaluator and from the tape, or by `run`.
void compareGradientsWithGoldens(const Program &program, const RunGraph &run = nullptr);

/// For oracle.py: operands and types of results, to FOLDER/FAMILY-DTYPE.{npz,txt}.
void writeOperands(const Program &program, const Tensors &results, const std::string &family,
                   const std::string &folder);

} // namespace sinter::numerics

#endif
