// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compiled gradients of long loops hold at once, by the session's own report.

#include "passes/gradient/BuildGradient.h"
#include "test/backends/cpu/Execute.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

namespace {

const char *const kWhile = R"(
func.func @f(%w: tensor<8xf64>, %n: tensor<i64>) -> tensor<f64> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %x = sinter.constant dense<0.9> : tensor<8xf64>
  %0:3 = sinter.while (%zero, %x) captures(%n, %w) : (tensor<i64>, tensor<8xf64>, tensor<i64>, tensor<8xf64>) -> (tensor<i64>, tensor<i64>, tensor<8xf64>) cond {
  ^bb0(%i: tensor<i64>, %c: tensor<8xf64>, %m: tensor<i64>, %v: tensor<8xf64>):
    %go = sinter.compare lt %i, %m : (tensor<i64>, tensor<i64>) -> tensor<i1>
    sinter.yield (%go) : tensor<i1>
  } body {
  ^bb0(%i: tensor<i64>, %c: tensor<8xf64>, %m: tensor<i64>, %v: tensor<8xf64>):
    %one = sinter.constant dense<1> : tensor<i64>
    %j = sinter.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %p = sinter.mul %c, %v : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
    %next = sinter.sin %p : (tensor<8xf64>) -> tensor<8xf64>
    sinter.yield (%j, %next) : tensor<i64>, tensor<8xf64>
  }
  %s = sinter.reduce add %0#2 axes = [0] : (tensor<8xf64>) -> tensor<f64>
  return %s : tensor<f64>
})";

const char *const kFor = R"(
func.func @f(%w: tensor<8xf64>, %n: tensor<i64>) -> tensor<f64> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %x = sinter.constant dense<0.9> : tensor<8xf64>
  %0 = sinter.for %zero to %n step %one (%x) captures(%w) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64> body {
  ^bb0(%i: tensor<i64>, %c: tensor<8xf64>, %v: tensor<8xf64>):
    %p = sinter.mul %c, %v : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
    %next = sinter.sin %p : (tensor<8xf64>) -> tensor<8xf64>
    sinter.yield (%next) : tensor<8xf64>
  }
  %s = sinter.reduce add %0 axes = [0] : (tensor<8xf64>) -> tensor<f64>
  return %s : tensor<f64>
})";

/// The while, with a sum of each trip that the loss reads.
std::string withOutputs() {
  std::string text = kWhile;
  auto put = [&](const std::string &from, const std::string &to) { text.replace(text.find(from), from.size(), to); };
  put("-> (tensor<i64>, tensor<i64>, tensor<8xf64>) cond",
      "-> (tensor<i64>, tensor<i64>, tensor<8xf64>, tensor<?xf64>) cond");
  put("%0:3", "%0:4");
  put("    sinter.yield (%j, %next) : tensor<i64>, tensor<8xf64>",
      "    %sum = sinter.reduce add %next axes = [0] : (tensor<8xf64>) -> tensor<f64>\n"
      "    sinter.yield (%j, %next, %sum) : tensor<i64>, tensor<8xf64>, tensor<f64>");
  put("%0#2 axes = [0] : (tensor<8xf64>)", "%0#3 axes = [0] : (tensor<?xf64>)");
  return text;
}

/// The gradient of n trips of c = sin(w c), of 8 elements, under a policy.
std::string gradientOf(const char *text, const char *memory) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  func::FuncOp function = *module->getOps<func::FuncOp>().begin();
  FailureOr<func::FuncOp> gradient = buildGradient(function, 0, {.mode = GradientMode::Grad, .memory = memory});
  EXPECT_TRUE(succeeded(gradient));
  std::string printed;
  llvm::raw_string_ostream os(printed);
  (*gradient)->print(os);
  return printed;
}

class LongLoop {
public:
  explicit LongLoop(const char *memory, int64_t maxBytes = 0, const char *text = kWhile)
      : program(gradientOf(text, memory), 2, 1, true) {
    EXPECT_EQ(program.error, "");
    sinter_session_options options = {};
    options.struct_size = sizeof options;
    options.threads = 1;
    options.max_bytes = maxBytes;
    EXPECT_EQ(sinter_session_create(program.loaded->get(), 0, &options, &session), SINTER_OK) << sinter_last_error();
  }
  ~LongLoop() { sinter_session_destroy(session); }

