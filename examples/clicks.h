// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the recommenders share: clicks whose probability a formula says, written as tf.Examples to TFRecords, and
// feature columns that turn these into inputs of a step. Since the formula is known, so is the least loss that any
// model can have, which the test's loss is compared with.

#ifndef SINTER_EXAMPLES_CLICKS_H
#define SINTER_EXAMPLES_CLICKS_H

#include "runtime/data/Columns.h"
#include "runtime/data/Open.h"
#include "training.h"
#include <cmath>

namespace data = sinter::data;

static constexpr int64_t kUsers = 200, kItems = 40, kCities = 8, kKinds = 5, kRecent = 4, kClicks = 256;
// Rows for items by hash, and for city and kind together, most of which nobody looks up.
static constexpr int64_t kItemRows = 10007, kCrosses = 100003;

/// Who saw what: `recent` are items that the user bought before.
struct Impression {
  int64_t user, item, city, recent[kRecent];
  float age, price;
  int64_t kind() const { return item % kKinds; }
};

/// A number in [-1, 1) that belongs to `what` number `i`.
inline double traitOf(int64_t what, int64_t i) {
  auto z = static_cast<uint64_t>(what * 1000003 + i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

class Clicks : public Training {
public:
  using Logit = double (*)(const Impression &);

  Clicks(int argc, char **argv, Logit logit, int64_t batches) : Training(argc, argv, kClicks) {
    samples = batches * kClicks;
    draw("train.tfrecord", 1, samples, logit);
    leastLoss = draw("test.tfrecord", 2, 60 * kClicks, logit);
    data::FeatureColumns columns = data::FeatureColumns::parse(R"({"columns": [
      {"name": "age", "normalize": true, "into": "dense"}, {"name": "price", "normalize": true, "into": "dense"},
      {"name": "user", "kind": "vocabulary", "oov": 1, "as": "embedding", "dim": 8},
      {"name": "item", "kind": "hashed", "buckets": 10007, "as": "embedding", "dim": 8, "table": "item"},
      {"name": "recent", "kind": "hashed", "buckets": 10007, "size": 4, "as": "embedding", "dim": 8, "table": "item"},
      {"name": "cross", "kind": "crossed", "keys": ["city", "kind"], "buckets": 100003, "as": "embedding", "dim": 1},
      {"name": "click"}]})");
    columns.fit(data::openFeatures(folder + "/train.tfrecord", kClicks, columns.features()));
    columns.save(folder + "/columns.json");
  }

  double steps() const { return static_cast<double>(epochs * samples / kClicks); }

  /// Batches of a file as (dense, user, item, recent, cross, click).
  template <class Body> void each(const std::string &file, Body body) {
    data::FeatureColumns columns = data::FeatureColumns::load(folder + "/columns.json");
    data::Dataset rows = data::openFeatures(folder + "/" + file, kClicks, columns.features());
    data::Loader loader(rows.map(columns.transform(), {.threads = 1}));
    for (data::Record batch; loader.next(batch);) {
      auto ids = [&](const char *name, const sn::Shape &shape) {
        auto all = batch[name].as<int64_t>();
        return sn::Tensor(std::vector<int64_t>(all.begin(), all.end()), shape);
      };
      auto floats = [&](const char *name, const sn::Shape &shape) {
        auto all = batch[name].as<float>();
        return sn::Tensor(std::vector<float>(all.begin(), all.end()), shape);
      };
      body(floats("dense", {kClicks, 2}), ids("user", {kClicks}), ids("item", {kClicks}),
           ids("recent", {kClicks, kRecent}), ids("cross", {kClicks}), floats("click", {kClicks}));
    }
  }

  /// Writes the object, trains jitted, and says how far above the least loss the model ends.
  template <class Step> void train(Step &step) {
    auto use = [](auto &net, const auto &...inputs) { return net(inputs...); };
    bool isWritten = false;
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
      sn::Tensor loss;
      each("train.tfrecord", [&](const auto &dense, const auto &user, const auto &item, const auto &recent,
                                 const auto &cross, const auto &click) {
        auto inputs = std::tuple(dense, user, item, recent, cross);
        if (!isWritten)
          require(step.compile({.output = folder + "/net.o", .outputs = {"score"}}, use, inputs,
                               std::tuple_cat(inputs, std::tuple(click))));
        isWritten = true;
        loss = step(dense, user, item, recent, cross, click);
      });
      print(epoch, loss);
    }
    std::ofstream config(folder + "/config.json");
    for (const char *name : {"dense", "user", "item", "recent", "cross", "click"})
      config << (name == std::string("dense") ? "{\"data\": {" : ", ") << "\"" << name << "\": \"@train.tfrecord\"";
    config << "}, \"columns\": \"columns.json\", \"epochs\": " << epochs << "}\n";

    double sum = 0, batches = 0;
    auto net = step.model();
    each("test.tfrecord", [&](const auto &dense, const auto &user, const auto &item, const auto &recent,
                              const auto &cross, const auto &click) {
      sum += double(sn::bce_with_logits(net(dense, user, item, recent, cross), click).template item<float>());
      ++batches;
    });
    std::fprintf(stderr, "test: loss %.4f, the formula's %.4f, %.1f %% above\n", sum / batches, leastLoss,
                 100 * (sum / batches / leastLoss - 1));
  }

private:
  /// Writes `count` clicks; returns the mean loss of who knows the formula.
  double draw(const std::string &file, int64_t seed, int64_t count, Logit logit) {
    data::TfRecordWriter writer(folder + "/" + file);
    int64_t drawn = 0;
    auto uniform = [&] { return (traitOf(100 + seed, drawn++) + 1) / 2; };
    auto below = [&](int64_t most) { return static_cast<int64_t>(uniform() * static_cast<double>(most)); };
    auto text = [](const char *kind, int64_t i) { return data::Value::string(kind + std::to_string(i)); };
    double loss = 0;
    for (int64_t k = 0; k < count; ++k) {
      Impression seen{below(kUsers), below(kItems), below(kCities), {}, float(18 + 60 * uniform()), float(uniform())};
      std::vector<std::string> recent;
      for (int64_t &item : seen.recent)
        recent.push_back("i" + std::to_string(item = below(kItems)));
      double chance = 1 / (1 + std::exp(-logit(seen)));
      bool isClick = uniform() < chance;
      loss -= std::log(isClick ? chance : 1 - chance);
      writer.write(data::makeExample({{"user", text("u", seen.user)},
                                      {"item", text("i", seen.item)},
                                      {"city", text("c", seen.city)},
                                      {"kind", text("k", seen.kind())},
                                      {"recent", data::Value::strings(recent)},
                                      {"age", data::Value::scalar(seen.age)},
                                      {"price", data::Value::scalar(seen.price)},
                                      {"click", data::Value::scalar(isClick ? 1.f : 0.f)}}));
    }
    writer.close();
    return loss / static_cast<double>(count);
  }

  double leastLoss = 0;
};

#endif
