// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets.h"
#include "backends/cpu/CpuKind.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {

using Names = SmallVector<std::string>;

TEST(Targets, AWordWithASignGoesOnWithTheTargetBeforeIt) {
  EXPECT_EQ(splitTargets("x86-64-v3"), Names{"x86-64-v3"});
  EXPECT_EQ(splitTargets("x86-64-v2,cpu:haswell,+avx512f,-bmi, aarch64"),
            (Names{"x86-64-v2", "cpu:haswell,+avx512f,-bmi", "aarch64"}));
  EXPECT_EQ(splitTargets("+avx2"), Names{"+avx2"}) << "nothing before it";
  EXPECT_EQ(splitTargets("x86-64-v3,"), (Names{"x86-64-v3", ""}));
}

std::string order(StringRef text) {
  std::vector<schedule::Target> targets;
  std::string error, names;
  if (!parseTargets(text, targets, error))
    return error;
  for (const schedule::Target &target : targets)
    names += (names.empty() ? "" : " < ") + target.name();
  return names;
}

TEST(Targets, ThoseThatDemandMoreComeLater) {
  EXPECT_EQ(order("x86-64-v4,x86-64-v3"), "x86-64-v3 < x86-64-v4");
  EXPECT_EQ(order("znver5,x86-64-v4,znver4,x86-64-v3"), "x86-64-v3 < x86-64-v4 < znver4 < znver5");
  EXPECT_EQ(order("x86-64-v3,aarch64"), "aarch64 < x86-64-v3")
      << "shorter vectors; which of them runs does not depend on it";
}

TEST(Targets, UnknownAndEqualOnesAreRefused) {
  EXPECT_EQ(order("x86-64-v3,cpu:x86-64-v3"),
            "a list of targets requires different ones, got 'cpu:x86-64-v3' after 'x86-64-v3'");
  EXPECT_NE(order("x86-64-v3,z80").find("z80"), std::string::npos);
}

TEST(Targets, BackEndsBesideTheHostAreRefusedByName) {
  for (const char *text : {"", "cpu:", "cpu+", "x86-64,"})
    EXPECT_EQ(order(text).find("a target requires the name of a machine or of a back end, got '"), 0u) << text;
  EXPECT_EQ(order("cpu+gpu:9"),
            "target 'cpu+gpu:9' requires back ends of this compiler behind '+' (cpu, cuda), got 'gpu'");
  EXPECT_EQ(order("x86-64-v3,+avx512f+cpu"),
            "target 'x86-64-v3,+avx512f+cpu' requires back ends of this compiler behind '+' (cpu, cuda), got 'cpu'");
}

TEST(Targets, RequirementsNameTheKindOfMachine) {
  std::vector<schedule::Target> targets;
  std::string error;
  ASSERT_TRUE(parseTargets("x86-64-v3,aarch64", targets, error)) << error;
  EXPECT_EQ(targets[0].host->requirements, "aarch64");
  EXPECT_EQ(targets[1].host->requirements, "x86-64-v3");
  cpu::Target baseline = cpu::targetOf(*targets[1].host);
  baseline.requiredFeatures = "sse4.2";
  EXPECT_EQ(cpu::requirementsOf(baseline), "x86-64 sse4.2");
}

TEST(Targets, CodeForAllOfThemIsCalledAlike) {
  MLIRContext context;
  Builder b(&context);
  schedule::Signature one;
  one.name = "step";
  one.inputs = {{"x", b.getF32Type(), {-1, 3}}, {"w", b.getF32Type(), {3}}};
  one.outputs = {{"y", b.getF32Type(), {-1, 3}}, {"w", b.getF32Type(), {3}}};
  one.symbols = {"n"};
  one.states = {{"w", 1, 1, 64, true}};
  auto differs = [&](auto change) {
    schedule::Signature other = one;
    other.entry = "elsewhere";
    change(other);
    std::string error;
    EXPECT_EQ(haveSameSignatures({one}, {other}, error), error.empty());
    return error;
  };
  std::string begin = "code for two targets requires functions that are alike, got other ", end = " of 'step'";
  EXPECT_EQ(differs([](schedule::Signature &) {}), "");
  EXPECT_EQ(differs([](schedule::Signature &s) { s.states[0].inPlace = false; }), "") << "how it is written may differ";
  EXPECT_EQ(differs([](schedule::Signature &s) { s.name = "infer"; }), begin + "name" + end);
  EXPECT_EQ(differs([&](schedule::Signature &s) { s.inputs[0].elementType = b.getF64Type(); }), begin + "inputs" + end);
  EXPECT_EQ(differs([](schedule::Signature &s) { s.outputs[0].dims[1] = 4; }), begin + "outputs" + end);
  EXPECT_EQ(differs([](schedule::Signature &s) { s.symbols[0] = "m"; }), begin + "symbols" + end);
  EXPECT_EQ(differs([](schedule::Signature &s) { s.states[0].initial = 128; }), begin + "states" + end);
  std::string error;
  EXPECT_FALSE(haveSameSignatures({one, one}, {one}, error));
  EXPECT_EQ(error, "code for two targets requires the same functions, got 2 and 1");
}

} // namespace