  sinter_status_code run(int64_t trips) {
    alignas(64) static double w[8] = {1.3, 1.2, 1.1, 1.05, 1.25, 1.15, 1.02, 1.31};
    alignas(64) int64_t n[1] = {trips};
    sinter_tensor first = {.data = w, .dtype = SINTER_F64, .rank = 1, .dims = {8}, .strides = nullptr};
    sinter_tensor second = {.data = n, .dtype = SINTER_I64, .rank = 0, .dims = {}, .strides = nullptr};
    EXPECT_EQ(sinter_session_set_input(session, 0, &first), SINTER_OK);
    EXPECT_EQ(sinter_session_set_input(session, 1, &second), SINTER_OK);
    if (sinter_status_code status = sinter_session_run(session))
      return status;
    sinter_tensor view = {};
    EXPECT_EQ(sinter_session_output(session, 0, &view), SINTER_OK);
    gradient.assign(static_cast<double *>(view.data), static_cast<double *>(view.data) + 8);
    return SINTER_OK;
  }
  int64_t peakBytes() const {
    sinter_memory_report report = {};
    report.struct_size = sizeof report;
    EXPECT_EQ(sinter_session_memory(session, &report), SINTER_OK);
    return report.peak_bytes;
  }

  std::vector<double> gradient;

private:
  Program program;
  sinter_session *session = nullptr;
};

TEST(GradientMemory, OfAMillionTripsIsThatOfItsSnapshots) {
  LongLoop online("online(64)");
  ASSERT_EQ(online.run(10), SINTER_OK) << sinter_last_error();
  int64_t few = online.peakBytes();
  ASSERT_EQ(online.run(1000000), SINTER_OK) << sinter_last_error();
  // 64 snapshots of 8 doubles and a counter are 4.6 KB; buffers of one trip come on top, and copies that the schedule
  // makes.
  EXPECT_EQ(online.peakBytes(), few);
  EXPECT_LT(online.peakBytes(), 64 << 10);
  LongLoop all("all");
  ASSERT_EQ(all.run(1000000), SINTER_OK) << sinter_last_error();
  EXPECT_GT(all.peakBytes(), 64 << 20);
  EXPECT_EQ(online.gradient, all.gradient);
}

TEST(GradientMemory, OfACountedLoopIsThatOfItsSnapshots) {
  LongLoop binomial("binomial(64)", 0, kFor), period("period(1000)", 0, kFor), all("all", 0, kFor);
  ASSERT_EQ(binomial.run(10), SINTER_OK) << sinter_last_error();
  int64_t few = binomial.peakBytes();
  for (LongLoop *loop : {&binomial, &period, &all})
    ASSERT_EQ(loop->run(1000000), SINTER_OK) << sinter_last_error();
  EXPECT_EQ(binomial.peakBytes(), few);
  EXPECT_LT(binomial.peakBytes(), 64 << 10);
  EXPECT_LT(period.peakBytes(), 1 << 20); // twice 1000 rows of 64 bytes and the segment's stack
  EXPECT_GT(all.peakBytes(), 60 << 20);
  EXPECT_EQ(binomial.gradient, all.gradient);
  EXPECT_EQ(period.gradient, all.gradient);
}

TEST(GradientMemory, OfALoopWithOutputsIsThatOfItsSnapshotsAndThem) {
  std::string text = withOutputs();
  LongLoop online("online(64)", 0, text.c_str()), period("period(1000)", 0, text.c_str()), all("all", 0, text.c_str());
  for (LongLoop *loop : {&online, &period, &all})
    ASSERT_EQ(loop->run(1000000), SINTER_OK) << sinter_last_error();
  // Outputs are 8 MB and their cotangents are as many; a stack grows by doubling. Carries are 64 MB and more.
  EXPECT_LT(online.peakBytes(), 48 << 20);
  EXPECT_LT(period.peakBytes(), 48 << 20);
  EXPECT_GT(all.peakBytes(), 64 << 20);
  EXPECT_EQ(online.gradient, all.gradient);
  EXPECT_EQ(period.gradient, all.gradient);
}

TEST(GradientMemory, HasALimitAfterWhichTheSessionGoesOn) {
  LongLoop all("all", 1 << 20);
  ASSERT_EQ(all.run(1000), SINTER_OK) << sinter_last_error();
  std::vector<double> before = all.gradient;
  EXPECT_EQ(all.run(1000000), SINTER_OUT_OF_MEMORY);
  EXPECT_NE(std::string(sinter_last_error()).find("under a limit of 1048576"), std::string::npos)
      << sinter_last_error();
  ASSERT_EQ(all.run(1000), SINTER_OK) << sinter_last_error();
  EXPECT_EQ(all.gradient, before);
}

} // namespace
