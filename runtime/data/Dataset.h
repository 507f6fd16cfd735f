// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dataset says where records come from and what becomes of them; it holds no data. A loader walks through it, once,
// and can stop anywhere: `save` gives some bytes, from which `load` of a loader over the same dataset goes on with
// exactly the records that would have followed, with any number of threads.
//
//   namespace sn = sinter;
//   auto table = sn::data::readCsv("train.csv");
//   sn::data::Loader loader(table.shuffle(10000, 7).map(scale, {.threads = 2}).batch({.size = 32}).repeat(3));
//   for (sn::data::Record batch; loader.next(batch);)
//     step(batch["x"].tensor(), batch["y"].tensor());
//
// How it stays exact: a stage asks its upstream for records in one order only, each random choice is a function of
// (seed, epoch, position) (Random.h), and what a stage holds back is never saved but read again: it keeps the state
// that its upstream had before the oldest record it holds, and how many followed.

#ifndef SINTER_RUNTIME_DATA_DATASET_H
#define SINTER_RUNTIME_DATA_DATASET_H

#include "Record.h"
#include "State.h"
#include <functional>
#include <map>
#include <set>

namespace sinter::data {

/// What a stage has done and waited for so far.
struct StageStatistics {
  std::string stage;             // "map", "batch"
  int64_t records = 0;           // handed on
  int64_t skipped = 0;           // bad records that were left out
  double secondsForData = 0;     // that who reads from it has waited for a record of it
  double secondsForConsumer = 0; // that its threads have waited for somebody to take what is ready
};

/// A walk through a dataset. Belongs to one thread at a time.
class Iterator {
public:
  virtual ~Iterator() = default;
  /// Makes `record` the next one and returns true, or returns false at the end, then always. After an Error that is
  /// skippable it may be called again.
  virtual bool next(Record &record) = 0;
  /// Whether next() would give what is in memory, which the thread that called it last has read there.
  virtual bool isAtHand() const { return false; }
  virtual void save(StateWriter &writer) const = 0;
  /// On an iterator that has read nothing.
  virtual void load(StateReader &reader) = 0;
  /// Appends the statistics of what is upstream, then its own.
  virtual void report(std::vector<StageStatistics> &stages) const = 0;
};

/// A stage or source of a dataset: immutable, shared by threads.
class Node {
public:
  virtual ~Node() = default;
  virtual std::unique_ptr<Iterator> begin(int64_t epoch) const = 0;
  /// What decides about the order of records, as text: states fit to equal ones. Functions are called by their place
  /// and the text that map() is given.
  virtual std::string signature() const = 0;
};

/// Records that can be read in any order, by several threads.
class Source {
public:
  virtual ~Source() = default;
  virtual int64_t size() const = 0;
  virtual Record read(int64_t i) const = 0;
  virtual std::string signature() const = 0;
};

struct MapOptions {
  int threads = 0;    // that call the function, beside the reader's, which does so where it waits; 0: the reader's only
  int capacity = 0;   // records that are read ahead at most; 0: four for each thread
  std::string text{}; // what tells the function from others, in the signature: a state fits to equal ones
};

/// How a column whose records differ in size becomes one tensor.
struct Pad {
  std::vector<int64_t> dims{}; // of the padded record, -1: the largest of the batch; empty: all are
  double number = 0;           // what is put behind; strings are padded with empty ones
};

struct BatchOptions {
  int64_t size = 1;
  bool dropRemainder = false;
  std::map<std::string, Pad> pads{};
  std::set<std::string> ragged{}; // columns of rank 1 or more that become ragged
};

struct BucketOptions {
  std::string column;              // whose first dim, or length as a string, is the length
  std::vector<int64_t> boundaries; // bucket i holds lengths below boundaries[i]; the last one all others
  std::vector<int64_t> sizes;      // of the batches, one more than boundaries
  bool dropRemainder = false;
  std::map<std::string, Pad> pads{};
  std::set<std::string> ragged{};
};

struct ShuffleAllOptions {
  uint64_t seed = 0;
  int64_t memoryBytes = 256 << 20; // of records held at once; what exceeds it goes to a file without a name
  std::string folder = "/tmp";     // for that file
};

struct ShuffleRowsOptions {
  int64_t window = 0; // rows that change places; 0: none do
  uint64_t seed = 0;
  int64_t size = 1; // rows of a batch
  bool dropRemainder = false;
};

/// A record's place in the pass through the data, for functions that draw random numbers.
struct Position {
  int64_t epoch, record;
};

class Dataset {
public:
  using Map = std::function<Record(const Record &)>;
  using MapAt = std::function<Record(const Record &, Position)>;
  using Filter = std::function<bool(const Record &)>;

