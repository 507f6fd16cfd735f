// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Program.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

using namespace sinter;
using namespace sinter::numerics;

void sinter::numerics::writeOperands(const Program &program, const Tensors &results, const std::string &family,
                                     const std::string &folder) {
  std::string stem = folder + "/" + family + "-" + dtype_name(program.dtype);
  std::vector<std::string> names;
  std::vector<const char *> pointers;
  std::vector<sinter_tensor> tensors;
  std::ofstream text(stem + ".txt");
  for (const Call &call : program.calls) {
    text << call.key;
    for (size_t k : call.operands)
      text << " " << k;
    text << " :";
    for (size_t k = 0; k < call.numResults; ++k)
      text << " " << dtype_name(results[call.firstResult + k].dtype());
    text << "\n";
  }
  for (size_t k = 0; k < program.inputs.size(); ++k) {
    names.push_back(std::to_string(k));
    tensors.push_back(program.inputs[k].view());
  }
  for (const std::string &name : names)
    pointers.push_back(name.c_str());
  ASSERT_EQ(sinter_npz_write((stem + ".npz").c_str(), pointers.data(), tensors.data(), int32_t(tensors.size())),
            SINTER_OK)
      << sinter_last_error();
}

namespace {

/// goldens/FAMILY.npz: for each element type DTYPE.keys, lines of text "KEY:RESULT DIMS...", or "without NAME REASON"
/// for rows that have no answer, and DTYPE.values, the elements one after the other: doubles, or the bits of integers.
class Goldens {
public:
  Goldens(const std::string &family, DType dtype) {
    std::string path = std::string(GOLDENS) + "/" + family + ".npz";
    sinter_npz *file = nullptr;
    if (sinter_npz_open(path.c_str(), &file)) {
      ADD_FAILURE() << sinter_last_error();
      return;
    }
    sinter_tensor text{}, numbers{};
    std::string name = dtype_name(dtype);
    if (sinter_npz_read(file, (name + ".keys").c_str(), &text) ||
        sinter_npz_read(file, (name + ".values").c_str(), &numbers))
      ADD_FAILURE() << sinter_last_error();
    std::istringstream lines(std::string(static_cast<const char *>(text.data), size_t(text.data ? text.dims[0] : 0)));
    size_t at = 0;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string key;
      words >> key;
      if (key == "without") {
        words >> key;
        without.insert(key);
        continue;
      }
      Result &result = results[key];
      result.first = at;
      size_t elements = 1;
      for (int64_t size; words >> size; elements *= size_t(size))
        result.dims.push_back(size);
      at += elements;
    }
    if (numbers.data)
      values.assign(static_cast<const int64_t *>(numbers.data), static_cast<const int64_t *>(numbers.data) + at);
    sinter_tensor_free(&text);
    sinter_tensor_free(&numbers);
    sinter_npz_close(file);
  }

  struct Result {
    size_t first;
    std::vector<int64_t> dims;
  };
  std::map<std::string, Result> results;
  std::set<std::string> without;
  std::vector<int64_t> values;
};

} // namespace

/// Whether a float is what NumPy computed in f64 and rounded once: rows of one rounding within one unit, others within
/// their tolerance. Low precision rounds after every op that a function is made of.
static bool isClose(double got, double wanted, const Row &row, DType dtype) {
  if (got == wanted || (std::isnan(got) && std::isnan(wanted)))
    return true;
  double tolerance = std::max(row.tolerance, dtype_bytes(dtype) == 2 ? 4.0 : 1.0);
  return std::abs(got - wanted) <= tolerance * epsilonOf(dtype) * std::max(row.tolerance ? 1.0 : 0.0, std::abs(wanted));
}

void sinter::numerics::compareWithGoldens(const Program &program, const Tensors &results, const std::string &family) {
  Goldens goldens(family, program.dtype);
  for (const Call &call : program.calls) {
    if (goldens.without.count(call.row->name))
      continue;
    for (size_t k = 0; k < call.numResults; ++k) {
      const Tensor &result = results[call.firstResult + k];
      std::string place = program.describe(call) + ", result " + std::to_string(k) + " against NumPy";
      auto found = goldens.results.find(call.key + ":" + std::to_string(k));
      if (found == goldens.results.end()) {
        ADD_FAILURE() << place << ": no answer; add the function to oracle.py and run it";
        continue;
      }
      const Goldens::Result &wanted = found->second;
      Shape shape = result.shape();
      ASSERT_EQ(std::vector<int64_t>(shape.begin(), shape.end()), wanted.dims) << place;
      bool isFloat = is_float(result.dtype());
      std::vector<double> floats = isFloat ? result.to_vector<double>() : std::vector<double>();
      std::vector<int64_t> integers =
          isFloat ? std::vector<int64_t>() : astype(result, DType::i64).to_vector<int64_t>();
      for (size_t e = 0; e < size_t(result.size()); ++e) {
        int64_t bits = goldens.values[wanted.first + e];
        double number;
        std::memcpy(&number, &bits, sizeof(number));
        if (isFloat ? isClose(floats[e], number, *call.row, result.dtype()) : integers[e] == bits)
          continue;
        ADD_FAILURE() << place << ", element " << e << ": wanted " << (isFloat ? number : double(bits)) << ", got "
                      << (isFloat ? floats[e] : double(integers[e]));
        break;
      }
    }
  }
}

