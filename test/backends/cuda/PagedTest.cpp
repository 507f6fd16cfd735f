// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention over a cache in pages: keys and values are gathers by a table, which its kernel reads where they are.
// Results equal the evaluator's, which gathers first.

#include "CudaProgram.h"
#include "test/backends/cpu/Execute.h"
#include <cmath>
#include <random>
#include <utility>

using namespace sinter;

namespace {
struct Pages {
  const char *type;
  int64_t batch, heads, keyHeads, rows, pages, perPage, used, depth; // used: pages of a text
  const char *attributes = "";
  const char *tableType = "i64";
  bool isOpen = false; // only running tells how many pages a text has
};

/// Whole pages by a table [batch, used], put one behind the other.
std::string textOf(const Pages &p) {
  int64_t used = p.isOpen ? -1 : p.used, keys = p.isOpen ? -1 : p.used * p.perPage;
  std::string q = cuda::tensorText({p.batch, p.heads, p.rows, p.depth}, p.type),
              cache = cuda::tensorText({p.pages, p.perPage, p.keyHeads, p.depth}, p.type),
              table = cuda::tensorText({p.batch, used}, p.tableType),
              gathered = cuda::tensorText({p.batch, used, p.perPage, p.keyHeads, p.depth}, p.type),
              rows = cuda::tensorText({p.batch, keys, p.keyHeads, p.depth}, p.type),
              k = cuda::tensorText({p.batch, p.keyHeads, keys, p.depth}, p.type);
  std::string text =
      "func.func @f(%q: " + q + ", %kc: " + cache + ", %vc: " + cache + ", %t: " + table + ") -> " + q + " {\n";
  for (std::string each : {"k", "v"})
    text += "  %" + each + "0 = sinter.gather %" + each + "c, %t {axis = 0 : i64} : (" + cache + ", " + table +
            ") -> " + gathered + "\n  %" + each + "1 = sinter.reshape %" + each + "0 {type = " + rows + "} : (" +
            gathered + ") -> " + rows + "\n  %" + each + " = sinter.transpose %" + each +
            "1 {permutation = array<i64: 0, 2, 1, 3>} : (" + rows + ") -> " + k + "\n";
  return text + "  %y = sinter.attention %q, %k, %v {scale = 0.25 : f64" + p.attributes + "} : (" + q + ", " + k +
         ", " + k + ") -> " + q + "\n  return %y : " + q + "\n}\n";
}

/// Runs a graph of q, two caches and a table of positions below `pages`.
/// They are `kernels` on the GPU, attention among them.
void expectRight(const std::string &text, int64_t pages, int64_t used, unsigned kernels) {
  SCOPED_TRACE(text);
  test::Program program(text, 2, 1, /*isGraph=*/!test::openProgram);
  ASSERT_EQ(program.error, "");
  std::mt19937 random(7);
  std::vector<HostTensor> inputs;
  for (mlir::Type type : program.function().getArgumentTypes()) {
    auto tensor = mlir::cast<mlir::RankedTensorType>(type);
    llvm::SmallVector<int64_t> shape(tensor.getShape());
    for (int64_t &size : shape)
      size = mlir::ShapedType::isDynamic(size) ? used : size;
    inputs.emplace_back(tensor.getElementType(), shape);
    std::vector<double> values(static_cast<size_t>(inputs.back().numElements()));
    bool isTable = tensor.getElementType().isInteger();
    for (double &value : values)
      value = isTable ? static_cast<double>(static_cast<int64_t>(random() % static_cast<unsigned>(2 * pages)) - pages)
                      : static_cast<double>(static_cast<int>(random() % 65) - 32) / 32;
    if (isTable)
      inputs.back().assignInts(std::vector<int64_t>(values.begin(), values.end()));
    else
      inputs.back().assignFloats(values);
  }
  auto expected = program.evaluate(inputs);
  auto actual = program.run(inputs);
  ASSERT_TRUE(llvm::succeeded(expected) && actual) << program.error << cuda::report();
  const HostTensor &want = (*expected)[0], &got = (*actual)[0];
  double unit = want.elementType().isBF16() ? 0x1p-8 : want.elementType().isF16() ? 0x1p-11 : 0x1p-19, greatest = 0;
  for (double value : want.toFloats())
    greatest = std::max(greatest, std::abs(value));
  for (int64_t at = 0; at < want.numElements(); ++at)
    ASSERT_NEAR(got.getFloat(at), want.getFloat(at), 3 * unit * greatest) << at;
  if (!kernels)
    return;
  std::string lines = "\n" + cuda::lastCode().substr(0, cuda::lastCode().find("\n\n"));
  EXPECT_NE(lines.find("_attention block "), std::string::npos) << lines;
  unsigned count = 0;
  for (size_t at = 0; (at = lines.find("\nkernel ", at)) != std::string::npos; ++at)
    ++count;
  EXPECT_EQ(count, kernels) << lines;
}

/// Numbers of the pages' rows are one kernel, attention the other: none gathers what they hold.
void expectPages(const Pages &p) { expectRight(textOf(p), p.pages, p.used, 2); }
} // namespace

