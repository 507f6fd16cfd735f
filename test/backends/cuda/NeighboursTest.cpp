// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every schedule that tuning would try for a kernel is compiled and run on the machine of test/cuda. Sums are of small
// integers, so that each order of them has the same bits; softmax and attention are computed in f64.

#include "CudaProgram.h"
#include "compiler/Schedules.h"
#include "mlir/IR/OwningOpRef.h"
#include <bit>
#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace sinter;

namespace {
using Values = std::vector<double>;
struct Case {
  const char *target, *schedule;
  std::string text;                                             // SCHEDULE stands for the schedule
  std::vector<std::pair<int32_t, std::vector<int64_t>>> inputs; // types and sizes
  Values (*formula)(const std::vector<Values> &inputs);
  double tolerance = 0;
  std::set<std::string> forms; // that are tried
};
} // namespace

static float ofHalf(uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }

/// Elements of 16 bits as numbers, and back.
static double read(const void *data, int32_t type, size_t k) {
  if (type == SINTER_F32)
    return static_cast<const float *>(data)[k];
  uint16_t bits = static_cast<const uint16_t *>(data)[k];
  return type == SINTER_F16 ? ofHalf(bits) : std::bit_cast<float>(uint32_t(bits) << 16);
}
static void write(void *data, int32_t type, size_t k, double value) {
  auto number = static_cast<float>(value);
  if (type == SINTER_F32)
    static_cast<float *>(data)[k] = number;
  else if (type == SINTER_F16)
    static_cast<uint16_t *>(data)[k] = std::bit_cast<uint16_t>(static_cast<_Float16>(number));
  else
    static_cast<uint16_t *>(data)[k] = static_cast<uint16_t>(std::bit_cast<uint32_t>(number) >> 16);
}

static void expectResult(const Case &c, ModuleOp module) {
  cuda::Compiled program;
  std::string error;
  OwningOpRef<ModuleOp> copy = module.clone();
  ASSERT_TRUE(cuda::compile(*copy, program, error, c.target)) << error;
  EXPECT_EQ(program.onDevice, 1u);
  sinter_module *opened = cuda::open(program, error);
  ASSERT_NE(opened, nullptr) << error;
  sinter_session *session = nullptr;
  ASSERT_EQ(sinter_session_create(opened, 0, nullptr, &session), SINTER_OK);
  std::vector<Values> inputs;
  std::vector<std::unique_ptr<void, decltype(&std::free)>> buffers;
  for (const auto &[type, dims] : c.inputs) {
    sinter_tensor tensor{};
    tensor.dtype = type;
    size_t count = 1;
    for (int64_t size : dims) {
      tensor.dims[tensor.rank++] = size;
      count *= static_cast<size_t>(size);
    }
    buffers.emplace_back(std::aligned_alloc(64, (count * 4 + 63) / 64 * 64), &std::free);
    tensor.data = buffers.back().get();
    Values values;
    for (size_t k = 0; k < count; ++k) {
      values.push_back(static_cast<double>((k * 7 + inputs.size() * 3 + k / 5) % 3) - 1);
      write(tensor.data, type, k, values.back());
    }
    ASSERT_EQ(sinter_session_set_input(session, static_cast<int32_t>(inputs.size()), &tensor), SINTER_OK);
    inputs.push_back(std::move(values));
  }
  ASSERT_EQ(sinter_session_run(session), SINTER_OK) << sinter_last_error();
  sinter_tensor result;
  ASSERT_EQ(sinter_session_output(session, 0, &result), SINTER_OK);
  Values wanted = c.formula(inputs);
  for (size_t k = 0; k < wanted.size(); ++k)
    ASSERT_NEAR(read(result.data, result.dtype, k), wanted[k], c.tolerance) << "element " << k;
  EXPECT_EQ(cuda::report(), "");
  sinter_session_destroy(session);
  sinter_module_close(opened);
}

/// What tuning would try for the only kernel of `module`.
static SmallVector<ScheduleAttr> neighboursOf(ModuleOp module, const char *name) {
  schedule::Target target;
  std::string error;
  EXPECT_TRUE(schedule::parseTarget(name, target, error)) << error;
  SmallVector<ScheduleAttr> result;
  (void)walkKernels(module, target, 2, [&](KernelOp, schedule::Backend &backend, schedule::KernelSpec &spec) {
    EXPECT_EQ(backend.name(), "cuda");
    result = backend.neighbours(spec);
    return success();
  });
  return result;
}

static void expectAll(Case c) {
  size_t at = c.text.find("SCHEDULE");
  c.text.replace(at, 8, std::string("#sinter.schedule<") + c.schedule + ">");
  std::string error;
  std::set<std::string> tried;
  bool isDone = test::withParsed(c.text, error, [&](ModuleOp module) {
    SmallVector<ScheduleAttr> schedules = neighboursOf(module, c.target);
    EXPECT_GE(schedules.size(), 2u);
    for (ScheduleAttr schedule : schedules) {
      std::string text;
      llvm::raw_string_ostream(text) << schedule;
      SCOPED_TRACE(text);
      tried.insert(schedule.getEmitter().str());
      module.walk([&](KernelOp kernel) { kernel.setScheduleAttr(schedule); });
      expectResult(c, module);
      if (testing::Test::HasFatalFailure())
        return false;
    }
    return true;
  });
  EXPECT_TRUE(isDone) << error;
  EXPECT_EQ(tried, c.forms);
}

