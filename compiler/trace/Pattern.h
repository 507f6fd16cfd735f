// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// POSIX extended regular expressions over names, as `sinter train-step` reads them.

#ifndef SINTER_TRACE_PATTERN_H
#define SINTER_TRACE_PATTERN_H

#include "host.hpp"
#include <regex.h>
#include <string>

namespace sinter::inline SINTER_HOST::detail {

struct Pattern {
  explicit Pattern(const std::string &text) : valid(regcomp(&compiled, text.c_str(), REG_EXTENDED | REG_NOSUB) == 0) {}
  Pattern(const Pattern &) = delete;
  ~Pattern() {
    if (valid)
      regfree(&compiled);
  }
  bool finds(const std::string &name) const { return valid && regexec(&compiled, name.c_str(), 0, nullptr, 0) == 0; }
  regex_t compiled;
  bool valid;
};

} // namespace sinter::inline SINTER_HOST::detail

#endif
