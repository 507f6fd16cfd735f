// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BytePairs.h"
#include "WordSplit.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <queue>

using namespace sinter::data;

//===- Words that were seen before ------------------------------------------------------------------===//

class sinter::data::WordCache {
public:
  static constexpr size_t longest = 64; // bytes of a word

  WordCache() : slots(size_t(1) << 8) {}

  /// Appends the tokens of a word, made by `make(word, ids)` where it was not seen before. 16 bytes from the word on
  /// may be read if they end before `limit`.
  template <typename Make> void encode(std::string_view word, const char *limit, std::vector<int32_t> &ids, Make make) {
    uint64_t key = keyOf(word, limit);
    size_t mask = slots.size() - 1, at = (key ^ key >> 32) & mask;
    for (; slots[at].size; at = (at + 1) & mask) {
      const Slot &slot = slots[at];
      if (slot.key == key && slot.size == word.size() && std::memcmp(&texts[slot.text], word.data(), slot.size) == 0) {
        const int32_t *from = &tokens[slot.tokens];
        ids.insert(ids.end(), from, from + slot.count);
        return;
      }
    }
    size_t before = ids.size();
    make(word, ids);
    if (2 * (used + 1) > slots.size()) {
      grow();
      return;
    }
    slots[at] = {key, static_cast<uint32_t>(texts.size()), static_cast<uint32_t>(tokens.size()),
                 static_cast<uint16_t>(word.size()), static_cast<uint16_t>(ids.size() - before)};
    texts.insert(texts.end(), word.begin(), word.end());
    tokens.insert(tokens.end(), ids.begin() + static_cast<std::ptrdiff_t>(before), ids.end());
    ++used;
  }

private:
  struct Slot {
    uint64_t key;
    uint32_t text, tokens;
    uint16_t size, count;
  };

  static uint64_t keyOf(std::string_view word, const char *limit) {
    uint64_t first = 0, last = 0;
    if (word.size() >= 8) {
      std::memcpy(&first, word.data(), 8);
      std::memcpy(&last, word.data() + word.size() - 8, 8);
      for (size_t i = 8; i + 8 < word.size(); i += 8) {
        uint64_t middle;
        std::memcpy(&middle, word.data() + i, 8);
        first = std::rotl(first * 0x9E3779B97F4A7C15u, 29) ^ middle;
      }
    } else if (limit - word.data() >= 8) {
      std::memcpy(&first, word.data(), 8);
      first &= (uint64_t(1) << (8 * word.size())) - 1;
    } else {
      std::memcpy(&first, word.data(), word.size());
    }
    return ((first ^ std::rotl(last, 32)) + word.size()) * 0x9E3779B97F4A7C15u;
  }

  void grow() {
    if (slots.size() >= size_t(1) << 18) { // 8 MB and what the words take
      slots.assign(slots.size(), {});
      texts.clear();
      tokens.clear();
      used = 0;
      return;
    }
    std::vector<Slot> larger(slots.size() * 2);
    for (const Slot &slot : slots) {
      if (!slot.size)
        continue;
      size_t at = (slot.key ^ slot.key >> 32) & (larger.size() - 1);
      while (larger[at].size)
        at = (at + 1) & (larger.size() - 1);
      larger[at] = slot;
    }
    slots = std::move(larger);
  }

  std::vector<Slot> slots;
  std::vector<char> texts;
  std::vector<int32_t> tokens;
  size_t used = 0;
};

//===- Merging --------------------------------------------------------------------------------------===//

BytePairs::BytePairs() { bytes.fill(-1); }
BytePairs::~BytePairs() = default;

