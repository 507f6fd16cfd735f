// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `while` whose per-trip outputs have no known length: the GPU makes its trips in rounds, each with twice the memory of
// the one before.

#include "CudaProgram.h"
#include "test/backends/cpu/Execute.h"

using namespace sinter;

namespace {
/// Graphs of the driver, whatever the cost model finds.
class CudaRounds : public testing::Test {
  cuda::OneKernel loopsAre{"none"};
};
} // namespace

/// Multiples of `a` until one reaches `end`, each in all elements of a row of 64 KiB, of which 16 have room at first.
static std::string rowsText(const std::string &limit = "", const std::string &element = "f32") {
  std::string text =
      R"(func.func @f(%a: tensor<f32>, %end: tensor<f32>) -> (tensor<i64>, tensor<f32>, tensor<?x16384xf32>, tensor<?xf32>) {
    %n, %u, %rows, %all = sinter.while(%a) captures(%a, %end) LIMIT : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<i64>, tensor<f32>, tensor<?x16384xf32>, tensor<?xf32>) cond {
    ^bb0(%v: tensor<f32>, %c: tensor<f32>, %e: tensor<f32>):
      %go = sinter.compare lt %v, %e : (tensor<f32>, tensor<f32>) -> tensor<i1>
      sinter.yield(%go) : tensor<i1>
    } body {
    ^bb0(%v: tensor<f32>, %c: tensor<f32>, %e: tensor<f32>):
      %s = sinter.add %v, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %row = sinter.broadcast %v axes = [] {type = tensor<16384xf32>} : (tensor<f32>) -> tensor<16384xf32>
      sinter.yield(%s, %row, %s) : tensor<f32>, tensor<16384xf32>, tensor<f32>
    }
    return %n, %u, %rows, %all : tensor<i64>, tensor<f32>, tensor<?x16384xf32>, tensor<?xf32>
  })";
  text.replace(text.find("LIMIT"), 5, limit);
  for (size_t at = 0; (at = text.find("f32", at)) != std::string::npos; at += 3)
    text.replace(at, 3, element);
  return text;
}

static void expectRows(const std::vector<HostTensor> &results, double a, int64_t trips) {
  EXPECT_EQ(results[0].getFloat(0), trips);
  EXPECT_EQ(results[1].getFloat(0), a * double(trips + 1));
  ASSERT_EQ(results[2].numElements(), 16384 * trips);
  ASSERT_EQ(results[3].numElements(), trips);
  for (int64_t t = 0; t < trips; ++t) {
    for (int64_t k : {0, 1, 8191, 16383})
      ASSERT_EQ(results[2].getFloat(t * 16384 + k), a * double(t + 1)) << t << " " << k;
    ASSERT_EQ(results[3].getFloat(t), a * double(t + 2)) << t;
  }
}

/// The host looks once for each time that the memory doubles: it waits as often as the logarithm of the trips.
TEST_F(CudaRounds, GrowWithTheirOutputs) {
  test::Program program(rowsText(), 2, 1, /*isGraph=*/true);
  ASSERT_EQ(program.error, "");
  mlir::Type f32 = mlir::Float32Type::get(&program.context);
  std::vector<std::pair<int64_t, cuda::HostWork>> work;
  for (int64_t trips : {0, 1, 16, 17, 33, 140}) {
    cuda::HostWork before;
    auto actual =
        program.run({test::makeInput(f32, {{}, {0.5}}), test::makeInput(f32, {{}, {0.5 * double(trips + 1)}})});
    ASSERT_TRUE(actual) << program.error << cuda::report();
    EXPECT_EQ(cuda::report(), "");
    expectRows(*actual, 0.5, trips);
    work.emplace_back(trips, before.since());
  }
  const cuda::HostWork once = work[1].second; // a trip; without one there are no bytes to copy to the host
  for (const auto &[trips, done] : work) {
    // Full rooms of 16, 32, 64 ... trips mean another round.
    uint64_t more = 0;
    for (int64_t room = 16; room <= trips; room *= 2)
      ++more;
    SCOPED_TRACE(trips);
    // For the round's end, for the flag, and before a graph goes for which there is no place.
    EXPECT_LE(done.waits, once.waits + 3 * more);
    EXPECT_LE(done.graphs + done.launches, once.graphs + once.launches + more);
  }
  EXPECT_LE(once.waits, 11u);
}

