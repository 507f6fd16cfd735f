// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tokenizer.json, vocab.json and merges.txt. There each byte of a token is a printable character (GPT-2's table).
// https://huggingface.co/docs/tokenizers

#include "BytePairs.h"
#include "Crc32c.h"
#include "File.h"
extern "C" {
#include "../file.h"
}
#include <nlohmann/json.hpp>

using namespace sinter::data;
using Json = nlohmann::json;

namespace {
/// The characters that stand for bytes: printable ones of Latin-1 for themselves, U+0100 on for the others.
struct Alphabet {
  std::array<std::string, 256> characters; // UTF-8
  std::array<int, 0x180> bytes;            // by code point, -1: none

  Alphabet() {
    bytes.fill(-1);
    int next = 0x100;
    for (int b = 0; b < 256; ++b) {
      bool isPrintable = (b > 32 && b < 127) || (b > 160 && b != 173);
      int code = isPrintable ? b : next++;
      bytes[static_cast<size_t>(code)] = b;
      characters[static_cast<size_t>(b)] =
          code < 128 ? std::string(1, static_cast<char>(code))
                     : std::string{static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
    }
  }

  std::string spelled(std::string_view token) const {
    std::string text;
    for (char byte : token)
      text += characters[static_cast<unsigned char>(byte)];
    return text;
  }

  /// False where a character stands for no byte.
  bool read(std::string_view text, std::string &token) const {
    for (size_t at = 0; at < text.size(); ++at) {
      auto lead = static_cast<unsigned char>(text[at]);
      int code = lead;
      if (lead >= 128) {
        if ((lead & 0xE0) != 0xC0 || at + 1 == text.size())
          return false;
        code = (lead & 31) << 6 | (static_cast<unsigned char>(text[++at]) & 63);
      }
      if (code >= 0x180 || bytes[static_cast<size_t>(code)] < 0)
        return false;
      token += static_cast<char>(bytes[static_cast<size_t>(code)]);
    }
    return true;
  }
};

const Alphabet &alphabet() {
  static const Alphabet alphabet;
  return alphabet;
}

constexpr int64_t maxTokens = 1 << 24, maxFileBytes = 256 << 20;

std::string contentOf(const std::string &path) {
  File file(path);
  if (file.size() > maxFileBytes)
    throw Error(SINTER_LIMIT, "a tokenizer is required to have at most 256 MiB", {path, -1, -1});
  std::string bytes(static_cast<size_t>(file.size()), '\0');
  file.readAt(0, bytes.data(), file.size());
  return bytes;
}

/// Makes a tokenizer of what files hold; messages name the file.
class Reader {
public:
  explicit Reader(std::string path) : path(std::move(path)), made(std::make_shared<BytePairs>()) {}

  Json parse(const std::string &text) const {
    Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded() || !json.is_object())
      fail(SINTER_CORRUPT, "a tokenizer requires an object of JSON");
    return json;
  }

  void readJson(const Json &json) {
    requireNull(json, "normalizer", "");
    requireNull(json, "truncation", "");
    requireNull(json, "padding", "");
    requireNull(json, "post_processor", "ByteLevel");
    readSplit(member(json, "pre_tokenizer"));
    readAdded(member(json, "added_tokens"));
    const Json &model = member(json, "model");
    if (model.is_null() || (model.contains("type") && model["type"] != "BPE") || !model.contains("vocab") ||
        !model.contains("merges"))
      fail(SINTER_UNSUPPORTED, "the member 'model' requires type BPE with vocab and merges");
    for (const char *name : {"dropout", "unk_token"})
      requireNull(model, name, "");
    for (const char *name : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!member(model, name).is_null() && model[name] != "")
        fail(SINTER_UNSUPPORTED, "the model's member '" + std::string(name) + "' requires none");
    if (isTrue(model, "byte_fallback"))
      fail(SINTER_UNSUPPORTED, "the model's member 'byte_fallback' requires false");
    made->takesWholeWords = isTrue(model, "ignore_merges");
    readVocab(model["vocab"]);
    if (!model["merges"].is_array())
      fail(SINTER_CORRUPT, "merges require an array");
    for (const Json &merge : model["merges"]) {
      if (merge.is_string())
        addMerge(merge.get_ref<const std::string &>());
      else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
        addMerge(merge[0].get_ref<const std::string &>(), merge[1].get_ref<const std::string &>());
      else
        fail(SINTER_CORRUPT, "a merge requires two tokens");
    }
  }

