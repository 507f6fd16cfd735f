// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transposes through shared memory, by schedules that are forced, against their definition: all types, sizes around
// those of tiles, axes that stay together, pointwise ops before and behind; when they are chosen.

#include "CudaProgram.h"
#include "Ptxas.h"
#include "RowCase.h"

using namespace sinter;
using namespace sinter::cuda;

using Sizes = std::vector<int64_t>;

static Sizes turned(const Sizes &sizes, const Sizes &permutation) {
  Sizes result;
  for (int64_t axis : permutation)
    result.push_back(sizes[size_t(axis)]);
  return result;
}

/// Where element number `flat` of the result comes from.
static int64_t sourceOf(int64_t flat, const Sizes &sizes, const Sizes &permutation) {
  Sizes result = turned(sizes, permutation), position(sizes.size());
  for (size_t k = result.size(); k-- > 0; flat /= result[k])
    position[size_t(permutation[k])] = flat % result[k];
  int64_t source = 0;
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    source = source * sizes[axis] + position[axis];
  return source;
}

/// -(x turned) + y, with `y` as the result lies, or only the transpose.
static std::string textOf(const Sizes &sizes, const Sizes &permutation, const std::string &type, bool isPlain,
                          bool isKnown, const std::string &schedule) {
  std::string text = isPlain ? R"(func.func @f(%x: $) -> # {
  %0 = sinter.kernel map(%x)SCHEDULE : ($) -> # {
  ^bb0(%a: $):
    %r = sinter.transpose %a {permutation = array<i64: AXES>} : ($) -> #
    sinter.yield(%r) : #
  }
  return %0 : #
})"
                             : R"(func.func @f(%x: $, %y: #) -> # {
  %0 = sinter.kernel map(%x, %y)SCHEDULE : ($, #) -> # {
  ^bb0(%a: $, %b: #):
    %n = sinter.neg %a : ($) -> $
    %t = sinter.transpose %n {permutation = array<i64: AXES>} : ($) -> #
    %r = sinter.add %t, %b : (#, #) -> #
    sinter.yield(%r) : #
  }
  return %0 : #
})";
  std::string axes;
  for (int64_t axis : permutation)
    axes += (axes.empty() ? "" : ", ") + std::to_string(axis);
  text = filled(text, "$", tensorText(sizes, type, isKnown));
  text = filled(text, "#", tensorText(turned(sizes, permutation), type, isKnown)); // before schedules, which begin so
  text = filled(text, "AXES", axes);
  return filled(text, "SCHEDULE", schedule.empty() ? "" : " {schedule = #sinter.schedule<" + schedule + ">}");
}

constexpr const char *kForced = "block_transpose, lanes = 256";

static void expectTransposed(const Sizes &sizes, const Sizes &permutation, const std::string &type = "f32",
                             bool isKnown = true) {
  for (bool isPlain : {true, false}) {
    if (!isPlain && type == "i1")
      continue;
    std::string text = textOf(sizes, permutation, type, isPlain, isKnown, kForced);
    SCOPED_TRACE(text);
    test::Program program(text, 2);
    ASSERT_EQ(program.error, "");
    mlir::Type element = mlir::getElementTypeOrSelf(program.function().getArgumentTypes()[0]);
    HostTensor x(element, sizes), y(element, turned(sizes, permutation));
    bool isFloat = type.find('f') != std::string::npos;
    auto set = [&](HostTensor &tensor, int64_t i, int64_t value) {
      isFloat ? tensor.setFloat(i, double(value)) : tensor.setInt(i, value);
    };
    auto valueOf = [&](int64_t i) { return type == "i1" ? i * 7 / 3 % 2 : (i * 7 + i / 50) % 101 - 50; };
    for (int64_t i = 0; i < x.numElements(); ++i) {
      set(x, i, valueOf(i));
      set(y, i, i % 11);
    }
    auto results = isPlain ? program.run({x}) : program.run({x, y});
    ASSERT_TRUE(results) << program.error << report();
    EXPECT_EQ(report(), "");
    for (int64_t i = 0; i < x.numElements(); ++i) {
      int64_t value = valueOf(sourceOf(i, sizes, permutation)), expected = isPlain ? value : i % 11 - value;
      ASSERT_EQ(isFloat ? (*results)[0].getFloat(i) : double((*results)[0].getInt(i)), double(expected)) << i;
    }
  }
}

TEST(Transposes, OfAllTypes) {
  for (const char *type : {"f64", "f16", "bf16", "i1", "i8", "i16", "i32", "i64"})
    expectTransposed({37, 41}, {1, 0}, type);
}

TEST(Transposes, OfAllSizes) {
  for (int64_t rows : {2, 31, 32, 33, 70})
    for (int64_t columns : {3, 32, 65})
      expectTransposed({rows, columns}, {1, 0});
}

/// Channels of images to the front and to the back: pixels are one axis; heads of attention; several axes turned.
TEST(Transposes, OfSeveralAxes) {
  expectTransposed({2, 5, 7, 40}, {0, 3, 1, 2});
  expectTransposed({2, 40, 5, 7}, {0, 2, 3, 1});
  expectTransposed({3, 33, 2, 34}, {0, 2, 3, 1});
  expectTransposed({6, 5, 4, 3}, {3, 2, 1, 0});
  expectTransposed({4, 5, 3, 6, 7}, {0, 3, 4, 2, 1});
}

