// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TFRecord: records of any bytes, each as its length (8 bytes), the masked CRC-32C of the length, the bytes, and their
// masked CRC-32C, all little-endian; as a whole gzip- or zlib-compressed or not.
// https://www.tensorflow.org/tutorials/load_data/tfrecord
//
// tf.Example and tf.SequenceExample, what the records usually hold, are protocol buffers (Example.cpp).

#ifndef SINTER_RUNTIME_DATA_TFRECORD_H
#define SINTER_RUNTIME_DATA_TFRECORD_H

#include "Dataset.h"

namespace sinter::data {

enum class RecordCompression { None, Gzip, Zlib, ByName }; // by name: `.gz` and `.zlib`, else none

/// What ByName means for a path; any other as it is.
RecordCompression compressionOf(const std::string &path, RecordCompression compression);

struct TfRecordOptions {
  RecordCompression compression = RecordCompression::ByName;
  int64_t maxRecordBytes = 256 << 20;
  std::string column = "record";
};

/// Records of one column of bytes. A wrong checksum of the bytes, too many of them, and an end within a record are
/// skippable errors; a wrong checksum of the length is not, as nobody knows where the next record begins.
Dataset readTfRecords(const std::string &path, const TfRecordOptions &options = {});
/// Up to `batchRecords` of them as one record, a vector of bytes: quicker by far where records are small. What follows
/// a bad record is in the next batch.
Dataset readTfRecordBatches(const std::string &path, int64_t batchRecords, const TfRecordOptions &options = {});

/// Writes a file of records. It appears under its name when it is closed, whole.
class TfRecordWriter {
public:
  explicit TfRecordWriter(const std::string &path, RecordCompression compression = RecordCompression::ByName);
  /// Without close() nothing is written.
  ~TfRecordWriter();
  TfRecordWriter(const TfRecordWriter &) = delete;
  TfRecordWriter &operator=(const TfRecordWriter &) = delete;
  void write(std::string_view record);
  void close();

private:
  struct Writer;
  std::unique_ptr<Writer> writer;
};

/// A feature of a tf.Example as a column. Kinds are told by dtype: I64 (int64_list; also I32 and I1, which are
/// narrowed), F32 (float_list; also F64), Bytes (bytes_list).
struct Feature {
  std::string name;
  int32_t dtype = SINTER_F32;
  std::vector<int64_t> dims{}; // -1 for one dim: as many as there are
  bool hasDefault = false;     // for records that lack it
  double number = 0;           // the default; strings are empty
  bool isSequence = false;     // of a SequenceExample's feature lists: dims with the steps in front
};

/// A function for map(): the bytes of `column` as a tf.Example, or as a tf.SequenceExample (context features, and
/// feature lists where isSequence says so), become the columns of `features`.
Dataset::Map parseExample(std::vector<Feature> features, const std::string &column = "record");
Dataset::Map parseSequenceExample(std::vector<Feature> features, const std::string &column = "record");

/// The same for a batch of records of bytes, several times as quick: features of known dims become columns with one
/// more dim, those whose first dim is open ragged ones. A record that is wrong makes the batch an error that names it;
/// readExampleBatches loses no other one with it.
///   readTfRecordBatches(path, 512).shuffleRows({.window = 10000, .seed = 7, .size = 512}).map(
///       parseExamples(features), {.threads = 1, .capacity = 48})
/// That thread and the one that reads the result take turns, where that one waits: with room for two windows (of 20
/// batches each) one reads a window while the other parses what it has read.
Dataset::Map parseExamples(std::vector<Feature> features, const std::string &column = "record");

/// Up to `rows` tf.Examples of a file at a time, parsed so. Errors name the file and the record; one that is no such
/// example is skippable, and a batch ends before it, so that no other record is lost with it.
Dataset readExampleBatches(const std::string &path, int64_t rows, const std::vector<Feature> &features,
                           const TfRecordOptions &options = {});

/// The features that a serialized tf.Example has, each with dims {-1}.
std::vector<Feature> exampleFeatures(std::string_view example);
/// Whether it is a SequenceExample with feature lists, which exampleFeatures passes over.
bool hasFeatureLists(std::string_view example);

/// A record as a serialized tf.Example: integers and booleans as int64_list, floats as float_list, strings as
/// bytes_list, dims forgotten. Of a SequenceExample the columns named `sequences` are feature lists, a step for each
/// row.
std::string makeExample(const Record &record);
std::string makeSequenceExample(const Record &record, const std::set<std::string> &sequences);

} // namespace sinter::data

#endif