  /// Names and numbers of tokens, spelled in characters for bytes; special ones were read before.
  void readVocab(const Json &vocab) {
    if (!vocab.is_object())
      fail(SINTER_CORRUPT, "a vocabulary requires an object");
    for (const auto &[text, number] : vocab.items()) {
      int32_t id = numberOf(number);
      std::string token;
      if (text.empty() || !alphabet().read(text, token)) {
        if (!isSpecial(id))
          fail(SINTER_UNSUPPORTED, "token '" + text + "' requires characters that stand for bytes");
        continue;
      }
      if (isSpecial(id))
        continue;
      std::string &slot = slotOf(id);
      if (!slot.empty())
        fail(SINTER_CORRUPT, "token " + std::to_string(id) + " requires one text, got two");
      slot = token;
      ids.emplace(token, id);
      if (token.size() == 1)
        made->bytes[static_cast<unsigned char>(token[0])] = id;
    }
  }

  void addMerge(const std::string &text) {
    size_t blank = text.find(' ');
    if (blank == text.npos)
      fail(SINTER_CORRUPT, "a merge requires two tokens with a blank between them, got '" + text + "'");
    addMerge(text.substr(0, blank), text.substr(blank + 1));
  }

  void addMerge(const std::string &left, const std::string &right) {
    std::string a, b;
    alphabet().read(left, a);
    alphabet().read(right, b);
    auto l = ids.find(a), r = ids.find(b), both = ids.find(a + b);
    if (l == ids.end() || r == ids.end() || both == ids.end())
      fail(SINTER_CORRUPT, "merge '" + left + " " + right + "' requires three tokens of the vocabulary");
    made->merges.push_back({l->second, r->second, both->second});
  }

  Tokenizer finish() {
    try {
      made->finish();
    } catch (const Error &error) {
      fail(error.code(), error.what());
    }
    return Tokenizer(made);
  }

private:
  [[noreturn]] void fail(sinter_status_code code, const std::string &what) const {
    throw Error(code, what, {path, -1, -1});
  }

  static const Json &member(const Json &json, const char *name) {
    static const Json null;
    auto at = json.is_object() ? json.find(name) : json.end();
    return at == json.end() ? null : *at;
  }
  static bool isTrue(const Json &json, const char *name) {
    const Json &value = member(json, name);
    return value.is_boolean() && value.get<bool>();
  }
  static std::string typeOf(const Json &json) {
    const Json &type = member(json, "type");
    return type.is_string() ? type.get<std::string>() : json.is_null() ? "none" : "another";
  }

  /// Throws unless the member is null or of the type `allowed`.
  void requireNull(const Json &json, const char *name, const std::string &allowed) const {
    const Json &value = member(json, name);
    if (!value.is_null() && (allowed.empty() || typeOf(value) != allowed))
      fail(SINTER_UNSUPPORTED, "the member '" + std::string(name) + "' requires " +
                                   (allowed.empty() ? "null" : "null or " + allowed) + ", got " + typeOf(value));
  }

  void readSplit(const Json &split) {
    const Json &only = typeOf(split) == "Sequence" && member(split, "pretokenizers").is_array() &&
                               member(split, "pretokenizers").size() == 1
                           ? member(split, "pretokenizers")[0]
                           : split;
    if (typeOf(only) != "ByteLevel")
      fail(SINTER_UNSUPPORTED, "the member 'pre_tokenizer' requires ByteLevel, got " + typeOf(only));
    made->addsBlank = isTrue(only, "add_prefix_space");
    made->splits = member(only, "use_regex").is_null() || isTrue(only, "use_regex");
  }

  void readAdded(const Json &added) {
    if (added.is_null())
      return;
    if (!added.is_array())
      fail(SINTER_CORRUPT, "the member 'added_tokens' requires an array");
    for (const Json &token : added) {
      const Json &content = member(token, "content");
      if (!content.is_string() || content.get_ref<const std::string &>().empty())
        fail(SINTER_CORRUPT, "an added token requires a text");
      for (const char *flag : {"single_word", "lstrip", "rstrip"})
        if (isTrue(token, flag))
          fail(SINTER_UNSUPPORTED,
               "added token '" + content.get<std::string>() + "' requires " + flag + " to be false");
      int32_t id = numberOf(member(token, "id"));
      std::string &slot = slotOf(id);
      if (!slot.empty())
        fail(SINTER_CORRUPT, "token " + std::to_string(id) + " requires one text, got two");
      slot = content.get<std::string>();
      made->specials.push_back({slot, id});
      special.resize(made->tokens.size());
      special[static_cast<size_t>(id)] = true;
    }
  }

  bool isSpecial(int32_t id) const {
    return static_cast<size_t>(id) < special.size() && special[static_cast<size_t>(id)];
  }

  /// Numbers need not be in order; what they ask for in memory is bounded.
  int32_t numberOf(const Json &number) const {
    if (!number.is_number_integer() || number.get<int64_t>() < 0 || number.get<int64_t>() >= maxTokens)
      fail(SINTER_CORRUPT, "a token requires a number from 0 to " + std::to_string(maxTokens - 1));
    return static_cast<int32_t>(number.get<int64_t>());
  }
  std::string &slotOf(int32_t id) {
    if (static_cast<size_t>(id) >= made->tokens.size())
      made->tokens.resize(static_cast<size_t>(id) + 1);
    return made->tokens[static_cast<size_t>(id)];
  }

