// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Saving and loading a model of 440 MB: BERT-base, where it was fetched (`./dev bench` does).

#include "compiler/Register.h"
#include "compiler/onnx/Import.h"
#include "ir/Shape.h"
#include "ir/file/GraphFile.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "gtest/gtest.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace mlir;
using namespace sinter;
namespace fs = std::filesystem;

static double secondsOf(llvm::function_ref<void()> work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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

TEST(LargeGraph, SavesLikeACopyAndLoadsWithoutReading) {
  const char *models = std::getenv("SINTER_MODELS");
  fs::path model = fs::path(models ? models : "") / "bert.onnx";
  if (!fs::exists(model))
    GTEST_SKIP() << "requires bert.onnx";
  fs::path folder = fs::temp_directory_path() / ("sinter_large_" + std::to_string(getpid()));
  fs::create_directory(folder);
  fs::path saved = folder / "bert.sinter", copied = folder / "copy.sinter";
  double copy = 1e9;
  {
    std::unique_ptr<MLIRContext> context = newContext();
    auto imported = onnx::importOnnx(context.get(), model.string());
    ASSERT_TRUE(succeeded(imported));
    // The least of several times, each on a new file: what else runs on the machine only adds.
    double save = 1e9;
    for (int i = 0; i < 3; ++i) {
      fs::remove(saved);
      save = std::min(save, secondsOf([&] { ASSERT_TRUE(succeeded(writeGraph(**imported, saved.string()))); }));
      fs::remove(copied);
      std::string command = "cp " + saved.string() + " " + copied.string();
      copy = std::min(copy, secondsOf([&] { ASSERT_EQ(std::system(command.c_str()), 0); }));
    }
    std::printf("save %.3f s, cp %.3f s\n", save, copy);
    EXPECT_LE(save, 1.5 * copy);
  }
  fs::remove(copied);

  std::unique_ptr<MLIRContext> context = newContext();
  { // The first load of a process also fills tables of MLIR.
    double load = 1e9;
    for (int i = 0; i < 3; ++i) {
      std::unique_ptr<MLIRContext> other = newContext();
      load = std::min(load, secondsOf([&] { ASSERT_TRUE(readGraph(other.get(), saved.string())); }));
    }
    std::printf("load %.1f ms\n", load * 1e3);
    EXPECT_LE(load, 0.25 * copy);
  }
  int64_t before = residentPages();
  OwningOpRef<ModuleOp> graph = readGraph(context.get(), saved.string());
  int64_t loaded = residentPages() - before, page = sysconf(_SC_PAGESIZE), read = 0;
  std::printf("resident after load %.1f MB\n", double(loaded * page) / 1e6);
  EXPECT_LE(loaded * page, 8 << 20); // ops, and no weight
  // Then what is read is resident, and little more: the system maps pages around a fault, up to 64 KB at a time.
  volatile char sum = 0;
  graph->walk([&](ConstantOp constant) {
    auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue());
    if (!resource)
      return;
    ArrayRef<char> content = resource.getRawHandle().getBlob()->getData();
    if (content.size() < (1 << 20) || read * page > (100 << 20))
      return;
    for (size_t at = 0; at < content.size(); at += static_cast<size_t>(page))
      sum = sum + content[at];
    read += static_cast<int64_t>(content.size()) / page;
  });
  int64_t resident = residentPages() - before;
  std::printf("read %.1f MB, resident %.1f MB\n", double(read * page) / 1e6, double(resident * page) / 1e6);
  EXPECT_GT(read * page, 100 << 20);
  EXPECT_LE(double(resident), 1.1 * double(read));
  fs::remove_all(folder);
}
