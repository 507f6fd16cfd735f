// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The programs of ExecuteTest (control flow, loops, sizes that only running tells), and a state, on a back end that is
// not the CPU's.

#include "TinyDevice.h"
#include "TinyProgram.h"
#include "test/backends/cpu/Execute.h"
#include <cstdio>
#include <unistd.h>

using namespace sinter;

/// Every program of this binary is for the tiny back end.
static sinter_module *openTiny(mlir::ModuleOp fused, int, std::string &error) {
  tiny::Compiled compiled;
  return tiny::compile(fused, compiled, error) ? tiny::open(compiled, error) : nullptr;
}

static const bool isSet = (test::openProgram = openTiny, true);

static tiny::Compiled compiled(const char *text) {
  tiny::Compiled result;
  std::string error;
  EXPECT_TRUE(tiny::compileText(text, result, error)) << error;
  std::remove(result.path.c_str());
  return result;
}

static const char chainText[] = R"(
  func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %e = sinter.kernel map(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32> {
    ^bb0(%a: tensor<3x4xf32>):
      %r = sinter.exp %a : (tensor<3x4xf32>) -> tensor<3x4xf32>
      sinter.yield(%r) : tensor<3x4xf32>
    }
    %s = sinter.kernel row(%e) : (tensor<3x4xf32>) -> tensor<3x4xf32> {
    ^bb0(%a: tensor<3x4xf32>):
      %r = sinter.softmax %a {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
      sinter.yield(%r) : tensor<3x4xf32>
    }
    %n = sinter.kernel map(%s) : (tensor<3x4xf32>) -> tensor<3x4xf32> {
    ^bb0(%a: tensor<3x4xf32>):
      %r = sinter.neg %a : (tensor<3x4xf32>) -> tensor<3x4xf32>
      sinter.yield(%r) : tensor<3x4xf32>
    }
    return %n : tensor<3x4xf32>
  })";

TEST(Tiny, PlacesWhatItRefusesOnTheHost) {
  ASSERT_TRUE(isSet);
  tiny::Compiled result = compiled(chainText);
  EXPECT_EQ(result.onDevice, 2u);
  EXPECT_EQ(result.onHost, 1u);
  for (const char *part :
       {R"(for "tiny")", R"(for "cpu")", R"( on "tiny"()", "schedule.wait", R"(in "tiny" to %)", R"(in "tiny" bytes)"})
    EXPECT_NE(result.schedule.find(part), std::string::npos) << part << " in\n" << result.schedule;
  test::expectMatches(chainText, {{{{3, 4}, {}}}});
}

static const char stateText[] = R"(
  func.func @f(%w: tensor<4xf32> {sinter.state = "w", sinter.initial = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>}, %x: tensor<4xf32>)
      -> (tensor<4xf32> {sinter.state = "w"}, tensor<4xf32>) {
    %s = sinter.add %w, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %y = sinter.mul %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %s, %y : tensor<4xf32>, tensor<4xf32>
  })";

TEST(Tiny, KeepsAState) {
  test::Program program(stateText, 2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  HostTensor two(mlir::Float32Type::get(&program.context), {4});
  std::vector<double> values(4, 2.0);
  two.assignFloats(values);
  sinter_tensor tensor = {};
  tensor.data = two.data();
  tensor.dtype = SINTER_F32;
  tensor.rank = 1;
  tensor.dims[0] = 4;
  for (int call = 1; call <= 3; ++call) {
    ASSERT_EQ(sinter_session_set_input(program.session, 1, &tensor), SINTER_OK) << sinter_last_error();
    ASSERT_EQ(sinter_session_run(program.session), SINTER_OK) << sinter_last_error();
    sinter_tensor view;
    ASSERT_EQ(sinter_session_output(program.session, 1, &view), SINTER_OK) << sinter_last_error();
    for (int k = 0; k < 4; ++k) // w grows by 2 in each call, and is returned times 2
      EXPECT_EQ(static_cast<const float *>(view.data)[k], static_cast<float>(2 * (k + 1 + 2 * call)));
  }
}

static const char manyText[] = R"(
  func.func @f(%x: tensor<8xf32>, %y: tensor<6xf32>, %z: tensor<5xf32>) -> (tensor<8xf32>, tensor<6xf32>, tensor<5xf32>) {
    %a = sinter.kernel map(%x) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%e: tensor<8xf32>):
      %r = sinter.neg %e : (tensor<8xf32>) -> tensor<8xf32>
      sinter.yield(%r) : tensor<8xf32>
    }
    %b = sinter.kernel map(%y) : (tensor<6xf32>) -> tensor<6xf32> {
    ^bb0(%e: tensor<6xf32>):
      %r = sinter.neg %e : (tensor<6xf32>) -> tensor<6xf32>
      sinter.yield(%r) : tensor<6xf32>
    }
    %c = sinter.kernel map(%z) : (tensor<5xf32>) -> tensor<5xf32> {
    ^bb0(%e: tensor<5xf32>):
      %r = sinter.neg %e : (tensor<5xf32>) -> tensor<5xf32>
      sinter.yield(%r) : tensor<5xf32>
    }
    return %a, %b, %c : tensor<8xf32>, tensor<6xf32>, tensor<5xf32>
  })";

