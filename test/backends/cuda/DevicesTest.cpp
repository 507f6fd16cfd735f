// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two GPUs in one process, and callers' tensors in their memories, on the machine of test/cuda. The oracle is a
// formula.

#include "CudaProgram.h"
#include "test/cuda/driver/Abi.h"
#include <cmath>
#include <cstdio>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sinter/sinter.hpp>

using namespace sinter;

static const bool hasTwo = setenv("SINTER_PTX_DEVICE", "sm_90,sm_80", 1) == 0; // before the machine starts

static std::string lastError() { return sinter_last_error(); }

/// A function of the driver, as a program that has its own buffers calls it.
template <class... A> static CUresult cu(const char *name, A... arguments) {
  static void *library = dlopen(CUDA_MACHINE, RTLD_NOW | RTLD_LOCAL);
  void *function = dlsym(library, name);
  EXPECT_NE(function, nullptr) << name;
  return reinterpret_cast<CUresult (*)(A...)>(function)(arguments...);
}

/// y = exp(x) + s, s' = s + x
static const char kText[] = R"(
  func.func @f(%x: tensor<3x5xf32>, %s: tensor<3x5xf32> {sinter.state = "s"})
      -> (tensor<3x5xf32>, tensor<3x5xf32> {sinter.state = "s"}) {
    %y, %n = sinter.kernel map(%x, %s) : (tensor<3x5xf32>, tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>) {
    ^bb0(%a: tensor<3x5xf32>, %b: tensor<3x5xf32>):
      %e = sinter.exp %a : (tensor<3x5xf32>) -> tensor<3x5xf32>
      %t = sinter.add %e, %b : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
      %u = sinter.add %a, %b : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
      sinter.yield(%t, %u) : tensor<3x5xf32>, tensor<3x5xf32>
    }
    return %y, %n : tensor<3x5xf32>, tensor<3x5xf32>
  })";
constexpr int kCount = 15;

namespace {
class Devices : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(hasTwo);
    std::string error;
    ASSERT_TRUE(cuda::compileText(kText, program, error)) << error;
    for (int k = 0; k < kCount; ++k)
      values[k] = 0.25f * float(k) - 1;
    x = tensorOf(values);
  }
  void TearDown() override {
    for (sinter_session *session : sessions)
      sinter_session_destroy(session);
    for (sinter_module *module : modules)
      sinter_module_close(module);
    std::remove(program.path.c_str());
    EXPECT_EQ(cuda::report(), "");
  }

  static sinter_tensor tensorOf(void *data) {
    sinter_tensor tensor{};
    tensor.data = data;
    tensor.dtype = SINTER_F32;
    tensor.rank = 2;
    tensor.dims[0] = 3;
    tensor.dims[1] = 5;
    return tensor;
  }

  sinter_status_code open(sinter_open_options options, sinter_module **module) {
    options.struct_size = sizeof options;
    return sinter_module_open(program.path.c_str(), &options, module);
  }
  sinter_module *on(const char *device) {
    sinter_module *module = nullptr;
    sinter_open_options options{};
    options.device = device;
    EXPECT_EQ(open(options, &module), SINTER_OK) << lastError();
    modules.push_back(module);
    return module;
  }
  sinter_session *sessionOf(sinter_module *module) {
    sinter_session *session = nullptr;
    EXPECT_EQ(sinter_session_create(module, 0, nullptr, &session), SINTER_OK) << lastError();
    sessions.push_back(session);
    return session;
  }
  /// What call number `calls` returns, from 0 on.
  void expectResult(const float *y, int calls) {
    for (int k = 0; k < kCount; ++k)
      EXPECT_NEAR(y[k], std::exp(values[k]) + float(calls) * values[k], 1e-5f) << k;
  }

  cuda::Compiled program;
  alignas(64) float values[kCount] = {};
  sinter_tensor x;
  std::vector<sinter_module *> modules;
  std::vector<sinter_session *> sessions;
};
} // namespace

