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
struct Family {
  const char *name;
  std::vector<Row> (*rows)();
  unsigned onHost; // kernels that the GPU has no form for, at most: functions of f64, sizes that only running tells,
                   // recurrent cells
};

const Family kFamilies[] = {
    {"elementwise", elementwiseRows, 0}, {"shape", shapeRows, 0},       {"index", indexRows, 12},
    {"reduce", reduceRows, 0},           {"contract", contractRows, 0}, {"network", networkRows, 20},
    {"linalg", linalgRows, 0},           {"random", randomRows, 0}};

struct Case {
  const Family *family;
  DType dtype;
};

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Family &family : kFamilies) {
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

TEST_P(CudaRows, AreNumPys) {
  auto [family, dtype] = GetParam();
  std::vector<Row> rows = family->rows();
  Program program(rows, dtype);
  cuda::Compiled compiled;
  std::string error;
  ASSERT_TRUE(cuda::compileText(program.trace().text(), compiled, error)) << error;
  Tensors results;
  {
    Session session(Module::open(compiled.path));
    std::remove(compiled.path.c_str());
    try {
      results = session(program.inputs);
    } catch (const Error &error) {
      FAIL() << error.what() << cuda::report();
    }
  }
  EXPECT_EQ(cuda::report(), "");
  compareWithGoldens(program, results, family->name);
  EXPECT_GT(compiled.onDevice, 0u);
  EXPECT_LE(compiled.onHost, dtype == DType::f32 && family->rows == elementwiseRows ? 0 : family->onHost)
      << compiled.schedule;
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaRows, testing::ValuesIn(cases()), [](const auto &info) {
  return std::string(info.param.family->name) + "_" + dtype_name(info.param.dtype);
});
