// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs from files, sessions that keep their states, and errors with codes. The file's two functions share a weight
// matrix that starts as 0 to 5, to which each step adds the sum of the rows that it is given.

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sinter/sinter.hpp>
#include <thread>
#include <unistd.h>

using namespace sinter;

namespace {
constexpr const char *program = R"(
func.func @step(%w: tensor<2x3xf32> {sinter.state = "layer.w", sinter.initial = dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>},
                %x: tensor<?x3xf32> {sinter.name = "x", sinter.dims = ["rows", 3]},
                %n: tensor<i64> {sinter.state = "steps"})
    -> (tensor<2x3xf32> {sinter.state = "layer.w"}, tensor<f32> {sinter.name = "sum"}, tensor<i64> {sinter.state = "steps"})
    attributes {sinter.name = "step"} {
  %sum = sinter.reduce add %x axes = [0] : (tensor<?x3xf32>) -> tensor<3xf32>
  %wide = sinter.broadcast %sum axes = [1] {type = tensor<2x3xf32>} : (tensor<3xf32>) -> tensor<2x3xf32>
  %next = sinter.add %w, %wide : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %one = sinter.constant dense<1> : tensor<i64>
  %count = sinter.add %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %total = sinter.reduce add %next axes = [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  return %next, %total, %count : tensor<2x3xf32>, tensor<f32>, tensor<i64>
}
func.func @infer(%w: tensor<2x3xf32> {sinter.state = "layer.w", sinter.initial = dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>})
    -> (tensor<2x3xf32> {sinter.name = "twice"}) attributes {sinter.name = "infer"} {
  %twice = sinter.add %w, %w : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %twice : tensor<2x3xf32>
}
)";

class Sessions : public ::testing::Test {
protected:
  std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("sinter-session-" + std::to_string(::getpid()));
  Module module;
  void SetUp() override {
    std::filesystem::create_directories(folder);
    std::ofstream(path("counter.mlir")) << program;
    module = build(Graph::load(path("counter.mlir")), {.opt_level = OptLevel::one});
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string path(const char *name) const { return (folder / name).string(); }
};

template <class F> StatusCode codeOf(F &&f) {
  try {
    f();
  } catch (const Error &error) {
    return error.code();
  }
  return StatusCode(0);
}

/// y = 2 x + 1 over 2^20 elements: enough for any number of threads.
constexpr const char *wideMap = R"(
func.func @main(%x: tensor<1048576xf32> {sinter.name = "x"}) -> (tensor<1048576xf32> {sinter.name = "y"}) {
  %two = sinter.constant dense<2.0> : tensor<1048576xf32>
  %one = sinter.constant dense<1.0> : tensor<1048576xf32>
  %p = sinter.mul %x, %two : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  %y = sinter.add %p, %one : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  return %y : tensor<1048576xf32>
}
)";

TEST_F(Sessions, RunOnThreadsOfTheProgram) {
  std::ofstream(path("map.mlir")) << wideMap;
  Module map = build(Graph::load(path("map.mlir")));
  std::vector<float> numbers(1 << 20);
  for (size_t k = 0; k < numbers.size(); ++k)
    numbers[k] = float(k % 1000);
  Tensor x(numbers);
  auto isRight = [&](Session &session) {
    std::vector<float> y = session({x})[0].to_vector<float>();
    for (size_t k = 0; k < y.size(); ++k)
      if (y[k] != 2 * numbers[k] + 1)
        return false;
    return y.size() == numbers.size();
  };

  std::atomic<int> calls{0};
  Executor threads = [&](int count, Executor::Task task) {
    std::vector<std::thread> made;
    for (int k = 0; k < count; ++k)
      made.emplace_back([&, k] { ++calls, task(k); });
    for (std::thread &thread : made)
      thread.join();
  };
  Session session(map, {.threads = 3, .executor = threads});
  EXPECT_TRUE(isRight(session));
  EXPECT_GT(calls, 0);
  Session moved = std::move(session); // the executor goes along
  int before = calls;
  EXPECT_TRUE(isRight(moved));
  EXPECT_GT(calls, before);

  Executor shared = shared_threads(2);
  std::vector<std::thread> users;
  std::atomic<int> right{0};
  for (int user = 0; user < 3; ++user)
    users.emplace_back([&] {
      Session mine(map, {.threads = 3, .executor = shared});
      for (int k = 0; k < 5; ++k)
        right += isRight(mine);
    });
  for (std::thread &user : users)
    user.join();
  EXPECT_EQ(right, 15);
}

using Floats = std::vector<float>;
/// w' = w + x in 4 bits, wrapped, which is read where it lies and written there.
constexpr const char *halves = R"(
func.func @step(%w: tensor<5xi4> {sinter.state = "w", sinter.initial = dense<[1, 2, 3, -4, 5]> : tensor<5xi4>},
                %u: tensor<2x2xui4> {sinter.state = "u"}, %f: tensor<2xf8E4M3FN> {sinter.state = "f"},
                %x: tensor<5xi8> {sinter.name = "x"})
    -> (tensor<5xi4> {sinter.state = "w"}, tensor<2x2xui4> {sinter.state = "u"}, tensor<2xf8E4M3FN> {sinter.state = "f"},
        tensor<5xi32> {sinter.name = "before"}) attributes {sinter.name = "step"} {
  %wide = sinter.convert %w {element_type = i8} : (tensor<5xi4>) -> tensor<5xi8>
  %sum = sinter.add %wide, %x : (tensor<5xi8>, tensor<5xi8>) -> tensor<5xi8>
  %next = sinter.convert %sum {element_type = i4} : (tensor<5xi8>) -> tensor<5xi4>
  %before = sinter.convert %w {element_type = i32} : (tensor<5xi4>) -> tensor<5xi32>
  %swapped = sinter.transpose %u {permutation = array<i64: 1, 0>} : (tensor<2x2xui4>) -> tensor<2x2xui4>
  %turned = sinter.reverse %f {axes = array<i64: 0>} : (tensor<2xf8E4M3FN>) -> tensor<2xf8E4M3FN>
  return %next, %swapped, %turned, %before : tensor<5xi4>, tensor<2x2xui4>, tensor<2xf8E4M3FN>, tensor<5xi32>
}
)";