/// x [M, K] times y [K, N].
template <int M, int K, int N> static Values product(const std::vector<Values> &in) {
  Values sums(M * N);
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      for (int j = 0; j < N; ++j)
        sums[size_t(i * N + j)] += in[0][size_t(i * K + k)] * in[1][size_t(k * N + j)];
  return sums;
}

static std::string productText(int64_t m, int64_t k, int64_t n, const std::string &type) {
  auto tensor = [&](int64_t rows, int64_t columns) {
    return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + type + ">";
  };
  std::string x = tensor(m, k), y = tensor(k, n), z = tensor(m, n), types = "(" + x + ", " + y + ") -> " + z;
  return "func.func @f(%x: " + x + ", %y: " + y + ") -> " + z +
         " {\n  %r = sinter.kernel contraction(%x, %y) {schedule = SCHEDULE} : " + types + " {\n  ^bb0(%a: " + x +
         ", %b: " + y +
         "):\n    %d = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = "
         "array<i64: 1>, rhs_contract = array<i64: 0>, element_type = " +
         type + "} : " + types + "\n    sinter.yield(%d) : " + z + "\n  }\n  return %r : " + z + "\n}";
}

TEST(Neighbours, ProductsOfWarps) {
  expectAll({"cuda:sm_80",
             "mma_product, lanes = 128, tile = [32, 32, 64, 16, 16, 3, 1]",
             productText(40, 96, 24, "f16"),
             {{SINTER_F16, {40, 96}}, {SINTER_F16, {96, 24}}},
             product<40, 96, 24>,
             0,
             {"cluster_product", "mma_product", "wgmma_product"}});
}

TEST(Neighbours, ProductsOfThreads) {
  expectAll({"cuda:sm_80",
             "product, lanes = 64, tile = [32, 32, 32, 4, 4, 2, 1]",
             productText(40, 70, 24, "f32"),
             {{SINTER_F32, {40, 70}}, {SINTER_F32, {70, 24}}},
             product<40, 70, 24>,
             0,
             {"product"}});
}

TEST(Neighbours, ProductsOfWarpgroups) {
  expectAll({"cuda:sm_90a",
             "wgmma_product, lanes = 256, tile = [64, 64, 64, 64, 64, 3, 2]",
             productText(72, 136, 72, "bf16"),
             {{SINTER_BF16, {72, 136}}, {SINTER_BF16, {136, 72}}},
             product<72, 136, 72>,
             0,
             {"cluster_product", "mma_product", "wgmma_product"}});
}

TEST(Neighbours, ProductsOfClusters) {
  expectAll({"cuda:sm_90a",
             "cluster_product, lanes = 256, tile = [64, 128, 64, 64, 128, 3, 1]",
             productText(72, 136, 72, "bf16"),
             {{SINTER_BF16, {72, 136}}, {SINTER_BF16, {136, 72}}},
             product<72, 136, 72>,
             0,
             {"cluster_product", "mma_product", "wgmma_product"}});
}

/// Pixels [6, 6, 8] under taps of 3 x 3, to 16 channels.
static Values convolution(const std::vector<Values> &in) {
  Values sums(6 * 6 * 16);
  for (int y = 0; y < 6; ++y)
    for (int x = 0; x < 6; ++x)
      for (int o = 0; o < 16; ++o)
        for (int v = 0; v < 3; ++v)
          for (int u = 0; u < 3; ++u)
            for (int c = 0; c < 8; ++c)
              if (int row = y + v - 1, column = x + u - 1; row >= 0 && row < 6 && column >= 0 && column < 6)
                sums[size_t((y * 6 + x) * 16 + o)] +=
                    in[0][size_t((row * 6 + column) * 8 + c)] * in[1][size_t(((o * 3 + v) * 3 + u) * 8 + c)];
  return sums;
}

TEST(Neighbours, Convolutions) {
  const char *text = R"(func.func @f(%x: tensor<1x6x6x8xf16>, %w: tensor<16x3x3x8xf16>) -> tensor<1x6x6x16xf16> {
  %r = sinter.kernel convolution(%x, %w) {schedule = SCHEDULE} : (tensor<1x6x6x8xf16>, tensor<16x3x3x8xf16>) -> tensor<1x6x6x16xf16> {
  ^bb0(%a: tensor<1x6x6x8xf16>, %b: tensor<16x3x3x8xf16>):
    %y = sinter.convolution %a, %b {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = f16} : (tensor<1x6x6x8xf16>, tensor<16x3x3x8xf16>) -> tensor<1x6x6x16xf16>
    sinter.yield(%y) : tensor<1x6x6x16xf16>
  }
  return %r : tensor<1x6x6x16xf16>
})";
  expectAll({"cuda:sm_90a",
             "mma_product, lanes = 64, tile = [16, 32, 64, 16, 16, 3, 1]",
             text,
             {{SINTER_F16, {1, 6, 6, 8}}, {SINTER_F16, {16, 3, 3, 8}}},
             convolution,
             0,
             {"mma_product", "wgmma_product"}});
}

