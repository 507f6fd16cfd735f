// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Patterns of names that flags give.

#ifndef SINTER_TOOLS_SINTER_NAMEPATTERN_H
#define SINTER_TOOLS_SINTER_NAMEPATTERN_H

#include "compiler/NamePattern.h"
#include "tools/sinter/Command.h"

namespace sinter::tool {

/// Null for an empty text. Throws Stop that names `flag` when it is no expression.
inline std::shared_ptr<llvm::Regex> parsePattern(const char *flag, const std::string &text) {
  std::string error;
  std::shared_ptr<llvm::Regex> pattern = compilePattern(flag, text, error);
  if (!error.empty())
    throw Stop(Exit::Usage, error);
  return pattern;
}

} // namespace sinter::tool

#endif
