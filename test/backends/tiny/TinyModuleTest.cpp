// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules with code of the CPU and of the tiny back end, as a program opens and runs them, and what is said when that
// fails.

#include "TinyBackend.h"
#include "TinyDevice.h"
#include "TinyProgram.h"
#include "runtime/driver.h"
#include "test/runtime/Files.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace sinter;

namespace {

/// A counter that both functions keep, and a loop whose trips depend on what it computes.
const char modelText[] = R"(
  func.func @step(%w: tensor<4xf32> {sinter.state = "w", sinter.initial = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>}, %x: tensor<4xf32>)
      -> (tensor<4xf32> {sinter.state = "w"}, tensor<4xf32>) {
    %s = sinter.add %w, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %y = sinter.mul %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %s, %y : tensor<4xf32>, tensor<4xf32>
  }
  func.func @total(%w: tensor<4xf32> {sinter.state = "w", sinter.initial = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>}) -> tensor<f32> {
    %e = sinter.exp %w : (tensor<4xf32>) -> tensor<4xf32>
    %t = sinter.reduce add %e axes = [0] : (tensor<4xf32>) -> tensor<f32>
    return %t : tensor<f32>
  }
  func.func @doubled(%x: tensor<4xf32>) -> tensor<4xf32> {
    %n, %y = sinter.while(%x) captures() : (tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) cond {
    ^bb0(%v: tensor<4xf32>):
      %l = sinter.constant dense<100.0> : tensor<f32>
      %m = sinter.reduce max %v axes = [0] : (tensor<4xf32>) -> tensor<f32>
      %c = sinter.compare lt %m, %l : (tensor<f32>, tensor<f32>) -> tensor<i1>
      sinter.yield(%c) : tensor<i1>
    } body {
    ^bb0(%v: tensor<4xf32>):
      %d = sinter.add %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      sinter.yield(%d) : tensor<4xf32>
    }
    return %y : tensor<4xf32>
  })";

sinter_tensor vectorOf(std::vector<float> &values) {
  sinter_tensor tensor = {};
  tensor.data = values.data();
  tensor.dtype = SINTER_F32;
  tensor.rank = 1;
  tensor.dims[0] = static_cast<int64_t>(values.size());
  return tensor;
}

struct Opened {
  explicit Opened(const char *text = modelText) {
    tiny::Compiled compiled;
    EXPECT_TRUE(tiny::compileText(text, compiled, error)) << error;
    module = tiny::open(compiled, error);
    EXPECT_NE(module, nullptr) << error;
  }
  ~Opened() { sinter_module_close(module); }
  sinter_session *start(const char *function, sinter_session *shared = nullptr) const {
    sinter_session_options options = {};
    options.struct_size = sizeof options;
    options.threads = 1;
    options.state_of = shared;
    sinter_session *session = nullptr;
    EXPECT_EQ(sinter_session_create(module, sinter_module_find_function(module, function), &options, &session),
              SINTER_OK)
        << sinter_last_error();
    return session;
  }

  sinter_module *module = nullptr;
  std::string error;
};

/// One call of `step`: w += x; the answer is the new w times x.
sinter_status_code step(sinter_session *session, std::vector<float> x, std::vector<float> *y = nullptr) {
  sinter_tensor inputs[] = {{}, vectorOf(x)}, outputs[2] = {};
  sinter_status_code status = sinter_session_call(session, 2, inputs, 2, outputs);
  if (!status && y)
    y->assign(static_cast<const float *>(outputs[1].data), static_cast<const float *>(outputs[1].data) + 4);
  return status;
}

float total(sinter_session *session) {
  sinter_tensor input = {}, output = {};
  EXPECT_EQ(sinter_session_call(session, 1, &input, 1, &output), SINTER_OK) << sinter_last_error();
  return *static_cast<const float *>(output.data);
}

float totalOf(std::vector<float> w) {
  float sum = 0;
  for (float x : w)
    sum += std::exp(x);
  return sum;
}

TEST(TinyModule, FunctionsShareAState) {
  Opened opened;
  sinter_session *stepping = opened.start("step"), *looking = opened.start("total", stepping);
  EXPECT_NEAR(total(looking), totalOf({1, 2, 3, 4}), 1e-4);
  std::vector<float> y;
  for (int call = 1; call <= 3; ++call)
    ASSERT_EQ(step(stepping, {.5f, .5f, -1, -1}, &y), SINTER_OK) << sinter_last_error();
  EXPECT_EQ(y, (std::vector<float>{1.25f, 1.75f, 0, -1}));
  EXPECT_NEAR(total(looking), totalOf({2.5f, 3.5f, 0, 1}), 1e-4);
  sinter_session_destroy(looking);
  sinter_session_destroy(stepping);
}

