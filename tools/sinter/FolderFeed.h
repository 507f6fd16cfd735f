// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Feeds a training step from a folder of pictures or sounds: an input of integers is the label, the number of the
// folder within it that a file is in; an input of floats is what the file holds.

#ifndef SINTER_TOOLS_SINTER_FOLDERFEED_H
#define SINTER_TOOLS_SINTER_FOLDERFEED_H

#include "tools/sinter/RecordFeed.h"

namespace sinter::tool {

class FolderFeed : public RecordFeed {
public:
  explicit FolderFeed(const std::string &folder);

  int64_t rows() const override { return source->size(); }
  void require(const sinter_tensor_type &type) override;
  sinter_tensor column(const sinter_tensor_type &type) const override { return batch[type.name].tensor(); }

  /// How an input takes what a file holds.
  struct Input {
    std::string name;
    int32_t dtype = SINTER_F32;
    std::vector<int64_t> dims{}; // of a sample, -1: as it comes
    bool isLabel = false;
  };

protected:
  data::Dataset batches(int64_t first, int64_t size, std::optional<uint64_t> seed) const override;

private:
  std::shared_ptr<const data::Source> source;
  std::vector<Input> inputs;
};

} // namespace sinter::tool

#endif
