// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables that move by rows, in f64, against torch's sparse gradients, SparseAdam and Adagrad
// (Inputs/sparse_goldens.py).

#include "Goldens.h"
#include <functional>
#include <sinter/nn.hpp>
#include <sinter/train.hpp>

namespace sn = sinter;
namespace nn = sinter::nn;
namespace optim = sinter::optim;
using goldens::fill;

namespace {

void expectNear(const std::string &name, const std::vector<double> &got) {
  goldens::expectNear(name, got, 1e-12, SINTER_SPARSE_GOLDENS);
}

constexpr int kSteps = 20, kRows = 11, kWidth = 3;

struct Tables {
  sn::Tensor table;
  nn::Linear head;
  sn::Tensor operator()(const sn::Tensor &ids, const sn::Tensor &splits, const sn::Tensor &weights,
                        const sn::Tensor &single) const {
    nn::EmbeddingBag mean{table, nn::Bag::mean}, weighted{table};
    nn::Embedding rows{table};
    return head(sn::tanh(mean(ids, splits) + weighted(ids, splits, weights) + rows(single)));
  }
};
sn::Tensor loss(Tables &model, const sn::Tensor &ids, const sn::Tensor &splits, const sn::Tensor &weights,
                const sn::Tensor &single, const sn::Tensor &y) {
  return sn::mse_loss(model(ids, splits, weights, single), y);
}
Tables makeTables() {
  Tables model{fill({kRows, kWidth}, 0), nn::linear(sn::key(1), kWidth, 2, {.dtype = sn::DType::f64})};
  model.head.weight = fill({2, kWidth}, 1);
  model.head.bias = fill({2}, 2);
  return model;
}

struct Batch {
  sn::Tensor ids, splits, weights, single, y;
};
Batch batchOf(int t) {
  std::vector<int64_t> known = {0, 4, 4, 9, 1, 3, 9, 10, 2}, ids, single;
  for (int i = 0; i < 9; ++i)
    ids.push_back(known[size_t(i + t) % 9]);
  for (int i = 0; i < 4; ++i)
    single.push_back((5 * i + t) % 7);
  return {sn::Tensor(ids), sn::Tensor(std::vector<int64_t>{0, 3, 3, 7, 9}), fill({9}, 20 + t, 2), sn::Tensor(single),
          fill({4, 2}, 200 + t, 2)};
}

std::map<std::string, optim::Optimizer> optimizers() {
  return {{"sgd", optim::sgd({.lr = 0.2})},
          {"adagrad", optim::adagrad({.lr = 0.1, .lr_decay = 0.1})},
          {"adam", optim::adam({.lr = 0.05, .beta1 = 0.8, .beta2 = 0.95})},
          {"ftrl", optim::ftrl({.lr = 0.3, .l1 = 0.02, .l2 = 0.1})}};
}

/// Losses of the steps, then the table.
std::vector<double> train(const optim::Optimizer &optimizer, const sn::StepOptions &options = {}) {
  auto step = sn::train_step(loss, makeTables(), optimizer, options);
  std::vector<double> got;
  for (int t = 0; t < kSteps; ++t) {
    Batch b = batchOf(t);
    got.push_back(step(b.ids, b.splits, b.weights, b.single, b.y).template item<double>());
  }
  for (double value : step.model().table.to_vector<double>())
    got.push_back(value);
  return got;
}

TEST(Sparse, rows_are_torchs) {
  for (const auto &[name, optimizer] : optimizers())
    expectNear(name, train(optimizer.sparse("^table$")));
}

TEST(Sparse, rows_are_torchs_without_optimization) {
  expectNear("adam", train(optimizers().at("adam").sparse("table"), {.opt_level = sn::OptLevel::each_op}));
}

TEST(Sparse, rows_are_torchs_op_by_op) {
  for (const char *name : {"adagrad", "sgd"})
    expectNear(name, train(optimizers().at(name).sparse("table"), {.eager = true}));
}

TEST(Sparse, any_number_of_threads_gives_the_same_bits) {
  std::vector<double> one = train(optimizers().at("adam").sparse("table"), {.threads = 1});
  EXPECT_EQ(one, train(optimizers().at("adam").sparse("table"), {.threads = 4}));
}

TEST(Sparse, a_dense_sgd_is_the_same) { expectNear("sgd", train(optimizers().at("sgd"))); }

//===- lookups in loops ------------------------------------------------------------------------------===//

struct Walk {
  sn::Tensor table;
  nn::Linear head;
};
Walk makeWalk() {
  Tables model = makeTables();
  return {model.table, model.head};
}

using Go = std::function<sn::Tensor(const Walk &, const sn::Tensor &start, const sn::Tensor &ids)>;

sn::Tensor go(const sn::Tensor &h, const Walk &model, const sn::Tensor &ids) {
  return sn::tanh(h * 0.9 + sn::take(model.table, ids)) + sn::take(model.table, (ids + 1) % kRows);
}
sn::Tensor goOver(const Walk &model, const sn::Tensor &start, const sn::Tensor &ids) {
  return std::get<0>(
      sn::scan([&](sn::Tensor h, sn::Tensor row) { return std::pair{go(h, model, row), sn::sum(h)}; }, start, ids));
}
Go goFor(const char *memory) {
  return [memory](const Walk &model, const sn::Tensor &start, const sn::Tensor &ids) {
    return sn::for_loop(
        sn::ForOptions{memory}, sn::Range(6),
        [&](sn::Tensor i, sn::Tensor h) { return go(h, model, sn::take(ids, i)); }, start);
  };
}
sn::Tensor goWhile(const Walk &model, const sn::Tensor &start, const sn::Tensor &ids) {
  auto [h, total, i] =
      sn::while_loop([](auto, auto total, auto) { return total < 1.5; },
                     [&](sn::Tensor h, sn::Tensor total, sn::Tensor i) {
                       h = sn::tanh(h + sn::take(model.table, (sn::take(ids, sn::Tensor(int64_t(0))) + 3 * i) % kRows));
                       return std::tuple{h, total + 0.3 + sn::mean(sn::square(sn::stop_gradient(h))), i + 1};
                     },
                     start, sn::scalar(0.), sn::scalar(int64_t(0)));
  return h;
}
sn::Tensor goNested(const Walk &model, const sn::Tensor &start, const sn::Tensor &ids) {
  using Two = std::pair<sn::Tensor, sn::Tensor>;
  auto inner = [&](sn::Tensor h, Two at) {
    return Two{sn::tanh(h + sn::take(model.table, at.first) * at.second), at.second};
  };
  auto outer = [&](sn::Tensor h, Two at) {
    h = sn::scan(inner, h, Two{at.first, sn::Tensor(std::vector<double>{1, 2})}).first;
    return Two{h + sn::take(model.table, at.second), sn::sum(h)};
  };
  sn::Tensor first = sn::take(ids, sn::Tensor(std::vector<int64_t>{0, 1, 2}));
  return sn::scan(outer, start, Two{sn::reshape(ids, {3, 2, 2}), first}).first;
}

std::vector<double> walk(const Go &go, const sn::StepOptions &options = {}) {
  auto loss = [&](Walk &model, const sn::Tensor &ids, const sn::Tensor &y) {
    sn::Tensor start = 0.1 * sn::take(model.table, sn::take(ids, sn::Tensor(int64_t(0))));
    return sn::mse_loss(model.head(go(model, start, ids)), y);
  };
  auto step = sn::train_step(loss, makeWalk(), optimizers().at("adam").sparse("^table$"), options);
  std::vector<double> got;
  for (int t = 0; t < kSteps; ++t) {
    std::vector<int64_t> ids;
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 2; ++j)
        ids.push_back((3 * i + 5 * j * j + t * (i + 1)) % 10);
    got.push_back(step(sn::Tensor(ids, {6, 2}), fill({2, 2}, 200 + t, 2)).template item<double>());
  }
  for (double value : step.model().table.to_vector<double>())
    got.push_back(value);
  return got;
}

