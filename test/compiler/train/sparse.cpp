// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables that move by rows, in f64, against torch's sparse gradients, SparseAdam and Adagrad
// (Inputs/sparse_goldens.py), and by the sums of several batches against NumPy (Inputs/sparse_sums.py).

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

//===- sums of several batches -----------------------------------------------------------------------===//

void expectSums(const std::string &name, int batches, const sn::StepOptions &options = {}) {
  std::vector<double> got = train(optimizers().at(name).sparse("^table$").accumulate(batches), options);
  goldens::expectNear(name + std::to_string(batches), got, 1e-12, SINTER_SPARSE_SUMS);
}

TEST(SparseSums, rows_are_numpys) {
  for (const auto &[name, optimizer] : optimizers())
    for (int batches : {2, 3})
      expectSums(name, batches);
}

TEST(SparseSums, rows_are_numpys_without_optimization) { expectSums("adam", 3, {.opt_level = sn::OptLevel::each_op}); }

TEST(SparseSums, rows_are_numpys_op_by_op) {
  for (const char *name : {"adagrad", "sgd", "adam"})
    expectSums(name, 3, {.eager = true});
}

TEST(SparseSums, a_scaled_loss_is_the_same) { expectSums("adagrad", 2, {.loss_scale = "1024"}); }

TEST(SparseSums, any_number_of_threads_gives_the_same_bits) {
  auto adam = optimizers().at("adam").sparse("table").accumulate(3);
  EXPECT_EQ(train(adam, {.threads = 1}), train(adam, {.threads = 4}));
}

TEST(SparseSums, a_step_goes_on_between_two_moves) {
  std::string path = testing::TempDir() + "/sparse_sums.safetensors";
  auto optimizer = optimizers().at("ftrl").sparse("table").accumulate(3);
  std::vector<double> got;
  auto go = [&](auto &step, int begin, int end) {
    for (int t = begin; t < end; ++t) {
      Batch b = batchOf(t);
      got.push_back(step(b.ids, b.splits, b.weights, b.single, b.y).template item<double>());
    }
  };
  auto first = sn::train_step(loss, makeTables(), optimizer);
  go(first, 0, 8);
  ASSERT_TRUE(first.save(path));
  auto second = sn::train_step(loss, makeTables(), optimizer);
  ASSERT_TRUE(second.load(path));
  go(second, 8, kSteps);
  for (double value : second.model().table.to_vector<double>())
    got.push_back(value);
  goldens::expectNear("ftrl3", got, 1e-12, SINTER_SPARSE_SUMS);
}

/// Moves by the sum of a batch of four single rows and one of `more`.
template <class Step> sn::Tensor moveBySizes(Step &step, const std::vector<int64_t> &more) {
  Batch b = batchOf(0);
  step(b.ids, b.splits, b.weights, b.single, b.y);
  sn::Tensor single(more), y = fill({int64_t(more.size()), 2}, 300, 2);
  std::vector<int64_t> splits(more.size() + 1, 0);
  return step(sn::Tensor(std::vector<int64_t>{}, {0}), sn::Tensor(splits), sn::Tensor(std::vector<double>{}, {0}),
              single, y);
}

TEST(SparseSums, batches_may_be_smaller_than_the_first) {
  // The mean of the gradients, as a dense sgd of both batches moves the table.
  auto sgd = optim::sgd({.lr = 0.2}).accumulate(2);
  auto dense = sn::train_step(loss, makeTables(), sgd);
  auto rows = sn::train_step(loss, makeTables(), sgd.sparse("table"));
  moveBySizes(dense, {7, 7, 1});
  moveBySizes(rows, {7, 7, 1});
  std::vector<double> wanted = dense.model().table.to_vector<double>(), got = rows.model().table.to_vector<double>();
  std::vector<double> first = makeTables().table.to_vector<double>();
  EXPECT_NE(got[21], first[21]); // a row of the second batch alone
  for (size_t k = 0; k < wanted.size(); ++k)
    EXPECT_NEAR(got[k], wanted[k], 1e-12);
}

TEST(SparseSums, batches_that_are_larger_than_the_first_are_an_error) {
  auto step = sn::train_step(loss, makeTables(), optim::sgd({.lr = 0.2}).accumulate(2).sparse("table"));
  try {
    moveBySizes(step, std::vector<int64_t>(23, 1));
    FAIL() << "the batch was taken";
  } catch (const sn::Error &error) {
    EXPECT_NE(
        error.message().find("gradients of table 'table', which moves by rows, are summed over several calls, "
                             "which requires batches that look up at most 22 rows as the first one, got one of 23"),
        std::string::npos)
        << error.message();
  }
}

TEST(SparseSums, updates_outside_of_steps_are_an_error) {
  Tables model = makeTables();
  optim::State state;
  auto optimizer = optim::sgd({.lr = 1}).accumulate(2).sparse("table");
  try {
    optim::update(optimizer, model, makeTables(), state);
    sn::Tensor moved = model.table + 1.0;
    FAIL() << "the table moved";
  } catch (const sn::Error &error) {
    EXPECT_NE(error.message().find("gradients of table 'table', which moves by rows, are summed over several calls in "
                                   "train_step alone"),
              std::string::npos)
        << error.message();
  }
}

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
  EXPECT_EQ(message(optim::sgd({.lr = 1}).accumulate(2)), "");
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
