// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text as records: lines or blocks of lines, and chunks of tokens that a language model trains on.

#ifndef SINTER_RUNTIME_DATA_TEXT_H
#define SINTER_RUNTIME_DATA_TEXT_H

#include "Dataset.h"
#include "Tokenizer.h"

namespace sinter::data {

struct TextOptions {
  int64_t blockBytes =
      0; // 0: a record a line, without its end; else whole lines of about so many bytes, with their ends
  int64_t maxLineBytes = 16 << 20;
  std::string column = "text";
};

/// The lines of a file, gzip-compressed or not, as strings of any bytes.
Dataset readText(const std::string &path, const TextOptions &options = {});

/// A function for map(): the tokens of `column` as i32 [tokens] in `result`, which takes its place.
Dataset::Map encodeColumn(const Tokenizer &tokenizer, const std::string &column = "text",
                          const std::string &result = "tokens");

struct ChunkOptions {
  int64_t size = 256;            // tokens
  int threads = 0;               // that encode
  std::string column = "text";   // of the records read
  std::string result = "tokens"; // i32 [size]
};

/// All tokens of all records, one behind the other, in chunks; what is left at the end is left out.
Dataset tokenChunks(const Dataset &texts, const Tokenizer &tokenizer, const ChunkOptions &options = {});

} // namespace sinter::data

#endif
