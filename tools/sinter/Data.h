// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_TOOLS_SINTER_DATA_H
#define SINTER_TOOLS_SINTER_DATA_H

#include "runtime/data/Error.h"
#include "tools/sinter/Command.h"

namespace sinter::tool {

/// Throws Stop with an error of the data library and the class of its status.
[[noreturn]] void stopFor(const data::Error &error);

/// Sets entries of `to` from NAME=WHAT, each name once. Throws Stop that names the flag and what was wanted.
void readEntries(const std::vector<std::string> &texts, const std::string &flag, const std::string &wanted,
                 std::map<std::string, std::string> &to);

} // namespace sinter::tool

#endif
