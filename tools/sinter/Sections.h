// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a .smod holds, as sinter inspect shows it.

#ifndef SINTER_TOOLS_SINTER_SECTIONS_H
#define SINTER_TOOLS_SINTER_SECTIONS_H

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sinter::tool {

/// The sections of a module, in order: kind, bytes, and of code back end, requirements, the bytes of weights that it
/// reads and whether this machine takes it; with digests also the SHA-256 of each and whether the file states it.
/// `refusal` says why this machine takes none, or is empty. Throws Stop for a file that is no module or is damaged.
nlohmann::json readSections(const std::string &path, bool digests, std::string &refusal);

/// The SHA-256 of a file. Throws Stop when it cannot be read, and, where `expected` is not empty, when it is another.
std::string digestOf(const std::string &path, const std::string &expected);

/// One line for each section.
void printSections(const nlohmann::json &sections);

} // namespace sinter::tool

#endif
