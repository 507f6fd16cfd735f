// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pointwise kernels in vectors of 16 bytes, by schedules that are forced, against formulas: all types, lengths around
// those of vectors, broadcasts, gathers and slices, results where inputs lie; when they are chosen, and what their PTX
// reads at once.

#include "Ptxas.h"
#include "RowCase.h"

using namespace sinter;
using namespace sinter::cuda;

/// `body` yields one value of the type `result`.
static std::string kernelOf(const std::string &inputs, const std::string &types, const std::string &body,
                            const std::string &result, const std::string &schedule) {
  std::string arguments, names, blocks;
  size_t i = 0;
  for (size_t at = 0; at != std::string::npos; ++i) {
    size_t comma = types.find(';', at);
    std::string type = types.substr(at, comma == std::string::npos ? comma : comma - at);
    std::string name(1, inputs[i]);
    arguments += (i ? ", %" : "%") + name + "0: " + type;
    names += (i ? ", %" : "%") + name + "0";
    blocks += (i ? ", %" : "%") + name + ": " + type;
    at = comma == std::string::npos ? comma : comma + 1;
  }
  std::string list = filled(types, ";", ", ");
  std::string form = schedule.empty() ? "" : " {schedule = #sinter.schedule<" + schedule + ">}";
  return "func.func @f(" + arguments + ") -> " + result + " {\n  %0 = sinter.kernel map(" + names + ")" + form +
         " : (" + list + ") -> " + result + " {\n  ^bb0(" + blocks + "):\n" + body +
         "    sinter.yield(%r) : " + result + "\n  }\n  return %0 : " + result + "\n}";
}

static std::string vectors(int64_t lanes) { return "vectors, lanes = " + std::to_string(lanes); }

static const char kSum[] = "    %r = sinter.add %x, %y : ($, $) -> $\n";

/// Sums of two tensors of `count` elements.
static void expectSums(const std::string &type, int64_t lanes, int64_t count) {
  std::string tensor = "tensor<" + std::to_string(count) + "x" + type + ">";
  std::string text = kernelOf("xy", tensor + ";" + tensor, filled(kSum, "$", tensor), tensor, vectors(lanes));
  SCOPED_TRACE(text);
  test::Program program(text, 2);
  ASSERT_EQ(program.error, "");
  mlir::Type element = mlir::getElementTypeOrSelf(program.function().getArgumentTypes()[0]);
  HostTensor x(element, {count}), y(element, {count});
  bool isInteger = type[0] == 'i';
  auto set = [&](HostTensor &tensor, int64_t i, int64_t value) {
    isInteger ? tensor.setInt(i, value) : tensor.setFloat(i, double(value) / 4);
  };
  for (int64_t i = 0; i < count; ++i) {
    set(x, i, i % 29 - 14);
    set(y, i, 3 * (i % 5));
  }
  auto results = program.run({x, y});
  ASSERT_TRUE(results) << program.error << report();
  EXPECT_EQ(report(), "");
  for (int64_t i = 0; i < count; ++i) {
    int64_t sum = i % 29 - 14 + 3 * (i % 5);
    ASSERT_EQ(isInteger ? double((*results)[0].getInt(i)) : (*results)[0].getFloat(i) * 4, double(sum)) << i;
  }
}

TEST(Vectors, OfAllTypesAndLengths) {
  for (auto [type, lanes] :
       {std::pair("f32", 4), {"f64", 2}, {"f16", 8}, {"bf16", 8}, {"i8", 8}, {"i32", 4}, {"i64", 2}})
    for (int64_t count : {1, 7, 8, 9, 2050})
      expectSums(type, lanes, count);
}

