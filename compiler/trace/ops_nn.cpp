// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ops_nn.hpp"
#include "Build.h"

namespace sinter::inline SINTER_HOST {

Tensor softmax(const Operand &x, int axis) {
  detail::Build b("softmax", x.where);
  Tensor value = b.floats(x.tensor);
  int along = b.axis(axis, value.rank());
  return b.op("softmax", {value}, {{"axis", along}, {"logarithm", false}});
}

Tensor log_softmax(const Operand &x, int axis) {
  detail::Build b("log_softmax", x.where);
  Tensor value = b.floats(x.tensor);
  int along = b.axis(axis, value.rank());
  return b.op("softmax", {value}, {{"axis", along}, {"logarithm", true}});
}

namespace detail {

static Tensor layerNorm(const char *function, const Operand &x, const Tensor &scale, const Tensor &bias, int axis,
                        double epsilon, bool center) {
  Build b(function, x.where);
  Tensor value = b.floats(x.tensor);
  int along = b.axis(axis, value.rank());
  auto fit = [&](const Tensor &tensor) { // in the shape of the normalized axes
    if (b.failed() || !tensor.defined())
      return tensor;
    Tensor given = value, own = tensor;
    b.agree({&given, &own});
    Shape sizes;
    Sizes wide;
    for (int k = along; k < value.rank(); ++k) {
      sizes.push_back(value.known_dim(k));
      wide.list.push_back(b.size(value, k));
    }
    return b.spread(b.strong(own), sizes, sizes.isStatic() ? Tensor() : b.sizesTensor(wide), Tensor());
  };
  Tensor factor = fit(scale), offset = fit(bias);
  return b.ops<3>("layer_norm", {value, factor, offset},
                  {{"axis", along}, {"epsilon", epsilon}, {"center", center}})[0];
}

} // namespace detail

Tensor layer_norm(const Operand &x, const Tensor &scale, const Tensor &bias, int axis, double epsilon) {
  return detail::layerNorm("layer_norm", x, scale, bias, axis, epsilon, true);
}

Tensor rms_norm(const Operand &x, const Tensor &scale, int axis, double epsilon) {
  return detail::layerNorm("rms_norm", x, scale, Tensor(), axis, epsilon, false);
}

Tensor batch_norm(const Operand &x, const Tensor &scale, const Tensor &bias, const Tensor &mean, const Tensor &variance,
                  int axis, double epsilon) {
  detail::Build b("batch_norm", x.where);
  Tensor value = x.tensor, factor = scale, offset = bias, center = mean, spread = variance;
  b.agree({&value, &factor, &offset, &center, &spread});
  b.floats(value);
  int along = b.axis(axis, value.rank());
  return b.op("batch_norm", {value, factor, offset, center, spread}, {{"axis", along}, {"epsilon", epsilon}});
}

Tensor group_norm(const Operand &x, const Tensor &scale, const Tensor &bias, int64_t groups, double epsilon) {
  detail::Build b("group_norm", x.where);
  Tensor value = x.tensor, factor = scale, offset = bias;
  b.agree({&value, &factor, &offset});
  b.floats(value);
  return b.op("group_norm", {value, factor, offset}, {{"groups", groups}, {"epsilon", epsilon}});
}

Tensor attention(const Operand &query, const Tensor &key, const Tensor &value, const Tensor &bias, double scale,
                 const CountedKeys &counted) {
  detail::Build b("attention", query.where);
  Tensor q = query.tensor, k = key, v = value, offset = bias;
  if (bias.defined())
    b.agree({&q, &k, &v, &offset});
  else
    b.agree({&q, &k, &v});
  b.floats(q);
  if (!b.failed() && (q.rank() < 2 || k.rank() != q.rank() || v.rank() != q.rank()))
    return b.fail("operands of one rank of at least 2, got " + q.type().str() + ", " + k.type().str() + " and " +
                  v.type().str());
  if (b.failed())
    return b.error();
  int rank = q.rank();
  if (offset.defined() && offset.rank() < rank) { // [m, n] serves all
    Shape front;
    for (int axis = offset.rank(); axis < rank; ++axis)
      front.push_back(axis - offset.rank());
    offset = b.unsqueeze(offset, front);
  }
  if (scale == 0 && q.known_dim(-1) < 0)
    return b.fail("a scale when the size of the last axis is not known");
  double factor = scale != 0 ? scale : q.known_dim(-1) ? 1 / std::sqrt(double(q.known_dim(-1))) : 1;
  // The op shares keys among heads where their numbers are known, which they are not in code that runs at once.
  int64_t heads = rank > 2 ? q.known_dim(-3) : 0, few = rank > 2 ? k.known_dim(-3) : 0;
  if (heads > 0 && few > 0 && heads != few && heads % few == 0) {
    k = repeat(Operand(k, query.where), heads / few, rank - 3);
    v = repeat(Operand(v, query.where), heads / few, rank - 3);
  }
  if (counted.window < 0 || (counted.window > 0 && !counted.causal))
    return b.fail("a window from 1 on (0: none) of causal attention, got " + std::to_string(counted.window));
  int64_t before = counted.window - 1 - counted.past;
  if (counted.causal && counted.window)
    return b.ops<2>("attention", {q, k, v, offset},
                    {{"scale", factor}, {"before", before}, {"after", counted.past}, {"log_sums", true}})[0];
  if (counted.causal)
    return b.ops<2>("attention", {q, k, v, offset},
                    {{"scale", factor}, {"after", counted.past}, {"log_sums", true}})[0];
  return b.ops<2>("attention", {q, k, v, offset}, {{"scale", factor}, {"log_sums", true}})[0];
}

LstmState lstm_cell(const Operand &x, const LstmState &state, const Tensor &w, const Tensor &r, const Tensor &bias) {
  detail::Build b("lstm_cell", x.where);
  auto at = [&](const Tensor &tensor) { return Operand(tensor, x.where); };
  if (!b.failed() && (b.in(w).rank() != 2 || w.known_dim(0) < 0 || w.known_dim(0) % 4 != 0))
    b.fail("weights [4H, I], got " + w.type().str());
  if (b.failed())
    return {b.error(), b.error()};
  Tensor gates = add(at(matmul(x, matrix_transpose(at(w)))), at(matmul(at(state.h), matrix_transpose(at(r)))));
  if (bias.defined())
    gates = add(at(gates), at(bias));
  std::vector<Tensor> parts = split(at(gates), 4, -1);
  Tensor c = add(at(multiply(at(sigmoid(at(parts[2]))), at(state.c))),
                 at(multiply(at(sigmoid(at(parts[0]))), at(tanh(at(parts[3]))))));
  return {multiply(at(sigmoid(at(parts[1]))), at(tanh(at(c)))), c};
}

Tensor gru_cell(const Operand &x, const Tensor &h, const Tensor &w, const Tensor &r, const Tensor &input_bias,
                const Tensor &hidden_bias) {
  detail::Build b("gru_cell", x.where);
  auto at = [&](const Tensor &tensor) { return Operand(tensor, x.where); };
  if (!b.failed() && (b.in(w).rank() != 2 || w.known_dim(0) < 0 || w.known_dim(0) % 3 != 0))
    b.fail("weights [3H, I], got " + w.type().str());
  if (b.failed())
    return b.error();
  Tensor input = matmul(x, matrix_transpose(at(w))), hidden = matmul(at(h), matrix_transpose(at(r)));
  if (input_bias.defined())
    input = add(at(input), at(input_bias));
  if (hidden_bias.defined())
    hidden = add(at(hidden), at(hidden_bias));
  std::vector<Tensor> left = split(at(input), 3, -1), right = split(at(hidden), 3, -1);
  Tensor update = sigmoid(at(add(at(left[0]), at(right[0])))), reset = sigmoid(at(add(at(left[1]), at(right[1]))));
  Tensor candidate = tanh(at(add(at(left[2]), at(multiply(at(reset), at(right[2]))))));
  return add(at(multiply(at(subtract(Operand(1, x.where), at(update))), at(candidate))),
             at(multiply(at(update), at(h))));
}

std::pair<Tensor, LstmState> lstm(const Operand &x, const LstmState &state, const Tensor &w, const Tensor &r,
                                  const Tensor &bias) {
  detail::Build b("lstm", x.where);
  Tensor value = x.tensor, input = w, hidden = r, h = state.h, c = state.c;
  b.agree({&value, &input, &hidden, &h, &c});
  b.floats(value);
  auto [all, lastH, lastC] = b.ops<3>("lstm", {value, input, hidden, bias, h, c}, {});
  return {all, {lastH, lastC}};
}

std::pair<Tensor, Tensor> gru(const Operand &x, const Tensor &h, const Tensor &w, const Tensor &r,
                              const Tensor &input_bias, const Tensor &hidden_bias) {
  detail::Build b("gru", x.where);
  Tensor value = x.tensor, input = w, hidden = r, first = h;
  b.agree({&value, &input, &hidden, &first});
  b.floats(value);
  auto [all, last] =
      b.ops<2>("gru", {value, input, hidden, input_bias, hidden_bias, first}, {{"linear_before_reset", true}});
  return {all, last};
}

} // namespace sinter::inline SINTER_HOST
