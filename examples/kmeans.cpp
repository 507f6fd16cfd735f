// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// k-means until no point changes its cluster.

#include <cstdio>
#include <sinter/sinter.hpp>

namespace sn = sinter;
using sn::Tensor;

constexpr int64_t Points = 2000, Clusters = 5;

struct State {
  Tensor centers, labels, changes, trips; // [Clusters, 2], i64 [Points], i64, i64
};

static State cluster(Tensor points, Tensor start) {
  State init{start, sn::full({Points}, -1, sn::DType::i64), sn::scalar(Points), sn::scalar(int64_t(0))};
  return sn::while_loop([](State s) { return s.changes > 0; },
                        [&](State s) {
                          Tensor gaps = sn::expand_dims(points, 1) - sn::expand_dims(s.centers, 0);
                          Tensor labels = sn::argmin(sn::sum(gaps * gaps, -1), -1);
                          Tensor members = sn::one_hot(labels, Clusters);
                          Tensor counts = sn::expand_dims(sn::sum(members, 0), 1);
                          Tensor centers =
                              sn::where(counts > 0, sn::matmul(sn::transpose(members), points) / sn::maximum(counts, 1),
                                        s.centers);
                          return State{centers, labels, sn::sum(labels != s.labels), s.trips + 1};
                        },
                        init);
}

int main() {
  auto keys = sn::key(3).split<2>();
  Tensor truth({{0.f, 0.f}, {5.f, 5.f}, {-5.f, 5.f}, {5.f, -5.f}, {-5.f, -5.f}});
  Tensor owner = sn::random::randint(keys[0], {Points}, 0, Clusters, sn::DType::i64);
  Tensor points = sn::take(truth, owner) + sn::random::normal(keys[1], {Points, 2});
  State s = sn::jit(cluster)(points, truth * 0.5f + 0.3f);
  std::vector<float> centers = s.centers.to_vector<float>();
  std::vector<int64_t> sizes = sn::sum(sn::one_hot(s.labels, Clusters, sn::DType::i64), 0).to_vector<int64_t>();
  std::printf("settled after %d rounds\n", s.trips.item<int>());
  for (size_t k = 0; k < size_t(Clusters); ++k)
    std::printf("center (%6.3f, %6.3f) of %lld points\n", double(centers[2 * k]), double(centers[2 * k + 1]),
                static_cast<long long>(sizes[k]));
  double farthest = sn::max(sn::norm(s.centers - truth, 1)).item<double>();
  return farthest < 0.2 && s.changes.item<int>() == 0 ? 0 : 1;
}
