// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of any format that this library reads, and those that it writes, by their names.

#ifndef SINTER_RUNTIME_DATA_OPEN_H
#define SINTER_RUNTIME_DATA_OPEN_H

#include "TfRecord.h"

namespace sinter::data {

enum class Format { Csv, Tsv, JsonLines, Npy, Npz, Safetensors, Idx, TfRecord, Text, Folder };

/// By the last suffix but `.gz` and `.zlib`: .csv, .tsv, .jsonl (.ndjson), .npy, .npz, .safetensors, .idx (also
/// `-ubyte`), .tfrecord (.tfrecords), .txt; a folder of pictures and sounds. Throws with these names for another.
Format formatOf(const std::string &path);
const char *formatName(Format format);

/// The features of a TFRecord's first `sampleRecords` tf.Examples: each of the kind that it has there, scalar or with
/// dims where all have as many elements, else open; with a default where some lack it.
std::vector<Feature> sampledFeatures(const std::string &path, int64_t sampleRecords = 1000);

/// The records of a file as they come, with types and features that its first records say. Of a folder: `file`, `label`
/// and `image` or `sound`; of a text: `text`, a line.
Dataset openFile(const std::string &path);
/// The same as batches of `rows` rows; features whose sizes differ are ragged columns.
Dataset openFileBatches(const std::string &path, int64_t rows);

/// Batches of the features alone, typed as these say: of tables and JSON lines the columns called so, those of open
/// dims ragged; of arrays those called so, as they are.
Dataset openFeatures(const std::string &path, int64_t rows, const std::vector<Feature> &features);

/// A record as an object of JSON on one line. Bytes that are no UTF-8 become U+FFFD, or, where `isStrict`, are an
/// error.
std::string jsonOf(const Record &record, bool isStrict);

/// How many records were written, and bad ones that the dataset left out.
struct Written {
  int64_t records = 0, skipped = 0;
};

/// Writes the records of `dataset` in the format that the name of `path` says. csv and
/// tsv take scalars, npy one column; arrays (npy, npz, safetensors) take numbers of one size a column and are held in
/// memory, at most `maxBytes`.
Written writeFile(const Dataset &dataset, const std::string &path, int64_t maxBytes = int64_t(4) << 30);

} // namespace sinter::data

#endif
