// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the examples share that learn to tell files: those of FOLDER/train/KIND are trained on, jitted and, by net.o and
// config.json, in C over the trainer, which reads the same folder; those of FOLDER/held_out/KIND say how well it went.

#ifndef SINTER_EXAMPLES_FOLDERS_H
#define SINTER_EXAMPLES_FOLDERS_H

#include "runtime/data/Media.h"
#include "training.h"

namespace data = sinter::data;

class FolderTraining : public Training {
public:
  /// What a file holds as the trainer gives it to a step: f32, in all files of the same dims.
  using Decode = data::Value (*)(std::string_view bytes);

  FolderTraining(int argc, char **argv, int64_t batch, const std::vector<std::string> &suffixes, Decode decode)
      : Training(argc, argv, batch), files(data::openFolder(folder + "/train", suffixes)), decode(decode) {
    samples = files->size();
  }

  int64_t numKinds() const { return int64_t(data::folderLabels(folder + "/train").size()); }
  double steps() const { return double(epochs * (samples / batch)); }

  /// Trains jitted, after three steps op by op, which must have the same losses. `use(net, x)` gives the scores of
  /// kinds.
  template <class Loss, class Net, class Optimizer, class Use>
  void train(Loss loss, const Net &net, const Optimizer &optimizer, Use use) {
    auto eager = sn::train_step(loss, net, optimizer, {.eager = true});
    auto step = sn::train_step(loss, net, optimizer, {.inputs = {"x", "labels"}});
    inputs = R"("x": "@train", "labels": "@train")";
    for (int64_t epoch = 0, k = 0; epoch < epochs; ++epoch) {
      sn::Tensor last;
      each(epoch, [&](const sn::Tensor &x, const sn::Tensor &labels) {
        if (k == 0)
          write(step, use, std::tuple(x),
                R"(, "shuffle": 1, "metrics": ["accuracy"], "validation": {"x": "@held_out", "labels": "@held_out"})",
                std::tuple(x, labels));
        if (k++ < 3)
          eagerLosses.push_back(eager(x, labels).template item<float>());
        last = compared(step(x, labels));
      });
      print(epoch, last);
    }
  }

private:
  /// Calls `body(x, labels)` for each whole batch, in the order of the trainer.
  template <class Body> void each(int64_t epoch, Body body) {
    auto sampleOf = [decode = decode](const data::Record &file) {
      return data::Record{{"x", decode(file["bytes"].bytes())}, {"labels", file["label"]}};
    };
    auto walk = data::Dataset::shuffledFrom(files, 1)
                    .map(sampleOf, {.threads = 1})
                    .batch({.size = batch, .dropRemainder = true})
                    .begin(epoch);
    for (data::Record read; walk->next(read);) {
      auto x = read["x"].as<float>();
      auto labels = read["labels"].as<int64_t>();
      body(sn::Tensor(std::vector<float>(x.begin(), x.end()), sn::Shape(read["x"].dims().all())),
           sn::Tensor(std::vector<int64_t>(labels.begin(), labels.end()), {batch}));
    }
  }

  std::shared_ptr<const data::Source> files;
  Decode decode;
};

#endif
