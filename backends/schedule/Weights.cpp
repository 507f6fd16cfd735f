// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/Weights.h"
#include "backends/schedule/Threads.h"
#include "ir/Shape.h"
#include "ir/Storage.h"
#include "ir/file/FileBytes.h"
#include "ir/reference/HostTensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"
#include <atomic>
#include <cstring>
#include <new>
#include <sys/mman.h>

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

constexpr int64_t kWeightAlignment = 64;
constexpr int64_t kParallelBytes = 1 << 20; // less is written sooner than a thread starts
constexpr size_t kHugePageBytes = 2 << 20, kLeastHugeBytes = 4 * kHugePageBytes;

static std::align_val_t alignmentOf(size_t bytes) {
  return std::align_val_t(bytes < kLeastHugeBytes ? kWeightAlignment : kHugePageBytes);
}

char *schedule::allocateBuffer(size_t bytes) {
  auto *buffer = static_cast<char *>(::operator new(bytes, alignmentOf(bytes)));
  if (bytes >= kLeastHugeBytes)
    madvise(buffer, bytes, MADV_HUGEPAGE); // advice: without huge pages it is only slower
  return buffer;
}

void schedule::freeBuffer(char *buffer, size_t bytes) { ::operator delete(buffer, alignmentOf(bytes)); }

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

WeightRange Weights::place(Piece piece) {
  ArrayRef<char> content = piece.from.bytes;
  uint64_t hash = llvm::xxh3_64bits(ArrayRef(reinterpret_cast<const uint8_t *>(content.data()), content.size()));
  // The two largest keys are reserved by DenseMap.
  auto &same = byContent[hash >> 2];
  for (unsigned i : same)
    if (pieces[i].key == piece.key && pieces[i].from.bytes == content)
      return pieces[i].range;
  forgetMapped(content); // until it is written
  piece.range.offset = llvm::alignTo(size, kWeightAlignment);
  size = piece.range.offset + piece.range.bytes;
  same.push_back(pieces.size());
  pieces.push_back(std::move(piece));
  return pieces.back().range;
}

FailureOr<Weights::Elements> Weights::elementsOf(ElementsAttr value) {
  Type type = value.getElementType();
  auto resource = dyn_cast<DenseResourceElementsAttr>(value);
  AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
  if (blob && !isPacked(type) && !type.isInteger(1) &&
      static_cast<int64_t>(blob->getData().size()) == value.getNumElements() * byteWidth(type))
    return Elements{blob->getData(), nullptr};
  FailureOr<HostTensor> tensor = HostTensor::fromAttr(value);
  if (failed(tensor))
    return failure();
  if (isPacked(type)) {
    auto stored = std::make_shared<std::vector<char>>(toStored(*tensor));
    return Elements{*stored, stored};
  }
  auto held = std::make_shared<const HostTensor>(*tensor);
  return Elements{ArrayRef(held->data(), held->numBytes()), held};
}

FailureOr<int64_t> Weights::add(ElementsAttr value) {
  auto [it, isNew] = known.try_emplace({value, StringAttr()}, WeightRange());
  if (!isNew)
    return use(it->second);
  FailureOr<Elements> elements = elementsOf(value);
  if (failed(elements))
    return failure();
  auto bytes = static_cast<int64_t>(elements->bytes.size());
  return use(it->second = place({{0, bytes}, std::move(*elements), {}, {}}));
}

FailureOr<int64_t> Weights::add(ElementsAttr value, const Packing &packing) {
  auto tag = StringAttr::get(packing.tag, value.getType());
  auto [it, isNew] = known.try_emplace({value, tag}, WeightRange());
  if (!isNew)
    return use(it->second);
  FailureOr<Elements> elements = elementsOf(value);
  if (failed(elements))
    return failure();
  PackedForm form = packing.form(cast<RankedTensorType>(value.getType()));
  return use(it->second = place({{0, form.bytes}, std::move(*elements), tag, std::move(form.write)}));
}

WeightBytes Weights::take(unsigned threads) {
  WeightBytes block(size);
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < pieces.size(); i = next++) {
      const Piece &piece = pieces[i];
      char *to = block.data() + piece.range.offset, *end = to + piece.range.bytes;
      if (piece.write) {
        std::memset(to, 0, piece.range.bytes);
        piece.write(piece.from.bytes.data(), to);
      } else if (piece.range.bytes) {
        std::memcpy(to, piece.from.bytes.data(), piece.range.bytes);
      }
      forgetMapped(piece.from.bytes);
      // What lies between this and the next.
      std::memset(end, 0, (i + 1 < pieces.size() ? pieces[i + 1].range.offset : size) - (end - block.data()));
    }
  };
  runOnThreads(size < kParallelBytes ? 1 : threads, work);
  pieces.clear();
  return block;
}
