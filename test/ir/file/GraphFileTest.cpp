// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/file/GraphFile.h"
#include "compiler/Register.h"
#include "compiler/onnx/Import.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Parser/Parser.h"
#include "test/fuzz/MutateGraph.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <ctime>
#include <filesystem>
#include <fstream>

using namespace mlir;
using namespace sinter;
namespace fs = std::filesystem;

static const fs::path kCorpus = "/usr/share/libonnx-testdata/data";

static std::unique_ptr<MLIRContext> newContext() {
  DialectRegistry registry;
  registerDialects(registry);
  return std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().enableDebugInfo(true, false));
  return text;
}

static std::string readFile(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

static std::vector<fs::path> corpus() {
  std::vector<fs::path> models;
  if (fs::is_directory(kCorpus))
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(kCorpus))
      if (entry.path().extension() == ".onnx")
        models.push_back(entry.path());
  std::sort(models.begin(), models.end());
  return models;
}

/// The graph file of a model of the corpus; empty when the model is not supported.
static std::string saved(const fs::path &model, std::string *text = nullptr) {
  std::unique_ptr<MLIRContext> context = newContext();
  ScopedDiagnosticHandler quiet(context.get(), [](Diagnostic &) { return success(); });
  auto imported = onnx::importOnnx(context.get(), model.string());
  std::string bytes;
  if (failed(imported))
    return bytes;
  if (text)
    *text = print(**imported);
  EXPECT_TRUE(succeeded(serializeGraph(**imported, bytes))) << model;
  return bytes;
}

// Every model that can be imported, with all its attributes, names, locations and weights.
TEST(GraphFile, KeepsEveryModelOfTheCorpus) {
  std::vector<fs::path> models = corpus();
  if (models.empty())
    GTEST_SKIP() << "requires " << kCorpus;
  int kept = 0;
  for (const fs::path &model : models) {
    std::string before;
    std::string bytes = saved(model, &before);
    if (bytes.empty())
      continue;
    std::unique_ptr<MLIRContext> context = newContext();
    OwningOpRef<ModuleOp> module = readGraph(context.get(), ArrayRef<char>(bytes.data(), bytes.size()), "model");
    ASSERT_TRUE(module) << model;
    ASSERT_EQ(print(*module), before) << model;
    std::string again;
    ASSERT_TRUE(succeeded(serializeGraph(*module, again)));
    ASSERT_TRUE(again == bytes) << model << ": other bytes the second time";
    ++kept;
  }
  EXPECT_GE(kept, 700);
}

TEST(GraphFile, GivesTheSameBytesInEachContext) {
  if (!fs::exists(kCorpus))
    GTEST_SKIP() << "requires " << kCorpus;
  for (const char *name :
       {"node/test_scan9_sum", "node/test_lstm_with_peepholes", "node/test_resize_upsample_scales_cubic"}) {
    std::string bytes = saved(kCorpus / name / "model.onnx");
    ASSERT_FALSE(bytes.empty()) << name;
    EXPECT_TRUE(bytes == saved(kCorpus / name / "model.onnx")) << name;
  }
}

static constexpr const char *kLarge = R"(
  func.func @main() -> (tensor<1024xf32>, tensor<1024xf32>, tensor<512xf32>) {
    %0 = sinter.constant dense_resource<a> : tensor<1024xf32>
    %1 = sinter.constant dense_resource<b> : tensor<1024xf32>
    %2 = sinter.constant dense_resource<c> : tensor<512xf32>
    return %0, %1, %2 : tensor<1024xf32>, tensor<1024xf32>, tensor<512xf32>
  })";

static DenseResourceElementsAttr constantAt(ModuleOp module, unsigned i) {
  Operation *function = &module.getBody()->front();
  return cast<DenseResourceElementsAttr>(std::next(function->getRegion(0).front().begin(), i)->getAttr("value"));
}

