// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sennrich, Haddow, Birch 2016, with what each merge changes counted instead of all anew: pairs lie in a heap by count,
// an entry whose count is old goes back with the right one.

#include "BytePairs.h"
#include "WordSplit.h"
#include <algorithm>
#include <queue>

using namespace sinter::data;

void BpeTrainer::add(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    size_t end = wordEnd(text, at);
    ++words[std::string(text.substr(at, end - at))];
    at = end;
  }
}

namespace {
class Training {
public:
  Training(BytePairs &made, const std::unordered_map<std::string, int64_t> &counted) : made(made) {
    std::vector<const std::pair<const std::string, int64_t> *> sorted; // so that nothing depends on the hash
    for (const auto &word : counted)
      sorted.push_back(&word);
    std::ranges::sort(sorted, [](auto *a, auto *b) { return a->first < b->first; });
    for (auto *word : sorted) {
      std::vector<int32_t> tokens;
      for (char byte : word->first)
        tokens.push_back(made.bytes[static_cast<unsigned char>(byte)]);
      words.push_back({std::move(tokens), word->second});
    }
    for (size_t w = 0; w < words.size(); ++w)
      for (size_t i = 0; i + 1 < words[w].tokens.size(); ++i)
        change(words[w].tokens[i], words[w].tokens[i + 1], words[w].count, static_cast<uint32_t>(w));
    for (const auto &[key, pair] : pairs)
      queue.push({pair.count, key});
  }

  /// Merges the most frequent pair. False where none comes `least` times.
  bool step(int64_t least) {
    while (!queue.empty()) {
      auto [count, key] = queue.top();
      queue.pop();
      Pair &pair = pairs[key];
      if (pair.count != count) {
        if (pair.count > 0)
          queue.push({pair.count, key});
        continue;
      }
      if (count < least || count < 1)
        return false;
      merge(static_cast<int32_t>(key >> 32), static_cast<int32_t>(key & 0xFFFFFFFF), std::move(pair.words));
      return true;
    }
    return false;
  }

private:
  struct Word {
    std::vector<int32_t> tokens;
    int64_t count;
  };
  struct Pair {
    int64_t count = 0;
    std::vector<uint32_t> words; // that hold it or held it
  };
  struct Entry {
    int64_t count;
    uint64_t key;
    bool operator<(const Entry &other) const { return count != other.count ? count < other.count : key > other.key; }
  };

  static uint64_t keyOf(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }

  void change(int32_t left, int32_t right, int64_t count, uint32_t word) {
    Pair &pair = pairs[keyOf(left, right)];
    pair.count += count;
    if (count > 0 && (pair.words.empty() || pair.words.back() != word))
      pair.words.push_back(word);
  }

  void merge(int32_t left, int32_t right, std::vector<uint32_t> in) {
    std::string text = made.tokens[static_cast<size_t>(left)] + made.tokens[static_cast<size_t>(right)];
    auto [at, isNew] = known.try_emplace(text, static_cast<int32_t>(made.tokens.size()));
    int32_t result = at->second;
    if (isNew)
      made.tokens.push_back(text);
    made.merges.push_back({left, right, result});
    std::ranges::sort(in);
    in.erase(std::unique(in.begin(), in.end()), in.end());
    std::vector<uint64_t> raised;
    for (uint32_t w : in)
      mergeIn(w, left, right, result, raised);
    pairs[keyOf(left, right)].count = 0;
    std::ranges::sort(raised);
    raised.erase(std::unique(raised.begin(), raised.end()), raised.end());
    for (uint64_t key : raised)
      if (pairs[key].count > 0)
        queue.push({pairs[key].count, key});
  }

  void mergeIn(uint32_t w, int32_t left, int32_t right, int32_t result, std::vector<uint64_t> &raised) {
    std::vector<int32_t> &tokens = words[w].tokens;
    int64_t count = words[w].count;
    size_t to = 0;
    for (size_t i = 0; i < tokens.size(); ++i, ++to) {
      if (tokens[i] != left || i + 1 == tokens.size() || tokens[i + 1] != right) {
        tokens[to] = tokens[i];
        continue;
      }
      if (to > 0) {
        change(tokens[to - 1], left, -count, w);
        change(tokens[to - 1], result, count, w);
        raised.push_back(keyOf(tokens[to - 1], result));
      }
      if (i + 2 < tokens.size()) {
        change(right, tokens[i + 2], -count, w);
        change(result, tokens[i + 2], count, w);
        raised.push_back(keyOf(result, tokens[i + 2]));
      }
      tokens[to] = result;
      ++i;
    }
    tokens.resize(to);
  }

  BytePairs &made;
  std::vector<Word> words;
  std::unordered_map<uint64_t, Pair> pairs;
  std::unordered_map<std::string, int32_t> known;
  std::priority_queue<Entry> queue;
};
} // namespace

Tokenizer BpeTrainer::train(const BpeOptions &options) const {
  auto least = static_cast<int64_t>(options.specials.size()) + 256;
  if (options.size < least || options.size > 1 << 24)
    throw Error(SINTER_INVALID_ARGUMENT, "a tokenizer requires " + std::to_string(least) + " to " +
                                             std::to_string(1 << 24) + " tokens, got " + std::to_string(options.size));
  auto made = std::make_shared<BytePairs>();
  for (const std::string &special : options.specials) {
    if (special.empty() || std::ranges::count(options.specials, special) > 1)
      throw Error(SINTER_INVALID_ARGUMENT, "special tokens require texts of their own, got '" + special + "'");
    made->specials.push_back({special, static_cast<int32_t>(made->tokens.size())});
    made->tokens.push_back(special);
  }
  auto addByte = [&](int b) {
    made->bytes[static_cast<size_t>(b)] = static_cast<int32_t>(made->tokens.size());
    made->tokens.push_back(std::string(1, static_cast<char>(b)));
  };
  auto isPrintable = [](int b) { return (b > 32 && b < 127) || (b > 160 && b != 173); };
  for (bool printable : {true, false}) // in the order of the characters that stand for them in files
    for (int b = 0; b < 256; ++b)
      if (isPrintable(b) == printable)
        addByte(b);
  Training training(*made, words);
  while (static_cast<int64_t>(made->tokens.size()) < options.size && training.step(options.minCount))
    ;
  made->finish();
  return Tokenizer(made);
}
