// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The weights section while a graph is saved: each distinct content once, written from where it is.

#ifndef SINTER_IR_FILE_WEIGHTS_H
#define SINTER_IR_FILE_WEIGHTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <string>
#include <vector>

namespace sinter::file {

class WeightTable {
public:
  /// The index of `content`, which must outlive the table unless `owner` holds it. Equal contents have one index.
  uint32_t add(llvm::ArrayRef<char> content, std::shared_ptr<std::vector<char>> owner = nullptr);

  struct Range {
    uint64_t offset; // from the start of the section
    llvm::ArrayRef<char> content;
  };
  llvm::ArrayRef<Range> ranges() const { return entries; }
  /// Of the section, without padding after the last weight.
  uint64_t numBytes() const { return entries.empty() ? 0 : entries.back().offset + entries.back().content.size(); }

private:
  llvm::SmallVector<Range, 0> entries;
  llvm::SmallVector<std::shared_ptr<std::vector<char>>, 0> owners;
  llvm::DenseMap<uint64_t, llvm::SmallVector<uint32_t, 1>> bySample;
};

/// Pieces that become one file, each after zeros up to its offset; offsets do not decrease.
struct FilePiece {
  uint64_t offset;
  llvm::ArrayRef<char> content;
};
/// Writes `path` by a rename, so that it is there whole or not at all. False with the reason in `error`, which names
/// the path.
bool writePieces(llvm::StringRef path, llvm::ArrayRef<FilePiece> pieces, std::string &error);

} // namespace sinter::file

#endif