std::vector<float> stateOf(sinter_session *session) {
  sinter_tensor view = {};
  EXPECT_EQ(sinter_session_state_get(session, "w", &view), SINTER_OK) << sinter_last_error();
  auto *values = static_cast<const float *>(view.data);
  return std::vector<float>(values, values + 4);
}

TEST(TinyModule, AStateStaysOnTheDevice) {
  Opened opened;
  sinter_session *session = opened.start("step"), *looking = opened.start("total", session);
  for (int call = 1; call <= 4; ++call)
    ASSERT_EQ(step(session, {1, 1, 1, 1}), SINTER_OK) << sinter_last_error();
  tiny::Trace trace = tiny::traceDevice();
  EXPECT_EQ(trace.transfers, 1) << "its first value";
  EXPECT_EQ(trace.copiesIn, 4) << "x alone";
  EXPECT_EQ(trace.copiesOut, 4) << "y alone";
  total(looking);
  EXPECT_EQ(tiny::traceDevice().transfers, 1) << "another function reads it there";
  EXPECT_EQ(stateOf(session), (std::vector<float>{5, 6, 7, 8}));
  EXPECT_EQ(stateOf(session), (std::vector<float>{5, 6, 7, 8}));
  EXPECT_EQ(tiny::traceDevice().transfers, 2) << "looked at once";

  std::vector<float> given = {1, 0, 1, 0};
  sinter_tensor tensor = vectorOf(given);
  ASSERT_EQ(sinter_session_state_set(session, "w", &tensor), SINTER_OK) << sinter_last_error();
  ASSERT_EQ(step(session, {1, 1, 1, 1}), SINTER_OK);
  EXPECT_EQ(stateOf(session), (std::vector<float>{2, 1, 2, 1}));
  ASSERT_EQ(sinter_session_state_reset(session), SINTER_OK);
  EXPECT_EQ(stateOf(session), (std::vector<float>{1, 2, 3, 4}));
  ASSERT_EQ(step(session, {0, 0, 0, 0}), SINTER_OK);
  EXPECT_EQ(stateOf(session), (std::vector<float>{1, 2, 3, 4}));

  sinter_tensor view = {};
  view.data = given.data();
  ASSERT_EQ(sinter_session_output(session, 0, &view), SINTER_OK);
  EXPECT_EQ(view.data, nullptr) << "the host has no address of it";
  sinter_session_destroy(looking);
  sinter_session_destroy(session);
  EXPECT_EQ(tiny::countBuffers(), 0);
}

TEST(TinyModule, AStateThatHasNoMemoryThereIsAnError) {
  Opened opened;
  for (int call : {1, 2}) { // its value, and the next one
    tiny::failAcquire(call);
    sinter_session *session = nullptr;
    EXPECT_EQ(
        sinter_session_create(opened.module, sinter_module_find_function(opened.module, "step"), nullptr, &session),
        SINTER_OUT_OF_MEMORY);
    EXPECT_STREQ(sinter_last_error(), "no memory of the device for state 'w' of 16 bytes");
    tiny::failAcquire(0);
  }
  EXPECT_EQ(tiny::countBuffers(), 0);
}

TEST(TinyModule, AStateIsSavedAndLoaded) {
  test::Folder folder;
  std::string path = folder.file("w.safetensors");
  Opened opened;
  sinter_session *one = opened.start("step"), *two = opened.start("step");
  ASSERT_EQ(step(one, {1, 1, 1, 1}), SINTER_OK);
  ASSERT_EQ(sinter_session_save(one, path.c_str()), SINTER_OK) << sinter_last_error();
  ASSERT_EQ(sinter_session_load(two, path.c_str()), SINTER_OK) << sinter_last_error();
  std::vector<float> y;
  ASSERT_EQ(step(two, {2, 2, 2, 2}, &y), SINTER_OK);
  EXPECT_EQ(y, (std::vector<float>{8, 10, 12, 14}));
  sinter_session_destroy(one);
  sinter_session_destroy(two);
}

TEST(TinyModule, ALoopRunsUntilItsNumbersSaySo) {
  Opened opened;
  sinter_session *session = opened.start("doubled");
  std::vector<float> x = {1, 2, 3, 0};
  sinter_tensor input = vectorOf(x), output = {};
  ASSERT_EQ(sinter_session_call(session, 1, &input, 1, &output), SINTER_OK) << sinter_last_error();
  auto *y = static_cast<const float *>(output.data);
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{64, 128, 192, 0}));
  sinter_session_destroy(session);
}