TEST_F(Devices, TwoRunAtOnceWithStatesOfTheirOwn) {
  sinter_session *first = sessionOf(on("cuda:0")), *second = sessionOf(on("cuda:1"));
  for (int call = 0; call < 3; ++call)
    for (sinter_session *session : {first, second}) {
      if (session == second && call == 2)
        continue; // one is a call behind
      sinter_tensor y;
      ASSERT_EQ(sinter_session_set_input(session, 0, &x), SINTER_OK);
      ASSERT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
      ASSERT_EQ(sinter_session_output(session, 0, &y), SINTER_OK);
      expectResult(static_cast<float *>(y.data), call);
    }
  // States of one are files for the other.
  std::string path = program.path + ".safetensors";
  ASSERT_EQ(sinter_session_save(first, path.c_str()), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_session_load(second, path.c_str()), SINTER_OK) << lastError();
  std::remove(path.c_str());
  sinter_tensor y;
  ASSERT_EQ(sinter_session_run(second), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_session_output(second, 0, &y), SINTER_OK);
  expectResult(static_cast<float *>(y.data), 3);
}

TEST_F(Devices, NamesThatNoDeviceHasAreErrors) {
  sinter_module *module = nullptr;
  sinter_open_options options{};
  const std::pair<const char *, const char *> wrong[] = {
      {"cuda:7", "it requires GPU number 7 of 2"},
      {"cuda:", "a back end and a number such as cuda:0, got 'cuda:'"},
      {"cuda:1x", "a back end and a number such as cuda:0, got 'cuda:1x'"},
      {"", "a back end and a number such as cuda:0, got ''"},
      {"rocm:0", "it has no code for the back end 'rocm'"}};
  for (auto [device, why] : wrong) {
    options.device = device;
    EXPECT_NE(open(options, &module), SINTER_OK) << device;
    EXPECT_NE(lastError().find(why), std::string::npos) << device << ": " << lastError();
  }
  options.device = nullptr;
  options.device_stream = &options;
  EXPECT_EQ(open(options, &module), SINTER_INVALID_ARGUMENT);
  EXPECT_NE(lastError().find("requires the option device"), std::string::npos) << lastError();
}

TEST_F(Devices, TensorsThatLieThereAreUsedWhereTheyLie) {
  sinter_module *module = on("cuda:1");
  sinter_session *session = sessionOf(module);
  sinter_dlpack *there = nullptr;
  ASSERT_EQ(sinter_module_to_device(module, &x, &there), SINTER_OK) << lastError();
  EXPECT_EQ(there->device_type, 2);
  EXPECT_EQ(there->device_id, 1);
  sinter_tensor input = tensorOf(there->data), own = tensorOf(nullptr), y;
  ASSERT_EQ(sinter_session_set_input_on_device(session, 0, &input), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_session_set_output_on_device(session, 0, &own), SINTER_OK) << lastError();
  uint64_t copies = 0, toHost = 0;
  for (int call = 0; call < 4; ++call) {
    ASSERT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
    ASSERT_EQ(sinter_session_output(session, 0, &y), SINTER_OK);
    if (call == 0) { // which brings the state
      copies = cuda::count("copy");
      toHost = cuda::count("to host");
    }
  }
  EXPECT_EQ(cuda::count("copy"), copies); // neither through the host nor within the device
  EXPECT_EQ(cuda::count("to host"), toHost);
  sinter_dlpack *taken = nullptr;
  ASSERT_EQ(sinter_session_take_output_dlpack(session, 0, &taken), SINTER_OK) << lastError();
  EXPECT_EQ(taken->data, y.data);
  EXPECT_EQ(taken->code, 2);
  EXPECT_EQ(taken->bits, 32);
  EXPECT_EQ(taken->dims[1], 5);
  EXPECT_EQ(taken->strides[0], 5);
  sinter_dlpack *again = nullptr;
  EXPECT_EQ(sinter_session_take_output_dlpack(session, 0, &again), SINTER_INVALID_ARGUMENT);
  EXPECT_NE(lastError().find("requires that the session has its memory on the device"), std::string::npos);
  // The next run writes elsewhere; what was taken outlives the session.
  ASSERT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_session_output(session, 0, &y), SINTER_OK);
  EXPECT_NE(taken->data, y.data);
  float got[kCount];
  sinter_session_destroy(session);
  sessions.clear();
  ASSERT_EQ(sinter_module_to_host(module, taken, got), SINTER_OK) << lastError();
  expectResult(got, 3);
  sinter_module_close(module);
  modules.clear();
  taken->deleter(taken);
  there->deleter(there);
}