TEST(Sparse, lookups_in_scans_are_torchs) { expectNear("for", walk(goOver)); }
TEST(Sparse, lookups_in_counted_loops_are_torchs) {
  expectNear("for", walk(goFor(nullptr)));
  expectNear("for", walk(goFor("recompute")));
  expectNear("for", walk(goFor(nullptr), {.opt_level = sn::OptLevel::each_op}));
}
TEST(Sparse, lookups_in_whiles_are_torchs) { expectNear("while", walk(goWhile)); }
TEST(Sparse, lookups_in_loops_of_loops_are_torchs) { expectNear("nested", walk(goNested)); }

TEST(Sparse, lookups_in_loops_of_few_snapshots_are_torchs) { expectNear("for", walk(goFor("binomial(2)"))); }

TEST(Sparse, lookups_in_loops_of_periods_are_an_error) {
  try {
    walk(goFor("period(2)"));
    FAIL() << "the table moved";
  } catch (const sn::Error &error) {
    EXPECT_NE(error.message().find("the gradient of 'table' is a sum of more than what lookups of rows give back"),
              std::string::npos)
        << error.message();
  }
}

TEST(Sparse, says_what_moves_no_rows) {
  auto message = [](const optim::Optimizer &optimizer) { return optimizer.sparse("table").problem(); };
  EXPECT_NE(message(optim::lamb()).find("lamb, adafactor and muon need all of a gradient"), std::string::npos);
  EXPECT_NE(message(optim::sgd({.lr = 1}).accumulate(2)).find("in each call"), std::string::npos);
  EXPECT_NE(message(optim::sgd({.lr = 1}).ema(0.5)).find("averages of weights"), std::string::npos);
  EXPECT_EQ(optim::sgd({.lr = 1}).sparse("(").problem(), "sparse requires a regular expression, got '('");
  EXPECT_EQ(message(optim::adam()), "");
}

TEST(Sparse, a_table_that_is_read_whole_is_an_error) {
  auto whole = [](Tables &model, const sn::Tensor &ids) {
    return sn::sum(sn::take(model.table, ids)) + sn::sum(model.table * 2.0);
  };
  try {
    auto step = sn::train_step(whole, makeTables(), optim::sgd({.lr = 1}).sparse("table"));
    sn::Tensor value = step(sn::Tensor(std::vector<int64_t>{1, 2}));
    FAIL() << "the table moved";
  } catch (const sn::Error &error) {
    EXPECT_NE(error.message().find("the gradient of 'table' is a sum of more than what lookups of rows give back"),
              std::string::npos)
        << error.message();
  }
}

} // namespace