void BytePairs::finish() {
  for (size_t b = 0; b < 256; ++b)
    if (bytes[b] < 0)
      throw Error(SINTER_UNSUPPORTED,
                  "a byte-level tokenizer requires a token for each byte, none is for byte " + std::to_string(b));
  size_t slots = std::bit_ceil(merges.size() * 2 + 2);
  shift = 64 - std::countr_zero(slots);
  pairs.assign(slots, {none, 0, 0});
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    auto [left, right, result] = merges[rank];
    uint64_t key = static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
    size_t at = (key * 0x9E3779B97F4A7C15u) >> shift;
    while (pairs[at].key != none && pairs[at].key != key)
      at = (at + 1) & (slots - 1);
    if (pairs[at].key == none) // of two equal ones the first counts
      pairs[at] = {key, static_cast<int32_t>(rank), result};
  }
  for (const Special &special : specials)
    if (!special.text.empty())
      beginsSpecial[static_cast<unsigned char>(special.text[0])] = true;
  if (takesWholeWords)
    for (size_t i = 0; i < tokens.size(); ++i)
      if (!tokens[i].empty())
        whole.emplace(tokens[i], static_cast<int32_t>(i));
}

/// Looks at all pairs before each merge: quickest for words.
void BytePairs::mergeShort(std::string_view word, std::vector<int32_t> &ids) const {
  struct Part {
    int32_t token, rank, result; // with the next one; INT32_MAX: none
  };
  std::array<Part, WordCache::longest> parts;
  size_t count = word.size();
  auto rankAt = [&](size_t i) {
    const Pair *pair = i + 1 < count ? find(parts[i].token, parts[i + 1].token) : nullptr;
    parts[i].rank = pair ? pair->rank : INT32_MAX;
    parts[i].result = pair ? pair->result : -1;
  };
  for (size_t i = 0; i < count; ++i)
    parts[i].token = bytes[static_cast<unsigned char>(word[i])];
  for (size_t i = 0; i < count; ++i)
    rankAt(i);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i < count; ++i)
      if (parts[i].rank < parts[best].rank)
        best = i;
    if (parts[best].rank == INT32_MAX)
      break;
    parts[best].token = parts[best].result;
    std::memmove(&parts[best + 1], &parts[best + 2], (count - best - 2) * sizeof(Part));
    --count;
    rankAt(best);
    if (best > 0)
      rankAt(best - 1);
  }
  for (size_t i = 0; i < count; ++i)
    ids.push_back(parts[i].token);
}

/// With a heap of pairs, so that a word of megabytes takes no square of them.
void BytePairs::mergeLong(std::string_view word, std::vector<int32_t> &ids) const {
  struct Part {
    int32_t token;
    uint32_t before, next;
  };
  struct Candidate {
    int32_t rank;
    uint32_t at;
    int32_t left, right, result;
    bool operator>(const Candidate &other) const { return std::tie(rank, at) > std::tie(other.rank, other.at); }
  };
  constexpr uint32_t nobody = UINT32_MAX;
  auto count = static_cast<uint32_t>(word.size());
  std::vector<Part> parts(count);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  auto offer = [&](uint32_t at) {
    uint32_t next = at == nobody ? nobody : parts[at].next;
    if (next == nobody)
      return;
    if (const Pair *pair = find(parts[at].token, parts[next].token))
      queue.push({pair->rank, at, parts[at].token, parts[next].token, pair->result});
  };
  for (uint32_t i = 0; i < count; ++i)
    parts[i] = {bytes[static_cast<unsigned char>(word[i])], i ? i - 1 : nobody, i + 1 < count ? i + 1 : nobody};
  for (uint32_t i = 0; i < count; ++i)
    offer(i);
  while (!queue.empty()) {
    Candidate best = queue.top();
    queue.pop();
    Part &part = parts[best.at];
    if (part.token != best.left || part.next == nobody || parts[part.next].token != best.right)
      continue; // merged meanwhile; a part that is gone has the token -1
    uint32_t gone = part.next;
    part.token = best.result;
    part.next = parts[gone].next;
    if (part.next != nobody)
      parts[part.next].before = best.at;
    parts[gone].token = -1;
    offer(best.at);
    offer(part.before);
  }
  for (uint32_t i = 0; i != nobody; i = parts[i].next)
    ids.push_back(parts[i].token);
}