TEST_F(Devices, OutputsGoToTheCallersMemoryThere) {
  sinter_module *module = on("cuda:0");
  sinter_session *session = sessionOf(module);
  float got[kCount] = {};
  sinter_tensor zeros = tensorOf(got);
  sinter_dlpack *there = nullptr, *to = nullptr;
  ASSERT_EQ(sinter_module_to_device(module, &x, &there), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_module_to_device(module, &zeros, &to), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_session_set_input_dlpack(session, 0, there), SINTER_OK) << lastError();
  sinter_tensor output = tensorOf(to->data);
  ASSERT_EQ(sinter_session_set_output_on_device(session, 0, &output), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_module_to_host(module, to, got), SINTER_OK) << lastError();
  expectResult(got, 0);
  // Memory without elements yet, for the same.
  sinter_dlpack *room = nullptr;
  sinter_tensor none = tensorOf(nullptr);
  ASSERT_EQ(sinter_module_to_device(module, &none, &room), SINTER_OK) << lastError();
  output.data = room->data;
  ASSERT_EQ(sinter_session_set_output_on_device(session, 0, &output), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_module_to_host(module, room, got), SINTER_OK) << lastError();
  expectResult(got, 1);
  room->deleter(room);
  // One memory for both is refused, as on the host.
  output.data = there->data;
  ASSERT_EQ(sinter_session_set_output_on_device(session, 0, &output), SINTER_OK) << lastError();
  EXPECT_EQ(sinter_session_run(session), SINTER_INVALID_ARGUMENT);
  EXPECT_NE(lastError().find("overlaps input"), std::string::npos) << lastError();
  // Back to the host's memory.
  ASSERT_EQ(sinter_session_set_output(session, 0, nullptr), SINTER_OK);
  ASSERT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_session_output(session, 0, &output), SINTER_OK);
  expectResult(static_cast<float *>(output.data), 2);
  to->deleter(to);
}

