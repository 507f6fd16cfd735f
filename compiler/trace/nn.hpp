// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers. A layer, and a model of layers, is a plain struct whose fields are tensors, numbers and layers; it is a tree,
// and the paths of its leaves are the names of torch's state_dict.
//
//   struct Net {
//     nn::Linear first, second;
//     Tensor operator()(const Tensor &x) const { return second(relu(first(x))); }
//   };
//   auto [a, b] = key(1).split<2>();
//   Net net{nn::linear(a, 784, 128), nn::linear(b, 128, 10)};
//
// A layer is made by the function of its name, with a key for its first values, which are drawn from torch's
// distributions. Layers that differ in training have a second form of call, with the mode.

#ifndef SINTER_TRACE_NN_HPP
#define SINTER_TRACE_NN_HPP

#include "init.hpp"
#include "mode.hpp"
#include "tree.hpp"
#include <map>
#include <optional>

namespace sinter::inline SINTER_HOST::nn {

//===--- linear and convolutions ----------------------------------------------------------------------------------===//

/// x W^T + b over the last axis of x; weight [out, in], bias [out].
struct Linear {
  Tensor weight;
  std::optional<Tensor> bias;
  Tensor operator()(const Operand &x) const;
};
struct LinearOptions {
  bool bias = true;
  DType dtype = DType::f32;
};
Linear linear(const Key &key, int64_t in, int64_t out, const LinearOptions &options = {},
              Where where = Where::current());

/// Cross-correlation of x [N, C, space...]; weight [out, C / groups, window...], bias [out].
struct Conv {
  Tensor weight;
  std::optional<Tensor> bias;
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;
  Tensor operator()(const Operand &x) const;
};
/// Its transpose; weight [C, out / groups, window...].
struct ConvTranspose {
  Tensor weight;
  std::optional<Tensor> bias;
  std::vector<int64_t> stride, padding, dilation, output_padding;
  int64_t groups = 1;
  Tensor operator()(const Operand &x) const;
};
/// The same in all directions of space.
struct ConvSettings {
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1, output_padding = 0;
  bool bias = true;
  DType dtype = DType::f32;
};
Conv conv1d(const Key &key, int64_t in, int64_t out, int64_t window, const ConvSettings &settings = {},
            Where where = Where::current());
Conv conv2d(const Key &key, int64_t in, int64_t out, int64_t window, const ConvSettings &settings = {},
            Where where = Where::current());
Conv conv3d(const Key &key, int64_t in, int64_t out, int64_t window, const ConvSettings &settings = {},
            Where where = Where::current());
ConvTranspose conv_transpose1d(const Key &key, int64_t in, int64_t out, int64_t window,
                               const ConvSettings &settings = {}, Where where = Where::current());
ConvTranspose conv_transpose2d(const Key &key, int64_t in, int64_t out, int64_t window,
                               const ConvSettings &settings = {}, Where where = Where::current());
ConvTranspose conv_transpose3d(const Key &key, int64_t in, int64_t out, int64_t window,
                               const ConvSettings &settings = {}, Where where = Where::current());

//===--- normalizations -------------------------------------------------------------------------------------------===//

/// Per channel (axis 1): by the running statistics; in training by those of the batch, which the running ones follow.
struct BatchNorm {
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;
  double eps = 1e-5, momentum = 0.1;
  Tensor operator()(const Operand &x) const;
  Tensor operator()(const Operand &x, Mode &mode);
};
BatchNorm batch_norm(int64_t channels, DType dtype = DType::f32, Where where = Where::current());

/// Over the last axes, those of the weight.
struct LayerNorm {
  Tensor weight, bias;
  double eps = 1e-5;
  Tensor operator()(const Operand &x) const;
};
LayerNorm layer_norm(const Shape &sizes, DType dtype = DType::f32, Where where = Where::current());
/// x / sqrt(mean of x^2 + eps) over the last axes, those of the weight.
struct RMSNorm {
  Tensor weight;
  double eps = 1e-6;
  Tensor operator()(const Operand &x) const;
};
RMSNorm rms_norm(const Shape &sizes, DType dtype = DType::f32, Where where = Where::current());
struct GroupNorm {
  Tensor weight, bias;
  int64_t groups = 1;
  double eps = 1e-5;
  Tensor operator()(const Operand &x) const;
};
GroupNorm group_norm(int64_t groups, int64_t channels, DType dtype = DType::f32, Where where = Where::current());
/// Each channel of each example by itself.
struct InstanceNorm {
  Tensor weight, bias;
  double eps = 1e-5;
  Tensor operator()(const Operand &x) const;
};
InstanceNorm instance_norm(int64_t channels, DType dtype = DType::f32, Where where = Where::current());

//===--- the rest without state -----------------------------------------------------------------------------------===//

/// Rows of the weight [count, width] by position.
struct Embedding {
  Tensor weight;
  Tensor operator()(const Operand &positions) const;
};
Embedding embedding(const Key &key, int64_t count, int64_t width, DType dtype = DType::f32,
                    Where where = Where::current());

/// Bags of rows of the weight [count, width]: their sum, their mean, or their sum over the root of their number. With
/// weights, of the weighted rows: mean divides by the sum of the weights, sqrtn by the root of the sum of their
/// squares. A bag without rows is 0. `splits` as in bag_sum; without, `positions` [bags, n] has equal bags.
enum class Bag { sum, mean, sqrtn };
struct EmbeddingBag {
  Tensor weight;
  Bag combine = Bag::sum;
  Tensor operator()(const Operand &positions) const;
  Tensor operator()(const Operand &positions, const Tensor &splits, const Tensor &weights = {}) const;
};
EmbeddingBag embedding_bag(const Key &key, int64_t count, int64_t width, Bag combine = Bag::sum,
                           DType dtype = DType::f32, Where where = Where::current());

/// In training zeros with probability `rate`, the rest divided by 1 - rate; else x.
struct Dropout {
  double rate = 0.5;
  Tensor operator()(const Operand &x) const { return x.tensor; }
  Tensor operator()(const Operand &x, Mode &mode) const;
};

/// The greatest element under a window over the spatial axes of x [N, C, space...]; stride: that of the window.
struct MaxPool {
  std::vector<int64_t> window, stride = {}, padding = {};
  Tensor operator()(const Operand &x) const;
};
/// The mean under a window; with `count_padding` padded places count as zeros.
struct AvgPool {
  std::vector<int64_t> window, stride = {}, padding = {};
  bool count_padding = true;
  Tensor operator()(const Operand &x) const;
};
/// The mean over space, whose axes disappear.
struct GlobalAvgPool {
  Tensor operator()(const Operand &x) const;
};
/// All axes but the first as one.
struct Flatten {
  Tensor operator()(const Operand &x) const;
};

/// max(x, 0)
struct ReLU {
  Tensor operator()(const Operand &x) const { return relu(x); }
};
/// x where x is above 0, else slope * x.
struct LeakyReLU {
  double slope = 0.01;
  Tensor operator()(const Operand &x) const { return leaky_relu(x, slope); }
};
/// x where x is above 0, else alpha * (e^x - 1).
struct ELU {
  double alpha = 1;
  Tensor operator()(const Operand &x) const { return elu(x, alpha); }
};
/// x times the normal distribution's function at x; `approximate` by tanh.
struct GELU {
  bool approximate = false;
  Tensor operator()(const Operand &x) const { return gelu(x, approximate); }
};
/// x * sigmoid(x)
struct SiLU {
  Tensor operator()(const Operand &x) const { return silu(x); }
};
/// 1 / (1 + e^-x)
struct Sigmoid {
  Tensor operator()(const Operand &x) const { return sigmoid(x); }
};
/// The hyperbolic tangent.
struct Tanh {
  Tensor operator()(const Operand &x) const { return tanh(x); }
};
/// log(1 + e^x)
struct Softplus {
  Tensor operator()(const Operand &x) const { return softplus(x); }
};
/// a * f(b), where a and b are the halves of an axis, and f is a sigmoid (glu), relu, gelu or silu.
enum class Gate { sigmoid, relu, gelu, silu };
struct GLU {
  Gate gate = Gate::sigmoid;
  int axis = -1;
  Tensor operator()(const Operand &x) const;
};

//===--- one after the other --------------------------------------------------------------------------------------===//

/// `layer(x, mode)` where the layer has that form, else `layer(x)`.
template <class Layer> Tensor run(Layer &layer, const Tensor &x, Mode &mode) {
  if constexpr (std::is_invocable_v<Layer &, const Tensor &, Mode &>)
    return layer(x, mode);
  else
    return layer(x);
}

/// Layers by their number: `0.weight`.
template <class... Layers> struct Sequential {
  std::tuple<Layers...> layers;
  auto transparent() { return std::tie(layers); }

  Tensor operator()(const Tensor &x) const {
    Tensor value = x;
    std::apply([&](const auto &...layer) { ((value = layer(value)), ...); }, layers);
    return value;
  }
  Tensor operator()(const Tensor &x, Mode &mode) {
    Tensor value = x;
    std::apply([&](auto &...layer) { ((value = run(layer, value, mode)), ...); }, layers);
    return value;
  }
};
template <class... Layers> Sequential<Layers...> sequential(Layers... layers) {
  return {std::tuple<Layers...>(std::move(layers)...)};
}

//===--- files ----------------------------------------------------------------------------------------------------===//

/// Writes the leaves of a tree, by their names: `.safetensors`, or `.npz`.
Status saveLeaves(const std::string &path, detail::AnyTree tree, Where where);
struct LoadOptions {
  bool exact = true;    // what the file holds beside the tree is an error
  bool convert = false; // floats of another type than the leaf's are rounded to it: f16 and bf16 files, f32 models
};
/// Reads as many leaves as there are; shapes must be those of the tree, and types unless `convert`. After an error the
/// tree is as it was. What lies on a device stays there.
Status loadLeaves(const std::string &path, detail::AnyTree tree, const LoadOptions &options, Where where);
template <class Tree> Status save(const std::string &path, const Tree &tree, Where where = Where::current()) {
  return saveLeaves(path, detail::anyTree(tree), where);
}
template <class Tree>
Status load(const std::string &path, Tree &tree, const LoadOptions &options = {}, Where where = Where::current()) {
  return loadLeaves(path, detail::anyTree(tree), options, where);
}

} // namespace sinter::inline SINTER_HOST::nn

#endif