void BytePairs::mergeWord(std::string_view word, std::vector<int32_t> &ids) const {
  if (takesWholeWords)
    if (auto known = whole.find(word); known != whole.end()) {
      ids.push_back(known->second);
      return;
    }
  if (word.size() <= WordCache::longest)
    mergeShort(word, ids);
  else
    mergeLong(word, ids);
}

void BytePairs::encodePlain(std::string_view text, std::vector<int32_t> &ids, WordCache &cache) const {
  const char *limit = text.data() + text.size();
  std::string withBlank;
  if (addsBlank && !text.empty() && text[0] != ' ') {
    withBlank = " " + std::string(text);
    text = withBlank;
    limit = text.data() + text.size();
  }
  for (size_t at = 0; at < text.size();) {
    size_t end = splits ? wordEnd(text, at) : text.size();
    std::string_view word = text.substr(at, end - at);
    if (merges.empty())
      for (char c : word)
        ids.push_back(bytes[static_cast<unsigned char>(c)]);
    else if (word.size() <= WordCache::longest)
      cache.encode(word, limit, ids, [&](std::string_view w, std::vector<int32_t> &to) { mergeWord(w, to); });
    else
      for (size_t from = 0; from < word.size(); from += uint32_t(1) << 30) // numbers of parts have 32 bits
        mergeWord(word.substr(from, uint32_t(1) << 30), ids);
    at = end;
  }
}

void BytePairs::encode(std::string_view text, std::vector<int32_t> &ids, bool withSpecials) const {
  std::unique_ptr<WordCache> cache;
  {
    std::lock_guard lock(mutex);
    if (!caches.empty()) {
      cache = std::move(caches.back());
      caches.pop_back();
    }
  }
  if (!cache)
    cache = std::make_unique<WordCache>();
  size_t plain = 0;
  if (withSpecials && !specials.empty())
    for (size_t at = 0; at < text.size(); ++at) {
      if (!beginsSpecial[static_cast<unsigned char>(text[at])])
        continue;
      const Special *longest = nullptr;
      for (const Special &special : specials)
        if (!special.text.empty() && text.substr(at, special.text.size()) == special.text &&
            (!longest || special.text.size() > longest->text.size()))
          longest = &special;
      if (!longest)
        continue;
      encodePlain(text.substr(plain, at - plain), ids, *cache);
      ids.push_back(longest->id);
      plain = at + longest->text.size();
      at = plain - 1;
    }
  encodePlain(text.substr(plain), ids, *cache);
  std::lock_guard lock(mutex);
  caches.push_back(std::move(cache));
}

//===- The tokenizer --------------------------------------------------------------------------------===//

Tokenizer Tokenizer::ofBytes(const std::vector<std::string> &specials) {
  auto pairs = std::make_shared<BytePairs>();
  for (int b = 0; b < 256; ++b) {
    pairs->tokens.push_back(std::string(1, static_cast<char>(b)));
    pairs->bytes[static_cast<size_t>(b)] = b;
  }
  for (const std::string &special : specials) {
    pairs->specials.push_back({special, static_cast<int32_t>(pairs->tokens.size())});
    pairs->tokens.push_back(special);
  }
  pairs->splits = false;
  pairs->finish();
  return Tokenizer(pairs);
}

void Tokenizer::encode(std::string_view text, std::vector<int32_t> &ids, bool withSpecials) const {
  pairs->encode(text, ids, withSpecials);
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  encode(text, ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (int32_t id : ids) {
    if (id < 0 || id >= size() || pairs->tokens[static_cast<size_t>(id)].empty())
      throw Error(SINTER_INVALID_ARGUMENT,
                  "a token is required to be one of " + std::to_string(size()) + ", got " + std::to_string(id));
    text += pairs->tokens[static_cast<size_t>(id)];
  }
  return text;
}

int32_t Tokenizer::size() const { return static_cast<int32_t>(pairs->tokens.size()); }

int32_t Tokenizer::special(std::string_view text) const {
  for (const BytePairs::Special &special : pairs->specials)
    if (special.text == text)
      return special.id;
  return -1;
}