TEST(Tiny, FreeLaunchesOvertakeEachOther) {
  test::Program program(manyText, 2);
  ASSERT_EQ(program.error, "");
  std::vector<HostTensor> inputs;
  for (mlir::Type type : program.function().getArgumentTypes())
    inputs.push_back(test::makeInput(mlir::getElementTypeOrSelf(type),
                                     {{mlir::cast<mlir::RankedTensorType>(type).getShape()[0]}, {}}));
  auto expected = program.evaluate(inputs);
  auto actual = program.run(inputs);
  ASSERT_TRUE(actual) << program.error;
  for (size_t i = 0; i < 3; ++i)
    for (int64_t k = 0; k < (*expected)[i].numElements(); ++k)
      EXPECT_EQ((*actual)[i].getFloat(k), (*expected)[i].getFloat(k));
  tiny::Trace trace = tiny::traceDevice();
  EXPECT_EQ(trace.launches, 3);
  EXPECT_GT(trace.overtaken, 0);
  EXPECT_GT(trace.waits, 0);
}

static const char orderedText[] = R"(
  func.func @f(%x: tensor<8xf32>, %y: tensor<6xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<6xf32>, tensor<6xf32>) {
    %a:2 = sinter.kernel map(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    ^bb0(%e: tensor<8xf32>):
      %r = sinter.neg %e : (tensor<8xf32>) -> tensor<8xf32>
      %s = sinter.exp %e : (tensor<8xf32>) -> tensor<8xf32>
      sinter.yield(%r, %s) : tensor<8xf32>, tensor<8xf32>
    }
    %b:2 = sinter.kernel map(%y) : (tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
    ^bb0(%e: tensor<6xf32>):
      %r = sinter.neg %e : (tensor<6xf32>) -> tensor<6xf32>
      %s = sinter.exp %e : (tensor<6xf32>) -> tensor<6xf32>
      sinter.yield(%r, %s) : tensor<6xf32>, tensor<6xf32>
    }
    return %a#0, %a#1, %b#0, %b#1 : tensor<8xf32>, tensor<8xf32>, tensor<6xf32>, tensor<6xf32>
  })";

TEST(Tiny, OrderedLaunchesKeepTheirOrder) {
  test::Program program(orderedText, 2);
  ASSERT_EQ(program.error, "");
  std::vector<HostTensor> inputs;
  for (mlir::Type type : program.function().getArgumentTypes())
    inputs.push_back(test::makeInput(mlir::getElementTypeOrSelf(type),
                                     {{mlir::cast<mlir::RankedTensorType>(type).getShape()[0]}, {}}));
  ASSERT_TRUE(program.run(inputs)) << program.error;
  tiny::Trace trace = tiny::traceDevice();
  EXPECT_EQ(trace.ordered.size(), 2u);
  EXPECT_EQ(trace.running, trace.ordered);
  EXPECT_EQ(trace.overtaken, 0);
}

TEST(Tiny, AModuleHoldsTheCodeOfBoth) {
  tiny::Compiled result;
  std::string error;
  ASSERT_TRUE(tiny::compileText(chainText, result, error)) << error;
  std::string path = result.path;
  tiny::registerDriver();
  sinter_smod *smod = nullptr;
  ASSERT_EQ(sinter_smod_open(path.c_str(), &smod), SINTER_OK) << sinter_last_error();
  std::remove(path.c_str());
  int32_t chosen = -1;
  EXPECT_EQ(sinter_smod_choose(smod, &chosen), SINTER_OK) << sinter_last_error();
  std::vector<std::string> backends;
  for (int32_t i = 0; i < sinter_smod_count(smod); ++i) {
    const sinter_smod_section *section = sinter_smod_section_at(smod, i);
    if (section->kind != SINTER_SMOD_CODE)
      continue;
    backends.emplace_back(section->back_end);
    EXPECT_EQ(i == chosen, backends.back() == "cpu");
    EXPECT_EQ(std::string_view(static_cast<const char *>(section->data), 4), i == chosen ? "\177ELF" : "tiny");
  }
  EXPECT_EQ(backends, (std::vector<std::string>{"cpu", "tiny"}));
  sinter_smod_close(smod);
}
