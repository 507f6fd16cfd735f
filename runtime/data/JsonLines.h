// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A JSON object a line (RFC 8259), gzip-compressed or not. Members are columns: numbers, strings, truths, and arrays of
// one of these, nested ones rectangular; of others, such as objects, the text.

#ifndef SINTER_RUNTIME_DATA_JSONLINES_H
#define SINTER_RUNTIME_DATA_JSONLINES_H

#include "Dataset.h"

namespace sinter::data {

struct JsonColumn {
  std::string name;
  int32_t dtype = 0;   // Bytes, I1, I64, F32 or F64
  bool isJson = false; // of any values the text; dtype is Bytes
};

struct JsonOptions {
  /// The members to read. Empty: all of the first lines, with types from there: i64 where all are integers and none is
  /// missing, f64 for other numbers, i1 for truths, else bytes; the text of all
  /// values where one is an object or an array that is not rectangular.
  std::vector<JsonColumn> columns{};
  int64_t sampleLines = 1000;
  int64_t maxLineBytes = 16 << 20;
};

/// One record for each line that is not blank. A member that is null or missing is NaN in f32 and f64, the empty string
/// in bytes, else an error. Errors of a line are skippable.
Dataset readJsonLines(const std::string &path, const JsonOptions &options = {});

} // namespace sinter::data

#endif