TEST_F(Devices, AnyAddressOfAnElementIsTaken) {
  sinter_module *module = on("cuda:0");
  sinter_session *session = sessionOf(module);
  float padded[kCount + 3] = {}, got[kCount];
  std::copy(values, values + kCount, padded + 3);
  sinter_tensor whole{}, part;
  whole.data = padded;
  whole.dtype = SINTER_F32;
  whole.rank = 1;
  whole.dims[0] = kCount + 3;
  sinter_dlpack *there = nullptr, *to = nullptr;
  ASSERT_EQ(sinter_module_to_device(module, &whole, &there), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_module_to_device(module, &whole, &to), SINTER_OK) << lastError();
  part = tensorOf(static_cast<char *>(there->data) + 12);
  ASSERT_EQ(sinter_session_set_input_on_device(session, 0, &part), SINTER_OK) << lastError();
  part.data = static_cast<char *>(to->data) + 8;
  ASSERT_EQ(sinter_session_set_output_on_device(session, 0, &part), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
  sinter_dlpack view = *to;
  int64_t dims[] = {kCount};
  view.rank = 1;
  view.dims = dims;
  view.strides = nullptr;
  view.offset = 8;
  ASSERT_EQ(sinter_module_to_host(module, &view, got), SINTER_OK) << lastError();
  expectResult(got, 0);
  part.data = static_cast<char *>(there->data) + 2;
  EXPECT_EQ(sinter_session_set_input_on_device(session, 0, &part), SINTER_INVALID_ARGUMENT);
  EXPECT_NE(lastError().find("requires an address that is a multiple of 4"), std::string::npos) << lastError();
  there->deleter(there);
  to->deleter(to);
}

/// Pixels of a convolution by wgmma that begin behind a multiple of 16 bytes: threads move them element by element.
TEST_F(Devices, PixelsOfAnyAddressAreMultipliedByWgmma) {
  const char *text =
      R"(func.func @f(%x: tensor<2x7x7x24xf16>, %w: tensor<40x3x3x24xf16>) -> tensor<2x7x7x40xf16> {
  %r = sinter.kernel convolution(%x, %w) {schedule = #sinter.schedule<wgmma_product, lanes = 256, tile = [64, 64, 64, 64, 64, 3, 1]>} : (tensor<2x7x7x24xf16>, tensor<40x3x3x24xf16>) -> tensor<2x7x7x40xf16> {
  ^bb0(%a: tensor<2x7x7x24xf16>, %b: tensor<40x3x3x24xf16>):
    %y = sinter.convolution %a, %b {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f16} : (tensor<2x7x7x24xf16>, tensor<40x3x3x24xf16>) -> tensor<2x7x7x40xf16>
    sinter.yield(%y) : tensor<2x7x7x40xf16>
  }
  return %r : tensor<2x7x7x40xf16>
})";
  std::string error;
  std::remove(program.path.c_str());
  ASSERT_TRUE(cuda::compileText(text, program, error)) << error;
  sinter_module *module = on("cuda:0");
  sinter_session *session = sessionOf(module);
  auto shaped = [](void *data, std::initializer_list<int64_t> dims) {
    sinter_tensor tensor{};
    tensor.data = data;
    tensor.dtype = SINTER_F16;
    for (int64_t size : dims)
      tensor.dims[tensor.rank++] = size;
    return tensor;
  };
  // Small integers, whose sums are exact.
  std::vector<_Float16> padded(2 * 7 * 7 * 24 + 1), filter(40 * 3 * 3 * 24);
  for (size_t i = 0; i < padded.size(); ++i)
    padded[i] = static_cast<_Float16>(static_cast<int>(i * 7 % 5) - 2);
  for (size_t i = 0; i < filter.size(); ++i)
    filter[i] = static_cast<_Float16>(static_cast<int>(i * 5 % 7 % 3) - 1);
  sinter_tensor whole = shaped(padded.data(), {static_cast<int64_t>(padded.size())});
  sinter_dlpack *there = nullptr;
  ASSERT_EQ(sinter_module_to_device(module, &whole, &there), SINTER_OK) << lastError();
  sinter_tensor weights = shaped(filter.data(), {40, 3, 3, 24});
  ASSERT_EQ(sinter_session_set_input(session, 1, &weights), SINTER_OK) << lastError();
  for (int offset : {1, 0}) {
    sinter_tensor pixels = shaped(static_cast<char *>(there->data) + 2 * offset, {2, 7, 7, 24}), output{};
    ASSERT_EQ(sinter_session_set_input_on_device(session, 0, &pixels), SINTER_OK) << lastError();
    const uint64_t before = cuda::count("wgmma");
    ASSERT_EQ(sinter_session_run(session), SINTER_OK) << lastError() << cuda::report();
    EXPECT_EQ(cuda::count("wgmma"), before + 1);
    ASSERT_EQ(sinter_session_output(session, 0, &output), SINTER_OK) << lastError();
    const auto *got = static_cast<const _Float16 *>(output.data);
    for (int n = 0; n < 2; ++n)
      for (int y = 0; y < 7; ++y)
        for (int x = 0; x < 7; ++x)
          for (int o = 0; o < 40; ++o) {
            float sum = 0;
            for (int v = 0; v < 3; ++v)
              for (int u = 0; u < 3; ++u)
                for (int c = 0; c < 24; ++c)
                  if (int row = y + v - 1, column = x + u - 1; row >= 0 && row < 7 && column >= 0 && column < 7)
                    sum += static_cast<float>(padded[size_t(offset + ((n * 7 + row) * 7 + column) * 24 + c)]) *
                           static_cast<float>(filter[size_t(((o * 3 + v) * 3 + u) * 24 + c)]);
            ASSERT_EQ(static_cast<float>(got[((n * 7 + y) * 7 + x) * 40 + o]), sum)
                << offset << ": " << n << " " << y << " " << x << " " << o;
          }
  }
  there->deleter(there);
}

TEST_F(Devices, MemoryOfAnotherDeviceIsRefused) {
  sinter_module *here = on("cuda:0"), *other = on("cuda:1");
  sinter_session *session = sessionOf(here);
  sinter_dlpack *there = nullptr;
  ASSERT_EQ(sinter_module_to_device(other, &x, &there), SINTER_OK) << lastError();
  sinter_tensor input = tensorOf(there->data);
  EXPECT_EQ(sinter_session_set_input_on_device(session, 0, &input), SINTER_INVALID_ARGUMENT);
  EXPECT_NE(lastError().find("it lies on another GPU, number 1, than cuda:0"), std::string::npos) << lastError();
  EXPECT_EQ(sinter_session_set_input_dlpack(session, 0, there), SINTER_INVALID_ARGUMENT);
  EXPECT_NE(lastError().find("the module's device (type 2, number 0), got device type 2, number 1"), std::string::npos)
      << lastError();
  there->device_id = 0; // a lie
  EXPECT_EQ(sinter_session_set_input_dlpack(session, 0, there), SINTER_INVALID_ARGUMENT);
  EXPECT_NE(lastError().find("it lies on another GPU"), std::string::npos) << lastError();
  there->device_id = 1;
  input.data = values;
  EXPECT_EQ(sinter_session_set_input_on_device(session, 0, &input), SINTER_INVALID_ARGUMENT);
  EXPECT_NE(lastError().find("its address is not memory of a GPU"), std::string::npos) << lastError();
  there->deleter(there);
}