/// What is differentiated: the sum of the float results, weighted by fixed numbers.
static Tensor weighted(const Row &row, const Tensors &operands) {
  Tensor total = zeros({}, DType::f64);
  Tensors results = row.apply(operands).list;
  for (size_t k = 0; k < results.size(); ++k)
    if (is_float(results[k].dtype())) {
      Tensor flat = astype(ravel(results[k]), DType::f64);
      total = total + sum(flat * cos(1.0 + 10.0 * double(k) + iota({flat.dim(0)}, 0, DType::f64)));
    }
  return total;
}

/// The gradients of a call, from the tape.
static Tensors tapeGradients(const Program &program, const Call &call) {
  Tensors leaves;
  for (size_t k : call.operands)
    leaves.push_back((program.inputs[k] * 1.0).requires_grad());
  if (Tensor total = weighted(*call.row, leaves); total.needs_grad())
    (void)backward(total);
  Tensors slopes;
  for (const Tensor &leaf : leaves)
    slopes.push_back(leaf.grad().defined() ? leaf.grad() : zeros_like(leaf.detach()));
  return slopes;
}

void sinter::numerics::compareGradientsWithGoldens(const Program &program, const RunGraph &run) {
  Goldens goldens("gradients", DType::f64);
  std::vector<const Call *> calls;
  for (const Call &call : program.calls)
    if (goldens.results.count(call.key + ":0"))
      calls.push_back(&call);
  auto gradients = [&](const Tensors &inputs) {
    Tensors all;
    for (const Call *call : calls) {
      Tensors operands;
      for (size_t k : call->operands)
        operands.push_back(inputs[k]);
      SCOPED_TRACE(program.describe(*call));
      try {
        for (const Tensor &each : grad([&](const Tensors &x) { return weighted(*call->row, x); })(operands))
          all.push_back(each);
      } catch (const Error &error) {
        ADD_FAILURE() << error.what();
        all.insert(all.end(), operands.begin(), operands.end());
      }
    }
    return all;
  };
  std::vector<Spec> specs;
  for (const Tensor &input : program.inputs)
    specs.push_back(spec_of(input));
  Graph graph = traceWith(gradients, std::tuple<Tensors>(program.inputs), std::span<const Spec>(specs), "main", {}, {},
                          Where::current());
  int32_t main = 0; // behind the functions that `grad` traced
  sinter_function_info info{};
  info.struct_size = sizeof(info);
  while (!sinter_graph_function(graph.handle(), main, &info) && std::string(info.name) != "main")
    ++main;
  Tensors found = run ? run(graph, program.inputs) : graph.evaluate(program.inputs, main);
  size_t next = 0;
  std::set<const Row *> onTape; // one case of each row, which has elements
  for (const Call *call : calls) {
    bool isEmpty = std::any_of(call->operands.begin(), call->operands.end(),
                               [&](size_t k) { return program.inputs[k].known_size() < 2; });
    Tensors tape;
    if (!run && (!isEmpty || call->row->cases.size() == 1) && onTape.insert(call->row).second) {
      SCOPED_TRACE(program.describe(*call) + " on the tape");
      try {
        tape = tapeGradients(program, *call);
      } catch (const Error &error) {
        ADD_FAILURE() << error.what();
      }
    }
    for (size_t k = 0; k < call->operands.size(); ++k, ++next) {
      const Goldens::Result &wanted = goldens.results[call->key + ":" + std::to_string(k)];
      ASSERT_LT(next, found.size());
      std::vector<double> got = found[next].to_vector<double>();
      for (size_t e = 0; e < got.size(); ++e) {
        double number;
        std::memcpy(&number, &goldens.values[wanted.first + e], sizeof(number));
        if (std::isnan(number) || std::abs(got[e] - number) <= 1e-7 * std::max(1.0, std::abs(number)))
          continue;
        ADD_FAILURE() << program.describe(*call) << ", gradient by operand " << k << ", element " << e << ": wanted "
                      << number << ", got " << got[e];
        break;
      }
      std::vector<double> walked = k < tape.size() ? tape[k].to_vector<double>() : got;
      ASSERT_EQ(walked.size(), got.size());
      for (size_t e = 0; e < got.size(); ++e)
        if (!(std::abs(walked[e] - got[e]) <= 1e-12 * std::max(1.0, std::abs(got[e]))) &&
            !(std::isnan(walked[e]) && std::isnan(got[e]))) {
          ADD_FAILURE() << program.describe(*call) << ", gradient by operand " << k << " from the tape, element " << e
                        << ": " << walked[e] << ", as a graph " << got[e];
          break;
        }
    }
  }
}
