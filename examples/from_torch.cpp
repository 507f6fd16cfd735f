// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs networks whose weights torch trained and wrote (safetensors.torch.save_file(model.state_dict(), ...)), and
// writes weights that torch loads:
//
//   from_torch NETWORK small|full FROM TO
//
// FROM/NETWORK.safetensors holds the weights, FROM/NETWORK_x.npy an input and FROM/NETWORK_y.npy what torch made of it.
// Then all weights are multiplied by 1.25 and go to TO/NETWORK.safetensors, with their outputs in TO/NETWORK_y.npy.

#include "torch_networks.h"
#include <cstdio>
#include <string_view>

/// The outputs as one row, jitted with the weights as arguments.
template <class Net> static sn::Tensor outputs(const Net &net, const sn::Tensor &x) {
  static auto compiled = sn::jit([](const Net &net, const sn::Tensor &x) {
    sn::Tensor y = net(x);
    if constexpr (std::is_same_v<Net, Bert>)
      return sn::concatenate({sn::ravel(y), sn::ravel(net.pooled(y))});
    return sn::ravel(y);
  });
  return compiled(net, x);
}

template <class Net> static int run(Net net, const std::string &name, const std::string &from, const std::string &to) {
  (void)nn::load(from + "/" + name + ".safetensors", net); // an error is thrown
  sn::Tensor x = sn::load_npy(from + "/" + name + "_x.npy"), wanted = sn::load_npy(from + "/" + name + "_y.npy");
  sn::Tensor y = outputs(net, x);
  float gap = sn::max(sn::abs(y - wanted) / sn::maximum(sn::abs(wanted), 1.f)).template item<float>();
  std::printf("%s: %d outputs, at most %.1e from torch's\n", name.c_str(), int(y.known_dim(0)), double(gap));
  Net moved =
      sn::tree_map([](const sn::Tensor &leaf) { return sn::is_float(leaf.dtype()) ? leaf * 1.25f : leaf; }, net);
  (void)nn::save(to + "/" + name + ".safetensors", moved);
  (void)sn::save_npy(to + "/" + name + "_y.npy", outputs(moved, x));
  return gap <= 1e-5f ? 0 : 1;
}

int main(int argc, char **argv) try {
  if (argc != 5)
    return std::fprintf(stderr, "usage: %s mlp|resnet18|gpt2|bert|tagger small|full FROM TO\n", argv[0]), 1;
  std::string_view name = argv[1];
  bool small = std::string_view(argv[2]) == "small";
  if (name == "mlp")
    return run(makeMlp(small), "mlp", argv[3], argv[4]);
  if (name == "resnet18")
    return run(makeResNet18(small), "resnet18", argv[3], argv[4]);
  if (name == "gpt2")
    return run(makeGpt2(small), "gpt2", argv[3], argv[4]);
  if (name == "bert")
    return run(makeBert(small), "bert", argv[3], argv[4]);
  if (name == "tagger")
    return run(makeTagger(small), "tagger", argv[3], argv[4]);
  return std::fprintf(stderr, "from_torch: no network '%s'\n", argv[1]), 1;
} catch (const sn::Error &error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
