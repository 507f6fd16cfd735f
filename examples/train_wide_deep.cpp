// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wide and deep (Cheng et al. 2016): a number for each pair of city and kind of item, in a table of 100,003 rows of
// which a batch moves those that it looks up, beside a network over embeddings and numbers.

#include "clicks.h"

static double logit(const Impression &seen) {
  double age = (seen.age - 48) / 18;
  return 1.5 * traitOf(1, seen.user) + traitOf(2, seen.item) + 2 * traitOf(3, seen.city * kKinds + seen.kind()) +
         std::sin(2 * age) - seen.price;
}

struct WideDeep {
  nn::Embedding wide, users, items;
  nn::Linear first, second, out;
  sn::Tensor operator()(const sn::Tensor &dense, const sn::Tensor &user, const sn::Tensor &item, const sn::Tensor &,
                        const sn::Tensor &cross) const {
    sn::Tensor deep = sn::relu(first(sn::concatenate({users(user), items(item), dense}, 1)));
    return sn::reshape(wide(cross) + out(sn::relu(second(deep))), {-1});
  }
};

static sn::Tensor loss(WideDeep &net, const sn::Tensor &dense, const sn::Tensor &user, const sn::Tensor &item,
                       const sn::Tensor &recent, const sn::Tensor &cross, const sn::Tensor &click) {
  return sn::bce_with_logits(net(dense, user, item, recent, cross), click);
}

int main(int argc, char **argv) try {
  Clicks clicks(argc, argv, logit, 500);
  auto [a, b, c, d, e] = sn::key(1).split<5>();
  WideDeep net{{sn::zeros({kCrosses, 1})},
               {0.1f * nn::embedding(a, kUsers + 1, 8).weight},
               {0.1f * nn::embedding(b, kItemRows, 8).weight},
               nn::linear(c, 18, 32),
               nn::linear(d, 32, 16),
               nn::linear(e, 16, 1)};
  auto adam = sn::optim::adam({.lr = 0.01}).schedule(sn::optim::cosine(clicks.steps()));
  auto step = sn::train_step(loss, net, adam.sparse("wide|users|items"),
                             {.inputs = {"dense", "user", "item", "recent", "cross", "click"}});
  clicks.train(step);
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
