// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What feeds a training step with records that are read as they are needed. Which ones a step sees is a function of its
// number and the seed, as with arrays.

#ifndef SINTER_TOOLS_SINTER_RECORDFEED_H
#define SINTER_TOOLS_SINTER_RECORDFEED_H

#include "runtime/data/Dataset.h"
#include "tools/sinter/Command.h"
#include "tools/sinter/Data.h"
#include <optional>

namespace sinter::tool {

/// Runs `body`; errors of the data library end the command with their class.
template <typename Body> auto guarded(Body body) {
  try {
    return body();
  } catch (const data::Error &error) {
    stopFor(error);
  }
}

class RecordFeed {
public:
  explicit RecordFeed(std::string path) : path(std::move(path)) {}
  virtual ~RecordFeed() = default;

  /// Samples in all.
  virtual int64_t rows() const = 0;
  /// Throws Stop unless every batch has what `type`, an input of the step, takes.
  virtual void require(const sinter_tensor_type &type) = 0;
  /// What an input is given; valid until next().
  virtual sinter_tensor column(const sinter_tensor_type &type) const = 0;

  /// Goes to batch `first` of an epoch: batches of `size` rows, with a seed in an order of its own.
  void begin(int64_t epoch, int64_t first, int64_t size, std::optional<uint64_t> seed) {
    guarded([&] { iterator = batches(first, size, seed).begin(epoch); });
  }
  /// Makes the next batch the current one, which has `rows` rows.
  void next(int64_t rows) {
    guarded([&] {
      batch = {};
      if (!iterator->next(batch) || batch.value(0).rows() != rows)
        throw data::Error(SINTER_CORRUPT, "the data are required to stay as they are while they are read",
                          {path, -1, -1});
    });
  }

protected:
  virtual data::Dataset batches(int64_t first, int64_t size, std::optional<uint64_t> seed) const = 0;

  std::string path;
  data::Record batch;

private:
  std::unique_ptr<data::Iterator> iterator;
};

} // namespace sinter::tool

#endif