// Equal weights share their place in the file and in memory, where they stay whatever becomes of the file.
TEST(GraphFile, StoresEqualWeightsOnceAndReadsThem) {
  std::unique_ptr<MLIRContext> context = newContext();
  std::string text = kLarge, a, c;
  for (int i = 0; i < 1024; ++i) {
    char hex[9];
    std::snprintf(hex, sizeof hex, "%02x%02x0040", i % 256, i / 256);
    (i < 512 ? c : a) += hex;
  }
  a = c + a;
  text += "\n{-# dialect_resources: { builtin: { a: \"0x04000000" + a + "\", b: \"0x04000000" + a +
          "\", c: \"0x04000000" + c + "\" } } #-}";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  ASSERT_TRUE(module);
  std::string path = (fs::temp_directory_path() / "sinter_weights_XXXXXX").string();
  close(mkstemp(path.data()));
  ASSERT_TRUE(succeeded(writeGraph(*module, path)));
  uint64_t bytes = fs::file_size(path);
  file::Header header;
  std::memcpy(&header, readFile(path).data(), sizeof header);
  EXPECT_EQ(header.weightsBytes, 4096u + 2048u);
  EXPECT_EQ(header.weightsOffset % 64, 0u);
  EXPECT_EQ(header.fileBytes, bytes);

  std::unique_ptr<MLIRContext> other = newContext();
  OwningOpRef<ModuleOp> read = readGraph(other.get(), path);
  fs::resize_file(path, 0); // a mapping of it would end the process
  fs::remove(path);
  ASSERT_TRUE(read);
  ArrayRef<char> first = constantAt(*read, 0).getRawHandle().getBlob()->getData();
  ArrayRef<char> second = constantAt(*read, 1).getRawHandle().getBlob()->getData();
  EXPECT_EQ(first.data(), second.data());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first.data()) % 64, 0u);
  EXPECT_EQ(first, constantAt(*module, 0).getRawHandle().getBlob()->getData());
  EXPECT_EQ(constantAt(*read, 2).getRawHandle().getBlob()->getData(),
            constantAt(*module, 2).getRawHandle().getBlob()->getData());
}

TEST(GraphFile, ReportsAFileThatCannotBeWritten) {
  std::unique_ptr<MLIRContext> context = newContext();
  std::string message;
  ScopedDiagnosticHandler collect(context.get(), [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>("func.func @f() { return }", context.get());
  EXPECT_TRUE(failed(writeGraph(*module, "/nowhere/at/all.sinter")));
  EXPECT_EQ(message, "cannot write '/nowhere/at/all.sinter': No such file or directory");
}

// A short run of the fuzzer, without sanitizers: tens of thousands of changed files.
TEST(GraphFile, RefusesOrReadsEveryChangedFile) {
  std::vector<std::string> seeds;
  for (const char *folder : {"test/ir/file/Inputs", "test/fuzz/seeds"})
    for (const fs::directory_entry &entry : fs::directory_iterator(fs::path(SINTER_SOURCE) / folder))
      if (entry.path().extension() == ".sinter")
        seeds.push_back(readFile(entry.path()));
  ASSERT_GT(seeds.size(), 5u);
  std::sort(seeds.begin(), seeds.end());
  std::unique_ptr<MLIRContext> context;
  int read = 0, total = 30000;
  if (const char *count = std::getenv("SINTER_MUTATIONS"))
    total = std::atoi(count);
  for (int i = 0; i < total; ++i) {
    if (i % 5000 == 0)
      context = newContext();
    std::string bytes = seeds[i % seeds.size()];
    fuzz::mutateGraph(bytes, static_cast<unsigned>(i + 1));
    std::clock_t start = std::clock(); // processor time, whatever else runs
    read += fuzz::readAny(*context, ArrayRef<char>(bytes.data(), bytes.size()));
    ASSERT_LT((std::clock() - start) / CLOCKS_PER_SEC, 5) << "seed " << i + 1;
  }
  // Most changes are noticed, but some of them make another good graph.
  EXPECT_GT(read, total / 100);
  EXPECT_LT(read, total);
}