TEST_F(CudaRounds, GiveTheSameBitsWithoutGraphs) {
  for (const char *how : {"launches", "off"}) {
    cuda::Graphs graphs(how);
    test::Program program(rowsText(), 2, 1, /*isGraph=*/true);
    ASSERT_EQ(program.error, "");
    mlir::Type f32 = mlir::Float32Type::get(&program.context);
    auto actual = program.run({test::makeInput(f32, {{}, {0.5}}), test::makeInput(f32, {{}, {0.5 * 41}})});
    ASSERT_TRUE(actual) << program.error << cuda::report();
    expectRows(*actual, 0.5, 40);
  }
}

/// A limit for which there is no room at once: the loop stops there, or it is an error if it would go on.
TEST_F(CudaRounds, EndAtALimit) {
  test::Program stops(rowsText("{max_trip = 5000 : i64}", "f64"), 2, 1, /*isGraph=*/true);
  test::Program traps(rowsText("{max_trip = 513 : i64, on_limit = #sinter<limit_policy trap>}", "f64"), 2, 1, true);
  ASSERT_EQ(stops.error + traps.error, "");
  mlir::Type type = mlir::Float64Type::get(&stops.context), own = mlir::Float64Type::get(&traps.context);
  auto actual = stops.run({test::makeInput(type, {{}, {0.5}}), test::makeInput(type, {{}, {0.5 * 21}})});
  ASSERT_TRUE(actual) << stops.error << cuda::report();
  expectRows(*actual, 0.5, 20);
  actual = traps.run({test::makeInput(own, {{}, {0.5}}), test::makeInput(own, {{}, {0.5 * 21}})});
  ASSERT_TRUE(actual) << traps.error << cuda::report();
  expectRows(*actual, 0.5, 20);
  EXPECT_FALSE(traps.run({test::makeInput(own, {{}, {0.5}}), test::makeInput(own, {{}, {1e9}})}));
  EXPECT_NE(traps.error.find("a loop requires at most 513 trips, its condition still holds after 513"),
            std::string::npos)
      << traps.error;
}

/// Cancelled within a round, a loop that would go on for ever ends, and the session goes on.
TEST_F(CudaRounds, CanBeCancelled) {
  std::string text =
      R"(func.func @f(%a: tensor<f32>, %end: tensor<f32>) -> (tensor<i64>, tensor<?xf32>) {
    %n, %u, %all = sinter.while(%a) captures(%end) : (tensor<f32>, tensor<f32>) -> (tensor<i64>, tensor<f32>, tensor<?xf32>) cond {
    ^bb0(%v: tensor<f32>, %e: tensor<f32>):
      %go = sinter.compare lt %v, %e : (tensor<f32>, tensor<f32>) -> tensor<i1>
      sinter.yield(%go) : tensor<i1>
    } body {
    ^bb0(%v: tensor<f32>, %e: tensor<f32>):
      %one = sinter.constant dense<1.0> : tensor<f32>
      %s = sinter.add %v, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
      sinter.yield(%s, %v) : tensor<f32>, tensor<f32>
    }
    return %n, %all : tensor<i64>, tensor<?xf32>
  })";
  test::Program endless(text, 2, 1, /*isGraph=*/true);
  ASSERT_EQ(endless.error, "");
  auto call = [&](float end) {
    float start = 0;
    sinter_status_code status = SINTER_OK;
    for (auto [number, value] : {std::pair(0, &start), {1, &end}}) {
      sinter_tensor tensor = {};
      tensor.data = value;
      tensor.dtype = SINTER_F32;
      if (status == SINTER_OK)
        status = sinter_session_set_input(endless.session, number, &tensor);
    }
    return status == SINTER_OK ? sinter_session_run(endless.session) : status;
  };
  ASSERT_EQ(call(5), SINTER_OK) << sinter_last_error();
  EXPECT_EQ(cuda::runCancelled(endless.session, 20, [&] { return call(1e30f); }), SINTER_CANCELLED);
  ASSERT_EQ(call(3), SINTER_OK) << sinter_last_error();
  sinter_tensor all;
  ASSERT_EQ(sinter_session_output(endless.session, 1, &all), SINTER_OK) << sinter_last_error();
  ASSERT_EQ(all.dims[0], 3);
  EXPECT_EQ(static_cast<const float *>(all.data)[2], 2);
  EXPECT_EQ(cuda::report(), "");
}
