// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Training steps in f32 with all their kernels on the machine of test/cuda, beside the CPU's: a transformer over
// characters, and a network of two layers with some optimizers.

#include "CudaProgram.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <sinter/nn.hpp>
#include <sinter/nn_sequence.hpp>
#include <sinter/text.hpp>
#include <sinter/train.hpp>

using namespace sinter;

namespace {
constexpr int64_t kBatch = 2, kLength = 6, kCharacters = 11, kWidth = 16;

struct Gpt {
  nn::Embedding characters;
  nn::TransformerBlock first, second;
  nn::LayerNorm norm;
  nn::Linear head;
};
} // namespace

/// The model as a graph whose weights are states.
template <class Model, class Forward> static Graph withStates(const Model &model, const Spec &input, Forward forward) {
  std::vector<Spec> specs{input};
  std::vector<Tensor> leaves = flatten(model);
  for (const Tensor &leaf : leaves)
    specs.push_back(spec_of(leaf));
  Graph graph = traceWith(forward, std::tuple(Tensor(), model), specs, "main", {"x"}, {"y"}, Where::current());
  std::vector<std::string> names = throwing::detail::stateNames(throwing::detail::anyTree(model));
  for (size_t k = 0; k < leaves.size(); ++k)
    EXPECT_EQ(sinter_graph_state(graph.handle(), 0, 1 + int32_t(k), -1, names[k].c_str(), &leaves[k].view()), SINTER_OK)
        << sinter_last_error();
  return graph;
}

/// Losses of three steps on the CPU and on the GPU, then the weights. The GPU has all kernels but those of single
/// numbers that need a function of f64: rates and corrections.
static void compare(const Graph &step, const std::vector<std::vector<Tensor>> &batches, const std::string &what) {
  SCOPED_TRACE(what);
  cuda::Compiled compiled;
  std::string error;
  ASSERT_TRUE(cuda::compileText(step.text(), compiled, error)) << error;
  EXPECT_GT(compiled.onDevice, 0u);
  EXPECT_LE(compiled.onHost, 2u) << compiled.schedule;
  Session host(build(step), "step"), gpu(Module::open(compiled.path), "step");
  std::remove(compiled.path.c_str());
  for (const std::vector<Tensor> &batch : batches) {
    float wanted = host(batch)[0].item<float>(), got = gpu(batch)[0].item<float>();
    EXPECT_NEAR(got, wanted, 2e-6 * std::max(1.f, std::abs(wanted)));
  }
  for (const std::string &name : host.states()) {
    Tensor wanted = astype(host.state(name), DType::f64), got = astype(gpu.state(name), DType::f64);
    // A key's bias has the gradient 0, of which Adam moves by what rounding leaves.
    double scale = std::max(1., max(abs(wanted)).item<double>());
    EXPECT_LE(max(abs(got - wanted)).item<double>(), 2e-5 * scale) << name;
  }
  EXPECT_EQ(cuda::report(), "");
}

TEST(CudaTraining, AGptOfTwoLayers) {
  std::vector<Key> keys = key(1).split(4);
  nn::TransformerSettings settings{.norm_first = true, .use_gelu = true, .attention = {.rotary = true}};
  Gpt gpt{nn::embedding(keys[0], kCharacters, kWidth), nn::transformer_block(keys[1], kWidth, 2, 2 * kWidth, settings),
          nn::transformer_block(keys[2], kWidth, 2, 2 * kWidth, settings), nn::layer_norm({kWidth}),
          nn::linear(keys[3], kWidth, kCharacters)};
  Graph model = withStates(gpt, spec<int64_t>({kBatch, kLength}), [](const Tensor &x, const Gpt &net) {
    Tensor y = net.characters(x);
    y = net.second(net.first(y, {.causal = true}), {.causal = true});
    return net.head(net.norm(y));
  });
  Graph step = train_step(model, {.loss = "cross_entropy", .optimizer = "adamw:lr=0.01,clip=1"});
  std::vector<std::vector<Tensor>> batches;
  for (int64_t t = 0; t < 3; ++t) {
    std::vector<int64_t> x, next;
    for (int64_t i = 0; i < kBatch * kLength; ++i) {
      x.push_back((7 * i + 3 * t) % kCharacters);
      next.push_back((7 * i + 3 * t + 7) % kCharacters);
    }
    batches.push_back({Tensor(x, {kBatch, kLength}), Tensor(next, {kBatch, kLength})});
  }
  compare(step, batches, "gpt");
}

static Tensor numbers(const Shape &shape, int seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.elements(); ++i)
    values.push_back(float((i + 1) * (37 + 2 * seed) % 97) / 97 - 0.5f);
  return Tensor(values, shape);
}

