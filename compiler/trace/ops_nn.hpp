// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What neural networks are made of.

#ifndef SINTER_TRACE_OPS_NN_HPP
#define SINTER_TRACE_OPS_NN_HPP

#include "ops_contract.hpp"

namespace sinter::inline SINTER_HOST {

/// e^x / sum e^x along an axis.
Tensor softmax(const Operand &x, int axis = -1);
/// The logarithm of softmax.
Tensor log_softmax(const Operand &x, int axis = -1);

/// (x - mean) / sqrt(variance + epsilon) over the axes from `axis` on, times scale, plus bias (either may be
/// `Tensor()`).
Tensor layer_norm(const Operand &x, const Tensor &scale = {}, const Tensor &bias = {}, int axis = -1,
                  double epsilon = 1e-5);
/// x / sqrt(mean of x^2 + epsilon) over the axes from `axis` on, times scale.
Tensor rms_norm(const Operand &x, const Tensor &scale = {}, int axis = -1, double epsilon = 1e-5);
/// (x - mean) / sqrt(variance + epsilon) * scale + bias with given statistics per channel, each of rank 1.
Tensor batch_norm(const Operand &x, const Tensor &scale, const Tensor &bias, const Tensor &mean, const Tensor &variance,
                  int axis = 1, double epsilon = 1e-5);
/// Normalizes each group of channels of x [N, C, ...] over channels and space; scale, bias [C].
Tensor group_norm(const Operand &x, const Tensor &scale, const Tensor &bias, int64_t groups, double epsilon = 1e-5);
/// Which keys a row of attention counts. `causal`: those up to its own position, which for row i is i + `past`; with
/// `window` (0: no limit), the last `window` of these alone. Nothing of it lies in memory as a mask does.
struct CountedKeys {
  bool causal = false;
  int64_t window = 0, past = 0;
};
/// softmax(scale q k^T + bias) v with q [..., m, d], k [..., n, d], v [..., n, e]; scale 0 stands for 1 / sqrt(d). k
/// and v may have fewer heads (sizes of the third axis from the end), each of which then serves as many heads of q in
/// order.
Tensor attention(const Operand &query, const Tensor &key, const Tensor &value, const Tensor &bias = {},
                 double scale = 0, const CountedKeys &counted = {});

/// The hidden and the cell state of an LSTM after a step.
struct LstmState {
  Tensor h, c;
};
/// One step: x [B, I], state [B, H], weights w [4H, I], r [4H, H], bias [4H] (or `Tensor()`). Gates i, o, f, g in this
/// order.
LstmState lstm_cell(const Operand &x, const LstmState &state, const Tensor &w, const Tensor &r,
                    const Tensor &bias = {});
/// One step: x [B, I], h [B, H], weights w [3H, I], r [3H, H], biases [3H] (or `Tensor()`). Gates z, r, n; the reset
/// gate applies to r h + hidden_bias.
Tensor gru_cell(const Operand &x, const Tensor &h, const Tensor &w, const Tensor &r, const Tensor &input_bias = {},
                const Tensor &hidden_bias = {});
/// All steps of an LSTM: x [T, B, I], initial state [B, H]. Returns all h [T, B, H] and the last state.
std::pair<Tensor, LstmState> lstm(const Operand &x, const LstmState &state, const Tensor &w, const Tensor &r,
                                  const Tensor &bias = {});
/// All steps of a GRU: x [T, B, I], h [B, H]. Returns all h [T, B, H] and the last.
std::pair<Tensor, Tensor> gru(const Operand &x, const Tensor &h, const Tensor &w, const Tensor &r,
                              const Tensor &input_bias = {}, const Tensor &hidden_bias = {});

/// What becomes of the losses of elements: their mean, their sum, all of them, or the sum divided by the first axis.
enum class Reduction { mean, sum, none, batch_mean };

/// Mean of the squared difference. One operand broadcasts to the shape of the other.
Tensor mse_loss(const Operand &prediction, const Tensor &target, Reduction reduction = Reduction::mean);

struct CrossEntropyOptions {
  std::optional<int64_t> ignore = {}; // a label that does not count; negative ones never do
  double smoothing = 0;               // the share that all classes have alike
  Tensor weight = {};                 // one for each class
  int axis = -1;                      // of the classes
  Reduction reduction = Reduction::mean;
};
/// Mean of -log softmax(logits) at the labels, positions along the axis of classes, or for distributions over it (of
/// the type of the logits) of -sum target * log softmax(logits). A label past the classes is an error when it runs. The
/// same as the loss cross_entropy of `sinter train-step`.
Tensor cross_entropy(const Operand &logits, const Tensor &labels, const CrossEntropyOptions &options = {});

} // namespace sinter::inline SINTER_HOST

#endif
