// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Agree.h"

using namespace sinter;

namespace {

struct Layer {
  Tensor w;
  std::optional<Tensor> bias;
};
struct Network {
  std::vector<Layer> layers;
  std::map<std::string, Tensor> extra;
  std::pair<Tensor, std::array<Tensor, 2>> pair;
  int depth = 3;
};
struct Empty {};
class Private {
public:
  explicit Private(Tensor t) : hidden(std::move(t)) {}
  auto fields() { return std::tie(hidden); }
  auto fields() const { return std::tie(hidden); }

private:
  Tensor hidden;
};

Network network() {
  return {{{scalar(1.f), scalar(2.f)}, {scalar(3.f), std::nullopt}},
          {{"a", scalar(4.f)}},
          {scalar(5.f), {scalar(6.f), scalar(7.f)}},
          3};
}

TEST(Tree, FlattensInOrder) {
  std::vector<float> values;
  for (const Tensor &leaf : flatten(network()))
    values.push_back(leaf.item<float>());
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 4, 5, 6, 7}));
}

TEST(Tree, NamesLeavesByTheirPaths) {
  EXPECT_EQ(leaf_paths(network()),
            (std::vector<std::string>{".layers[0].w", ".layers[0].bias", ".layers[1].w", ".extra[\"a\"]", ".pair[0]",
                                      ".pair[1][0]", ".pair[1][1]"}));
  EXPECT_EQ(leaf_paths(scalar(1)), std::vector<std::string>{""});
}

TEST(Tree, UnflattensAndMaps) {
  Network doubled = tree_map([](Tensor x) { return x * 2; }, network());
  EXPECT_EQ(doubled.layers[1].w.item<float>(), 6);
  EXPECT_EQ(doubled.depth, 3);
  EXPECT_EQ(unflatten(network(), flatten(doubled)).pair.second[1].item<float>(), 14);
}

TEST(Tree, OfClassesWithoutFieldsOrWithListedOnes) {
  EXPECT_TRUE(flatten(Empty()).empty());
  EXPECT_EQ(flatten(Private(scalar(2.f))).size(), 1u);
}

} // namespace
