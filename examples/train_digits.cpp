// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolutional network that reads handwritten digits: scikit-learn's set of 1,797 pictures of 8 x 8, as digits.npz
// in the folder (`images` u8, `labels` i64; test/examples/Inputs/digits.py writes it). It is trained on four fifths of
// them in a random order and tried on the last, for each of the fifths; of the first, the step is compiled to net.o,
// too.

#include "training.h"

static constexpr int64_t kBatch = 32, kDigits = 1797;

struct Reader {
  nn::Conv conv1;
  nn::BatchNorm norm1;
  nn::Conv conv2;
  nn::BatchNorm norm2;
  nn::Linear inner, head;

  sn::Tensor operator()(const sn::Tensor &pixels, nn::Mode &mode) {
    sn::Tensor x = sn::reshape(sn::astype(pixels, sn::DType::f32), {-1, 1, 8, 8}) / 16.f;
    if (mode.training) { // each batch is moved by up to a pixel
      sn::Tensor places = sn::arange(8), by = sn::random::randint(mode.next(), {2}, 0, 3, sn::DType::i64);
      x = sn::pad(x, {{0, 0}, {0, 0}, {1, 1}, {1, 1}});
      x = sn::take(sn::take(x, places + by[0], 2), places + by[1], 3);
    }
    x = sn::relu(norm1(conv1(x), mode));
    x = sn::max_pool(sn::relu(norm2(conv2(x), mode)), {2, 2});
    return head(nn::Dropout{0.3}(sn::relu(inner(sn::flatten(x, 1))), mode));
  }
};

static sn::Tensor loss(Reader &net, nn::Mode &mode, const sn::Tensor &pixels, const sn::Tensor &labels) {
  return sn::cross_entropy(net(pixels, mode), labels, {.smoothing = 0.05});
}
static sn::Tensor scores(Reader &net, const sn::Tensor &pixels) {
  nn::Mode use;
  return net(pixels, use);
}

static Reader makeReader(uint64_t seed) {
  auto [first, second, third, fourth] = sn::key(int64_t(seed)).split<4>();
  return {nn::conv2d(first, 1, 16, 3, {.padding = 1}),
          nn::batch_norm(16),
          nn::conv2d(second, 16, 32, 3, {.padding = 1}),
          nn::batch_norm(32),
          nn::linear(third, 512, 64),
          nn::linear(fourth, 64, 10)};
}

/// The share of `pixels` that the network reads as their labels.
static double accuracy(Reader net, const sn::Tensor &pixels, const sn::Tensor &labels) {
  static auto read = sn::jit([](Reader net, const sn::Tensor &x) { return sn::argmax(scores(net, x), 1); });
  sn::Tensor right = sn::astype(read(net, pixels) == labels, sn::DType::f64);
  return sn::mean(right).item<double>();
}

int main(int argc, char **argv) try {
  Training training(argc, argv, kBatch);
  std::map<std::string, sn::Tensor> digits{{"images", sn::zeros({kDigits, 64}, sn::DType::u8)},
                                           {"labels", sn::zeros({kDigits}, sn::DType::i64)}};
  Training::require(nn::load(training.folder + "/digits.npz", digits));
  sn::Tensor order = sn::random::permutation(sn::key(1), kDigits);
  sn::Tensor images = sn::take(digits["images"], order, 0), labels = sn::take(digits["labels"], order, 0);
  double sum = 0;
  for (int64_t fifth = 0; fifth < 5; ++fifth) {
    int64_t begin = kDigits * fifth / 5, end = kDigits * (fifth + 1) / 5, batches = (kDigits - (end - begin)) / kBatch;
    auto rest = [&](const sn::Tensor &rows) { // whole batches of what is outside of the fifth
      sn::Tensor all = sn::concatenate({rows[sn::slice(0, begin)], rows[sn::slice(end, kDigits)]});
      return all[sn::slice(0, batches * kBatch)];
    };
    sn::Tensor x = rest(images), y = rest(labels);
    sn::Tensor held = images[sn::slice(begin, end)], heldLabels = labels[sn::slice(begin, end)];
    auto optimizer = sn::optim::adamw({.lr = 0.004, .weight_decay = 0.05})
                         .no_decay("bias|norm")
                         .schedule(sn::optim::one_cycle(double(training.epochs * batches + 1)));
    auto step = sn::train_step(loss, makeReader(uint64_t(fifth)), optimizer, {.inputs = {"x", "labels"}});
    if (fifth == 0) {
      training.data("x", x), training.data("labels", y);
      Training::require(sn::save_npy(training.folder + "/held_x.npy", held));
      Training::require(sn::save_npy(training.folder + "/held_labels.npy", heldLabels));
      training.eager(sn::train_step(loss, makeReader(0), optimizer, {.eager = true}), x, y);
      training.run(step, scores, std::tuple(x[sn::slice(0, kBatch)]),
                   R"(, "metrics": ["accuracy"], "validation": {"x": "@held_x.npy", "labels": "@held_labels.npy"})", x,
                   y);
    } else {
      for (int64_t epoch = 0; epoch < training.epochs; ++epoch)
        training.trainEpoch(step, x, y);
    }
    double right = accuracy(step.model(), held, heldLabels);
    sum += right / 5;
    std::printf("fifth %d: %.2f %% read\n", int(fifth + 1), 100 * right);
  }
  std::printf("mean of the fifths: %.2f %%\n", 100 * sum);
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
