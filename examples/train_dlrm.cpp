// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recommender like DLRM (Naumov et al. 2019): numbers go through a network to a vector like those of the embeddings,
// and a second network sees the products of all pairs of these vectors. The table of items is looked up twice, once for
// the item and once for the mean of what the user bought; a batch moves the rows that it looks up.

#include "clicks.h"

/// The product of what user and item, or two items, have in two traits.
static double affinity(int64_t a, int64_t i, int64_t b, int64_t j) {
  return traitOf(a, i) * traitOf(b, j) + traitOf(a + 1, i) * traitOf(b + 1, j);
}

static double logit(const Impression &seen) {
  double recent = 0, age = (seen.age - 48) / 18;
  for (int64_t item : seen.recent)
    recent += affinity(20, item, 20, seen.item) / kRecent;
  return 2 * affinity(10, seen.user, 20, seen.item) + 2 * recent + traitOf(3, seen.city * kKinds + seen.kind()) +
         0.5 * age - seen.price;
}

struct Dlrm {
  nn::Embedding users, items;
  nn::EmbeddingBag crosses;
  nn::Linear bottom, top, out;
  sn::Tensor operator()(const sn::Tensor &dense, const sn::Tensor &user, const sn::Tensor &item,
                        const sn::Tensor &recent, const sn::Tensor &cross) const {
    nn::EmbeddingBag bought{items.weight, nn::Bag::mean};
    sn::Tensor numbers = sn::relu(bottom(dense));
    sn::Tensor vectors =
        sn::stack({numbers, users(user), items(item), bought(recent), crosses(sn::reshape(cross, {-1, 1}))}, 1);
    sn::Tensor pairs = sn::reshape(sn::einsum("bik,bjk->bij", {vectors, vectors}), {-1, 25});
    return sn::reshape(out(sn::relu(top(sn::concatenate({numbers, pairs}, 1)))), {-1});
  }
};

static sn::Tensor loss(Dlrm &net, const sn::Tensor &dense, const sn::Tensor &user, const sn::Tensor &item,
                       const sn::Tensor &recent, const sn::Tensor &cross, const sn::Tensor &click) {
  return sn::bce_with_logits(net(dense, user, item, recent, cross), click);
}

int main(int argc, char **argv) try {
  Clicks clicks(argc, argv, logit, 800);
  auto [a, b, c, d, e, f] = sn::key(1).split<6>();
  auto table = [](const sn::Key &key, int64_t rows) { return 0.1f * nn::embedding(key, rows, 4).weight; };
  Dlrm net{{table(a, kUsers + 1)}, {table(b, kItemRows)}, {table(c, kCrosses)},
           nn::linear(d, 2, 4),    nn::linear(e, 29, 32), nn::linear(f, 32, 1)};
  auto adam = sn::optim::adam({.lr = 0.01}).schedule(sn::optim::cosine(clicks.steps()));
  auto step = sn::train_step(loss, net, adam.sparse("users|items|crosses"),
                             {.inputs = {"dense", "user", "item", "recent", "cross", "click"}});
  clicks.train(step);
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
