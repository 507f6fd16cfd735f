// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Networks whose leaves have the names and shapes that torch's state_dict gives the same ones: ResNet-18 as
// torchvision's, GPT-2 and BERT as those of `transformers`. Each is made with zeros, which a file then replaces.

#ifndef SINTER_EXAMPLES_TORCH_NETWORKS_H
#define SINTER_EXAMPLES_TORCH_NETWORKS_H

#include <limits>
#include <sinter/nn_sequence.hpp>
#include <sinter/sinter.hpp>

namespace sn = sinter;
namespace nn = sinter::nn;

inline nn::Linear zeroLinear(int64_t in, int64_t out) { return {sn::zeros({out, in}), sn::zeros({out})}; }
inline nn::Embedding zeroEmbedding(int64_t count, int64_t width) { return {sn::zeros({count, width})}; }

//===--- a small network of layers --------------------------------------------------------------------------------===//

struct Mlp {
  nn::Sequential<nn::Linear, nn::BatchNorm, nn::ReLU, nn::Linear, nn::GELU, nn::LayerNorm, nn::Linear> layers;
  sn::Tensor operator()(const sn::Tensor &x) const { return layers(x); }
};
inline Mlp makeMlp(bool small) {
  int64_t in = small ? 6 : 784, inner = small ? 8 : 512, out = small ? 3 : 10;
  return {nn::sequential(zeroLinear(in, inner), nn::batch_norm(inner), nn::ReLU(), zeroLinear(inner, inner), nn::GELU(),
                         nn::layer_norm({inner}), zeroLinear(inner, out))};
}

//===--- ResNet-18 (He et al. 2016) -------------------------------------------------------------------------------===//

inline nn::Conv zeroConv(int64_t in, int64_t out, int64_t window, int64_t stride) {
  int64_t padding = window / 2;
  return {sn::zeros({out, in, window, window}), {}, {stride, stride}, {padding, padding}, {1, 1}, 1};
}

struct ResidualBlock {
  nn::Conv conv1;
  nn::BatchNorm bn1;
  nn::Conv conv2;
  nn::BatchNorm bn2;
  std::optional<nn::Sequential<nn::Conv, nn::BatchNorm>> downsample;
  sn::Tensor operator()(const sn::Tensor &x) const {
    sn::Tensor y = bn2(conv2(sn::relu(bn1(conv1(x)))));
    return sn::relu(y + (downsample ? (*downsample)(x) : x));
  }
};

struct ResNet18 {
  nn::Conv conv1;
  nn::BatchNorm bn1;
  std::vector<ResidualBlock> layer1, layer2, layer3, layer4;
  nn::Linear fc;
  sn::Tensor operator()(const sn::Tensor &pictures) const {
    sn::Tensor y = nn::MaxPool{{3, 3}, {2, 2}, {1, 1}}(sn::relu(bn1(conv1(pictures))));
    for (const auto *layer : {&layer1, &layer2, &layer3, &layer4})
      for (const ResidualBlock &block : *layer)
        y = block(y);
    return fc(sn::mean(y, {2, 3}));
  }
};
inline ResNet18 makeResNet18(bool small) {
  int64_t width = small ? 2 : 64;
  auto layer = [](int64_t in, int64_t out, int64_t stride) {
    std::vector<ResidualBlock> blocks;
    for (int64_t from : {in, out}) {
      int64_t by = blocks.empty() ? stride : 1;
      blocks.push_back(
          {zeroConv(from, out, 3, by), nn::batch_norm(out), zeroConv(out, out, 3, 1), nn::batch_norm(out), {}});
      if (by != 1 || from != out)
        blocks.back().downsample = nn::sequential(zeroConv(from, out, 1, by), nn::batch_norm(out));
    }
    return blocks;
  };
  return {zeroConv(3, width, 7, 2),
          nn::batch_norm(width),
          layer(width, width, 1),
          layer(width, 2 * width, 2),
          layer(2 * width, 4 * width, 2),
          layer(4 * width, 8 * width, 2),
          zeroLinear(8 * width, small ? 5 : 1000)};
}

//===--- GPT-2 (Radford et al. 2019) ------------------------------------------------------------------------------===//

/// x weight + bias, whose weight [in, out] lies as GPT-2's do.
struct Product {
  sn::Tensor weight, bias;
  sn::Tensor operator()(const sn::Tensor &x) const { return sn::matmul(x, weight) + bias; }
};
inline Product zeroProduct(int64_t in, int64_t out) { return {sn::zeros({in, out}), sn::zeros({out})}; }

/// [N, T, heads * head] as [N, heads, T, head].
inline sn::Tensor byHeads(const sn::Tensor &x, int64_t heads) {
  return sn::transpose(sn::reshape(x, {x.dim(0), x.dim(1), heads, -1}), {0, 2, 1, 3});
}
/// Attention of heads that lie side by side, [N, T, width] each; `bias` is added to the scores.
inline sn::Tensor attend(const sn::Tensor &q, const sn::Tensor &k, const sn::Tensor &v, int64_t heads,
                         const sn::Tensor &bias) {
  sn::Tensor mixed = sn::attention(byHeads(q, heads), byHeads(k, heads), byHeads(v, heads), bias);
  return sn::reshape(sn::transpose(mixed, {0, 2, 1, 3}), {q.dim(0), q.dim(1), -1});
}
/// 0 where `allowed`, else minus infinity.
inline sn::Tensor maskOf(const sn::Tensor &allowed) {
  return sn::where(allowed, 0.f, -std::numeric_limits<float>::infinity());
}

