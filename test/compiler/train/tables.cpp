// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many tables in one lookup: against loops over their rows, and trained against the same tables one by one.

#include "Goldens.h"
#include <cmath>
#include <sinter/nn_tables.hpp>
#include <sinter/train.hpp>

namespace sn = sinter;
namespace nn = sinter::nn;
namespace optim = sinter::optim;
using goldens::fill;

namespace {

const std::vector<int64_t> kCounts = {5, 3, 7};
constexpr int64_t kWidth = 3, kRows = 15, kBags = 4;

/// Ragged bags of one table. The splits leave out what stands before the first and behind the last bag.
struct Ragged {
  std::vector<int64_t> positions, splits;
  std::vector<double> weights;
};
std::vector<Ragged> raggedBags() {
  return {{{4, 0, 0, 2, -1}, {0, 2, 2, 4, 5}, {1, .5, 2, -1, 3}},
          {{9, 1, 2, 0, -3, 9}, {1, 2, 4, 5, 5}, {7, 1, 1, .25, 2, 7}},
          {{6, 6, 3, 5, 0, 1, 2}, {0, 1, 4, 4, 7}, {1, 2, 3, 4, 5, 6, 7}}};
}

/// Row by row, as EmbeddingBag's documentation says.
std::vector<double> expected(const std::vector<double> &weight, const std::vector<Ragged> &tables, nn::Bag combine,
                             bool isWeighted) {
  std::vector<double> result(size_t(kBags * 3 * kWidth));
  int64_t first = 0;
  for (size_t t = 0; t < tables.size(); first += kCounts[t++])
    for (size_t b = 0; b < size_t(kBags); ++b)
      for (size_t w = 0; w < size_t(kWidth); ++w) {
        double sum = 0, amount = 0;
        for (auto i = size_t(tables[t].splits[b]); i < size_t(tables[t].splits[b + 1]); ++i) {
          int64_t row = tables[t].positions[i] + (tables[t].positions[i] < 0 ? kCounts[t] : 0);
          double scale = isWeighted ? tables[t].weights[i] : 1;
          sum += scale * weight[size_t((first + row) * kWidth) + w];
          amount += combine == nn::Bag::sqrtn ? scale * scale : scale;
        }
        double by = combine == nn::Bag::sum || amount == 0 ? 1 : combine == nn::Bag::mean ? amount : std::sqrt(amount);
        result[(b * tables.size() + t) * size_t(kWidth) + w] = sum / by;
      }
  return result;
}

void expectClose(const sn::Tensor &got, const std::vector<double> &wanted) {
  std::vector<double> values = got.to_vector<double>();
  ASSERT_EQ(values.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(values[i], wanted[i], 1e-14) << i;
}

TEST(Tables, ragged_bags_of_each_table_are_those_of_its_rows) {
  sn::Tensor weight = fill({kRows, kWidth}, 3);
  std::vector<sn::Tensor> positions, splits, weights;
  for (const Ragged &table : raggedBags()) {
    positions.push_back(sn::Tensor(table.positions));
    splits.push_back(sn::Tensor(table.splits));
    weights.push_back(sn::Tensor(table.weights));
  }
  auto call = [](const nn::EmbeddingBags &tables, const std::vector<sn::Tensor> &positions,
                 const std::vector<sn::Tensor> &splits,
                 const std::vector<sn::Tensor> &weights) { return tables(positions, splits, weights); };
  for (nn::Bag combine : {nn::Bag::sum, nn::Bag::mean, nn::Bag::sqrtn})
    for (bool isWeighted : {false, true}) {
      nn::EmbeddingBags tables{weight, kCounts, combine};
      auto wanted = expected(weight.to_vector<double>(), raggedBags(), combine, isWeighted);
      expectClose(call(tables, positions, splits, isWeighted ? weights : std::vector<sn::Tensor>()), wanted);
    }
}

TEST(Tables, positions_in_a_matrix_are_a_bag_of_each_table) {
  sn::Tensor weight = fill({kRows, kWidth}, 3);
  std::vector<int64_t> one = {0, 2, 6, 4, -1, 0, -5, 0, 3, 1, 1, -7}; // [bags, tables]
  std::vector<Ragged> tables(3);
  for (size_t i = 0; i < one.size(); ++i) {
    tables[i % 3].splits.push_back(int64_t(i / 3));
    tables[i % 3].positions.push_back(one[i]);
  }
  for (Ragged &table : tables)
    table.splits.push_back(kBags);
  nn::EmbeddingBags bags{weight, kCounts};
  expectClose(bags(sn::Tensor(one, {kBags, 3})), expected(weight.to_vector<double>(), tables, nn::Bag::sum, false));
  std::vector<int64_t> two; // [bags, tables, 2]: each row and the first one
  for (int64_t row : one)
    two.insert(two.end(), {row, 0});
  for (Ragged &table : tables) {
    std::vector<int64_t> pairs;
    for (int64_t row : table.positions)
      pairs.insert(pairs.end(), {row, 0});
    table.positions = pairs;
    for (int64_t &split : table.splits)
      split *= 2;
  }
  bags.combine = nn::Bag::mean;
  expectClose(bags(sn::Tensor(two, {kBags, 3, 2})), expected(weight.to_vector<double>(), tables, nn::Bag::mean, false));
}

/// A row that its table has not is not one of the next table.
TEST(Tables, positions_outside_of_a_table_are_outside_of_all) {
  nn::EmbeddingBags bags{fill({kRows, kWidth}, 3), kCounts};
  nn::EmbeddingBag all{bags.weight};
  for (int64_t position : {5, -6, 100}) {
    std::vector<double> got, wanted;
    std::string gotError, wantedError;
    try {
      got = bags(sn::Tensor(std::vector<int64_t>{position, 0, 0}, {1, 3})).to_vector<double>();
    } catch (const sn::Error &error) {
      gotError = error.message();
    }
    try {
      wanted = all(sn::Tensor(std::vector<int64_t>{kRows, 5, 8}, {3, 1})).to_vector<double>();
    } catch (const sn::Error &error) {
      wantedError = error.message();
    }
    EXPECT_EQ(got, wanted);
    EXPECT_EQ(gotError, wantedError);
  }
}

struct Apart {
  sn::Tensor a, b, c;
  nn::Linear head;
  sn::Tensor operator()(const sn::Tensor &fields) const {
    std::vector<sn::Tensor> parts;
    for (int64_t t = 0; t < 3; ++t)
      parts.push_back(nn::EmbeddingBag{t == 0 ? a : t == 1 ? b : c}(fields(sn::slice(), sn::slice(t, t + 1))));
    return head(sn::concatenate(parts, 1));
  }
};
struct Together {
  nn::EmbeddingBags tables;
  nn::Linear head;
  sn::Tensor operator()(const sn::Tensor &fields) const { return head(tables(fields)); }
};
template <class Net> sn::Tensor loss(Net &net, const sn::Tensor &fields, const sn::Tensor &y) {
  return sn::mse_loss(net(fields), y);
}

/// Losses of some steps, of which each has other rows, some of them several times.
template <class Step> std::vector<double> train(Step step) {
  std::vector<double> losses;
  for (int64_t t = 0; t < 12; ++t) {
    std::vector<int64_t> fields;
    for (int64_t b = 0; b < kBags; ++b)
      for (int64_t f = 0; f < 3; ++f)
        fields.push_back((b * b + t * (f + 1)) % kCounts[size_t(f)]);
    losses.push_back(step(sn::Tensor(fields, {kBags, 3}), fill({kBags, 2}, 50 + int(t))).template item<double>());
  }
  return losses;
}

TEST(Tables, train_as_each_by_itself) {
  sn::Tensor weight = fill({kRows, kWidth}, 3);
  nn::Linear head{fill({2, 3 * kWidth}, 4), fill({2}, 5)};
  auto rows = [&](int64_t from, int64_t to) { return sn::Tensor(weight[sn::slice(from, to)]); };
  for (const auto &[name, optimizer] : std::map<std::string, optim::Optimizer>{
           {"adam", optim::adam({.lr = 0.05})}, {"adagrad", optim::adagrad({.lr = 0.1})}})
    for (bool isEager : {false, true}) {
      auto together = train(sn::train_step(loss<Together>, Together{{weight, kCounts}, head},
                                           optimizer.sparse("^tables.weight$"), {.eager = isEager}));
      auto apart = train(sn::train_step(loss<Apart>, Apart{rows(0, 5), rows(5, 8), rows(8, 15), head},
                                        optimizer.sparse("^[abc]$"), {.eager = isEager}));
      EXPECT_EQ(together, apart) << name;
    }
}

TEST(Tables, what_does_not_fit_is_told) {
  nn::EmbeddingBags bags = nn::embedding_bags(sn::key(1), kCounts, kWidth);
  EXPECT_EQ(bags.weight.known_dim(0), kRows);
  auto messageOf = [](auto call) -> std::string {
    try {
      sn::Tensor made = call();
      (void)made.bytes();
      return "nothing";
    } catch (const sn::Error &error) {
      return error.message();
    }
  };
  EXPECT_EQ(messageOf([&] { return bags(sn::Tensor(std::vector<int64_t>{1, 2}, {1, 2})); }),
            "embedding bags without splits require i64 or i32 [bags, 3] or [bags, 3, n] of known sizes, got i64[1, 2]");
  EXPECT_EQ(messageOf([&] { return bags(sn::ones({2, 3})); }),
            "embedding bags without splits require i64 or i32 [bags, 3] or [bags, 3, n] of known sizes, got f32[2, 3]");
  sn::Tensor one(std::vector<int64_t>{0}), splits(std::vector<int64_t>{0, 1}), more(std::vector<int64_t>{0, 1, 1});
  EXPECT_EQ(messageOf([&] { return bags({one, one}, {splits, splits}); }),
            "embedding bags require positions and splits for each of 3 tables, got 2 and 2");
  EXPECT_EQ(messageOf([&] { return bags({one, one, one}, {splits, splits, more}); }),
            "embedding bags require vectors of i64 or i32 of known sizes, and as many splits for each table, got "
            "i64[1] and i64[3] of "
            "table 2");
}

} // namespace
