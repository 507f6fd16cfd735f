// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a training walks through: an epoch of batches whose columns are called as the inputs of the step. Which rows a
// batch has is a function of its number and the seed, so that the number of steps alone says where a training is.

#ifndef SINTER_RUNTIME_TRAIN_BATCHES_H
#define SINTER_RUNTIME_TRAIN_BATCHES_H

#include "../data/Dataset.h"
#include <optional>

namespace sinter::train {

class Batches {
public:
  Batches() = default;
  /// `from(k)` is an epoch from its batch `k` on.
  Batches(std::function<data::Dataset(int64_t first)> from, int64_t perEpoch)
      : from(std::move(from)), count(perEpoch) {}
  /// A data set of batches, which are counted in one pass where `perEpoch` is not given.
  explicit Batches(const data::Dataset &dataset, int64_t perEpoch = -1);

  bool isEmpty() const { return !from; }
  int64_t perEpoch() const { return count; }
  data::Dataset startingAt(int64_t first) const { return from(first); }

private:
  std::function<data::Dataset(int64_t)> from;
  int64_t count = 0;
};

/// How samples become batches.
struct BatchPlan {
  int64_t size = 32;
  bool dropsRest = false; // the step takes batches of one size only
  std::optional<uint64_t> shuffle{};
};

/// Which samples: all, or those that a validation leaves to training, or takes.
struct Share {
  enum Part { All, Training, Validation } part = All;
  double validation = 0;
  uint64_t seed = 0;

  /// As data::Dataset::split does.
  bool has(int64_t sample) const;
  /// The numbers of those below `count`.
  std::vector<int64_t> of(int64_t count) const;
};

/// One array of samples.
struct ArrayColumn {
  std::string name, path; // of an npy file
  int64_t rows = 1;       // of the file in each sample
};

/// Batches of arrays, in memory where all of them take at most `memoryBytes`, else read as they are needed.
/// `samples` are those of the files before the share.
Batches arrayBatches(const std::vector<ArrayColumn> &columns, int64_t samples, const BatchPlan &plan,
                     const Share &share, int64_t memoryBytes);

/// Steps in an epoch of `samples`.
int64_t stepsOf(int64_t samples, const BatchPlan &plan);

} // namespace sinter::train

#endif
