// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the numerics table as PTX on the machine of test/cuda, against NumPy. The rows of a family and an element
// type are one graph. `./dev test` runs three of them; `./dev test cuda`, which sets SINTER_CUDA_LONG, all.

#include "CudaProgram.h"
#include "test/numerics/Program.h"
#include <cstdio>

using namespace sinter;
using namespace sinter::numerics;

namespace {
struct DeviceFamily {
  const char *name;
  std::vector<Row> (*rows)();
  unsigned onHost; // kernels that the GPU has no form for, at most: sizes that only running tells, recurrent cells, and
                   // of f64 any number of functions
};

const DeviceFamily kOnDevice[] = {
    {"elementwise", elementwiseRows, 0}, {"shape", shapeRows, 0},       {"index", indexRows, 12},
    {"reduce", reduceRows, 0},           {"contract", contractRows, 0}, {"network", networkRows, 20},
    {"linalg", linalgRows, 0},           {"random", randomRows, 0}};

struct Case {
  const DeviceFamily *family;
  DType dtype;
};

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const DeviceFamily &family : kOnDevice) {
    std::vector<DType> dtypes;
    for (const Row &row : family.rows())
      for (DType dtype : row.dtypes)
        if (std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end())
          dtypes.push_back(dtype);
    for (DType dtype : dtypes) {
      bool isShort = dtype == DType::f32 &&
                     (family.rows == elementwiseRows || family.rows == shapeRows || family.rows == reduceRows);
      if (isShort || std::getenv("SINTER_CUDA_LONG"))
        list.push_back({&family, dtype});
    }
  }
  return list;
}

class CudaRows : public testing::TestWithParam<Case> {};
} // namespace

static Tensors run(const Graph &graph, const Tensors &inputs, cuda::Compiled &compiled) {
  std::string error;
  if (!cuda::compileText(graph.text(), compiled, error)) {
    ADD_FAILURE() << error;
    return {};
  }
  Session session(Module::open(compiled.path), "main");
  std::remove(compiled.path.c_str());
  try {
    return session(inputs);
  } catch (const Error &error) {
    ADD_FAILURE() << error.what() << cuda::report();
    return {};
  }
}

TEST_P(CudaRows, AreNumPys) {
  auto [family, dtype] = GetParam();
  std::vector<Row> rows = family->rows();
  Program program(rows, dtype);
  cuda::Compiled compiled;
  Tensors results = run(program.trace(), program.inputs, compiled);
  EXPECT_EQ(cuda::report(), "");
  compareWithGoldens(program, results, family->name);
  EXPECT_GT(compiled.onDevice, 0u);
  if (dtype != DType::f64)
    EXPECT_LE(compiled.onHost, family->onHost) << compiled.schedule;
}

/// In f64, as differences want it; what a function of f64 needs is the host's.
TEST(CudaRowGradients, AreThoseOfNumPysFunctions) {
  size_t onDevice = 0;
  for (const DeviceFamily &family : kOnDevice) {
    bool isShort = family.rows == reduceRows;
    if (!isShort && !std::getenv("SINTER_CUDA_LONG"))
      continue;
    SCOPED_TRACE(family.name);
    std::vector<Row> rows = family.rows();
    cuda::Compiled compiled;
    compareGradientsWithGoldens(Program(rows, DType::f64), [&](const Graph &graph, const Tensors &inputs) {
      return run(graph, inputs, compiled);
    });
    EXPECT_EQ(cuda::report(), "");
    onDevice += compiled.onDevice;
  }
  EXPECT_GT(onDevice, 0u); // gradients of moves are constants
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaRows, testing::ValuesIn(cases()), [](const auto &info) {
  return std::string(info.param.family->name) + "_" + dtype_name(info.param.dtype);
});