TEST_F(Sessions, KeepStatesOf4Bits) {
  using Ints = std::vector<int>;
  std::ofstream(path("halves.mlir")) << halves;
  for (OptLevel level : {OptLevel::each_op, OptLevel::two}) {
    Module compiled = build(Graph::load(path("halves.mlir")), {.opt_level = level});
    Session session(compiled, "step");
    Tensor x(std::vector<int8_t>{1, 7, -1, -5, 9});
    EXPECT_EQ(session.state("w").type().str(), "i4[5]");
    EXPECT_EQ(session.state("w").to_vector<int>(), (Ints{1, 2, 3, -4, 5}));
    Tensor pairs = astype(Tensor({{1, 2}, {3, 15}}), DType::u4);
    ASSERT_TRUE(session.set_state("u", pairs).ok());
    ASSERT_TRUE(session.set_state("f", astype(Tensor({1.5f, -448.f}), DType::f8E4M3FN)).ok());
    Ints wanted{1, 2, 3, -4, 5};
    for (int step = 0; step < 3; ++step) {
      EXPECT_EQ(session({x})[0].to_vector<int>(), wanted);
      for (size_t k = 0; k < wanted.size(); ++k) // modulo 16, into -8 to 7
        wanted[k] = ((wanted[k] + x.to_vector<int>()[k] + 8) % 16 + 16) % 16 - 8;
      EXPECT_EQ(session.state("w").to_vector<int>(), wanted);
    }
    EXPECT_EQ(session.state("u").to_vector<int>(), (Ints{1, 3, 2, 15}));
    EXPECT_EQ(session.state("f").to_vector<float>(), (Floats{-448, 1.5f}));
    EXPECT_EQ(codeOf([&] { (void)session.set_state("w", zeros({5}, DType::i8)); }), StatusCode::invalid_argument);
    // The format has no such elements, so nothing is written and nothing is read.
    try {
      (void)session.save(path("halves.safetensors"));
      ADD_FAILURE() << "no error";
    } catch (const Error &error) {
      EXPECT_EQ(error.message(), "tensor 'u' of '" + path("halves.safetensors") +
                                     "' requires an element type that safetensors files have, got ui4");
    }
    EXPECT_FALSE(std::filesystem::exists(path("halves.safetensors")));
    (void)session.reset();
    EXPECT_EQ(session.state("w").to_vector<int>(), (Ints{1, 2, 3, -4, 5}));
    EXPECT_EQ(session.state("u").to_vector<int>(), (Ints{0, 0, 0, 0}));
  }
}

} // namespace

