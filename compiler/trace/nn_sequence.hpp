// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers over sequences: attention and recurrence. Batches come first: x [N, T, D].

#ifndef SINTER_TRACE_NN_SEQUENCE_HPP
#define SINTER_TRACE_NN_SEQUENCE_HPP

#include "nn.hpp"

namespace sinter::inline SINTER_HOST::nn {

//===--- attention ------------------------------------------------------------------------------------------------===//

/// Keys and values of earlier positions, [N, key heads, past, head]; empty before the first.
struct KeyValueCache {
  std::optional<Tensor> key, value;
};

/// What a call of attention may add. `mask` is added to the scores, [..., T, S]. `cache` is read and extended.
struct AttentionOptions {
  bool causal = false;
  Tensor mask = {};
  KeyValueCache *cache = nullptr;
};

/// Turns pairs (i, i + head / 2) of x [N, heads, T, head] by position * base^(-2 i / head) (Su et al. 2021).
Tensor rotary(const Operand &x, const Operand &first_position = 0, double base = 10000);

/// torch's MultiheadAttention with batch_first, and with `key_heads` below `heads` queries share keys and values in
/// groups. in_proj_weight [(heads + 2 key_heads) * head, D] has the rows of queries, keys, values.
struct MultiHeadAttention {
  Tensor in_proj_weight;
  std::optional<Tensor> in_proj_bias;
  Linear out_proj;
  int64_t heads = 1, key_heads = 1;
  bool is_rotary = false;
  Tensor operator()(const Operand &x, const AttentionOptions &options = {}) const;
};
struct AttentionSettings {
  int64_t key_heads = 0; // 0: as many as heads
  bool bias = true, rotary = false;
  DType dtype = DType::f32;
};
MultiHeadAttention multi_head_attention(const Key &key, int64_t width, int64_t heads,
                                        const AttentionSettings &settings = {}, Where where = Where::current());

/// torch's TransformerEncoderLayer: attention and two linear layers, each with its residual and normalization.
struct TransformerBlock {
  MultiHeadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;
  bool norm_first = false, use_gelu = false;
  double dropout = 0;
  Tensor operator()(const Operand &x, const AttentionOptions &options = {}) const;
  Tensor operator()(const Operand &x, Mode &mode, const AttentionOptions &options = {});
};
struct TransformerSettings {
  bool norm_first = false, use_gelu = false;
  double dropout = 0;
  AttentionSettings attention = {};
};
TransformerBlock transformer_block(const Key &key, int64_t width, int64_t heads, int64_t inner,
                                   const TransformerSettings &settings = {}, Where where = Where::current());

//===--- recurrence -----------------------------------------------------------------------------------------------===//

/// Weights of all layers by torch's names: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse...
/// Gates lie in torch's order.
struct RecurrentWeights {
  std::map<std::string, Tensor> tensors;
  int64_t layers = 1, hidden = 0;
  bool bidirectional = false;
};
struct RecurrentSettings {
  int64_t layers = 1;
  bool bias = true, bidirectional = false;
  DType dtype = DType::f32;
};
/// Outputs of the last layer [N, T, hidden (times 2)]; the last h (and c) of each layer and direction,
/// [layers (times 2), N, hidden].
struct RecurrentResult {
  Tensor output, h, c;
};

// Layers begin with zeros, or with `h` (and `c`) [layers (times 2), N, hidden], such as a result of the call before.

/// h = tanh(W x + b + U h + b') , or relu.
struct RNN {
  RecurrentWeights weights;
  bool use_relu = false;
  auto transparent() {
    return std::tie(weights.tensors, weights.layers, weights.hidden, weights.bidirectional, use_relu);
  }
  RecurrentResult operator()(const Operand &x, const Tensor &h = {}) const;
};
struct LSTM {
  RecurrentWeights weights;
  auto transparent() { return std::tie(weights.tensors, weights.layers, weights.hidden, weights.bidirectional); }
  RecurrentResult operator()(const Operand &x, const Tensor &h = {}, const Tensor &c = {}) const;
};
struct GRU {
  RecurrentWeights weights;
  auto transparent() { return std::tie(weights.tensors, weights.layers, weights.hidden, weights.bidirectional); }
  RecurrentResult operator()(const Operand &x, const Tensor &h = {}) const;
};
RNN rnn(const Key &key, int64_t in, int64_t hidden, const RecurrentSettings &settings = {}, bool use_relu = false,
        Where where = Where::current());
LSTM lstm(const Key &key, int64_t in, int64_t hidden, const RecurrentSettings &settings = {},
          Where where = Where::current());
GRU gru(const Key &key, int64_t in, int64_t hidden, const RecurrentSettings &settings = {},
        Where where = Where::current());

} // namespace sinter::inline SINTER_HOST::nn

#endif
