// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers as text and back, the same in every locale. printf, strtod and std::to_string write and read what the
// program's locale says, and a program that embeds this may have a comma for the point.

#ifndef SINTER_RUNTIME_DECIMAL_H
#define SINTER_RUNTIME_DECIMAL_H

#include <charconv>
#include <clocale>
#include <string>
#include <string_view>

namespace sinter {

/// The shortest decimal number that reads as `value`: "0.1", "1e-07", "inf".
template <typename Float> std::string decimal(Float value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// False where `text` is more or less than one number.
inline bool readDecimal(std::string_view text, double &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// While it lives printf and strtod of this thread write and read a point.
class PlainNumbers {
public:
  PlainNumbers() : before(uselocale(plain())) {}
  ~PlainNumbers() { uselocale(before); }
  PlainNumbers(const PlainNumbers &) = delete;
  PlainNumbers &operator=(const PlainNumbers &) = delete;

private:
  static locale_t plain() {
    static locale_t made = newlocale(LC_NUMERIC_MASK, "C", duplocale(LC_GLOBAL_LOCALE));
    return made;
  }
  locale_t before;
};

} // namespace sinter

#endif
