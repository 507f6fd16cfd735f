// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizers over bytes: each byte a token, or byte-level BPE as GPT-2 has it (Sennrich et al. 2016, Radford et al.
// 2019). What is encoded, any bytes, is what is decoded.
//
//   Tokenizer tokenizer = Tokenizer::read("tokenizer.json");   // or vocab.json with merges.txt beside it
//   auto chunks = tokenChunks(readText("book.txt"), tokenizer, {.size = 256, .threads = 2});

#ifndef SINTER_RUNTIME_DATA_TOKENIZER_H
#define SINTER_RUNTIME_DATA_TOKENIZER_H

#include "Error.h"
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sinter::data {

struct BytePairs; // Tokenizer.cpp

/// Immutable, shared by threads; copies share what they know.
class Tokenizer {
public:
  /// Token i is byte i; then the special ones.
  static Tokenizer ofBytes(const std::vector<std::string> &specials = {});
  /// A file of Hugging Face's tokenizers whose model is byte-level BPE, or GPT-2's vocab.json, with merges.txt in its
  /// folder. What such a file asks for and is not here is an error that names it.
  static Tokenizer read(const std::string &path);
  static Tokenizer readGpt2(const std::string &vocabPath, const std::string &mergesPath);

  /// Appends the tokens of `text` to `ids`. Special tokens are found in it where `withSpecials`.
  void encode(std::string_view text, std::vector<int32_t> &ids, bool withSpecials = true) const;
  std::vector<int32_t> encode(std::string_view text) const;
  /// The bytes that tokens stand for. Throws for a number that is no token.
  std::string decode(std::span<const int32_t> ids) const;

  /// One more than the largest token.
  int32_t size() const;
  /// The number of a special token, or -1.
  int32_t special(std::string_view text) const;

  /// A tokenizer.json that Hugging Face's library reads, too.
  std::string json() const;
  void write(const std::string &path) const;

  /// What tells this tokenizer from others: the text of map().
  std::string signature() const;

  explicit Tokenizer(std::shared_ptr<const BytePairs> pairs) : pairs(std::move(pairs)) {}

private:
  std::shared_ptr<const BytePairs> pairs;
};

struct BpeOptions {
  int32_t size = 32000;                   // tokens in all: special ones, 256 bytes, merges
  int64_t minCount = 2;                   // of a pair that is merged
  std::vector<std::string> specials = {}; // tokens 0, 1, ...
};

/// Counts the words of texts, then merges what is beside each other most often; of equally many the pair of smaller
/// tokens first. The result does not depend on the order of texts.
class BpeTrainer {
public:
  void add(std::string_view text);
  Tokenizer train(const BpeOptions &options) const;

private:
  std::unordered_map<std::string, int64_t> words;
};

} // namespace sinter::data

#endif
