// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors that a user chooses by name: a POSIX extended regular expression that is found anywhere in the name.

#ifndef SINTER_TOOLS_SINTER_NAMEPATTERN_H
#define SINTER_TOOLS_SINTER_NAMEPATTERN_H

#include "tools/sinter/Command.h"
#include "llvm/Support/Regex.h"
#include <memory>

namespace sinter::tool {

/// Null for an empty text. Throws Stop that names `flag` when it is no expression.
inline std::shared_ptr<llvm::Regex> parsePattern(const char *flag, const std::string &text) {
  if (text.empty())
    return nullptr;
  auto pattern = std::make_shared<llvm::Regex>(text);
  if (std::string error; !pattern->isValid(error))
    throw Stop(Exit::Usage, std::string(flag) + " requires a regular expression, got '" + text + "': " + error);
  return pattern;
}

/// The first few of `names`, for a message.
inline std::string listed(const std::vector<std::string> &names) {
  constexpr size_t most = 8;
  std::string list;
  for (size_t k = 0; k < std::min(most, names.size()); ++k)
    list += (k ? ", " : "") + names[k];
  return names.size() > most ? list + " and " + std::to_string(names.size() - most) + " more" : list;
}

} // namespace sinter::tool

#endif