struct Gpt2Attention {
  Product c_attn, c_proj;
};
struct Gpt2Inner {
  Product c_fc, c_proj;
};
struct Gpt2Block {
  nn::LayerNorm ln_1;
  Gpt2Attention attn;
  nn::LayerNorm ln_2;
  Gpt2Inner mlp;
};

struct Gpt2 {
  nn::Embedding wte, wpe;
  std::vector<Gpt2Block> h;
  nn::LayerNorm ln_f;
  int64_t heads;
  /// Scores of all words [N, T, words] for the word behind each of `words` [N, T].
  sn::Tensor operator()(const sn::Tensor &words) const {
    sn::Tensor places = sn::arange(words.dim(1));
    sn::Tensor causal = maskOf(places <= sn::expand_dims(places, 1));
    sn::Tensor x = wte(words) + wpe(places);
    for (const Gpt2Block &block : h) {
      std::vector<sn::Tensor> qkv = sn::split(block.attn.c_attn(block.ln_1(x)), 3, -1);
      x = x + block.attn.c_proj(attend(qkv[0], qkv[1], qkv[2], heads, causal));
      x = x + block.mlp.c_proj(sn::gelu(block.mlp.c_fc(block.ln_2(x)), true));
    }
    return sn::matmul(ln_f(x), sn::matrix_transpose(wte.weight));
  }
};
inline Gpt2 makeGpt2(bool small) {
  int64_t width = small ? 16 : 768, words = small ? 40 : 50257, places = small ? 12 : 1024;
  Gpt2 net{zeroEmbedding(words, width), zeroEmbedding(places, width), {}, nn::layer_norm({width}), small ? 4 : 12};
  for (int k = 0; k < (small ? 2 : 12); ++k)
    net.h.push_back({nn::layer_norm({width}),
                     {zeroProduct(width, 3 * width), zeroProduct(width, width)},
                     nn::layer_norm({width}),
                     {zeroProduct(width, 4 * width), zeroProduct(4 * width, width)}});
  return net;
}

//===--- BERT (Devlin et al. 2019) --------------------------------------------------------------------------------===//

struct BertEmbeddings {
  nn::Embedding word_embeddings, position_embeddings, token_type_embeddings;
  nn::LayerNorm LayerNorm;
};
struct BertSelf {
  nn::Linear query, key, value;
};
/// What comes out of a part, and is added to what went in.
struct BertOutput {
  nn::Linear dense;
  nn::LayerNorm LayerNorm;
  sn::Tensor operator()(const sn::Tensor &x, const sn::Tensor &before) const { return LayerNorm(dense(x) + before); }
};
struct BertAttention {
  BertSelf self;
  BertOutput output;
};
struct BertIntermediate {
  nn::Linear dense;
};
struct BertLayer {
  BertAttention attention;
  BertIntermediate intermediate;
  BertOutput output;
};
struct BertEncoder {
  std::vector<BertLayer> layer;
};
struct BertPooler {
  nn::Linear dense;
};

struct Bert {
  BertEmbeddings embeddings;
  BertEncoder encoder;
  BertPooler pooler;
  int64_t heads;
  /// Each word as a vector [N, T, width]; words [N, T], where 0 fills up the shorter texts and is not looked at.
  sn::Tensor operator()(const sn::Tensor &words) const {
    sn::Tensor mask = maskOf(sn::expand_dims(words != 0, {1, 2}));
    sn::Tensor first = sn::take(embeddings.token_type_embeddings.weight, sn::Tensor(int64_t(0)), 0);
    sn::Tensor x = embeddings.word_embeddings(words) + embeddings.position_embeddings(sn::arange(words.dim(1))) + first;
    x = embeddings.LayerNorm(x);
    for (const BertLayer &layer : encoder.layer) {
      const BertSelf &self = layer.attention.self;
      x = layer.attention.output(attend(self.query(x), self.key(x), self.value(x), heads, mask), x);
      x = layer.output(sn::gelu(layer.intermediate.dense(x)), x);
    }
    return x;
  }
  /// The first word's vector, through the pooler: [N, width].
  sn::Tensor pooled(const sn::Tensor &x) const { return sn::tanh(pooler.dense(x(sn::slice(), 0))); }
};
inline nn::LayerNorm bertNorm(int64_t width) { return {sn::ones({width}), sn::zeros({width}), 1e-12}; }
inline Bert makeBert(bool small) {
  int64_t width = small ? 16 : 768, inner = small ? 32 : 3072;
  Bert net{{zeroEmbedding(small ? 40 : 30522, width), zeroEmbedding(small ? 12 : 512, width), zeroEmbedding(2, width),
            bertNorm(width)},
           {},
           {zeroLinear(width, width)},
           small ? 4 : 12};
  for (int k = 0; k < (small ? 2 : 12); ++k)
    net.encoder.layer.push_back({{{zeroLinear(width, width), zeroLinear(width, width), zeroLinear(width, width)},
                                  {zeroLinear(width, width), bertNorm(width)}},
                                 {zeroLinear(width, inner)},
                                 {zeroLinear(inner, width), bertNorm(width)}});
  return net;
}

//===--- a tagger -------------------------------------------------------------------------------------------------===//

struct Tagger {
  nn::Embedding words;
  nn::LSTM lstm;
  nn::Linear head;
  sn::Tensor operator()(const sn::Tensor &text) const { return head(lstm(words(text)).output); }
};
inline Tagger makeTagger(bool small) {
  int64_t width = small ? 6 : 128, hidden = small ? 5 : 256;
  return {zeroEmbedding(small ? 20 : 10000, width),
          nn::lstm(sn::key(1), width, hidden, {.layers = 2, .bidirectional = true}),
          zeroLinear(2 * hidden, small ? 4 : 17)};
}

#endif