/// What the machine says where nobody checks: the address of one device in a kernel of the other.
TEST_F(Devices, TheMachineTellsOfMixedMemories) {
  CUcontext first, second;
  CUdeviceptr address;
  ASSERT_EQ(cu("cuInit", 0u), CUDA_SUCCESS);
  ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &first, 0), CUDA_SUCCESS);
  ASSERT_EQ(cu("cuDevicePrimaryCtxRetain", &second, 1), CUDA_SUCCESS);
  ASSERT_EQ(cu("cuCtxPushCurrent_v2", first), CUDA_SUCCESS);
  ASSERT_EQ(cu("cuMemAlloc_v2", &address, size_t(64)), CUDA_SUCCESS);
  ASSERT_EQ(cu("cuCtxPushCurrent_v2", second), CUDA_SUCCESS);
  EXPECT_NE(cu("cuMemsetD8_v2", address, (unsigned char)(0), size_t(64)), CUDA_SUCCESS);
  EXPECT_NE(cuda::report().find("this is memory of device 0, device 1 runs"), std::string::npos) << cuda::report();
  cu("cuCtxPopCurrent_v2", &second);
  EXPECT_EQ(cu("cuMemFree_v2", address), CUDA_SUCCESS);
  cu("cuCtxPopCurrent_v2", &first);
  EXPECT_EQ(cu("cuDevicePrimaryCtxRelease_v2", 0), CUDA_SUCCESS);
  EXPECT_EQ(cu("cuDevicePrimaryCtxRelease_v2", 1), CUDA_SUCCESS);
  cu("sinterPtxReset");
}

TEST_F(Devices, AContextAndAStreamOfTheProgramAreUsed) {
  CUcontext context;
  CUstream stream;
  ASSERT_EQ(cu("cuInit", 0u), CUDA_SUCCESS);
  ASSERT_EQ(cu("cuCtxCreate_v2", &context, 0u, 1), CUDA_SUCCESS);
  ASSERT_EQ(cu("cuStreamCreate", &stream, 0u), CUDA_SUCCESS);
  CUcontext popped;
  cu("cuCtxPopCurrent_v2", &popped);
  sinter_module *module = nullptr;
  sinter_open_options options{};
  options.device = "cuda";
  options.device_context = context;
  options.device_stream = stream;
  ASSERT_EQ(open(options, &module), SINTER_OK) << lastError();
  EXPECT_EQ(sinter_module_stream(module), stream);
  sinter_session *session = nullptr;
  ASSERT_EQ(sinter_session_create(module, 0, nullptr, &session), SINTER_OK);
  sinter_tensor y;
  ASSERT_EQ(sinter_session_set_input(session, 0, &x), SINTER_OK);
  ASSERT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_session_output(session, 0, &y), SINTER_OK);
  expectResult(static_cast<float *>(y.data), 0);
  sinter_session_destroy(session);
  sinter_module_close(module);
  options.device = "cuda:0";
  EXPECT_NE(open(options, &module), SINTER_OK);
  EXPECT_NE(lastError().find("the context that is given is one of GPU cuda:1, asked for is cuda:0"), std::string::npos)
      << lastError();
  // Both are still the program's.
  ASSERT_EQ(cu("cuCtxPushCurrent_v2", context), CUDA_SUCCESS);
  EXPECT_EQ(cu("cuStreamSynchronize", stream), CUDA_SUCCESS);
  EXPECT_EQ(cu("cuStreamDestroy_v2", stream), CUDA_SUCCESS);
  EXPECT_EQ(cu("cuCtxDestroy_v2", context), CUDA_SUCCESS);
}

//===- DLPack --------------------------------------------------------------------------------------===//

static int numDeleted;