/// Rows of 12 columns and a vector of these, numbers of both widths, booleans; columns that a table chooses; the whole
/// is written where %x lies.
TEST(Vectors, OfBroadcastsGathersAndSlices) {
  std::string body = R"(
    %b = sinter.broadcast %y axes = [1] {type = tensor<6x12xf32>} : (tensor<12xf32>) -> tensor<6x12xf32>
    %g = sinter.gather %t, %i {axis = 0 : i64} : (tensor<9x12xf32>, tensor<6xi64>) -> tensor<6x12xf32>
    %s = sinter.slice %z {starts = array<i64: 1, 3>, limits = array<i64: 7, 15>, steps = array<i64: 1, 1>} : (tensor<8x16xf32>) -> tensor<6x12xf32>
    %c = sinter.compare lt %b, %s : (tensor<6x12xf32>, tensor<6x12xf32>) -> tensor<6x12xi1>
    %q = sinter.select %c, %x, %g : (tensor<6x12xi1>, tensor<6x12xf32>, tensor<6x12xf32>) -> tensor<6x12xf32>
    %r = sinter.add %q, %b : (tensor<6x12xf32>, tensor<6x12xf32>) -> tensor<6x12xf32>
)";
  std::string text =
      kernelOf("xytiz", "tensor<6x12xf32>;tensor<12xf32>;tensor<9x12xf32>;tensor<6xi64>;tensor<8x16xf32>", body,
               "tensor<6x12xf32>", vectors(4));
  test::Program program(text, 2);
  ASSERT_EQ(program.error, "");
  auto types = program.function().getArgumentTypes();
  Numbers x = drawn(72, 1), y = drawn(12, 2), t = drawn(108, 3), z = drawn(128, 4);
  std::vector<HostTensor> inputs = {tensorOf(types[0], x), tensorOf(types[1], y), tensorOf(types[2], t),
                                    HostTensor(mlir::getElementTypeOrSelf(types[3]), {6}), tensorOf(types[4], z)};
  for (int64_t i = 0; i < 6; ++i)
    inputs[3].setInt(i, (5 * i + 2) % 9);
  auto results = program.run(inputs);
  ASSERT_TRUE(results) << program.error << report();
  EXPECT_EQ(report(), "");
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 12; ++j) {
      double chosen =
          y[size_t(j)] < z[size_t((i + 1) * 16 + j + 3)] ? x[size_t(i * 12 + j)] : t[size_t((5 * i + 2) % 9 * 12 + j)];
      ASSERT_EQ((*results)[0].getFloat(i * 12 + j), chosen + y[size_t(j)]) << i << ", " << j;
    }
}

/// What a label is compared with: positions of 8 bytes along the row, that are in no memory.
TEST(Vectors, OfPositions) {
  std::string body = R"(
    %b = sinter.broadcast %y axes = [0] {type = tensor<5x16xi64>} : (tensor<5xi64>) -> tensor<5x16xi64>
    %i = sinter.iota {axis = 1 : i64, type = tensor<5x16xi64>} : () -> tensor<5x16xi64>
    %c = sinter.compare eq %b, %i : (tensor<5x16xi64>, tensor<5x16xi64>) -> tensor<5x16xi1>
    %n = sinter.neg %x : (tensor<5x16xf32>) -> tensor<5x16xf32>
    %r = sinter.select %c, %n, %x : (tensor<5x16xi1>, tensor<5x16xf32>, tensor<5x16xf32>) -> tensor<5x16xf32>
)";
  test::Program program(kernelOf("xy", "tensor<5x16xf32>;tensor<5xi64>", body, "tensor<5x16xf32>", vectors(4)), 2);
  ASSERT_EQ(program.error, "");
  auto types = program.function().getArgumentTypes();
  Numbers x = drawn(80, 1);
  std::vector<HostTensor> inputs = {tensorOf(types[0], x), HostTensor(mlir::getElementTypeOrSelf(types[1]), {5})};
  for (int64_t i = 0; i < 5; ++i)
    inputs[1].setInt(i, (7 * i + 3) % 16);
  auto results = program.run(inputs);
  ASSERT_TRUE(results) << program.error << report();
  EXPECT_EQ(report(), "");
  for (int64_t i = 0; i < 80; ++i)
    ASSERT_EQ((*results)[0].getFloat(i), i % 16 == (7 * (i / 16) + 3) % 16 ? -x[size_t(i)] : x[size_t(i)]) << i;
}

