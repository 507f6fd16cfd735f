// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Feature columns: from what a table or a tf.Example holds to what a graph takes, by a description that is saved as
// JSON with the statistics that were fitted, so that training and what runs later do the same.
//
//   {"columns": [
//     {"name": "age", "kind": "numeric", "key": "age", "normalize": true, "into": "dense"},
//     {"name": "age_range", "kind": "bucketed", "key": "age", "boundaries": [18, 35, 65], "as": "indicator"},
//     {"name": "city", "kind": "vocabulary", "key": "city", "most": 1000, "oov": 1, "as": "embedding", "dim": 8},
//     {"name": "user", "kind": "hashed", "key": "user", "buckets": 100000, "as": "embedding", "dim": 16},
//     {"name": "both", "kind": "crossed", "keys": ["city", "age_range"], "buckets": 5000, "as": "embedding", "dim": 4},
//     {"name": "label", "kind": "numeric", "key": "label"}]}
//
// Strings are hashed by FarmHash's Fingerprint64, integers as their decimal text, and crosses join fingerprints, all as
// TensorFlow does (tf.strings.to_hash_bucket_fast, tf.sparse.cross_hashed).

#ifndef SINTER_RUNTIME_DATA_COLUMNS_H
#define SINTER_RUNTIME_DATA_COLUMNS_H

#include "Csv.h"
#include "TfRecord.h"
#include <optional>

namespace sinter::data {

enum class ColumnKind { Numeric, Bucketed, Vocabulary, Hashed, Crossed, Identity };
/// What a column of ids becomes: itself, a count for each id (f32), or ids of rows of a table.
enum class ColumnForm { Ids, Indicator, Embedding };

struct FeatureColumn {
  std::string name; // of the result; `name`.length of a sequence holds its lengths
  ColumnKind kind = ColumnKind::Numeric;
  std::vector<std::string> keys{}; // features; of a cross also bucketed columns
  int32_t dtype = SINTER_F32;      // of the feature: f32, i64 or bytes
  int64_t size = 1;                // values of a feature; -1: any number (ragged)
  bool isSequence = false;         // any number of values, padded with 0 to the longest of the batch
  ColumnForm form = ColumnForm::Ids;
  std::string into{}; // numeric ones and indicators of one `into` become one matrix, in their order; empty: the name

  // Numeric. A missing value (NaN) becomes `missing`, else the mean where it is normalized, else it stays.
  bool isNormalized = false;
  std::optional<double> mean{}, deviation{}, missing{}; // (x - mean) / deviation, that of the whole population
  // Bucketed: id i has boundaries[i - 1] <= x < boundaries[i]. NaN is id -1.
  std::vector<double> boundaries{};
  int64_t quantiles = 0; // fitted: boundaries at equal shares
  // Vocabulary: value i is id i; others are spread over `oov` ids behind, or are -1.
  std::vector<std::string> values{};
  int64_t most = 0, least = 1, oov = 0; // fitted: so many of the most frequent, that come so often
  int64_t buckets = 0;                  // hashed, crossed, identity

  // Embedding: data for the graph.
  int64_t dim = 0;
  std::string combiner = "mean"; // sum, mean, sqrtn
  std::string table{};           // columns of one table share it; empty: the name

  /// Ids that can come, beside -1.
  int64_t numIds() const;
  bool isFitted() const;
};

/// A table of rows that columns with ids look up.
struct EmbeddingTable {
  std::string name, combiner;
  int64_t rows = 0, dim = 0;
  std::vector<std::string> columns{};
};

class FeatureColumns {
public:
  /// Throws where columns contradict themselves or each other.
  explicit FeatureColumns(std::vector<FeatureColumn> columns);
  /// From JSON; messages call it `name`.
  static FeatureColumns parse(const std::string &json, const std::string &name = "columns");
  static FeatureColumns load(const std::string &path);
  /// As JSON, with what was fitted.
  std::string text() const;
  void save(const std::string &path) const;

  const std::vector<FeatureColumn> &all() const { return columns; }
  std::vector<EmbeddingTable> tables() const;
  /// What tf.Examples and tables are parsed to.
  std::vector<Feature> features() const;
  std::vector<CsvColumn> csvColumns() const;

  bool isFitted() const;
  /// Means, deviations, quantiles and vocabularies that are not stated, from one pass over batches. A column keeps at
  /// most `maxValues` different values, or values for its quantiles. Returns how many bad records the dataset left out.
  int64_t fit(const Dataset &batches, int64_t maxValues = 10'000'000);
  /// What tells these columns, and what was fitted, from others: the text of map().
  std::string signature() const;
  /// A function for map(): a batch of features becomes a batch of columns. Throws where something is not fitted.
  Dataset::Map transform() const;

private:
  std::vector<FeatureColumn> columns;
};

} // namespace sinter::data

#endif
