// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "nn_sequence.hpp"
#include "LayerChecks.h"
#include "ops.hpp"
#include "scan.hpp"
#include <cmath>
#include <limits>

namespace sinter::inline SINTER_HOST::nn {

static Operand at(const Tensor &tensor, Where where) { return Operand(tensor, where); }

//===--- attention ------------------------------------------------------------------------------------------------===//

Tensor rotary(const Operand &x, const Operand &first_position, double base) {
  const Tensor &value = x.tensor;
  int64_t half = value.known_dim(-1) / 2;
  if (value.rank() < 2 || half * 2 != value.known_dim(-1))
    return detail::fail(x.where, "rotary requires an even last axis, got " + value.type().str());
  std::vector<double> rates;
  for (int64_t i = 0; i < half; ++i)
    rates.push_back(std::pow(base, -double(i) / double(half)));
  Tensor places = add(astype(arange(value.dim(-2)), DType::f64), astype(first_position, DType::f64));
  Tensor angles = multiply(expand_dims(places, 1), Tensor(rates));
  Tensor cosines = astype(cos(angles), value.dtype()), sines = astype(sin(angles), value.dtype());
  std::vector<Tensor> parts = split(x, 2, -1);
  return concatenate({subtract(multiply(parts[0], cosines), multiply(parts[1], sines)),
                      add(multiply(parts[1], cosines), multiply(parts[0], sines))},
                     -1, x.where);
}

Tensor MultiHeadAttention::operator()(const Operand &x, const AttentionOptions &options) const {
  Where where = x.where;
  detail::LayerCheck check("attention", x);
  check.weight("in_proj_weight", in_proj_weight);
  if (!check.failed() && in_proj_weight.rank() != 2)
    check.fail("an in_proj_weight of rank 2, got " + in_proj_weight.type().str());
  if (!check.failed())
    check.operand([&] { return "[N, T, " + std::to_string(in_proj_weight.known_dim(1)) + "]"; }, x.tensor.rank() == 3,
                  2, Shape{in_proj_weight.known_dim(1)});
  if (check.failed())
    return check.error();
  int64_t width = in_proj_weight.known_dim(0) / (heads + 2 * key_heads);
  Tensor all = Linear{in_proj_weight, in_proj_bias}(x);
  auto part = [&](int64_t first, int64_t count) { // [N, T, count * width] to [N, count, T, width]
    Tensor rows = all(ellipsis, slice(first * width, (first + count) * width));
    return transpose(reshape(at(rows, where), {x.tensor.dim(0), x.tensor.dim(1), count, width}), {0, 2, 1, 3});
  };
  Tensor query = part(0, heads), key = part(heads, key_heads), value = part(heads + key_heads, key_heads);
  Tensor past = scalar(int64_t(0), where);
  int64_t knownPast = 0; // below 0: known when it runs
  if (options.cache && options.cache->key) {
    past = as_tensor(options.cache->key->dim(2), where);
    knownPast = options.cache->key->known_dim(2);
  }
  if (is_rotary) {
    query = rotary(at(query, where), past);
    key = rotary(at(key, where), past);
  }
  if (options.cache) {
    if (options.cache->key) {
      key = concatenate({*options.cache->key, key}, 2, where);
      value = concatenate({*options.cache->value, value}, 2, where);
    }
    options.cache->key = key;
    options.cache->value = value;
  }
  Tensor bias = options.mask;
  CountedKeys counted;
  if (options.causal && knownPast >= 0) {
    counted = {.causal = true, .past = knownPast};
  } else if (options.causal) {
    Tensor rows = add(expand_dims(arange(query.dim(2)), 1), past), columns = arange(key.dim(2));
    Tensor zero = astype(scalar(0.0, where), query.dtype());
    Tensor never = full_like(zero, -std::numeric_limits<double>::infinity());
    Tensor causal = sinter::where(at(less_equal(columns, rows), where), zero, never);
    bias = bias.defined() ? add(at(bias, where), at(causal, where)) : causal;
  }
  Tensor mixed = attention(at(query, where), key, value, bias, 0, counted);
  mixed =
      reshape(at(transpose(at(mixed, where), {0, 2, 1, 3}), where), {x.tensor.dim(0), x.tensor.dim(1), heads * width});
  return out_proj(at(mixed, where));
}

MultiHeadAttention multi_head_attention(const Key &key, int64_t width, int64_t heads, const AttentionSettings &settings,
                                        Where where) {
  auto [first, second] = key.split<2>(where);
  int64_t keyHeads = settings.key_heads ? settings.key_heads : heads;
  if (heads < 1 || width % heads || keyHeads < 1 || heads % keyHeads) {
    Tensor problem = detail::fail(where, "attention requires heads that divide the width, and key heads that divide "
                                         "the heads, got " +
                                             std::to_string(width) + ", " + std::to_string(heads) + " and " +
                                             std::to_string(keyHeads));
    return {problem, std::nullopt, Linear{problem, std::nullopt}};
  }
  int64_t rows = (heads + 2 * keyHeads) * (width / heads);
  MultiHeadAttention layer;
  layer.in_proj_weight = xavier_uniform(first, Shape{rows, width}, 1, settings.dtype, where);
  if (settings.bias)
    layer.in_proj_bias = zeros({rows}, settings.dtype, where);
  layer.out_proj = linear(second, width, width, {settings.bias, settings.dtype}, where);
  if (settings.bias)
    layer.out_proj.bias = zeros({width}, settings.dtype, where);
  layer.heads = heads;
  layer.key_heads = keyHeads;
  layer.is_rotary = settings.rotary;
  return layer;
}

Tensor TransformerBlock::operator()(const Operand &x, Mode &mode, const AttentionOptions &options) {
  Where where = x.where;
  Dropout drop{dropout};
  auto mix = [&](const Tensor &value) { return drop(at(self_attn(at(value, where), options), where), mode); };
  auto feed = [&](const Tensor &value) {
    Tensor inner = linear1(at(value, where));
    inner = use_gelu ? gelu(at(inner, where)) : relu(at(inner, where));
    return drop(at(linear2(at(drop(at(inner, where), mode), where)), where), mode);
  };
  if (norm_first) {
    Tensor y = add(x, at(mix(norm1(x)), where));
    return add(at(y, where), at(feed(norm2(at(y, where))), where));
  }
  Tensor y = norm1(at(add(x, at(mix(x.tensor), where)), where));
  return norm2(at(add(at(y, where), at(feed(y), where)), where));
}
Tensor TransformerBlock::operator()(const Operand &x, const AttentionOptions &options) const {
  Mode use;
  return TransformerBlock(*this)(x, use, options);
}

TransformerBlock transformer_block(const Key &key, int64_t width, int64_t heads, int64_t inner,
                                   const TransformerSettings &settings, Where where) {
  auto [first, second, third] = key.split<3>(where);
  DType dtype = settings.attention.dtype;
  return {multi_head_attention(first, width, heads, settings.attention, where),
          linear(second, width, inner, {true, dtype}, where),
          linear(third, inner, width, {true, dtype}, where),
          layer_norm(Shape{width}, dtype, where),
          layer_norm(Shape{width}, dtype, where),
          settings.norm_first,
          settings.use_gelu,
          settings.dropout};
}

//===--- recurrence -----------------------------------------------------------------------------------------------===//

static RecurrentWeights makeWeights(const Key &key, int64_t in, int64_t hidden, int64_t gates,
                                    const RecurrentSettings &settings, Where where) {
  RecurrentWeights made;
  made.layers = settings.layers;
  made.hidden = hidden;
  made.bidirectional = settings.bidirectional;
  double bound = hidden > 0 ? 1 / std::sqrt(double(hidden)) : 0;
  int64_t count = 0;
  auto draw = [&](const std::string &name, const Shape &shape) {
    made.tensors[name] =
        random::uniform(key.fold_in(Operand(count++, where)), shape, -bound, bound, settings.dtype, where);
  };
  int64_t directions = settings.bidirectional ? 2 : 1;
  for (int64_t layer = 0; layer < settings.layers; ++layer)
    for (int64_t direction = 0; direction < directions; ++direction) {
      std::string suffix = "_l" + std::to_string(layer) + (direction ? "_reverse" : "");
      draw("weight_ih" + suffix, Shape{gates * hidden, layer ? hidden * directions : in});
      draw("weight_hh" + suffix, Shape{gates * hidden, hidden});
      if (settings.bias) {
        draw("bias_ih" + suffix, Shape{gates * hidden});
        draw("bias_hh" + suffix, Shape{gates * hidden});
      }
    }
  return made;
}

namespace {
/// One layer in one direction, weights in torch's order; biases may be undefined.
struct Direction {
  Tensor x, w, r, bias, otherBias, start, startC; // x [T, N, D], starts [N, H]
};
struct DirectionResult {
  Tensor all, h, c;
};
} // namespace

/// Runs all layers in all directions by `one`.
static RecurrentResult runLayers(const char *name, const RecurrentWeights &weights, const Operand &x,
                                 const Tensor &firstH, const Tensor &firstC,
                                 detail::FunctionRef<DirectionResult(const Direction &)> one) {
  Where where = x.where;
  auto stop = [](const Tensor &problem) { return RecurrentResult{problem, problem, problem}; };
  auto find = [&](const std::string &name) {
    auto found = weights.tensors.find(name);
    return found == weights.tensors.end() ? Tensor() : found->second;
  };
  detail::LayerCheck check(name, x);
  if (weights.layers < 1)
    check.fail("1 layer at least, got " + std::to_string(weights.layers));
  Tensor first = find("weight_ih_l0");
  if (!check.failed())
    check.weight("weight_ih_l0", first);
  if (!check.failed())
    check.operand([&] { return "[N, T, " + std::to_string(first.known_dim(-1)) + "]"; }, x.tensor.rank() == 3, 2,
                  Shape{first.known_dim(-1)});
  if (check.failed())
    return stop(check.error());
  int64_t numStates = weights.layers * (weights.bidirectional ? 2 : 1);
  for (auto [kind, first] : {std::pair("h", &firstH), std::pair("c", &firstC)})
    if (first->error())
      return stop(*first);
    else if (int64_t rows = x.tensor.known_dim(0),
             own = first->defined() && first->rank() == 3 ? first->known_dim(1) : -1;
             first->defined() &&
             (first->rank() != 3 || first->dtype() != x.tensor.dtype() || first->dim(0) != numStates ||
              first->dim(2) != weights.hidden || (rows >= 0 && own >= 0 && rows != own)))
      return stop(detail::fail(where, std::string(name) + " requires " + kind + " [" + std::to_string(numStates) +
                                          ", N, " + std::to_string(weights.hidden) + "] of the type of x, " +
                                          x.tensor.type().str() + ", got " + first->type().str()));
  Tensor value = transpose(x, {1, 0, 2});
  std::vector<Tensor> hs, cs;
  for (int64_t layer = 0; layer < weights.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int direction = 0; direction < (weights.bidirectional ? 2 : 1); ++direction) {
      std::string suffix = "_l" + std::to_string(layer) + (direction ? "_reverse" : "");
      auto startOf = [&](const Tensor &first) {
        return first.defined() ? first[int64_t(hs.size())]
                               : full({value.dim(1), weights.hidden}, Operand(0, where), value.dtype());
      };
      Tensor start = startOf(firstH), startC = startOf(firstC);
      DirectionResult made =
          one({direction ? flip(at(value, where), 0) : value, find("weight_ih" + suffix), find("weight_hh" + suffix),
               find("bias_ih" + suffix), find("bias_hh" + suffix), start, startC});
      outputs.push_back(direction ? flip(at(made.all, where), 0) : made.all);
      hs.push_back(made.h);
      if (made.c.defined())
        cs.push_back(made.c);
    }
    value = outputs.size() > 1 ? concatenate(outputs, 2, where) : outputs[0];
  }
  return {transpose(at(value, where), {1, 0, 2}), stack(hs, 0, where), cs.empty() ? Tensor() : stack(cs, 0, where)};
}

