// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A network of two layers: a struct of weights is an argument like any other, and the size of the batch may stay open.

#include <chrono>
#include <cstdio>
#include <sinter/sinter.hpp>

namespace sn = sinter;
using sn::Tensor;

struct Layer {
  Tensor weight, bias;
};
struct Network {
  Layer hidden, output;
};

static Tensor forward(Network n, Tensor x) {
  Tensor h = sn::relu(sn::matmul(x, n.hidden.weight) + n.hidden.bias);
  return sn::softmax(sn::matmul(h, n.output.weight) + n.output.bias);
}

int main() {
  auto keys = sn::key(1).split<3>();
  auto layer = [](const sn::Key &key, int64_t in, int64_t out) {
    return Layer{sn::random::normal(key, {in, out}) / std::sqrt(float(in)), sn::zeros({out})};
  };
  Network network{layer(keys[0], 784, 128), layer(keys[1], 128, 10)};
  auto compiled =
      sn::jit(forward, {.specs = {sn::spec<float>({784, 128}), sn::spec<float>({128}), sn::spec<float>({128, 10}),
                                  sn::spec<float>({10}), sn::spec<float>({"batch", 784})}});
  for (int64_t batch : {1, 32, 100}) {
    Tensor x = sn::random::uniform(keys[2], {batch, 784}), probabilities = compiled(network, x);
    auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < 20; ++k)
      probabilities = compiled(network, x);
    std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    double sum = sn::sum(probabilities).item<double>(),
           gap = sn::max(sn::abs(probabilities - forward(network, x))).item<double>();
    std::printf("batch %3lld: %.1f us a call, rows add up to %.4f, %.1e from eager\n", static_cast<long long>(batch),
                time.count() / 20, sum / double(batch), gap);
    if (std::abs(sum / double(batch) - 1) > 1e-5 || gap > 1e-5)
      return 1;
  }
  std::printf("compiled %d time\n", compiled.cache_size());
  return compiled.cache_size() == 1 ? 0 : 1;
}
