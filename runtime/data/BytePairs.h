// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a byte-level BPE knows, and how words become tokens.

#ifndef SINTER_RUNTIME_DATA_BYTEPAIRS_H
#define SINTER_RUNTIME_DATA_BYTEPAIRS_H

#include "Tokenizer.h"
#include <array>
#include <mutex>

namespace sinter::data {

/// A word's tokens by its bytes, for one thread at a time. Forgets all when it holds much.
class WordCache;

struct BytePairs {
  struct Merge {
    int32_t left, right, result;
  };
  struct Special {
    std::string text;
    int32_t id;
  };

  std::vector<std::string> tokens;     // their bytes; empty: no such token
  std::array<int32_t, 256> bytes = {}; // the token of each byte
  std::vector<Merge> merges;           // by rank
  std::vector<Special> specials;
  bool splits = true;           // into words by GPT-2's pattern
  bool addsBlank = false;       // in front of a text that begins with none
  bool takesWholeWords = false; // a word that is a token is it, whatever merges would make of it

  BytePairs();
  ~BytePairs();
  /// To be called when all is filled in. Throws where a byte has no token or a merge names none.
  void finish();
  void encode(std::string_view text, std::vector<int32_t> &ids, bool withSpecials) const;

private:
  struct Pair {
    uint64_t key;
    int32_t rank, result;
  };

  const Pair *find(int32_t left, int32_t right) const {
    uint64_t key = static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
    for (size_t at = (key * 0x9E3779B97F4A7C15u) >> shift;; at = (at + 1) & (pairs.size() - 1)) {
      if (pairs[at].key == key)
        return &pairs[at];
      if (pairs[at].key == none)
        return nullptr;
    }
  }
  void encodePlain(std::string_view text, std::vector<int32_t> &ids, WordCache &cache) const;
  void mergeWord(std::string_view word, std::vector<int32_t> &ids) const;
  void mergeShort(std::string_view word, std::vector<int32_t> &ids) const;
  void mergeLong(std::string_view word, std::vector<int32_t> &ids) const;

  static constexpr uint64_t none = ~uint64_t(0);
  std::vector<Pair> pairs; // open addressing
  int shift = 63;
  std::unordered_map<std::string_view, int32_t> whole; // for takesWholeWords
  std::array<bool, 256> beginsSpecial = {};
  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<WordCache>> caches; // that no thread uses
};

/// What the files hold, for messages with their paths.
Tokenizer parseTokenizer(const std::string &json, const std::string &path);
Tokenizer parseGpt2(const std::string &vocab, std::string_view merges, const std::string &vocabPath,
                    const std::string &mergesPath);

} // namespace sinter::data

#endif