TEST(TinyModule, ModulesAndSessionsHaveMemoryOfTheirOwn) {
  {
    Opened one, two;
    EXPECT_EQ(tiny::countDevices(), 2);
    sinter_session *a = one.start("step"), *b = one.start("step"), *c = two.start("step");
    std::vector<float> y;
    ASSERT_EQ(step(a, {1, 1, 1, 1}), SINTER_OK);
    ASSERT_EQ(step(b, {2, 2, 2, 2}), SINTER_OK);
    ASSERT_EQ(step(c, {3, 3, 3, 3}), SINTER_OK);
    ASSERT_EQ(step(a, {1, 1, 1, 1}, &y), SINTER_OK);
    EXPECT_EQ(y, (std::vector<float>{3, 4, 5, 6}));
    sinter_session_destroy(a);
    sinter_session_destroy(b);
    sinter_session_destroy(c);
    EXPECT_EQ(tiny::countBuffers(), 0) << "sessions that ended have none";
  }
  EXPECT_EQ(tiny::countDevices(), 0);
}

TEST(TinyModule, MemoryThatIsNotThereLeavesStatesAsTheyWere) {
  Opened opened;
  sinter_session *session = opened.start("step");
  int failed = 0;
  for (int call = 1; call < 100; ++call) {
    tiny::failAcquire(call);
    sinter_status_code status = step(session, {1, 1, 1, 1});
    tiny::failAcquire(0);
    if (status == SINTER_OK)
      break;
    ++failed;
    EXPECT_EQ(status, SINTER_OUT_OF_MEMORY);
    EXPECT_NE(std::string(sinter_last_error()).find("back end tiny has no memory for a buffer of"), std::string::npos)
        << sinter_last_error();
  }
  EXPECT_GT(failed, 0);
  EXPECT_LT(failed, 99);
  std::vector<float> y;
  ASSERT_EQ(step(session, {1, 1, 1, 1}, &y), SINTER_OK);
  EXPECT_EQ(y, (std::vector<float>{3, 4, 5, 6})) << "one call succeeded before";
  sinter_session_destroy(session);
}

/// What opening says of the model, compiled for `target`, after `change`d its file.
std::string refusal(const char *target, sinter_status_code expected,
                    llvm::function_ref<void(const std::string &)> change) {
  tiny::Compiled compiled;
  std::string error;
  EXPECT_TRUE(tiny::compileText(modelText, compiled, error, target)) << error;
  change(compiled.path);
  sinter_module *module = nullptr;
  EXPECT_EQ(sinter_module_open(compiled.path.c_str(), nullptr, &module), expected);
  std::remove(compiled.path.c_str());
  std::string message = sinter_last_error(), begin = "'" + compiled.path + "'";
  EXPECT_NE(message.find(begin), std::string::npos) << message;
  size_t at = message.find(begin);
  return at == std::string::npos ? message : message.replace(at, begin.size(), "FILE");
}

TEST(TinyModule, WhatCannotRunIsRefusedByName) {
  ASSERT_EQ(sinter_driver_register("tiny", nullptr), SINTER_OK);
  EXPECT_EQ(refusal("cpu+tiny", SINTER_UNSUPPORTED, [](auto &) {}),
            "module FILE has no code for this machine: this program has no driver for the back end 'tiny': found no "
            "libsinter_tiny.so; install it, name its folder by SINTER_DRIVER_DIR, or compile with a target for the CPU "
            "alone, too");
  tiny::registerDriver();
  EXPECT_EQ(refusal("cpu+tiny:2", SINTER_UNSUPPORTED, [](auto &) {}),
            "module FILE has no code for this machine: the back end 'tiny' requires tiny-2: this machine has tiny-1");
  EXPECT_EQ(refusal("tiny", SINTER_CORRUPT,
                    [](const std::string &path) {
                      sinter_smod *smod = nullptr;
                      ASSERT_EQ(sinter_smod_open(path.c_str(), &smod), SINTER_OK);
                      std::vector<sinter_smod_section> sections;
                      for (int32_t i = 0; i < sinter_smod_count(smod); ++i)
                        sections.push_back(*sinter_smod_section_at(smod, i));
                      for (sinter_smod_section &section : sections)
                        if (section.back_end == std::string("tiny"))
                          section.bytes /= 2;
                      EXPECT_EQ(sinter_smod_write(path.c_str(), sections.data(), static_cast<int32_t>(sections.size())),
                                SINTER_OK);
                      sinter_smod_close(smod);
                    }),
            "cannot load the code of FILE for the back end 'tiny': its length is not what it says");
  EXPECT_EQ(tiny::countDevices(), 0);
}

