// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Escapes.h"

std::string sinter::escapeControls(std::string_view text, std::string_view kept) {
  static const char digits[] = "0123456789abcdef";
  std::string out;
  auto escape = [&](unsigned char byte) {
    out += "\\x";
    out += digits[byte >> 4];
    out += digits[byte & 15];
  };
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    bool isControl = byte < 0x20 || byte == 0x7f;
    // Some terminals take the bare bytes for it, which no valid UTF-8 has in front of nothing.
    bool isSecondSet = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
                       static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (isSecondSet) {
      escape(byte);
      escape(static_cast<unsigned char>(text[++i]));
    } else if (isControl && !(byte && kept.find(text[i]) != std::string_view::npos)) {
      if (byte == '\n')
        out += "\\n";
      else
        escape(byte);
    } else {
      out += text[i];
    }
  }
  return out;
}