/// Blocks of rows in another order.
static Tensor reordered(const Tensor &tensor, int64_t gates, std::initializer_list<size_t> order, Where where) {
  if (!tensor.defined())
    return tensor;
  std::vector<Tensor> parts = split(at(tensor, where), gates, 0), moved;
  for (size_t k : order)
    moved.push_back(parts[k]);
  return concatenate(moved, 0, where);
}

RecurrentResult LSTM::operator()(const Operand &x, const Tensor &h, const Tensor &c) const {
  return runLayers("lstm", weights, x, h, c, [&](const Direction &d) {
    auto move = [&](const Tensor &tensor) { return reordered(tensor, 4, {0, 3, 1, 2}, x.where); }; // i f g o to i o f g
    Tensor bias = d.bias.defined() ? add(at(d.bias, x.where), at(d.otherBias, x.where)) : Tensor();
    auto [all, last] = sinter::lstm(at(d.x, x.where), LstmState{d.start, d.startC}, move(d.w), move(d.r), move(bias));
    return DirectionResult{all, last.h, last.c};
  });
}

RecurrentResult GRU::operator()(const Operand &x, const Tensor &h) const {
  return runLayers("gru", weights, x, h, Tensor(), [&](const Direction &d) {
    auto move = [&](const Tensor &tensor) { return reordered(tensor, 3, {1, 0, 2}, x.where); }; // r z n to z r n
    auto [all, last] = sinter::gru(at(d.x, x.where), d.start, move(d.w), move(d.r), move(d.bias), move(d.otherBias));
    return DirectionResult{all, last, Tensor()};
  });
}

