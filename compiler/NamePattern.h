// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors that a user chooses by name: a POSIX extended regular expression that is found anywhere in the name.

#ifndef SINTER_COMPILER_NAMEPATTERN_H
#define SINTER_COMPILER_NAMEPATTERN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"
#include <memory>
#include <string>

namespace sinter {

/// Null for an empty text, and with an `error` that begins with `of` when it is no expression.
inline std::shared_ptr<llvm::Regex> compilePattern(const std::string &of, const std::string &text, std::string &error) {
  if (text.empty())
    return nullptr;
  auto pattern = std::make_shared<llvm::Regex>(text);
  std::string reason;
  if (pattern->isValid(reason))
    return pattern;
  error = of + " requires a regular expression, got '" + text + "': " + reason;
  return nullptr;
}

/// The first few of `names`, for a message.
inline std::string listed(llvm::ArrayRef<std::string> names) {
  constexpr size_t most = 8;
  std::string list = llvm::join(names.take_front(most), ", ");
  return names.size() > most ? list + " and " + std::to_string(names.size() - most) + " more" : list;
}

} // namespace sinter

#endif
