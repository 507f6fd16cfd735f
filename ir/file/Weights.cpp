// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/file/Weights.h"
#include "ir/file/Header.h"
#include "runtime/output.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/xxhash.h"
#include <cstring>

using namespace llvm;
using namespace sinter::file;

/// A hash of the size and of some bytes all over: weights that differ nearly always differ there, and equal candidates
/// are compared in full. Hashing everything would cost as much as writing it.
static uint64_t sampleHash(ArrayRef<char> content) {
  constexpr size_t kPlaces = 32, kBytes = 32;
  uint8_t sample[sizeof(uint64_t) + kPlaces * kBytes] = {};
  uint64_t size = content.size();
  std::memcpy(sample, &size, sizeof size);
  size_t used = sizeof size;
  if (size <= kPlaces * kBytes) {
    if (size)
      std::memcpy(sample + used, content.data(), size);
    used += size;
  } else {
    for (size_t place = 0; place < kPlaces; ++place, used += kBytes)
      std::memcpy(sample + used, content.data() + (size - kBytes) / (kPlaces - 1) * place, kBytes);
  }
  // The two greatest keys are reserved by DenseMap.
  return xxh3_64bits(ArrayRef<uint8_t>(sample, used)) >> 1;
}

uint32_t WeightTable::add(ArrayRef<char> content, std::shared_ptr<std::vector<char>> owner) {
  SmallVector<uint32_t, 1> &candidates = bySample[sampleHash(content)];
  for (uint32_t index : candidates) {
    ArrayRef<char> other = entries[index].content;
    if (other.size() == content.size() && (content.empty() || other.data() == content.data() ||
                                           std::memcmp(other.data(), content.data(), content.size()) == 0))
      return index;
  }
  uint32_t index = static_cast<uint32_t>(entries.size());
  candidates.push_back(index);
  entries.push_back({alignUp(numBytes()), content});
  owners.push_back(std::move(owner));
  return index;
}

bool sinter::file::writePieces(StringRef path, ArrayRef<FilePiece> pieces, std::string &error) {
  static const char zeros[kAlignment] = {};
  sinter_output *output = nullptr;
  sinter_status_code status = sinter_output_create(path.str().c_str(), /*executable=*/0, &output);
  uint64_t at = 0;
  for (const FilePiece &piece : pieces) {
    if (status || piece.content.empty())
      continue;
    assert(piece.offset >= at && piece.offset - at < kAlignment && "pieces are in order and padded to the alignment");
    status = sinter_output_append(output, zeros, static_cast<int64_t>(piece.offset - at));
    if (!status)
      status = sinter_output_append(output, piece.content.data(), static_cast<int64_t>(piece.content.size()));
    at = piece.offset + piece.content.size();
  }
  if (output)
    status = sinter_output_finish(output, status);
  if (status)
    error = sinter_last_error();
  return status == SINTER_OK;
}