RecurrentResult RNN::operator()(const Operand &x, const Tensor &h) const {
  return runLayers("rnn", weights, x, h, Tensor(), [&](const Direction &d) {
    Where where = x.where;
    Tensor input = matmul(at(d.x, where), matrix_transpose(at(d.w, where)));
    if (d.bias.defined())
      input = add(at(input, where), at(add(at(d.bias, where), at(d.otherBias, where)), where));
    auto [last, all] = scan(
        [&](const Tensor &h, const Tensor &row) {
          Tensor sum = add(row, matmul(h, matrix_transpose(d.r)));
          Tensor next = use_relu ? relu(sum) : tanh(sum);
          return std::pair(next, next);
        },
        d.start, input, {}, where);
    return DirectionResult{all, last, Tensor()};
  });
}

RNN rnn(const Key &key, int64_t in, int64_t hidden, const RecurrentSettings &settings, bool use_relu, Where where) {
  return {makeWeights(key, in, hidden, 1, settings, where), use_relu};
}
LSTM lstm(const Key &key, int64_t in, int64_t hidden, const RecurrentSettings &settings, Where where) {
  return {makeWeights(key, in, hidden, 4, settings, where)};
}
GRU gru(const Key &key, int64_t in, int64_t hidden, const RecurrentSettings &settings, Where where) {
  return {makeWeights(key, in, hidden, 3, settings, where)};
}

} // namespace sinter::inline SINTER_HOST::nn