TEST(Transposes, OfSizesThatOnlyRunningTells) {
  expectTransposed({33, 40}, {1, 0}, "f32", /*isKnown=*/false);
  expectTransposed({2, 5, 7, 9}, {0, 3, 1, 2}, "f16", /*isKnown=*/false);
}

/// An operand that is read where it lies as well, or by two transposes.
TEST(Transposes, SumsWithTheOperand) {
  test::Program program(R"(func.func @f(%x: tensor<45x45xf32>, %y: tensor<45x45xf32>) -> tensor<45x45xf32> {
  %0 = sinter.kernel map(%x, %y) {schedule = #sinter.schedule<block_transpose, lanes = 256>} : (tensor<45x45xf32>, tensor<45x45xf32>) -> tensor<45x45xf32> {
  ^bb0(%a: tensor<45x45xf32>, %b: tensor<45x45xf32>):
    %t = sinter.transpose %a {permutation = array<i64: 1, 0>} : (tensor<45x45xf32>) -> tensor<45x45xf32>
    %u = sinter.transpose %b {permutation = array<i64: 1, 0>} : (tensor<45x45xf32>) -> tensor<45x45xf32>
    %p = sinter.mul %t, %u : (tensor<45x45xf32>, tensor<45x45xf32>) -> tensor<45x45xf32>
    %r = sinter.add %p, %a : (tensor<45x45xf32>, tensor<45x45xf32>) -> tensor<45x45xf32>
    sinter.yield(%r) : tensor<45x45xf32>
  }
  return %0 : tensor<45x45xf32>
})",
                        2);
  ASSERT_EQ(program.error, "");
  Numbers x = drawn(45 * 45, 1), y = drawn(45 * 45, 2);
  auto types = program.function().getArgumentTypes();
  auto results = program.run({cuda::tensorOf(types[0], x), cuda::tensorOf(types[1], y)});
  ASSERT_TRUE(results) << program.error << report();
  EXPECT_EQ(report(), "");
  for (size_t i = 0; i < 45; ++i)
    for (size_t j = 0; j < 45; ++j)
      ASSERT_EQ((*results)[0].getFloat(int64_t(i * 45 + j)), x[j * 45 + i] * y[j * 45 + i] + x[i * 45 + j]);
}

/// A transpose that another op reads at other positions is no tile.
TEST(Transposes, AreRefusedWhereTheyAreReadElsewhere) {
  const char text[] = R"(func.func @f(%x: tensor<45x45xf32>) -> tensor<45x45xf32> {
  %0 = sinter.kernel map(%x)SCHEDULE : (tensor<45x45xf32>) -> tensor<45x45xf32> {
  ^bb0(%a: tensor<45x45xf32>):
    %t = sinter.transpose %a {permutation = array<i64: 1, 0>} : (tensor<45x45xf32>) -> tensor<45x45xf32>
    %v = sinter.reverse %t {axes = array<i64: 0>} : (tensor<45x45xf32>) -> tensor<45x45xf32>
    %r = sinter.add %t, %v : (tensor<45x45xf32>, tensor<45x45xf32>) -> tensor<45x45xf32>
    sinter.yield(%r) : tensor<45x45xf32>
  }
  return %0 : tensor<45x45xf32>
})";
  Compiled compiled;
  std::string error;
  EXPECT_FALSE(compileText(filled(text, "SCHEDULE", " {schedule = #sinter.schedule<block_transpose, lanes = 256>}"),
                           compiled, error));
  test::Program program(filled(text, "SCHEDULE", ""), 2);
  ASSERT_EQ(program.error, "");
  Numbers x = drawn(45 * 45, 1);
  auto results = program.run({cuda::tensorOf(program.function().getArgumentTypes()[0], x)});
  ASSERT_TRUE(results) << program.error << report();
  for (size_t i = 0; i < 45; ++i)
    for (size_t j = 0; j < 45; ++j)
      ASSERT_EQ((*results)[0].getFloat(int64_t(i * 45 + j)), x[j * 45 + i] + x[j * 45 + 44 - i]);
}

TEST(Transposes, AreChosenForLargeOnes) {
  for (auto [sizes, permutation] :
       {std::pair(Sizes{256, 512}, Sizes{1, 0}), {{4, 64, 56, 56}, {0, 2, 3, 1}}, {{8, 128, 12, 64}, {0, 2, 3, 1}}}) {
    Compiled compiled;
    std::string error, text = textOf(sizes, permutation, "f32", true, true, "");
    ASSERT_TRUE(compileText(text, compiled, error)) << error;
    std::remove(compiled.path.c_str());
    std::string ptx = compiled.code.substr(compiled.code.find("\n\n") + 2);
    EXPECT_NE(ptx.find("st.shared"), std::string::npos) << text;
    if (hasPtxas())
      expectNoSpills(ptx, 1, 48, {"sm_80", "sm_90"});
  }
}
