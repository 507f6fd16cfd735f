// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "WordSplit.h"
#include "UnicodeClasses.h"
#include <algorithm>
#include <array>
#include <vector>

namespace {
enum Class : uint8_t { Other, Letter, Number, Blank };

constexpr std::array<Class, 128> makeAscii() {
  std::array<Class, 128> classes = {};
  for (size_t c = 0; c < 128; ++c)
    classes[c] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? Letter
                 : c >= '0' && c <= '9'                           ? Number
                 : c == ' ' || (c >= '\t' && c <= '\r')           ? Blank
                                                                  : Other;
  return classes;
}
constexpr std::array<Class, 128> ascii = makeAscii();

const std::vector<Class> &allClasses() {
  static const std::vector<Class> classes = [] {
    std::vector<Class> all(0x32400, Other);
    auto fill = [&](const auto &ranges, Class kind) {
      for (auto [first, last] : ranges)
        std::fill(all.begin() + first, all.begin() + last + 1, kind);
    };
    fill(sinter::data::letterRanges, Letter);
    fill(sinter::data::numberRanges, Number);
    constexpr sinter::data::CodeRange blanks[] = {{0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
                                                  {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                                                  {0x205F, 0x205F}, {0x3000, 0x3000}};
    fill(blanks, Blank);
    return all;
  }();
  return classes;
}

struct Character {
  Class kind;
  size_t size; // bytes
};

[[gnu::noinline]] Character longCharacter(std::string_view text, size_t at) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  unsigned char lead = byte(0);
  size_t size = lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 && lead < 0xF0 ? 3 : lead >= 0xC2 && lead < 0xE0 ? 2 : 0;
  if (size == 0 || size > text.size() - at)
    return {Other, 1};
  uint32_t code = lead & (0x7Fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80)
      return {Other, 1};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[size] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
    return {Other, 1};
  const std::vector<Class> &classes = allClasses();
  return {code < classes.size() ? classes[code] : Other, size};
}

inline Character characterAt(std::string_view text, size_t at) {
  auto byte = static_cast<unsigned char>(text[at]);
  return byte < 128 ? Character{ascii[byte], 1} : longCharacter(text, at);
}
} // namespace

static size_t runEnd(std::string_view text, size_t at, Class kind) {
  while (at < text.size()) {
    Character next = characterAt(text, at);
    if (next.kind != kind)
      break;
    at += next.size;
  }
  return at;
}

size_t sinter::data::wordEnd(std::string_view text, size_t at) {
  if (text[at] == '\'' && at + 1 < text.size()) {
    char next = text[at + 1];
    if (next == 's' || next == 't' || next == 'm' || next == 'd')
      return at + 2;
    std::string_view two = text.substr(at + 1, 2);
    if (two == "re" || two == "ve" || two == "ll")
      return at + 3;
  }
  Character first = characterAt(text, at);
  if (first.kind != Blank)
    return runEnd(text, at + first.size, first.kind);
  if (text[at] == ' ' && at + 1 < text.size()) {
    Character second = characterAt(text, at + 1);
    if (second.kind != Blank)
      return runEnd(text, at + 1 + second.size, second.kind);
  }
  size_t end = at + first.size, last = at; // where the last blank begins
  while (end < text.size()) {
    Character next = characterAt(text, end);
    if (next.kind != Blank)
      return last > at ? last : end; // the last blank belongs to what follows
    last = end;
    end += next.size;
  }
  return end;
}
