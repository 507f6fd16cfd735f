// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the examples that train share: a folder with arrays as files, an object of the step for train_main.c, and the
// same training jitted, batch by batch. Both print the loss at the end of each epoch, to the bit. A few steps of it run
// op by op, too.
//
//   example_train_NAME FOLDER EPOCHS        writes FOLDER/net.o, net.h and its data, then trains jitted
//   c++ train_main.o net.o libsinter_trainer.a libsinter_data.a libsinter_rt.a -lz -lpng -ljpeg -lpthread -ldl -lm
//   ./train_main config.json                the same, without a compiler

#ifndef SINTER_EXAMPLES_TRAINING_H
#define SINTER_EXAMPLES_TRAINING_H

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sinter/losses.hpp>
#include <sinter/nn.hpp>
#include <sinter/sinter.hpp>
#include <sinter/train.hpp>
#include <string>

namespace sn = sinter;
namespace nn = sinter::nn;

struct Training {
  std::string folder;
  int64_t epochs = 1, batch = 32, samples = 0;
  std::string inputs{}; // of config.json
  std::vector<float> eagerLosses{};
  size_t next = 0; // of eagerLosses

  Training(int argc, char **argv, int64_t batch) : batch(batch) {
    if (argc != 3) {
      std::fprintf(stderr, "usage: %s FOLDER EPOCHS\n", argv[0]);
      std::exit(1);
    }
    folder = argv[1];
    epochs = std::atoll(argv[2]);
  }

  /// Writes an array of samples; returns it.
  sn::Tensor data(const std::string &name, const sn::Tensor &array) {
    require(sn::save_npy(folder + "/" + name + ".npy", array));
    samples = array.known_dim(0);
    inputs += (inputs.empty() ? "" : ", ") + ("\"" + name + "\": \"@" + name + ".npy\"");
    return array;
  }

  /// Writes the object and what train_main.c is told, then trains jitted on the same batches, rows of `arrays` one
  /// behind the other. `more` goes to config.json.
  template <class Step, class Use, class Inputs, class... Arrays>
  void run(Step &step, Use use, const Inputs &used, const std::string &more, const Arrays &...arrays) {
    write(step, use, used, more, std::tuple(rows(arrays, 0)...));
    for (int64_t epoch = 0; epoch < epochs; ++epoch)
      print(epoch, trainEpoch(step, arrays...));
  }

  /// The same where each step gets the same, and an epoch is a step.
  template <class Step, class Use, class Inputs, class... Batch>
  void runSteps(Step &step, Use use, const Inputs &used, const std::string &more, const Batch &...batch) {
    write(step, use, used, more, std::tuple(batch...));
    for (int64_t epoch = 0; epoch < epochs; ++epoch)
      print(epoch, compared(step(batch...)));
  }

  /// An epoch of such batches; the last loss.
  template <class Step, class... Arrays> sn::Tensor trainEpoch(Step &step, const Arrays &...arrays) {
    sn::Tensor loss;
    for (int64_t k = 0; k < samples / batch; ++k)
      loss = compared(step(rows(arrays, k)...));
    return loss;
  }

  /// Makes three steps of another training that begins alike, made with {.eager = true}. The first losses of `run` must
  /// be theirs.
  template <class Step, class... Arrays> void eager(Step step, const Arrays &...arrays) {
    for (int64_t k = 0; k < 3; ++k)
      eagerLosses.push_back(step(rows(arrays, k)...).template item<float>());
  }
  /// The same before `runSteps`.
  template <class Step, class... Batch> void eagerSteps(Step step, const Batch &...batch) {
    for (int64_t k = 0; k < 3; ++k)
      eagerLosses.push_back(step(batch...).template item<float>());
  }

  template <class Step, class Use, class Inputs, class Batch>
  void write(Step &step, Use use, const Inputs &used, const std::string &more, const Batch &example) {
    require(step.compile({.output = folder + "/net.o", .inputs = {"x"}, .outputs = {"y"}}, use, used, example));
    writeConfig(more);
  }
  void writeConfig(const std::string &more) const {
    std::ofstream(folder + "/config.json") << "{\"data\": {" << inputs << "}, \"epochs\": " << epochs << more << "}\n";
  }
  sn::Tensor rows(const sn::Tensor &x, int64_t k) const { return x[sn::slice(k * batch, (k + 1) * batch)]; }
  sn::Tensor compared(const sn::Tensor &loss) {
    if (next == eagerLosses.size())
      return loss;
    float jitted = loss.item<float>(), eager = eagerLosses[next++];
    if (std::abs(jitted - eager) > 1e-4f * std::max(1.f, std::abs(eager))) {
      std::fprintf(stderr, "step %d: the loss is %g, and %g op by op\n", int(next), double(jitted), double(eager));
      std::exit(1);
    }
    return loss;
  }
  static void print(int64_t epoch, const sn::Tensor &loss) {
    std::printf("epoch %d: loss %.6a\n", int(epoch + 1), double(loss.item<float>()));
  }

  static void require(const sn::Status &status) {
    if (status.ok())
      return;
    std::fprintf(stderr, "%s\n", status.error()->what());
    std::exit(1);
  }
};

#endif
