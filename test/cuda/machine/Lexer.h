// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::ptx {

struct Token {
  enum Form : uint8_t { End, Name, Word, Integer, Float, String, Mark };
  Form form = End;
  unsigned line = 0;
  std::string text = {}; // a Word (.global, .L2::128B) without its dot, a Mark as one character
  uint64_t bits = 0;
  unsigned floatBits = 0; // 32 or 64 for 0f... and 0d..., 0 for a decimal literal (`bits` then hold a double)
  bool is(char mark) const { return form == Mark && text[0] == mark; }
  bool isWord(std::string_view word) const { return form == Word && text == word; }
};

/// The token as a message names it.
std::string describe(const Token &token);

/// The tokens of PTX text, the last an End; throws ParseError.
std::vector<Token> lex(std::string_view text, const std::string &file);

} // namespace sinter::ptx
