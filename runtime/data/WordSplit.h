// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text cut into the words that GPT-2's pattern matches, without a library of patterns:
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+

#ifndef SINTER_RUNTIME_DATA_WORDSPLIT_H
#define SINTER_RUNTIME_DATA_WORDSPLIT_H

#include <cstddef>
#include <string_view>

namespace sinter::data {

/// Where the word ends that begins at `at`, which is within the text. Bytes that are no UTF-8 are neither letters nor
/// numbers nor blanks, one by one.
size_t wordEnd(std::string_view text, size_t at);

} // namespace sinter::data

#endif
