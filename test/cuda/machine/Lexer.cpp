// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lexer.h"
#include "Program.h"

#include <bit>
#include <cstdlib>

namespace sinter::ptx {

static bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isNamePart(char c) { return (c != '%' && isNameStart(c)) || isDigit(c); }

static int digitOf(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return 99;
}

namespace {
class Lexer {
public:
  Lexer(std::string_view text, const std::string &file) : text(text), file(file) {}

  std::vector<Token> run() {
    for (skip(); at < text.size(); skip())
      tokens.push_back(next());
    tokens.push_back({.line = line});
    return std::move(tokens);
  }

private:
  [[noreturn]] void fail(const std::string &what) const {
    throw ParseError(file + ":" + std::to_string(line) + ": " + what);
  }
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }

  void skip() {
    while (at < text.size()) {
      char c = text[at];
      if (c == '\n')
        ++line, ++at;
      else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\0')
        ++at;
      else if (c == '/' && peek(1) == '/')
        while (at < text.size() && text[at] != '\n')
          ++at;
      else if (c == '/' && peek(1) == '*') {
        size_t end = text.find("*/", at + 2);
        if (end == std::string_view::npos)
          fail("a comment does not end");
        for (; at < end + 2; ++at)
          line += text[at] == '\n';
      } else
        return;
    }
  }

  Token next() {
    Token token{.line = line};
    char c = text[at];
    if (isNameStart(c)) {
      token.form = Token::Name;
      size_t begin = at++;
      while (at < text.size() && isNamePart(text[at]))
        ++at;
      token.text = text.substr(begin, at - begin);
      return token;
    }
    if (c == '.' && (isNamePart(peek(1)))) {
      token.form = Token::Word;
      size_t begin = ++at;
      while (isNamePart(peek()) || (peek() == ':' && peek(1) == ':' && isNamePart(peek(2))))
        at += peek() == ':' ? 2 : 1;
      token.text = text.substr(begin, at - begin);
      return token;
    }
    if (isDigit(c))
      return number();
    if (c == '"') {
      token.form = Token::String;
      size_t begin = ++at;
      while (at < text.size() && text[at] != '"' && text[at] != '\n')
        ++at;
      if (peek() != '"')
        fail("a string does not end");
      token.text = text.substr(begin, at++ - begin);
      return token;
    }
    if (std::string_view("{}[]()<>,;:+-*/%!~&|^=@?").find(c) == std::string_view::npos)
      fail(std::string("unexpected character '") + c + "'");
    token.form = Token::Mark;
    token.text = c;
    ++at;
    return token;
  }

  Token number() {
    Token token{.form = Token::Integer, .line = line};
    char kind = peek(1) | 32;
    if (peek() == '0' && (kind == 'f' || kind == 'd') && peek(1) != '.') {
      unsigned digits = kind == 'f' ? 8 : 16;
      token.form = Token::Float;
      token.floatBits = digits * 4;
      at += 2;
      for (unsigned i = 0; i < digits; ++i, ++at) {
        if (digitOf(peek()) > 15)
          fail("a floating-point literal requires " + std::to_string(digits) + " hexadecimal digits");
        token.bits = token.bits << 4 | digitOf(peek());
      }
      return token;
    }
    unsigned base = peek() != '0' ? 10 : kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
    size_t begin = at;
    if (base == 16 || base == 2)
      at += 2;
    else {
      size_t end = at;
      while (isDigit(text[end < text.size() ? end : at]) && end < text.size())
        ++end;
      char after = end < text.size() ? text[end] : '\0';
      if (after == '.' || after == 'e' || after == 'E') {
        std::string copy(text.substr(at, 64));
        char *stop;
        token.form = Token::Float;
        token.bits = std::bit_cast<uint64_t>(std::strtod(copy.c_str(), &stop));
        at += stop - copy.c_str();
        return token;
      }
    }
    for (; digitOf(peek()) < int(base); ++at)
      token.bits = token.bits * base + digitOf(peek());
    if (at == begin + 2 && base != 10 && base != 8)
      fail("a literal without digits");
    if (peek() == 'U')
      ++at;
    if (isNamePart(peek()))
      fail("a literal ends in '" + std::string(1, peek()) + "'");
    return token;
  }

  std::string_view text;
  const std::string &file;
  size_t at = 0;
  unsigned line = 1;
  std::vector<Token> tokens;
};
} // namespace

std::vector<Token> lex(std::string_view text, const std::string &file) { return Lexer(text, file).run(); }

} // namespace sinter::ptx
