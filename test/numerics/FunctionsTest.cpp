// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the table: all rows of a family and an element type are one graph. The four ways to run it must agree (ahead of
// time: for one type of each family): in bits where the row says so and between jitted and compiled ahead of time, else
// within the row's tolerance.

#include "Program.h"

using namespace sinter;
using namespace sinter::numerics;

static bool sameBits(const Tensor &a, const Tensor &b) {
  return detail::visitDType(a.dtype(), [&]<class T>(T) {
    auto *x = static_cast<const T *>(a.view().data), *y = static_cast<const T *>(b.view().data);
    for (int64_t k = 0; k < a.size(); ++k)
      if (std::memcmp(&x[k], &y[k], sizeof(T)) != 0 &&
          !(is_float(a.dtype()) && std::isnan(detail::convertNumber<double>(x[k])) &&
            std::isnan(detail::convertNumber<double>(y[k]))))
        return false;
    return true;
  });
}

/// The first element that is too far away; an empty text when there is none.
static std::string distance(const Tensor &got, const Tensor &wanted, double tolerance) {
  std::vector<double> x = got.to_vector<double>(), y = wanted.to_vector<double>();
  double epsilon = epsilonOf(got.dtype());
  for (size_t k = 0; k < x.size(); ++k) {
    if (x[k] == y[k] || (std::isnan(x[k]) && std::isnan(y[k])))
      continue;
    if (!(std::abs(x[k] - y[k]) <= tolerance * epsilon * std::max(1.0, std::abs(y[k])))) {
      char text[96];
      std::snprintf(text, sizeof text, "element %zu: %.17g and %.17g, %.1f epsilons apart", k, x[k], y[k],
                    epsilon ? std::abs(x[k] - y[k]) / epsilon / std::max(1.0, std::abs(y[k])) : 0.0);
      return text;
    }
  }
  return "";
}

static void compare(const Program &program, const Tensors &got, const Tensors &wanted, const char *what, bool bits) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (const Call &call : program.calls)
    for (size_t k = call.firstResult; k < call.firstResult + call.numResults; ++k) {
      std::string place = program.describe(call) + ", result " + std::to_string(k - call.firstResult) + ", " + what;
      ASSERT_EQ(got[k].type().str(), wanted[k].type().str()) << place;
      if (bits || call.row->tolerance == 0 || !is_float(got[k].dtype()))
        EXPECT_TRUE(sameBits(got[k], wanted[k])) << place << ": " << distance(got[k], wanted[k], 0);
      else if (std::string far = distance(got[k], wanted[k], call.row->tolerance); !far.empty())
        ADD_FAILURE() << place << ": " << far;
    }
}

/// Elementwise rows against C++'s own functions.
static void compareWithHost(const Program &program, const Tensors &eager) {
  for (const Call &call : program.calls) {
    if (!call.row->host || call.numResults != 1)
      continue;
    Tensors operands;
    for (size_t k : call.operands)
      operands.push_back(program.inputs[k]);
    if (operands.size() == 2)
      operands = broadcast_arrays(operands);
    const Tensor &result = eager[call.firstResult];
    std::vector<double> x = operands[0].to_vector<double>(), y = operands.back().to_vector<double>(),
                        got = result.to_vector<double>();
    double epsilon =
        std::max(epsilonOf(result.dtype()), result.dtype() == DType::boolean ? 0 : epsilonOf(program.dtype));
    for (size_t k = 0; k < got.size(); ++k) {
      double wanted = call.row->host(x[k], y[k]);
      bool isClose =
          is_integer(result.dtype())
              ? sameBits(astype(Tensor(std::vector<int64_t>{int64_t(wanted)}), result.dtype()),
                         astype(Tensor(std::vector<int64_t>{int64_t(got[k])}), result.dtype()))
              : std::abs(got[k] - wanted) <= call.row->hostTolerance * epsilon * std::abs(wanted) + epsilon * 1e-3;
      if (!isClose) {
        ADD_FAILURE() << program.describe(call) << ": of " << x[k] << " and " << y[k] << " wanted " << wanted
                      << ", got " << got[k];
        break;
      }
    }
  }
}

namespace {

class Functions : public testing::TestWithParam<std::pair<int, DType>> {};

/// The families, each on all element types that its rows name.
std::vector<std::pair<int, DType>> programs() {
  std::vector<std::pair<int, DType>> list;
  for (int family = 0; family < int(std::size(kFamilies)); ++family) {
    std::vector<DType> dtypes;
    for (const Row &row : kFamilies[family].rows())
      for (DType dtype : row.dtypes)
        if (std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end())
          dtypes.push_back(dtype);
    for (DType dtype : dtypes)
      list.push_back({family, dtype});
  }
  return list;
}

} // namespace

TEST_P(Functions, AgreeInAllFourWays) {
  auto [family, dtype] = GetParam();
  std::vector<Row> rows = kFamilies[family].rows();
  Program program(rows, dtype);
  Tensors eager = program.run(program.inputs);
  ASSERT_FALSE(testing::Test::HasFatalFailure());
  compareWithHost(program, eager);
  if (const char *folder = std::getenv("SINTER_WRITE_OPERANDS")) {
    writeOperands(program, eager, kFamilies[family].name, folder);
    return;
  }
  compareWithGoldens(program, eager, kFamilies[family].name);
  auto function = [&](const Tensors &inputs) { return program.run(inputs); };
  Graph graph = program.trace();
  Tensors reference = graph.evaluate(program.inputs);
  compare(program, eager, reference, "eager against reference", false);

  Tensors jitted = jit(function)(program.inputs);
  compare(program, jitted, reference, "jitted against reference", false);

  // The same compiler makes both: one element type of a family shows that a file brings its code, weights and types.
  if (dtype != rows.front().dtypes.front())
    return;
  std::string path = testing::TempDir() + "functions-" + kFamilies[family].name + "-" + dtype_name(dtype) + "-" +
                     std::to_string(getpid()) + ".smod";
  ASSERT_TRUE(compile(function, std::tuple<Tensors>(program.inputs), {.output = path}).ok());
  Session session(Module::open(path));
  std::remove(path.c_str());
  compare(program, session(program.inputs), jitted, "ahead of time against jitted", true);
}

INSTANTIATE_TEST_SUITE_P(Tracer, Functions, testing::ValuesIn(programs()), [](const auto &info) {
  return std::string(kFamilies[info.param.first].name) + "_" + dtype_name(info.param.second);
});

/// The gradient of every function, by the rules of its ops, against differences of NumPy's function.
TEST(FunctionGradients, AreThoseOfNumPysFunctions) {
  for (const Family &family : kFamilies) {
    SCOPED_TRACE(family.name);
    std::vector<Row> rows = family.rows();
    compareGradientsWithGoldens(Program(rows, DType::f64));
  }
}
