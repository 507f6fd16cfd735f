// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First byte 0: a tokenizer's file, which is written and read again and must then make the same tokens; 1: GPT-2's two
// files, with a zero between them; else: a text, which trains a tokenizer and comes back from it and from bytes.
#include "runtime/data/BytePairs.h"
#include <cstdlib>

using namespace sinter::data;

static void requireSame(const Tokenizer &tokenizer, std::string_view text) {
  if (tokenizer.decode(tokenizer.encode(text)) != text)
    abort();
}

/// Files that hold all bytes are rare: those are put in.
static std::string withBytes(std::string text) {
  size_t at = text.find("@BYTES@");
  if (at == text.npos)
    return text;
  static const std::string bytes = [] {
    std::string json = BpeTrainer().train({.size = 256}).json();
    size_t begin = json.find("\"vocab\": {") + 10;
    return json.substr(begin, json.find('}', json.rfind("255")) - begin);
  }();
  return text.replace(at, 7, bytes);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  std::string text(reinterpret_cast<const char *>(data) + 1, size - 1);
  try {
    if (data[0] == 0) {
      Tokenizer read = parseTokenizer(withBytes(text), "file"), again = parseTokenizer(read.json(), "again");
      if (read.encode(text) != again.encode(text) || read.size() != again.size())
        abort();
    } else if (data[0] == 1) {
      size_t zero = std::min(text.find('\0'), text.size());
      Tokenizer read =
          parseGpt2(withBytes(text.substr(0, zero)), std::string_view(text).substr(zero), "vocab", "merges");
      requireSame(read, text);
    } else {
      BpeTrainer trainer;
      trainer.add(text);
      Tokenizer trained = trainer.train({.size = 256 + data[0] % 32, .minCount = 1 + data[0] % 2});
      requireSame(trained, text);
      static const Tokenizer bytes = Tokenizer::ofBytes({"<a>"});
      requireSame(bytes, text);
    }
  } catch (const Error &error) {
    if (data[0] > 1)
      abort();
  }
  return 0;
}
