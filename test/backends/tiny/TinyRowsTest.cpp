// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the numerics table on the tiny back end, against NumPy. A family's rows are one graph.

#include "TinyDevice.h"
#include "TinyProgram.h"
#include "test/numerics/Program.h"
#include <cstdio>
#include <set>

using namespace sinter;
using namespace sinter::numerics;

static void runFamily(const char *name, std::vector<Row> rows, size_t leastRows) {
  Program program(rows, DType::f32);
  Graph graph = program.trace();
  tiny::Compiled compiled;
  std::string error;
  ASSERT_TRUE(tiny::compileText(graph.text(), compiled, error)) << error;
  Tensors results;
  tiny::Trace trace;
  {
    tiny::registerDriver();
    Session session(Module::open(compiled.path));
    std::remove(compiled.path.c_str());
    results = session(program.inputs);
    trace = tiny::traceDevice();
  }
  compareWithGoldens(program, results, name);
  std::set<std::string> names;
  for (const Call &call : program.calls)
    names.insert(call.row->name);
  EXPECT_GE(names.size(), leastRows);
  EXPECT_GT(compiled.onDevice, leastRows);
  EXPECT_GT(trace.launches, static_cast<int>(leastRows));
}

TEST(TinyRows, Elementwise) { runFamily("elementwise", elementwiseRows(), 30); }
TEST(TinyRows, Shape) { runFamily("shape", shapeRows(), 8); }
TEST(TinyRows, Reduce) { runFamily("reduce", reduceRows(), 0); }