TEST_F(Devices, ASessionOwnsWhatItTook) {
  sinter_module *module = on("cuda:0");
  sinter_session *session = sessionOf(module);
  int64_t dims[] = {3, 5};
  auto describe = [&](void *data) {
    sinter_dlpack tensor{};
    tensor.major = 1;
    tensor.deleter = [](sinter_dlpack *) { ++numDeleted; };
    tensor.data = data;
    tensor.device_type = 1;
    tensor.rank = 2;
    tensor.code = 2;
    tensor.bits = 32;
    tensor.lanes = 1;
    tensor.dims = dims;
    return tensor;
  };
  numDeleted = 0;
  sinter_dlpack first = describe(values), second = describe(values);
  ASSERT_EQ(sinter_session_set_input_dlpack(session, 0, &first), SINTER_OK) << lastError();
  EXPECT_EQ(numDeleted, 0);
  ASSERT_EQ(sinter_session_set_input_dlpack(session, 0, &second), SINTER_OK) << lastError();
  EXPECT_EQ(numDeleted, 1);
  ASSERT_EQ(sinter_session_run(session), SINTER_OK) << lastError();

  // What is refused is still the caller's, and what was bound stays given back.
  const std::pair<std::function<void(sinter_dlpack &)>, const char *> wrong[] = {
      {[](auto &t) { t.major = 2; }, "requires version 1, got 2.0"},
      {[](auto &t) { t.lanes = 4; }, "got code 2, 32 bits, 4 lanes"},
      {[](auto &t) { t.code = 5; }, "got code 5, 32 bits, 1 lanes"},
      {[](auto &t) { t.bits = 64; }, "requires dtype f32, got f64"},
      {[](auto &t) { t.rank = 17; }, "requires at most 16 axes and their sizes, got 17"},
      {[](auto &t) { t.device_type = 10; }, "got device type 10, number 0"}};
  for (auto &[change, why] : wrong) {
    sinter_dlpack tensor = describe(values);
    change(tensor);
    int before = numDeleted;
    EXPECT_NE(sinter_session_set_input_dlpack(session, 0, &tensor), SINTER_OK) << why;
    EXPECT_NE(lastError().find(why), std::string::npos) << lastError();
    EXPECT_LE(numDeleted, std::max(before, 2)) << why; // of `second` alone
  }

  // Strides, on the host and on the device.
  int64_t strides[] = {1, 3};
  float turned[kCount];
  for (int k = 0; k < kCount; ++k)
    turned[k % 5 * 3 + k / 5] = values[k];
  sinter_dlpack strided = describe(turned);
  strided.strides = strides;
  ASSERT_EQ(sinter_session_state_reset(session), SINTER_OK);
  ASSERT_EQ(sinter_session_set_input_dlpack(session, 0, &strided), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
  sinter_tensor y;
  ASSERT_EQ(sinter_session_output(session, 0, &y), SINTER_OK);
  expectResult(static_cast<float *>(y.data), 0);
  sinter_dlpack *there = nullptr;
  ASSERT_EQ(sinter_module_to_device(module, &x, &there), SINTER_OK) << lastError();
  int64_t *own = there->strides;
  there->strides = strides;
  EXPECT_EQ(sinter_session_set_input_dlpack(session, 0, there), SINTER_INVALID_ARGUMENT);
  EXPECT_NE(lastError().find("on the device requires row-major elements without gaps"), std::string::npos)
      << lastError();
  there->strides = own;

  // What may not be written is no output.
  there->flags = SINTER_DLPACK_READ_ONLY;
  EXPECT_EQ(sinter_session_set_output_dlpack(session, 0, there), SINTER_INVALID_ARGUMENT);
  EXPECT_NE(lastError().find("the tensor is read-only"), std::string::npos) << lastError();
  EXPECT_EQ(sinter_session_set_input_dlpack(session, 0, there), SINTER_OK) << lastError();
  EXPECT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
}

/// A module for the CPU alone takes the host's tensors and no others.
TEST_F(Devices, AModuleWithoutADeviceSaysSo) {
  sinter_graph *graph = nullptr;
  sinter_value_type type{};
  type.dtype = SINTER_F32;
  type.rank = 2;
  type.dims[0] = 3;
  type.dims[1] = 5;
  sinter_value in, out;
  int32_t count;
  sinter_module *module = nullptr;
  ASSERT_EQ(sinter_graph_create(&graph), SINTER_OK);
  ASSERT_EQ(sinter_graph_begin(graph, "f", 1, &type, nullptr, &in), SINTER_OK);
  ASSERT_EQ(sinter_graph_op(graph, "exp", 1, &in, 0, nullptr, 1, &out, &count), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_graph_end(graph, 1, &out, nullptr, nullptr), SINTER_OK);
  ASSERT_EQ(sinter_graph_compile(graph, nullptr, &module), SINTER_OK) << lastError();
  sinter_session *session = sessionOf(module);
  EXPECT_EQ(sinter_session_set_input_on_device(session, 0, &x), SINTER_UNSUPPORTED);
  EXPECT_EQ(lastError(), "an input on the device requires a module whose kernels run on one");
  EXPECT_EQ(sinter_module_stream(module), nullptr);
  sinter_module_close(module);
  // The same graph for the second GPU, by the option.
  sinter_compile_options options{};
  options.struct_size = sizeof options;
  options.device = "cuda:1";
  ASSERT_EQ(sinter_graph_compile(graph, &options, &module), SINTER_OK) << lastError();
  sinter_dlpack *there = nullptr;
  ASSERT_EQ(sinter_module_to_device(module, &x, &there), SINTER_OK) << lastError();
  EXPECT_EQ(there->device_id, 1);
  there->deleter(there);
  EXPECT_EQ(sinter_graph_compile_file(graph, "/tmp/none.smod", &options), SINTER_INVALID_ARGUMENT);
  EXPECT_NE(lastError().find("a device is for code that runs in this process"), std::string::npos) << lastError();
  sinter_module_close(module);
  sinter_graph_destroy(graph);
  sinter_jit_clear();
}

TEST_F(Devices, TensorsOfCppComeAndGoByDlpack) {
  Module module, none;
  ASSERT_TRUE(open_on(module, program.path, {.device = "cuda:1"}));
  Session session(module, nullptr, 1);
  Tensor host(std::vector<float>(values, values + kCount), {3, 5});
  numDeleted = 0;
  std::vector<float> got;
  {
    DeviceTensor first(module, host);
    dlpack::ManagedTensor *lent = first.to_dlpack();
    EXPECT_EQ(lent->view.device.type, 2);
    EXPECT_EQ(lent->view.device.id, 1);
    // As of another library, whose deleter counts.
    auto *foreign = new dlpack::ManagedTensor{lent->view, lent, [](dlpack::ManagedTensor *self) {
                                                auto *inner = static_cast<dlpack::ManagedTensor *>(self->context);
                                                inner->deleter(inner);
                                                delete self;
                                                ++numDeleted;
                                              }};
    std::vector<DeviceTensor> inputs{DeviceTensor(module, foreign)};
    uint64_t toHost = cuda::count("to host");
    std::vector<DeviceTensor> results = call_on_device(module, session, inputs);
    EXPECT_EQ(cuda::count("to host"), toHost);
    ASSERT_EQ(results.size(), 1u);
    results = call_on_device(module, session, inputs); // states went on
    got = results[0].to_host().to_vector<float>();
    EXPECT_THROW(call_on_device(module, session, {}), Error);
    EXPECT_EQ(numDeleted, 0);
    // A result as the next argument: what the session gave away is no longer its own.
    results = call_on_device(module, session, results);
    EXPECT_EQ(results[0].to_host().known_shape(), host.known_shape());
    inputs.clear();
    EXPECT_EQ(numDeleted, 1);
  }
  expectResult(got.data(), 1);
  EXPECT_EQ(stream_of(module), sinter_module_stream(module.handle()));
  EXPECT_THROW((void)open_on(none, program.path, {.device = "cuda:9"}), Error);
}

TEST_F(Devices, JittedFunctionsNameTheirs) {
  auto f = [](Tensor a) { return sum(exp(a) * a); };
  Tensor a(std::vector<float>{0.5f, 1, 2}, {3});
  float wanted = 0;
  for (float v : {0.5f, 1.f, 2.f})
    wanted += std::exp(v) * v;
  EXPECT_NEAR(jit(f, {.device = "cuda:0"})(a).item<float>(), wanted, 1e-4f);
  EXPECT_NEAR(jit(f, {.device = "cuda:1"})(a).item<float>(), wanted, 1e-4f);
  try {
    jit(f, {.device = "cuda:2"})(a);
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_NE(error.message().find("it requires GPU number 2 of 2"), std::string::npos) << error.message();
  }
  jit_clear();
}
