// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/Weights.h"
#include "ir/Storage.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"
#include <cstring>

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

int64_t Weights::use(WeightRange range) {
  used.push_back(range);
  return range.offset;
}

std::vector<WeightRange> Weights::takeUsed() {
  llvm::sort(used,
             [](WeightRange a, WeightRange b) { return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes); });
  std::vector<WeightRange> merged;
  for (WeightRange range : used) {
    int64_t end = merged.empty() ? -1 : merged.back().offset + merged.back().bytes;
    if (end >= 0 && range.offset <= static_cast<int64_t>(llvm::alignTo(end, 64)))
      merged.back().bytes = std::max(end, range.offset + range.bytes) - merged.back().offset;
    else
      merged.push_back(range);
  }
  used.clear();
  return merged;
}

WeightRange Weights::place(ArrayRef<char> content) {
  uint64_t hash = llvm::xxh3_64bits(ArrayRef(reinterpret_cast<const uint8_t *>(content.data()), content.size()));
  // The two largest keys are reserved by DenseMap.
  auto &same = byContent[hash >> 2];
  for (auto [offset, bytes] : same)
    if (bytes == static_cast<int64_t>(content.size()) && !std::memcmp(blob.data() + offset, content.data(), bytes))
      return {offset, bytes};
  int64_t offset = llvm::alignTo(blob.size(), 64);
  blob.resize(offset);
  blob.insert(blob.end(), content.begin(), content.end());
  same.emplace_back(offset, content.size());
  return {offset, static_cast<int64_t>(content.size())};
}

FailureOr<int64_t> Weights::add(ElementsAttr value) {
  auto [it, isNew] = known.try_emplace({value, StringAttr()}, WeightRange());
  if (!isNew)
    return use(it->second);
  FailureOr<HostTensor> tensor = HostTensor::fromAttr(value);
  if (failed(tensor))
    return failure();
  if (isPacked(value.getElementType()))
    return use(it->second = place(toStored(*tensor)));
  return use(it->second = place(ArrayRef(std::as_const(*tensor).data(), tensor->numBytes())));
}

FailureOr<int64_t> Weights::add(ElementsAttr value, const Packing &packing) {
  auto [it, isNew] = known.try_emplace({value, StringAttr::get(value.getContext(), packing.tag)}, WeightRange());
  if (!isNew)
    return use(it->second);
  FailureOr<HostTensor> tensor = HostTensor::fromAttr(value);
  if (failed(tensor))
    return failure();
  const HostTensor packed = packing.pack(*tensor);
  return use(it->second = place(ArrayRef(packed.data(), packed.numBytes())));
}