  std::string path;
  std::shared_ptr<BytePairs> made;
  std::unordered_map<std::string, int32_t> ids;
  std::vector<bool> special;
};
} // namespace

Tokenizer sinter::data::parseTokenizer(const std::string &text, const std::string &path) {
  Reader reader(path);
  reader.readJson(reader.parse(text));
  return reader.finish();
}

Tokenizer sinter::data::parseGpt2(const std::string &vocab, std::string_view merges, const std::string &vocabPath,
                                  const std::string &mergesPath) {
  Reader reader(vocabPath);
  reader.readVocab(reader.parse(vocab));
  Reader lines(mergesPath);
  int64_t number = 0;
  for (std::string_view rest = merges; !rest.empty(); ++number) {
    size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (!line.empty() && !(number == 0 && line.starts_with("#version")))
      reader.addMerge(std::string(line));
  }
  return reader.finish();
}

Tokenizer Tokenizer::readGpt2(const std::string &vocabPath, const std::string &mergesPath) {
  return parseGpt2(contentOf(vocabPath), contentOf(mergesPath), vocabPath, mergesPath);
}

Tokenizer Tokenizer::read(const std::string &path) {
  size_t name = path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1;
  if (path.substr(name) == "vocab.json")
    return readGpt2(path, path.substr(0, name) + "merges.txt");
  return parseTokenizer(contentOf(path), path);
}

/// Its objects keep their order.
using Ordered = nlohmann::ordered_json;

std::string Tokenizer::signature() const {
  uint32_t crc = 0;
  auto add = [&crc](int64_t number, const std::string &text) {
    crc = crc32c(std::to_string(number) + ":" + text, crc);
  };
  add(pairs->addsBlank + 2 * pairs->splits + 4 * pairs->takesWholeWords, "");
  for (const std::string &token : pairs->tokens)
    add(static_cast<int64_t>(token.size()), token);
  for (const BytePairs::Special &special : pairs->specials)
    add(special.id, special.text);
  for (const BytePairs::Merge &merge : pairs->merges)
    add(merge.left, std::to_string(merge.right));
  return "tokens of " + checksumText(crc);
}

std::string Tokenizer::json() const {
  Ordered added = Ordered::array(), vocab = Ordered::object(), merges = Ordered::array();
  // Such an object looks through all of its names for one.
  std::unordered_map<std::string, size_t> placeOf;
  auto name = [&placeOf, &entries = vocab.get_ref<Ordered::object_t &>()](const std::string &text, int32_t id) {
    auto [place, isNew] = placeOf.try_emplace(text, entries.size());
    if (isNew)
      entries.Ordered::object_t::Container::emplace_back(text, id);
    else
      entries.begin()[static_cast<std::ptrdiff_t>(place->second)].second = id;
  };
  std::vector<bool> isSpecial(pairs->tokens.size());
  for (const BytePairs::Special &special : pairs->specials) {
    added.push_back({{"id", special.id},
                     {"content", special.text},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
    isSpecial[static_cast<size_t>(special.id)] = true;
    name(special.text, special.id);
  }
  for (size_t i = 0; i < pairs->tokens.size(); ++i)
    if (!isSpecial[i] && !pairs->tokens[i].empty())
      name(alphabet().spelled(pairs->tokens[i]), static_cast<int32_t>(i));
  auto spelled = [&](int32_t id) { return alphabet().spelled(pairs->tokens[static_cast<size_t>(id)]); };
  for (const BytePairs::Merge &merge : pairs->merges)
    merges.push_back({spelled(merge.left), spelled(merge.right)});
  Ordered level = {{"type", "ByteLevel"},
                   {"add_prefix_space", pairs->addsBlank},
                   {"trim_offsets", true},
                   {"use_regex", pairs->splits}};
  Ordered json = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added},
      {"normalizer", nullptr},
      {"pre_tokenizer", level},
      {"post_processor", nullptr},
      {"decoder", {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}}},
      {"model",
       {{"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", nullptr},
        {"continuing_subword_prefix", nullptr},
        {"end_of_word_suffix", nullptr},
        {"fuse_unk", false},
        {"byte_fallback", false},
        {"ignore_merges", pairs->takesWholeWords},
        {"vocab", vocab},
        {"merges", merges}}}};
  try {
    return json.dump(1) + "\n";
  } catch (const Ordered::exception &) {
    throw Error(SINTER_INVALID_ARGUMENT, "special tokens are required to be UTF-8 to be written as JSON");
  }
}

void Tokenizer::write(const std::string &path) const {
  std::string text = json();
  NewFile file;
  check(srtCreateFile(path.c_str(), &file));
  sinter_status_code status = srtWriteAll(file.file, text.data(), static_cast<int64_t>(text.size()), path.c_str());
  check(srtFinishFile(&file, status));
}
