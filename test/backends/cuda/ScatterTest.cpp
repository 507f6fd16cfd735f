// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scatters whose updates a block sorts, against loops over the updates in their order: places that many updates go to,
// negative positions and ones outside, slices of one element and of many, all combiners and types, sizes that only
// running tells.

#include "CudaProgram.h"
#include "Ptxas.h"
#include "test/backends/cpu/Execute.h"
#include <cmath>
#include <random>

using namespace sinter;

namespace {
struct ScatterCase {
  const char *type = "f32", *combiner = "add";
  int64_t places = 7, updates = 100, columns = 3;
  bool isKnown = true, ofZeros = false, ofElements = false;
};
} // namespace

static std::string textOf(const ScatterCase &c) {
  std::string x = cuda::tensorText({c.places, c.columns}, c.type, c.isKnown),
              u = cuda::tensorText({c.updates, c.columns}, c.type, c.isKnown),
              p = c.ofElements ? cuda::tensorText({c.updates, c.columns}, "i64", c.isKnown)
                               : "tensor<" + (c.isKnown ? std::to_string(c.updates) : "?") + "x1xi64>";
  std::string how = std::string("combiner = #sinter<combiner ") + c.combiner + ">";
  std::string op = c.ofElements ? "sinter.scatter_elements %a, %p, %u {axis = 0 : i64, " + how + "}"
                                : "sinter.scatter_nd %a, %p, %u {" + how + "}";
  std::string zeros = std::string("  %z = sinter.constant dense<") + (c.type[0] == 'i' ? "0" : "0.0") + "> : " + x +
                      "\n  %a = sinter.mul %x, %z : (" + x + ", " + x + ") -> " + x + "\n";
  return "func.func @f(%x: " + x + ", %p: " + p + ", %u: " + u + ") -> " + x + " {\n" +
         (c.ofZeros ? zeros : "  %a = sinter.abs %x : (" + x + ") -> " + x + "\n") + "  %r = " + op + " : (" + x +
         ", " + p + ", " + u + ") -> " + x + "\n  return %r : " + x + "\n}";
}

static double combined(const std::string &combiner, double old, double update) {
  return combiner == "add"   ? old + update
         : combiner == "mul" ? old * update
         : combiner == "max" ? std::max(old, update)
         : combiner == "min" ? std::min(old, update)
                             : update;
}

static void expectScatter(const ScatterCase &c) {
  SCOPED_TRACE(textOf(c));
  test::Program program(textOf(c), 2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  EXPECT_NE(cuda::lastCode().find("_join block 256"), std::string::npos) << cuda::lastCode().substr(0, 400);
  auto types = program.function().getArgumentTypes();
  auto element = [&](unsigned i) { return mlir::getElementTypeOrSelf(types[i]); };
  std::mt19937 random(static_cast<unsigned>(c.places * 31 + c.updates));
  bool isInteger = c.type[0] == 'i', isProduct = std::string(c.combiner) == "mul";
  HostTensor x(element(0), {c.places, c.columns}), u(element(2), {c.updates, c.columns});
  HostTensor p(element(1), {c.updates, c.ofElements ? c.columns : 1});
  std::vector<double> expected;
  auto draw = [&](HostTensor &tensor, int64_t i) {
    double value = isProduct ? (random() % 2 ? 1 : -1) : double(int(random() % 21) - 10);
    isInteger ? tensor.setInt(i, int64_t(value)) : tensor.setFloat(i, value / 4);
    return isInteger ? value : value / 4;
  };
  for (int64_t i = 0; i < x.numElements(); ++i)
    expected.push_back(c.ofZeros ? 0 * draw(x, i) : std::fabs(draw(x, i)));
  for (int64_t i = 0; i < p.numElements(); ++i)
    p.setInt(i, int64_t(random() % unsigned(2 * c.places + 2)) - c.places - 1); // some are outside
  for (int64_t i = 0; i < u.numElements(); ++i) {
    double update = draw(u, i);
    int64_t row = i / c.columns, column = i % c.columns, place = p.getInt(c.ofElements ? i : row);
    place += place < 0 ? c.places : 0;
    if (place < 0 || place >= c.places)
      continue;
    double &old = expected[size_t(place * c.columns + column)];
    old = combined(c.combiner, old, update);
  }
  auto first = program.run({x, p, u}), second = program.run({x, p, u});
  ASSERT_TRUE(first && second) << program.error << cuda::report();
  EXPECT_EQ(cuda::report(), "");
  EXPECT_EQ(std::memcmp((*first)[0].data(), (*second)[0].data(), (*first)[0].numBytes()), 0);
  for (size_t i = 0; i < expected.size(); ++i) {
    double got = isInteger ? double((*first)[0].getInt(int64_t(i))) : (*first)[0].getFloat(int64_t(i));
    if (std::string(c.type) == "i8")
      expected[i] = double(int8_t(int64_t(expected[i])));
    ASSERT_NEAR(got, expected[i], std::string(c.type) == "bf16" ? 0x1p-8 * std::fabs(expected[i]) : 0) << i;
  }
}

TEST(Scatters, OfAllCombiners) {
  for (const char *combiner : {"set", "add", "mul", "max", "min"})
    for (bool ofElements : {false, true})
      expectScatter({.combiner = combiner, .ofElements = ofElements});
}

TEST(Scatters, OfAllTypes) {
  for (const char *type : {"f64", "f16", "bf16", "i8", "i32", "i64"})
    expectScatter({.type = type, .ofZeros = type[0] == 'f'});
}

TEST(Scatters, OfSlicesOfAllSizes) {
  for (int64_t columns : {1, 2, 31, 64, 255, 300})
    expectScatter({.places = 20, .updates = columns > 64 ? 12 : 300, .columns = columns});
}

/// Places that take one update or none, and one that takes all.
TEST(Scatters, OfFewAndOfManyPlaces) {
  for (int64_t places : {1, 15, 16, 255, 3000})
    expectScatter({.places = places, .updates = 700, .columns = 1, .ofZeros = places == 3000});
}

TEST(Scatters, OfSizesThatOnlyRunningTells) {
  for (int64_t updates : {0, 1, 400})
    for (bool ofElements : {false, true})
      expectScatter({.places = 40, .updates = updates, .columns = 2, .isKnown = false, .ofElements = ofElements});
}

TEST(Scatters, SpillNothing) {
  if (!cuda::hasPtxas())
    GTEST_SKIP() << "ptxas is not installed";
  for (const char *type : {"f32", "f64"}) {
    cuda::Compiled compiled;
    std::string error;
    std::string text = textOf({.type = type, .places = 50000, .updates = 16384, .columns = 768});
    text.erase(text.find("  %a = sinter.abs"), text.find("  %r") - text.find("  %a = sinter.abs"));
    text.replace(text.find("%a,"), 2, "%x");
    ASSERT_TRUE(cuda::compileText(text, compiled, error)) << error;
    std::string code = cuda::lastCode();
    cuda::expectNoSpills(code.substr(code.find("\n\n") + 2), 2, 128, {"sm_80", "sm_89", "sm_90", "sm_100"});
    std::remove(compiled.path.c_str());
  }
}