  explicit Dataset(std::shared_ptr<const Node> node) : node(std::move(node)) {}

  /// The records of a source in order, or with a seed in an order of its own for each epoch (8 bytes a record).
  static Dataset from(std::shared_ptr<const Source> source);
  static Dataset shuffledFrom(std::shared_ptr<const Source> source, uint64_t seed);
  /// Records of one column `name`: i64 scalars 0 to count - 1.
  static Dataset range(int64_t count, const std::string &name = "x");
  /// A record for each row of the columns, which have equally many.
  static Dataset fromRows(const Record &columns);

  /// `function` is called on several threads at once and must not depend on their order.
  Dataset map(Map function, MapOptions options = {}) const;
  Dataset mapAt(MapAt function, MapOptions options = {}) const;
  Dataset filter(Filter predicate) const;
  /// Several records as one, with one more dim at the front. Records must agree in columns, dtypes and, where no pad
  /// and no ragged column says otherwise, dims.
  Dataset batch(BatchOptions options) const;
  Dataset unbatch() const;
  /// Batches of records of similar length, each given out when it is full; at the end what is left, shortest first.
  Dataset bucketByLength(BucketOptions options) const;
  /// Each run of `window` records in an order of its own. Holds them in memory.
  Dataset shuffle(int64_t window, uint64_t seed) const;
  /// As unbatch().shuffle(window, seed).batch({size, dropRemainder}) for records that hold rows, in the same order, and
  /// many times as quick: rows are copied from record to record. Ragged columns stay ragged.
  Dataset shuffleRows(ShuffleRowsOptions options) const;
  /// All records of a pass in a random order, through a file where they exceed memory.
  Dataset shuffleAll(ShuffleAllOptions options) const;
  /// Reads up to `records` ahead on a thread of its own.
  Dataset prefetch(int records) const;
  /// The whole `times` times, -1: for ever. Each pass is an epoch: shuffles differ.
  Dataset repeat(int64_t times) const;
  Dataset take(int64_t count) const;
  Dataset skip(int64_t count) const;
  /// Keeps the records of the first pass, at most `maxBytes` of them (then it is an error).
  Dataset cache(int64_t maxBytes) const;
  /// Part `part` of a split into shares that sum to 1. Each record belongs to one part, in every epoch.
  Dataset split(std::vector<double> shares, int part, uint64_t seed) const;
  /// Records number rank, rank + world, ...
  Dataset shard(int64_t rank, int64_t world) const;
  /// Leaves out records that cannot be read, at most `most` of them in a pass (-1: any number), and counts them.
  Dataset skipErrors(int64_t most = -1) const;

  static Dataset concatenate(std::vector<Dataset> parts);
  /// `block` records of each in turn, `cycle` of them open at once.
  static Dataset interleave(std::vector<Dataset> parts, int64_t cycle, int64_t block = 1);
  /// The columns of all side by side, as long as all have records. Their names are distinct.
  static Dataset zip(std::vector<Dataset> parts);

  std::unique_ptr<Iterator> begin(int64_t epoch = 0) const { return node->begin(epoch); }
  std::string signature() const { return node->signature(); }

private:
  std::shared_ptr<const Node> node;
};

/// One walk through a dataset.
class Loader {
public:
  explicit Loader(const Dataset &dataset) : signature(dataset.signature()), iterator(dataset.begin()) {}

  bool next(Record &record);
  /// The bytes that `load` takes, with a checksum.
  std::string save() const;
  /// On a new loader. Throws, and leaves the loader at the start, when the state is damaged or of another dataset.
  void load(std::string_view state);
  /// A row for each stage from the source on, then one for the whole: how long next() took (waiting for data) and how
  /// long its caller did something else (waiting for compute).
  std::vector<StageStatistics> statistics() const;
  /// Bad records that were left out, of all stages.
  int64_t skipped() const;

private:
  std::string signature;
  std::unique_ptr<Iterator> iterator;
  int64_t records = 0;
  double inside = 0, outside = 0, lastReturn = -1;
};

/// `statistics` as a table, with a last line that names the side that waits.
std::string describe(const std::vector<StageStatistics> &statistics);

} // namespace sinter::data

#endif
