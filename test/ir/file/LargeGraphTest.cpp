// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that saving and loading a graph with 64 MB of weights takes. Files are read, not mapped
// (ir/file/FileBytes.h).

#include "compiler/Register.h"
#include "ir/Shape.h"
#include "ir/file/GraphFile.h"
#include "ir/reference/HostTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"
#include <filesystem>
#include <fstream>
#include <numeric>
#include <unistd.h>

using namespace mlir;
using namespace sinter;
namespace fs = std::filesystem;

/// Pages of this process that are in memory.
static int64_t residentPages() {
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident;
}

static std::unique_ptr<MLIRContext> newContext() {
  DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

/// `main`, which gives `count` weights of `bytes` bytes each, all different.
static OwningOpRef<ModuleOp> makeGraph(MLIRContext *context, int64_t count, int64_t bytes) {
  OpBuilder b(context);
  Location loc = b.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(b, loc);
  b.setInsertionPointToStart(module->getBody());
  auto type = RankedTensorType::get({bytes / 4}, b.getI32Type());
  auto main = func::FuncOp::create(b, loc, "main", b.getFunctionType({}, SmallVector<Type>(count, type)));
  b.setInsertionPointToStart(main.addEntryBlock());
  SmallVector<Value> weights;
  for (int64_t k = 0; k < count; ++k) {
    std::vector<int64_t> numbers(bytes / 4);
    std::iota(numbers.begin(), numbers.end(), k << 20);
    HostTensor tensor(b.getI32Type(), {bytes / 4});
    tensor.assignInts(numbers);
    weights.push_back(ConstantOp::create(b, loc, type, tensor.toAttr("weight")));
  }
  func::ReturnOp::create(b, loc, weights);
  return module;
}

TEST(LargeGraph, IsInMemoryOnceWhenItIsSavedAndLoaded) {
  constexpr int64_t count = 16, bytes = 4 << 20, slack = 12 << 20;
  const int64_t page = sysconf(_SC_PAGESIZE);
  fs::path saved = fs::temp_directory_path() / ("sinter_large_" + std::to_string(getpid()) + ".sinter");
  {
    std::unique_ptr<MLIRContext> context = newContext();
    OwningOpRef<ModuleOp> graph = makeGraph(context.get(), count, bytes);
    int64_t before = residentPages();
    ASSERT_TRUE(succeeded(writeGraph(*graph, saved.string())));
    EXPECT_LE((residentPages() - before) * page, slack);
  }
  std::unique_ptr<MLIRContext> context = newContext();
  int64_t before = residentPages();
  OwningOpRef<ModuleOp> graph = readGraph(context.get(), saved.string());
  fs::remove(saved); // what is read stays, whatever becomes of the file
  ASSERT_TRUE(graph);
  EXPECT_LE((residentPages() - before) * page, count * bytes + slack);
  int64_t k = 0;
  graph->walk([&](ConstantOp constant) {
    FailureOr<HostTensor> weight = HostTensor::fromAttr(constant.getValue());
    ASSERT_TRUE(succeeded(weight));
    EXPECT_EQ(weight->getInt(0), k << 20);
    EXPECT_EQ(weight->getInt(bytes / 4 - 1), (k << 20) + bytes / 4 - 1);
    ++k;
  });
  EXPECT_EQ(k, count);
}
