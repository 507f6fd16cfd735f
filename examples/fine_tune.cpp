// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fine-tunes an ONNX model: mirrored_digits.onnx of the folder reads digits that are mirrored along the diagonal, and
// learns those of digits.npz (train_digits.cpp) as they are. Its first convolution stays as it was. The step is
// compiled to net.o, too, for train_main.c.

#include "training.h"

static constexpr int64_t kBatch = 32, kDigits = 1797, kTrained = 44 * kBatch;

/// The share of pictures that `infer` reads as their labels.
static double accuracy(sn::Session &infer, const sn::Tensor &x, const sn::Tensor &labels) {
  sn::Tensor right = sn::astype(sn::argmax(infer({x})[0], 1) == labels, sn::DType::f64);
  return sn::mean(right).item<double>();
}

int main(int argc, char **argv) try {
  Training training(argc, argv, kBatch);
  std::map<std::string, sn::Tensor> digits{{"images", sn::zeros({kDigits, 64}, sn::DType::u8)},
                                           {"labels", sn::zeros({kDigits}, sn::DType::i64)}};
  Training::require(nn::load(training.folder + "/digits.npz", digits));
  sn::Tensor order = sn::random::permutation(sn::key(1), kDigits);
  sn::Tensor all = sn::take(sn::astype(digits["images"], sn::DType::f32), order, 0) / 16.f;
  sn::Tensor pictures = sn::reshape(all, {-1, 1, 8, 8}), labels = sn::take(digits["labels"], order, 0);
  sn::Tensor x = training.data("x", pictures[sn::slice(0, kTrained)]);
  sn::Tensor y = training.data("labels", labels[sn::slice(0, kTrained)]);
  sn::Tensor held = pictures[sn::slice(kTrained, kDigits)], heldLabels = labels[sn::slice(kTrained, kDigits)];
  Training::require(sn::save_npy(training.folder + "/held_x.npy", held));
  Training::require(sn::save_npy(training.folder + "/held_labels.npy", heldLabels));

  sn::Graph model = sn::Graph::load(training.folder + "/mirrored_digits.onnx");
  sn::Graph both = sn::train_step(model, {.loss = "cross_entropy", .optimizer = "adamw:lr=0.005", .frozen = "^conv1"});
  Training::require(sn::compile(both, {.output = training.folder + "/net.o"}));
  training.writeConfig(
      R"(, "metrics": ["accuracy"], "validation": {"x": "@held_x.npy", "labels": "@held_labels.npy"})");

  sn::Module module = sn::build(both);
  sn::Session step(module, {.function = "step"}), infer(module, {.function = "infer", .states_of = &step});
  std::printf("before: %.2f %% read\n", 100 * accuracy(infer, held, heldLabels));
  for (int64_t epoch = 0; epoch < training.epochs; ++epoch) {
    sn::Tensor loss;
    for (int64_t k = 0; k < kTrained / kBatch; ++k)
      loss = step({training.rows(x, k), training.rows(y, k)})[0];
    Training::print(epoch, loss);
  }
  std::printf("after: %.2f %% read\n", 100 * accuracy(infer, held, heldLabels));
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