namespace {
struct Small {
  nn::Linear first, second;
};
} // namespace

TEST(CudaTraining, OptimizersInF32) {
  auto [a, b] = key(1).split<2>();
  Small small{nn::linear(a, 3, 4), nn::linear(b, 4, 2)};
  Graph model = withStates(small, spec<float>({5, 3}),
                           [](const Tensor &x, const Small &net) { return net.second(tanh(net.first(x))); });
  std::vector<std::vector<Tensor>> batches;
  for (int t = 0; t < 3; ++t)
    batches.push_back({numbers({5, 3}, t), numbers({5, 2}, 10 + t)});
  // All of them run in f64 against torch (optimizers.test).
  for (const char *optimizer : {"adam:lr=0.05,schedule=cosine,steps=20", "adamw:lr=0.05,accumulate=2",
                                "adafactor:lr=0.05", "lamb:lr=0.05,clip_value=0.01", "muon:lr=0.05"})
    compare(train_step(model, {.loss = "mse", .optimizer = optimizer}), batches, optimizer);
}

//===- What goes wrong ------------------------------------------------------------------------===//

namespace {
/// Two steps whose losses are known, as a module.
struct Faults {
  Faults() {
    auto [a, b] = key(1).split<2>();
    Graph model = withStates(Small{nn::linear(a, 3, 4), nn::linear(b, 4, 2)}, spec<float>({5, 3}),
                             [](const Tensor &x, const Small &net) { return net.second(tanh(net.first(x))); });
    Graph step = train_step(model, {.loss = "mse", .optimizer = "adam:lr=0.05"});
    EXPECT_TRUE(cuda::compileText(step.text(), compiled, error)) << error;
    Session host(build(step), "step");
    for (float &loss : losses)
      loss = host(batch)[0].item<float>();
  }
  ~Faults() { std::remove(compiled.path.c_str()); }

  /// The states as text, to the bit.
  static std::map<std::string, std::string> statesOf(const Session &session) {
    std::map<std::string, std::string> states;
    for (const std::string &name : session.states())
      states[name] = to_string(session.state(name), true);
    return states;
  }

  cuda::Compiled compiled;
  std::string error;
  std::vector<Tensor> batch{numbers({5, 3}, 1), numbers({5, 2}, 11)};
  float losses[2];
};

/// The message of the call, empty when it succeeds.
std::string messageOf(Session &session, const std::vector<Tensor> &batch) {
  try {
    session(batch);
  } catch (const Error &error) {
    return error.message();
  }
  return "";
}
} // namespace

/// Call number n of a kind fails, for every n that there is: the step is an error, all states are those before it, and
/// the same session goes on. One allocation that fails is tried again.
TEST(CudaTraining, AStepThatFailsLeavesItsStates) {
  Faults faults;
  for (const char *kind : {"memory", "copy"}) {
    unsigned failures = 0;
    for (std::string message = "none yet"; !message.empty(); ++failures) {
      SCOPED_TRACE(std::string(kind) + " " + std::to_string(failures + 1));
      Session session(Module::open(faults.compiled.path), "step"); // with an empty pool of memory
      auto before = Faults::statesOf(session);
      cuda::failAt(kind, failures + 1);
      message = messageOf(session, faults.batch);
      cuda::failAt(kind, 0);
      if (message.empty())
        break;
      bool isOfState = message.find("state '") == 0;
      const char *what = isOfState ? "cannot be copied" : std::string(kind) == "memory" ? "out of memory" : "a copy";
      EXPECT_TRUE(isOfState || message.find("back end cuda: ") != std::string::npos) << message;
      EXPECT_NE(message.find(what), std::string::npos) << message;
      EXPECT_EQ(Faults::statesOf(session), before);
      for (float loss : faults.losses)
        EXPECT_NEAR(session(faults.batch)[0].item<float>(), loss, 1e-5);
    }
    EXPECT_GT(failures, 3u) << kind;
  }
}

/// A kernel that faults ends its context, as the driver has it: each later call of the session says so, and the module
/// opens again.
TEST(CudaTraining, AStepWhoseLaunchFailsEndsItsSession) {
  Faults faults;
  unsigned failures = 0;
  for (std::string message = "none yet"; !message.empty(); ++failures) {
    SCOPED_TRACE(failures + 1);
    Session session(Module::open(faults.compiled.path), "step");
    cuda::failAt("launch", failures + 1);
    message = messageOf(session, faults.batch);
    cuda::failAt("launch", 0);
    if (message.empty())
      break;
    EXPECT_NE(message.find("unspecified launch failure"), std::string::npos) << message;
    EXPECT_NE(messageOf(session, faults.batch), "");
  }
  EXPECT_GT(failures, 10u);
}
