// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the numerics table as PTX on the machine of test/cuda, against NumPy. A family's rows are one graph.

#include "CudaProgram.h"
#include "test/numerics/Program.h"
#include <cstdio>
#include <fstream>

using namespace sinter;
using namespace sinter::numerics;

static void runFamily(const char *name, std::vector<Row> rows, unsigned leastKernels, unsigned mostOnHost) {
  Program program(rows, DType::f32);
  Graph graph = program.trace();
  cuda::Compiled compiled;
  std::string error;
  ASSERT_TRUE(cuda::compileGraph(graph.text(), compiled, error)) << error;
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
  compareWithGoldens(program, results, name);
  EXPECT_GE(compiled.onDevice, leastKernels);
  EXPECT_LE(compiled.onHost, mostOnHost);
}

TEST(CudaRows, Elementwise) { runFamily("elementwise", elementwiseRows(), 500, 0); }
TEST(CudaRows, Shape) { runFamily("shape", shapeRows(), 100, 0); }
TEST(CudaRows, Reduce) { runFamily("reduce", reduceRows(), 200, 0); }