/// Another back end with a memory of its own.
class SecondBackend final : public tiny::TinyBackend {
public:
  llvm::StringRef name() const override { return "second"; }
};
class SecondMachine final : public schedule::Machine {
public:
  const schedule::BackendKind &kind() const override { return *schedule::findBackend("second"); }
  mlir::Attribute attribute(mlir::MLIRContext *context) const override { return mlir::UnitAttr::get(context); }
};
class SecondKind final : public tiny::TinyKind {
public:
  llvm::StringRef name() const override { return "second"; }
  std::shared_ptr<const schedule::Machine> parse(llvm::StringRef, std::string &) const override {
    auto machine = std::make_shared<SecondMachine>();
    machine->name = "second";
    return machine;
  }
  std::shared_ptr<const schedule::Machine> read(mlir::Attribute, std::string &error) const override {
    return parse("", error);
  }
  std::unique_ptr<schedule::Backend> create(const schedule::Machine &, int) const override {
    return std::make_unique<SecondBackend>();
  }
};
const schedule::RegisterBackend<SecondKind> second;

TEST(TinyModule, TargetsThatAreNotUnderstoodAreRefused) {
  auto refusal = [](const char *target) {
    tiny::Compiled compiled;
    std::string error;
    EXPECT_FALSE(tiny::compileText(modelText, compiled, error, target));
    return error;
  };
  EXPECT_EQ(refusal("cpu+tiny+second"),
            "a target requires at most one back end with a memory of its own, got 'second' and 'tiny'");
  EXPECT_EQ(refusal("cpu+tiny+tiny:2"), "target 'cpu+tiny+tiny:2' requires each back end once, got 'tiny' twice");
  EXPECT_EQ(refusal("tiny:two"), "tiny requires a digit, got 'two'");
  EXPECT_EQ(refusal("tiny+cuba"),
            "target 'tiny+cuba' requires back ends of this compiler behind '+' (cpu, cuda, second, tiny), got 'cuba'");
}

TEST(TinyModule, TextSaysWhichDevicesItIsFor) {
  std::string error;
  auto refusal = [&](const char *attributes) {
    tiny::Compiled compiled;
    EXPECT_FALSE(tiny::compileText(std::string("module attributes {") + attributes + "} {" + modelText + "}", compiled,
                                   error, ""));
    return error;
  };
  EXPECT_EQ(refusal("sinter.devices = {tiny = \"\"}"),
            "sinter.devices does not fit: it requires a dictionary, and a sinter.target beside it");
}

TEST(TinyModule, FilesForTheLinkerHoldTheHostsCodeAlone) {
  CompiledModule module;
  std::string error;
  schedule::parseTarget("cpu+tiny", module.target, error);
  module.code.others.push_back({"tiny", "tiny-1", "code"});
  EXPECT_FALSE(writeModule(module, "x.o", OutputFormat::Object, error));
  EXPECT_EQ(error,
            "code for the back end 'tiny' requires a .smod, got 'x.o': files for the linker and programs hold the "
            "host's code alone");
}

TEST(TinyModule, AListOfTargetsRunsWhereTheDeviceIsMissing) {
  tiny::Compiled compiled;
  std::string error;
  ASSERT_TRUE(tiny::compileText(modelText, compiled, error, "cpu,cpu+tiny")) << error;
  for (bool isThere : {false, true}) {
    if (isThere)
      tiny::registerDriver();
    else
      ASSERT_EQ(sinter_driver_register("tiny", nullptr), SINTER_OK);
    sinter_module *module = nullptr;
    ASSERT_EQ(sinter_module_open(compiled.path.c_str(), nullptr, &module), SINTER_OK) << sinter_last_error();
    EXPECT_EQ(tiny::countDevices(), isThere);
    sinter_session *session = nullptr;
    ASSERT_EQ(sinter_session_create(module, sinter_module_find_function(module, "step"), nullptr, &session), SINTER_OK);
    std::vector<float> y;
    ASSERT_EQ(step(session, {1, 1, 1, 1}, &y), SINTER_OK) << sinter_last_error();
    EXPECT_EQ(y, (std::vector<float>{2, 3, 4, 5}));
    sinter_session_destroy(session);
    sinter_module_close(module);
  }
  std::remove(compiled.path.c_str());
}

} // namespace