static Values rowSums(const std::vector<Values> &in) {
  Values sums(3);
  for (size_t k = 0; k < in[0].size(); ++k)
    sums[k / 5000] += in[0][k];
  return sums;
}

TEST(Neighbours, Reductions) {
  const char *text = R"(func.func @f(%x: tensor<3x5000xf32>) -> tensor<3xf32> {
  %r = sinter.kernel reduce(%x) {schedule = SCHEDULE} : (tensor<3x5000xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3x5000xf32>):
    %s = sinter.reduce add %a axes = [1] : (tensor<3x5000xf32>) -> tensor<3xf32>
    sinter.yield(%s) : tensor<3xf32>
  }
  return %r : tensor<3xf32>
})";
  for (const char *schedule :
       {"block_reduce, lanes = 256, tile = [2]", "block_reduce, lanes = 32", "cluster_reduce, lanes = 64, tile = [4]"})
    expectAll(
        {"cuda:sm_80", schedule, text, {{SINTER_F32, {3, 5000}}}, rowSums, 0, {"block_reduce", "cluster_reduce"}});
}

static Values softmaxRows(const std::vector<Values> &in) {
  Values result = in[0];
  for (size_t row = 0; row < 2; ++row) {
    double total = 0;
    for (size_t k = 0; k < 300; ++k)
      total += result[row * 300 + k] = std::exp(in[0][row * 300 + k]);
    for (size_t k = 0; k < 300; ++k)
      result[row * 300 + k] /= total;
  }
  return result;
}

TEST(Neighbours, Rows) {
  const char *text = R"(func.func @f(%x: tensor<2x300xf32>) -> tensor<2x300xf32> {
  %r = sinter.kernel row(%x) {schedule = SCHEDULE} : (tensor<2x300xf32>) -> tensor<2x300xf32> {
  ^bb0(%a: tensor<2x300xf32>):
    %s = sinter.softmax %a {axis = 1 : i64} : (tensor<2x300xf32>) -> tensor<2x300xf32>
    sinter.yield(%s) : tensor<2x300xf32>
  }
  return %r : tensor<2x300xf32>
})";
  for (const char *schedule :
       {"block_row, lanes = 64", "block_row, lanes = 256", "cluster_row, lanes = 32, tile = [2]"})
    expectAll(
        {"cuda:sm_80", schedule, text, {{SINTER_F32, {2, 300}}}, softmaxRows, 1e-7, {"block_row", "cluster_row"}});
}

/// One head of 80 queries and 64 keys of 64 numbers.
static Values attention(const std::vector<Values> &in) {
  Values result(80 * 64);
  for (size_t i = 0; i < 80; ++i) {
    Values shares(64);
    double total = 0;
    for (size_t j = 0; j < 64; ++j) {
      double score = 0;
      for (size_t d = 0; d < 64; ++d)
        score += in[0][i * 64 + d] * in[1][j * 64 + d];
      total += shares[j] = std::exp(0.125 * score);
    }
    for (size_t j = 0; j < 64; ++j)
      for (size_t d = 0; d < 64; ++d)
        result[i * 64 + d] += shares[j] / total * in[2][j * 64 + d];
  }
  return result;
}

TEST(Neighbours, Attention) {
  const char *text =
      R"(func.func @f(%q: tensor<1x80x64xf16>, %k: tensor<1x64x64xf16>, %v: tensor<1x64x64xf16>) -> tensor<1x80x64xf16> {
  %r = sinter.kernel attention(%q, %k, %v) {schedule = SCHEDULE} : (tensor<1x80x64xf16>, tensor<1x64x64xf16>, tensor<1x64x64xf16>) -> tensor<1x80x64xf16> {
  ^bb0(%a: tensor<1x80x64xf16>, %b: tensor<1x64x64xf16>, %c: tensor<1x64x64xf16>):
    %y = sinter.attention %a, %b, %c {scale = 0.125 : f64} : (tensor<1x80x64xf16>, tensor<1x64x64xf16>, tensor<1x64x64xf16>) -> tensor<1x80x64xf16>
    sinter.yield(%y) : tensor<1x80x64xf16>
  }
  return %r : tensor<1x80x64xf16>
})";
  for (const char *schedule :
       {"mma_attention, lanes = 128, tile = [64, 32, 16]", "wgmma_attention, lanes = 256, tile = [64, 64, 64]"})
    expectAll({"cuda:sm_90a",
               schedule,
               text,
               {{SINTER_F16, {1, 80, 64}}, {SINTER_F16, {1, 64, 64}}, {SINTER_F16, {1, 64, 64}}},
               attention,
               2e-3,
               {"mma_attention", "wgmma_attention"}});
}