/// Rows whose number only running tells, as one.
TEST(Vectors, OfSizesThatOnlyRunningTells) {
  std::string tensor = "tensor<?x5xf32>";
  test::Program program(kernelOf("xy", tensor + ";" + tensor, filled(kSum, "$", tensor), tensor, vectors(4)), 2);
  ASSERT_EQ(program.error, "");
  auto types = program.function().getArgumentTypes();
  for (int64_t rows : {0, 1, 4, 13}) {
    Numbers x = drawn(rows * 5, 5), y = drawn(rows * 5, 6);
    auto results = program.run({tensorOf(types[0], {rows, 5}, x), tensorOf(types[1], {rows, 5}, y)});
    ASSERT_TRUE(results) << program.error << report();
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ((*results)[0].getFloat(int64_t(i)), x[i] + y[i]) << rows << ", " << i;
  }
  EXPECT_EQ(report(), "");
}

/// The slices of a loop of the host begin at multiples of 12 bytes.
TEST(Vectors, OfSlicesThatAreNotAligned) {
  test::Program program(
      R"(func.func @f(%h: tensor<3xf32>, %s: tensor<?x3xf32>) -> tensor<?x3xf32> {
    %c, %y = sinter.scan(%h) over(%s) captures() {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>}
        : (tensor<3xf32>, tensor<?x3xf32>) -> (tensor<3xf32>, tensor<?x3xf32>) body {
    ^bb0(%a: tensor<3xf32>, %e: tensor<3xf32>):
      %n = sinter.kernel map(%a, %e) {schedule = #sinter.schedule<vectors, lanes = 4>} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32> {
      ^bb0(%p: tensor<3xf32>, %q: tensor<3xf32>):
        %r = sinter.add %p, %q : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        sinter.yield(%r) : tensor<3xf32>
      }
      sinter.yield(%n, %n) : tensor<3xf32>, tensor<3xf32>
    }
    return %y : tensor<?x3xf32>
  })",
      2);
  ASSERT_EQ(program.error, "");
  mlir::Type f32 = mlir::Float32Type::get(&program.context);
  Numbers x = drawn(21, 9);
  auto results = program.run({test::makeInput(f32, {{3}, Numbers(3, 0)}), test::makeInput(f32, {{7, 3}, x})});
  ASSERT_TRUE(results) << program.error << report();
  Numbers total(3, 0);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ((*results)[0].getFloat(int64_t(i)), total[i % 3] += x[i]);
  EXPECT_EQ(report(), "");
}

TEST(Vectors, OtherSchedulesAreErrors) {
  std::string tensor = "tensor<64xf32>";
  for (const char *schedule : {"vectors, lanes = 8", "vectors, lanes = 4, chunk = 2"}) {
    Compiled compiled;
    std::string error;
    EXPECT_FALSE(compileText(kernelOf("xy", tensor + ";" + tensor, filled(kSum, "$", tensor), tensor, schedule),
                             compiled, error));
  }
}

/// One instruction for 16 bytes; few elements have a thread each.
TEST(Vectors, AreChosenForManyElements) {
  auto ptxOf = [](const std::string &tensor) {
    const std::string code = compiledCode("func.func @f(%x: " + tensor + ", %y: " + tensor + ") -> " + tensor + " {\n" +
                                          filled(kSum, "$", tensor) + "  return %r : " + tensor + "\n}");
    return code.substr(code.find("\n\n") + 2);
  };
  for (auto [tensor, load] : {std::pair("tensor<64x1024xf32>", "ld.global.v4.b32"),
                              {"tensor<131072xf16>", ".v4."},
                              {"tensor<?x768xbf16>", ".v4."},
                              {"tensor<65536xf64>", "ld.global.v2.b64"}}) {
    std::string ptx = ptxOf(tensor);
    EXPECT_NE(ptx.find(load), std::string::npos) << ptx;
    EXPECT_NE(ptx.find("st.global.v"), std::string::npos) << ptx;
    EXPECT_EQ(ptx.find("div.u64"), std::string::npos) << "the flat index is the address: " << ptx;
    if (hasPtxas())
      expectNoSpills(ptx, 1, 64, {"sm_80", "sm_90"});
  }
  EXPECT_EQ(ptxOf("tensor<64x100xf32>").find("ld.global.v"), std::string::npos);
}