TEST_F(Sessions, KeepTheirStates) {
  EXPECT_EQ(version(), SINTER_ABI_VERSION);
  EXPECT_EQ(module.functions(), 2);
  EXPECT_EQ(module.function_name(1), "infer");
  Session session(module, {.function = "step", .threads = 1});
  EXPECT_EQ(session.inputs(), std::vector<std::string>{"x"});
  EXPECT_EQ(session.outputs(), std::vector<std::string>{"sum"});
  EXPECT_EQ(session.states(), (std::vector<std::string>{"layer.w", "steps"}));
  // 15 + 2 * (1 + 2 + 3), and the same again: the weights have stayed.
  EXPECT_EQ(session({Tensor({{1.f, 2.f, 3.f}})})[0].item<float>(), 27);
  EXPECT_EQ(session({Tensor({{1.f, 2.f, 3.f}})})[0].item<float>(), 39);
  EXPECT_EQ(session.state("steps").item<int64_t>(), 2);
  EXPECT_EQ(session.state("layer.w").to_vector<float>(), (Floats{2, 5, 8, 5, 8, 11}));
  // Another function of the module over the same states.
  Session infer(module, {.function = "infer", .states_of = &session});
  EXPECT_EQ(infer({})[0].to_vector<float>(), (Floats{4, 10, 16, 10, 16, 22}));
  ASSERT_TRUE(session.reset().ok());
  EXPECT_EQ(infer({})[0].to_vector<float>(), (Floats{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(session.memory().state_bytes, infer.memory().state_bytes);
}

TEST_F(Sessions, TakeSaveAndLoadStates) {
  Session session(module, {.function = "step", .threads = 1});
  ASSERT_TRUE(session.set_state("layer.w", full({2, 3}, 1.f)).ok());
  Tensor kept = session.state("layer.w");
  EXPECT_EQ(session({Tensor({{1.f, 0.f, 0.f}})})[0].item<float>(), 8);
  EXPECT_EQ(kept.to_vector<float>(), (Floats{1, 1, 1, 1, 1, 1})); // a copy
  ASSERT_TRUE(session.save(path("states.safetensors")).ok());
  Session other(module, {.function = "step", .threads = 1});
  ASSERT_TRUE(other.load(path("states.safetensors")).ok());
  EXPECT_EQ(other.state("layer.w").to_vector<float>(), (Floats{2, 1, 1, 2, 1, 1}));
  EXPECT_EQ(other.state("steps").item<int64_t>(), 1);
}

TEST_F(Sessions, TakeListsThatHoldStates) {
  Session session(module, "step", 1);
  Tensor none = zeros({2, 3}), steps = scalar(int64_t(0));
  std::vector<Tensor> outputs = session({none, Tensor({{1.f, 2.f, 3.f}}), steps});
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(outputs[0].to_vector<float>(), (Floats{1, 3, 5, 4, 6, 8}));
  EXPECT_EQ(outputs[1].item<float>(), 27);
  EXPECT_EQ(outputs[2].item<int64_t>(), 1);
}

TEST_F(Sessions, ErrorsHaveCodes) {
  Session session(module, {.function = "step", .threads = 1});
  EXPECT_EQ(codeOf([&] { Graph::load(path("none.mlir")); }), StatusCode::io);
  EXPECT_EQ(codeOf([&] { Graph::load(path("counter.txt")); }), StatusCode::unsupported);
  EXPECT_EQ(codeOf([&] { Module::open(path("none.smod")); }), StatusCode::io);
  std::ofstream(path("broken.smod")) << "no module";
  EXPECT_EQ(codeOf([&] { Module::open(path("broken.smod")); }), StatusCode::corrupt);
  EXPECT_EQ(codeOf([&] { Session(module, {.function = "train"}); }), StatusCode::invalid_argument);
  EXPECT_EQ(codeOf([&] { (void)session.state("moment"); }), StatusCode::invalid_argument);
  EXPECT_EQ(codeOf([&] { (void)session.set_state("layer.w", zeros({3})); }), StatusCode::invalid_argument);
  EXPECT_EQ(codeOf([&] { (void)session.load(path("none.safetensors")); }), StatusCode::io);
  EXPECT_EQ(codeOf([&] { (void)session({Tensor({1.f})}); }), StatusCode::invalid_argument);
  EXPECT_EQ(codeOf([&] { (void)(zeros({2}) + zeros({3})); }), StatusCode::invalid_argument);
}

TEST_F(Sessions, GraphsFromFilesAreCompiledToFiles) {
  Graph graph = Graph::load(path("counter.mlir"));
  EXPECT_EQ(graph.functions(), 2);
  ASSERT_TRUE(graph.save(path("counter.sinter")).ok());
  ASSERT_TRUE(compile(Graph::load(path("counter.sinter")), {.output = path("counter.smod")}).ok());
  Session session(Module::open(path("counter.smod")));
  EXPECT_EQ(session({Tensor({{1.f, 2.f, 3.f}})})[0].item<float>(), 27);
}