// Negative page numbers count from the end; a page may be read twice.
TEST(Paged, DecodesFromPages) {
  expectPages({"bf16", 2, 4, 2, 1, 20, 16, 9, 64});
  expectPages({"f16", 1, 2, 2, 3, 7, 5, 6, 16, ", after = 20 : i64"});
  expectPages({"f32", 2, 2, 1, 1, 12, 16, 9, 16, "", "i32"});
  expectPages({"bf16", 3, 2, 1, 20, 6, 4, 5, 32, ", before = 9 : i64, after = 3 : i64"});
}

TEST(Paged, HowManyPagesOnlyRunningTells) {
  expectPages({"bf16", 2, 4, 2, 1, 20, 16, 11, 16, "", "i64", true});
  expectPages({"bf16", 1, 2, 2, 1, 20, 16, 1, 16, "", "i64", true});
}

/// A cache without pages, whose rows a table picks one by one.
static std::string slotsOf(const std::string &cache, const std::string &rows, int64_t axis, bool isReturned) {
  std::string q = "tensor<4x1x16xbf16>", table = "tensor<140xi64>";
  return "func.func @f(%q: " + q + ", %kc: " + cache + ", %vc: " + cache + ", %t: " + table + ") -> (" + q +
         (isReturned ? ", " + rows : "") + ") {\n  %k = sinter.gather %kc, %t {axis = " + std::to_string(axis) +
         " : i64} : (" + cache + ", " + table + ") -> " + rows +
         "\n  %v = sinter.gather %vc, %t {axis = " + std::to_string(axis) + " : i64} : (" + cache + ", " + table +
         ") -> " + rows + "\n  %y = sinter.attention %q, %k, %v {scale = 0.25 : f64} : (" + q + ", " + rows + ", " +
         rows + ") -> " + q + "\n  return %y" + (isReturned ? ", %k" : "") + " : " + q +
         (isReturned ? ", " + rows : "") + "\n}\n";
}

TEST(Paged, RowsOfACacheByTheirNumbers) {
  expectRight(slotsOf("tensor<2x300x16xbf16>", "tensor<2x140x16xbf16>", 1, false), 300, 140, 1);
}

// What others read as well is gathered once, and attention reads that.
TEST(Paged, KeysThatAreAskedForAreGathered) {
  expectRight(slotsOf("tensor<2x300x16xbf16>", "tensor<2x140x16xbf16>", 1, true), 300, 140, 2);
}

// Only running tells how many pages the cache has: it may be empty, which elements are asked one by one.
TEST(Paged, ACacheOfAnySize) {
  std::string text = slotsOf("tensor<2x?x16xbf16>", "tensor<2x140x16xbf16>", 1, false);
  expectRight(text, 90, 90, 1);
}

// Other layouts of pages are gathered, as on the CPU.
TEST(Paged, PagesOfHeadsAreGathered) {
  std::string cache = "tensor<20x2x8x16xbf16>", table = "tensor<17xi64>", gathered = "tensor<17x2x8x16xbf16>",
              turned = "tensor<2x17x8x16xbf16>", rows = "tensor<2x136x16xbf16>", q = "tensor<4x1x16xbf16>";
  std::string text = "func.func @f(%q: " + q + ", %kc: " + cache + ", %t: " + table + ") -> " + q +
                     " {\n  %0 = sinter.gather %kc, %t {axis = 0 : i64} : (" + cache + ", " + table + ") -> " +
                     gathered + "\n  %1 = sinter.transpose %0 {permutation = array<i64: 1, 0, 2, 3>} : (" + gathered +
                     ") -> " + turned + "\n  %2 = sinter.reshape %1 {type = " + rows + "} : (" + turned + ") -> " +
                     rows + "\n  %y = sinter.attention %q, %2, %2 {scale = 0.25 : f64} : (" + q + ", " + rows + ", " +
                     rows + ") -> " + q + "\n  return %y : " + q + "\n}\n";
  expectRight(text, 20, 17, 2);
}

TEST(Paged, OnTheCpu) {
  auto *gpu = std::exchange(test::openProgram, nullptr);
  expectRight(textOf({"f32", 2, 2, 1, 1, 12, 16, 9, 16, "", "i32"}), 12, 9, 0);
  expectRight(textOf({"f32", 1, 2, 2, 70, 80, 16, 70, 16, ", after = 300 : i64"}), 80, 70, 0);
  test::openProgram = gpu;
}
