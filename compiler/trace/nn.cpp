// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "nn.hpp"
#include "LayerChecks.h"
#include "There.h"
#include "gradient.hpp"
#include "ops.hpp"
#include "runtime/decimal.h"
#include <algorithm>
#include <cmath>

namespace sinter::inline SINTER_HOST {
namespace detail {
std::vector<std::string> stateNames(AnyTree tree); // optim.cpp
} // namespace detail
namespace nn {

/// `tensor`, through which no gradient goes.
static Tensor still(Tensor tensor, Where where) {
  detail::stopGradient(detail::anyTree(tensor), where);
  return tensor;
}

static Operand at(const Tensor &tensor, Where where) { return Operand(tensor, where); }

/// `bias` [C] along axis 1 of `x`.
static Tensor addBias(const Tensor &x, const std::optional<Tensor> &bias, Where where) {
  if (!bias)
    return x;
  Shape sizes{bias->known_dim(0)};
  for (int axis = 2; axis < x.rank(); ++axis)
    sizes.push_back(1);
  return add(at(x, where), at(reshape(at(*bias, where), sizes), where));
}

Tensor Linear::operator()(const Operand &x) const {
  detail::LayerCheck check("linear", x);
  check.weight("weight", weight);
  if (!check.failed() && weight.rank() != 2)
    check.fail("a weight [out, in], got " + weight.type().str());
  if (!check.failed()) {
    check.part("bias", bias.value_or(Tensor()), Shape{weight.known_dim(0)});
    check.operand([&] { return "[..., " + std::to_string(weight.known_dim(1)) + "]"; }, true, -1,
                  Shape{weight.known_dim(1)});
  }
  if (check.failed())
    return check.error();
  Tensor y = matmul(x, matrix_transpose(at(weight, x.where)));
  return bias ? add(at(y, x.where), at(*bias, x.where)) : y;
}

static Tensor uniform(const Key &key, const Shape &shape, double bound, DType dtype, Where where) {
  return random::uniform(key, shape, -bound, bound, dtype, where);
}

Linear linear(const Key &key, int64_t in, int64_t out, const LinearOptions &options, Where where) {
  auto [first, second] = key.split<2>(where);
  double bound = in > 0 ? 1 / std::sqrt(double(in)) : 0;
  Linear layer{uniform(first, Shape{out, in}, bound, options.dtype, where), std::nullopt};
  if (options.bias)
    layer.bias = uniform(second, Shape{out}, bound, options.dtype, where);
  return layer;
}

/// What both kinds of convolution require: `in` channels of x, a bias for `out`.
template <class Layer>
static detail::LayerCheck checkConv(const Layer &layer, const Operand &x, int64_t in, int64_t out) {
  constexpr bool isTransposed = std::is_same_v<Layer, ConvTranspose>;
  static const char *const names[][3] = {{"conv1d", "conv2d", "conv3d"},
                                         {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}};
  int space = std::clamp(layer.weight.rank() - 2, 1, 3);
  detail::LayerCheck check(names[isTransposed][space - 1], x);
  check.weight("weight", layer.weight);
  if (check.failed())
    return check;
  check.part("bias", layer.bias.value_or(Tensor()), Shape{out});
  check.operand([&] { return "[N, " + std::to_string(in) + ", " + detail::spaceNames(space) + "]"; },
                x.tensor.rank() == space + 2, 1, Shape{in});
  for (int k = 0; k < space && !check.failed(); ++k) {
    auto of = [&](const std::vector<int64_t> &list, int64_t otherwise) {
      return size_t(k) < list.size() ? list[size_t(k)] : otherwise;
    };
    int64_t size = x.tensor.known_dim(k + 2), dilation = of(layer.dilation, 1);
    if constexpr (isTransposed) {
      int64_t more = of(layer.output_padding, 0), most = std::max(of(layer.stride, 1), dilation);
      if (more < 0 || (more > 0 && more >= most))
        check.fail("output_padding below the stride or the dilation, got " + std::to_string(more) + " and " +
                   std::to_string(most));
    } else {
      int64_t reach = (layer.weight.known_dim(k + 2) - 1) * dilation + 1, padded = size + 2 * of(layer.padding, 0);
      if (size >= 0 && layer.weight.known_dim(k + 2) >= 0 && padded < reach)
        check.fail("a padded x of at least the window, got " + std::to_string(padded) + " for " +
                   std::to_string(reach) + " along axis " + std::to_string(k + 2) + " of " + x.tensor.type().str());
    }
  }
  return check;
}

Tensor Conv::operator()(const Operand &x) const {
  bool isKnown = weight.defined() && weight.rank() > 2;
  detail::LayerCheck check =
      checkConv(*this, x, isKnown ? weight.known_dim(1) * groups : -1, isKnown ? weight.known_dim(0) : -1);
  if (check.failed())
    return check.error();
  ConvOptions options;
  options.strides = stride;
  options.padding = padding;
  options.dilation = dilation;
  options.groups = groups;
  return addBias(conv(x, weight, options), bias, x.where);
}
Tensor ConvTranspose::operator()(const Operand &x) const {
  bool isKnown = weight.defined() && weight.rank() > 2;
  detail::LayerCheck check =
      checkConv(*this, x, isKnown ? weight.known_dim(0) : -1, isKnown ? weight.known_dim(1) * groups : -1);
  if (check.failed())
    return check.error();
  ConvOptions options;
  options.strides = stride;
  options.padding = padding;
  options.dilation = dilation;
  options.output_padding = output_padding;
  options.groups = groups;
  return addBias(conv_transpose(x, weight, options), bias, x.where);
}

/// weight [first, second, window...] and bias [out], within 1 / sqrt(fan in of the weight).
template <class Layer>
static Layer makeConv(const Key &key, int64_t first, int64_t second, int64_t out, int64_t window, size_t space,
                      const ConvSettings &settings, Where where) {
  auto [one, two] = key.split<2>(where);
  Shape shape{first, second};
  double fan = double(second);
  for (size_t axis = 0; axis < space; ++axis) {
    shape.push_back(window);
    fan *= double(window);
  }
  double bound = fan > 0 ? 1 / std::sqrt(fan) : 0;
  Layer layer;
  layer.weight = uniform(one, shape, bound, settings.dtype, where);
  if (settings.bias)
    layer.bias = uniform(two, Shape{out}, bound, settings.dtype, where);
  layer.stride.assign(space, settings.stride);
  layer.padding.assign(space, settings.padding);
  layer.dilation.assign(space, settings.dilation);
  layer.groups = settings.groups;
  if constexpr (std::is_same_v<Layer, ConvTranspose>)
    layer.output_padding.assign(space, settings.output_padding);
  return layer;
}
/// A layer with an error where settings cannot be.
template <class Layer>
static std::optional<Layer> refuseConv(const char *name, size_t space, int64_t in, int64_t out, int64_t window,
                                       const ConvSettings &settings, Where where) {
  int64_t groups = settings.groups;
  std::string got = groups < 1 || in % groups || out % groups
                        ? "groups that divide its channels, got " + std::to_string(groups) + " for " +
                              std::to_string(in) + " and " + std::to_string(out)
                    : window < 1 ? "a window of at least 1, got " + std::to_string(window)
                                 : "";
  if (got.empty())
    return std::nullopt;
  Layer layer;
  layer.weight = detail::fail(where, std::string(name) + std::to_string(space) + "d requires " + got);
  return layer;
}
static Conv convOf(const Key &key, int64_t in, int64_t out, int64_t window, size_t space, const ConvSettings &settings,
                   Where where) {
  if (std::optional<Conv> refused = refuseConv<Conv>("conv", space, in, out, window, settings, where))
    return *refused;
  return makeConv<Conv>(key, out, in / std::max<int64_t>(settings.groups, 1), out, window, space, settings, where);
}
static ConvTranspose transposeOf(const Key &key, int64_t in, int64_t out, int64_t window, size_t space,
                                 const ConvSettings &settings, Where where) {
  if (std::optional<ConvTranspose> refused =
          refuseConv<ConvTranspose>("conv_transpose", space, in, out, window, settings, where))
    return *refused;
  return makeConv<ConvTranspose>(key, in, out / std::max<int64_t>(settings.groups, 1), out, window, space, settings,
                                 where);
}
Conv conv1d(const Key &key, int64_t in, int64_t out, int64_t window, const ConvSettings &settings, Where where) {
  return convOf(key, in, out, window, 1, settings, where);
}
Conv conv2d(const Key &key, int64_t in, int64_t out, int64_t window, const ConvSettings &settings, Where where) {
  return convOf(key, in, out, window, 2, settings, where);
}
Conv conv3d(const Key &key, int64_t in, int64_t out, int64_t window, const ConvSettings &settings, Where where) {
  return convOf(key, in, out, window, 3, settings, where);
}
ConvTranspose conv_transpose1d(const Key &key, int64_t in, int64_t out, int64_t window, const ConvSettings &settings,
                               Where where) {
  return transposeOf(key, in, out, window, 1, settings, where);
}
ConvTranspose conv_transpose2d(const Key &key, int64_t in, int64_t out, int64_t window, const ConvSettings &settings,
                               Where where) {
  return transposeOf(key, in, out, window, 2, settings, where);
}
ConvTranspose conv_transpose3d(const Key &key, int64_t in, int64_t out, int64_t window, const ConvSettings &settings,
                               Where where) {
  return transposeOf(key, in, out, window, 3, settings, where);
}

//===--- normalizations -------------------------------------------------------------------------------------------===//

/// x [N, C, space...] of the channels that the weight has.
static void takesChannels(detail::LayerCheck &check, const Operand &x, const Tensor &weight, const Tensor &bias,
                          int leastRank = 2) {
  check.weight("weight", weight);
  if (check.failed())
    return;
  Shape channels{weight.rank() == 1 ? weight.known_dim(0) : -1};
  check.part("weight", weight, channels);
  check.part("bias", bias, channels);
  check.operand([&] { return "[N, " + std::to_string(channels[0]) + ", space...]"; }, x.tensor.rank() >= leastRank, 1,
                channels);
}
static detail::LayerCheck checkBatchNorm(const BatchNorm &layer, const Operand &x) {
  detail::LayerCheck check("batch_norm", x);
  takesChannels(check, x, layer.weight, layer.bias);
  if (check.failed())
    return check;
  check.part("running_mean", layer.running_mean, Shape{layer.weight.known_dim(0)});
  check.part("running_var", layer.running_var, Shape{layer.weight.known_dim(0)});
  return check;
}

Tensor BatchNorm::operator()(const Operand &x) const {
  if (detail::LayerCheck check = checkBatchNorm(*this, x); check.failed())
    return check.error();
  return sinter::batch_norm(x, weight, bias, running_mean, running_var, 1, eps);
}

Tensor BatchNorm::operator()(const Operand &x, Mode &mode) {
  if (!mode.training)
    return std::as_const(*this)(x);
  Where where = x.where;
  detail::LayerCheck check = checkBatchNorm(*this, x);
  int64_t each = 1; // elements of a channel
  for (int axis = 0; axis < x.tensor.rank() && !check.failed(); ++axis)
    each *= axis == 1 ? 1 : x.tensor.known_dim(axis) < 0 ? 2 : x.tensor.known_dim(axis);
  if (each == 1) // there is no variance of one
    check.fail("more than one element of each channel in training, got " + x.tensor.type().str());
  if (check.failed())
    return check.error();
  Axes rest(std::vector<int64_t>{});
  for (int axis = 0; axis < x.tensor.rank(); ++axis)
    if (axis != 1)
      rest.axes.push_back(axis);
  Tensor mean = sinter::mean(x, rest), variance = var(x, rest);
  Tensor y = sinter::batch_norm(x, weight, bias, mean, variance, 1, eps);
  auto follow = [&](const Tensor &old, const Tensor &seen) {
    Tensor kept = multiply(Operand(1 - momentum, where), at(old, where));
    return add(at(kept, where), at(multiply(Operand(momentum, where), at(still(seen, where), where)), where));
  };
  running_mean = follow(running_mean, mean);
  running_var = follow(running_var, var(x, rest, 1)); // torch's running variance is the unbiased one
  num_batches_tracked = add(at(num_batches_tracked, where), Operand(1, where));
  return y;
}
BatchNorm batch_norm(int64_t channels, DType dtype, Where where) {
  return {ones({channels}, dtype, where), zeros({channels}, dtype, where), zeros({channels}, dtype, where),
          ones({channels}, dtype, where), scalar(int64_t(0), where)};
}

/// The last axes of x are those of the weight.
static detail::LayerCheck checkLast(const char *name, const Operand &x, const Tensor &weight, const Tensor &bias) {
  detail::LayerCheck check(name, x);
  check.weight("weight", weight);
  if (check.failed())
    return check;
  Shape sizes = weight.known_shape();
  check.part("bias", bias, sizes);
  check.operand([&] { return "[..., " + sizes.str().substr(1); }, true, -weight.rank(), sizes);
  return check;
}
static detail::LayerCheck checkGroups(const char *name, const Operand &x, const Tensor &weight, const Tensor &bias,
                                      int64_t groups, int leastRank) {
  detail::LayerCheck check(name, x);
  takesChannels(check, x, weight, bias, leastRank);
  if (!check.failed() && (groups < 1 || weight.known_dim(0) % groups))
    check.fail("groups that divide its channels, got " + std::to_string(groups) + " for " +
               std::to_string(weight.known_dim(0)));
  return check;
}

Tensor LayerNorm::operator()(const Operand &x) const {
  if (detail::LayerCheck check = checkLast("layer_norm", x, weight, bias); check.failed())
    return check.error();
  return sinter::layer_norm(x, weight, bias, -weight.rank(), eps);
}
LayerNorm layer_norm(const Shape &sizes, DType dtype, Where where) {
  return {ones(sizes, dtype, where), zeros(sizes, dtype, where)};
}
Tensor RMSNorm::operator()(const Operand &x) const {
  if (detail::LayerCheck check = checkLast("rms_norm", x, weight, Tensor()); check.failed())
    return check.error();
  return sinter::rms_norm(x, weight, -weight.rank(), eps);
}
RMSNorm rms_norm(const Shape &sizes, DType dtype, Where where) { return {ones(sizes, dtype, where)}; }
Tensor GroupNorm::operator()(const Operand &x) const {
  if (detail::LayerCheck check = checkGroups("group_norm", x, weight, bias, groups, 2); check.failed())
    return check.error();
  return sinter::group_norm(x, weight, bias, groups, eps);
}
GroupNorm group_norm(int64_t groups, int64_t channels, DType dtype, Where where) {
  return {ones({channels}, dtype, where), zeros({channels}, dtype, where), groups};
}
Tensor InstanceNorm::operator()(const Operand &x) const {
  if (detail::LayerCheck check = checkGroups("instance_norm", x, weight, bias, 1, 3); check.failed())
    return check.error();
  return sinter::group_norm(x, weight, bias, weight.known_dim(0), eps);
}
InstanceNorm instance_norm(int64_t channels, DType dtype, Where where) {
  return {ones({channels}, dtype, where), zeros({channels}, dtype, where)};
}

//===--- the rest -------------------------------------------------------------------------------------------------===//

Tensor Embedding::operator()(const Operand &positions) const {
  if (const Tensor &at = positions.tensor; at.defined() && !at.error() && !is_integer(at.dtype()))
    return detail::fail(positions.where, "embedding requires positions of integers, got " + at.type().str());
  return take(at(weight, positions.where), positions.tensor, 0);
}
Embedding embedding(const Key &key, int64_t count, int64_t width, DType dtype, Where where) {
  return {random::normal(key, Shape{count, width}, dtype, where)};
}

Tensor EmbeddingBag::operator()(const Operand &positions) const {
  const Tensor &given = positions.tensor;
  if (!given.defined() || given.error())
    return take(at(weight, positions.where), given, 0);
  if (given.rank() != 2 || given.known_dim(0) < 0 || given.known_dim(1) < 0)
    return detail::fail(positions.where,
                        "an embedding bag without splits requires positions [bags, n] of known sizes, got " +
                            given.type().str());
  int64_t bags = given.known_dim(0), each = given.known_dim(1);
  Tensor splits = iota({bags + 1}, 0, DType::i64, positions.where) * each;
  return (*this)(Operand(reshape(given, {bags * each}), positions.where), splits);
}
Tensor EmbeddingBag::operator()(const Operand &positions, const Tensor &splits, const Tensor &weights) const {
  Operand table = at(weight, positions.where);
  Tensor sums = bag_sum(table, positions.tensor, splits, weights);
  if (combine == Bag::sum || sums.error())
    return sums;
  // How much of each bag there is: 1 or its weight for each row, or their squares.
  Tensor ones =
      weights.defined() ? astype(weights, sums.dtype()) : full_like(astype(positions.tensor, sums.dtype()), 1.0);
  Tensor amounts = combine == Bag::sqrtn && weights.defined() ? ones * ones : ones;
  Tensor places = cumsum(full_like(astype(positions.tensor, DType::i64), int64_t(1)), 0) - int64_t(1);
  Tensor total = bag_sum(amounts, places, splits);
  if (combine == Bag::sqrtn)
    total = sqrt(total);
  total = where(equal(total, 0.0), full_like(total, 1.0), total);
  return sums / expand_dims(total, 1);
}
EmbeddingBag embedding_bag(const Key &key, int64_t count, int64_t width, Bag combine, DType dtype, Where where) {
  return {random::normal(key, Shape{count, width}, dtype, where), combine};
}

Tensor Dropout::operator()(const Operand &x, Mode &mode) const {
  if (mode.training && !(rate >= 0 && rate < 1))
    return detail::fail(x.where, "dropout requires a rate in [0, 1), got " + decimal(rate));
  return mode.training && rate > 0 ? dropout(mode.next(x.where), x, rate) : x.tensor;
}

Tensor MaxPool::operator()(const Operand &x) const { return max_pool(x, window, {stride, padding}); }
Tensor AvgPool::operator()(const Operand &x) const { return avg_pool(x, window, {stride, padding, count_padding}); }
Tensor GlobalAvgPool::operator()(const Operand &x) const {
  if (x.tensor.defined() && !x.tensor.error() && x.tensor.rank() < 3)
    return detail::fail(x.where, "global_avg_pool requires x [N, C, space...], got " + x.tensor.type().str());
  Axes space(std::vector<int64_t>{});
  for (int axis = 2; axis < x.tensor.rank(); ++axis)
    space.axes.push_back(axis);
  return mean(x, space);
}
Tensor Flatten::operator()(const Operand &x) const { return flatten(x, 1); }

Tensor GLU::operator()(const Operand &x) const {
  int rank = x.tensor.rank(), along = axis < 0 ? axis + rank : axis;
  if (x.tensor.defined() && !x.tensor.error() && (along < 0 || along >= rank || x.tensor.known_dim(along) % 2 == 1))
    return detail::fail(x.where, "glu requires an even size along axis " + std::to_string(axis) + ", got " +
                                     x.tensor.type().str());
  std::vector<Tensor> halves = split(x, 2, axis);
  Operand gated = at(halves[1], x.where);
  Tensor open = gate == Gate::sigmoid ? sigmoid(gated)
                : gate == Gate::relu  ? relu(gated)
                : gate == Gate::gelu  ? gelu(gated)
                                      : silu(gated);
  return multiply(at(halves[0], x.where), at(open, x.where));
}

//===--- files ----------------------------------------------------------------------------------------------------===//

Status saveLeaves(const std::string &path, detail::AnyTree tree, Where where) {
  std::vector<std::string> names = detail::stateNames(tree);
  std::vector<Tensor> leaves = tree.leaves();
  std::vector<const char *> pointers;
  std::vector<sinter_tensor> views;
  for (size_t k = 0; k < leaves.size(); ++k) {
    if (!leaves[k].defined() || leaves[k].traced() || leaves[k].error())
      return detail::report(Error("save requires tensors with elements, '" + names[k] + "' has none", where));
    pointers.push_back(names[k].c_str());
    views.push_back(leaves[k].view());
  }
  auto write = path.ends_with(".npz") ? sinter_npz_write : sinter_safetensors_write;
  if (!path.ends_with(".npz") && !path.ends_with(".safetensors"))
    return detail::report(Error("save requires the suffix .safetensors or .npz, got '" + path + "'", where));
  if (sinter_status_code code = write(path.c_str(), pointers.data(), views.data(), int32_t(leaves.size())))
    return detail::report(Error(sinter_last_error(), where, StatusCode(code)));
  return {};
}

namespace {
/// A file of named tensors of either kind.
class NamedTensors {
public:
  sinter_status_code open(const std::string &path) {
    isArchive = path.ends_with(".npz");
    return isArchive ? sinter_npz_open(path.c_str(), &npz) : sinter_safetensors_open(path.c_str(), &file);
  }
  NamedTensors() = default;
  NamedTensors(const NamedTensors &) = delete;
  ~NamedTensors() {
    if (npz)
      sinter_npz_close(npz);
    if (file)
      sinter_safetensors_close(file);
  }
  int32_t count() const { return isArchive ? sinter_npz_count(npz) : sinter_safetensors_count(file); }
  const char *name(int32_t k) const { return isArchive ? sinter_npz_name(npz, k) : sinter_safetensors_name(file, k); }
  sinter_status_code read(const char *name, sinter_tensor *tensor) const {
    return isArchive ? sinter_npz_read(npz, name, tensor) : sinter_safetensors_read(file, name, tensor);
  }

private:
  bool isArchive = false;
  sinter_npz *npz = nullptr;
  sinter_safetensors *file = nullptr;
};
} // namespace

Status loadLeaves(const std::string &path, detail::AnyTree tree, const LoadOptions &options, Where where) {
  auto last = [&](sinter_status_code code) {
    return detail::report(Error(sinter_last_error(), where, StatusCode(code)));
  };
  NamedTensors file;
  if (sinter_status_code code = file.open(path))
    return last(code);
  std::vector<std::string> names = detail::stateNames(tree);
  std::vector<Tensor> leaves = tree.leaves();
  if (options.exact)
    for (int32_t k = 0; k < file.count(); ++k)
      if (std::find(names.begin(), names.end(), file.name(k)) == names.end())
        return detail::report(
            Error("'" + path + "' holds '" + file.name(k) + "', which the tree does not have", where));
  for (size_t k = 0; k < leaves.size(); ++k) {
    sinter_tensor read{};
    if (sinter_status_code code = file.read(names[k].c_str(), &read))
      return last(code);
    Tensor value = detail::adoptTensor(read, where);
    if (options.convert && is_float(value.dtype()) && is_float(leaves[k].dtype()))
      value = astype(Operand(value, where), leaves[k].dtype());
    if (!(value.type() == leaves[k].type()))
      return detail::report(Error("'" + path + "' requires type " + leaves[k].type().str() + " for '" + names[k] +
                                      "', got " + value.type().str(),
                                  where));
    leaves[k] = detail::moved(value, detail::deviceOf(leaves[k]), where);
    if (leaves[k].error())
      return *leaves[k].error();
  }
  tree.setLeaves(leaves);
  return {};
}

} // namespace nn
} // namespace sinter::inline SINTER_HOST
