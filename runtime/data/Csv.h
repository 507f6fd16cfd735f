// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables as text: RFC 4180 with what is found in practice: CRLF, CR or LF, a byte order mark, quotes that are doubled
// inside quotes, missing values, empty lines (passed over), gzip by content. Fields are read straight into columns.

#ifndef SINTER_RUNTIME_DATA_CSV_H
#define SINTER_RUNTIME_DATA_CSV_H

#include "Dataset.h"

namespace sinter::data {

struct CsvColumn {
  std::string name;
  int32_t dtype = 0; // Bytes, I1 (0, 1, true, false), I32, I64, F32 or F64
};

struct CsvOptions {
  char separator = ','; // '\t' for TSV
  char quote = '"';     // 0: quotes are ordinary
  bool hasHeader = true;
  /// The columns to read: types by name, where there is a header in any order, else in theirs. Empty: all, with types
  /// from the first rows: i64 if all values are integers, f64 if numbers (or some are missing), else bytes.
  std::vector<CsvColumn> columns{};
  /// What stands for no value (without quotes): NaN in f32 and f64, `missingInteger` in integers and booleans where it
  /// is given (else an error), itself in bytes.
  std::vector<std::string> missing{"", "NA", "N/A", "NaN", "nan", "null", "NULL"};
  bool hasMissingInteger = false;
  int64_t missingInteger = 0;
  int64_t sampleRows = 1000;      // from which types are found
  int64_t maxRowBytes = 16 << 20; // of a row; a quote that is never closed ends there
  int64_t maxBadRows = 0;         // rows that are left out and counted where they cannot be read; -1: any number
};

/// The columns of `path` with their types: those of the options, or what the first rows say.
std::vector<CsvColumn> csvColumns(const std::string &path, const CsvOptions &options = {});

/// One record for each row, or `batchRows` rows as one record: quicker by far, as rows are never taken apart. The error
/// of a bad row that is not left out is skippable, and a batch ends before it.
Dataset readCsv(const std::string &path, const CsvOptions &options = {});
Dataset readCsvBatches(const std::string &path, int64_t batchRows, const CsvOptions &options = {});

} // namespace sinter::data

#endif
