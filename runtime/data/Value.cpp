// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Value.h"
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

using namespace sinter::data;

std::string Place::text() const {
  std::string text = file.empty() ? "" : "'" + file + "'";
  if (record >= 0)
    text += (text.empty() ? "record " : " record ") + std::to_string(record);
  if (offset >= 0)
    text += (text.empty() ? "byte " : " at byte ") + std::to_string(offset);
  return text;
}

void sinter::data::check(sinter_status_code status) {
  if (status != SINTER_OK)
    throw Error(status, sinter_last_error());
}

const char *sinter::data::dtypeName(int32_t dtype) { return dtype == Bytes ? "bytes" : sinter_dtype_name(dtype); }

//===- Dims -----------------------------------------------------------------------------------------===//

Dims::Dims(std::span<const int64_t> given) {
  if (given.size() > SINTER_MAX_RANK)
    throw Error(SINTER_INVALID_ARGUMENT, "a value requires at most " + std::to_string(SINTER_MAX_RANK) + " dims, got " +
                                             std::to_string(given.size()));
  for (int64_t size : given)
    if (size < 0)
      throw Error(SINTER_INVALID_ARGUMENT, "a value requires dims of 0 or more, got " + std::to_string(size));
  numSizes = static_cast<int32_t>(given.size());
  std::copy(given.begin(), given.end(), sizes.begin());
}

int64_t Dims::count() const {
  int64_t count = 1;
  bool isEmpty = false, overflows = false;
  for (int64_t size : all()) {
    isEmpty |= size == 0;
    overflows |= __builtin_mul_overflow(count, size == 0 ? 1 : size, &count);
  }
  if (isEmpty)
    return 0;
  if (overflows)
    throw Error(SINTER_INVALID_ARGUMENT, "a value requires less than 2^63 elements, got " + text());
  return count;
}

Dims Dims::withFront(int64_t size) const {
  std::array<int64_t, SINTER_MAX_RANK + 1> grown;
  grown[0] = size;
  std::copy_n(sizes.begin(), numSizes, grown.begin() + 1);
  return Dims(std::span<const int64_t>(grown.data(), static_cast<size_t>(numSizes) + 1));
}

Dims Dims::withoutFront() const { return numSizes ? Dims(all().subspan(1)) : Dims(); }

bool Dims::operator==(const Dims &other) const { return std::ranges::equal(all(), other.all()); }

std::string Dims::text() const {
  std::string text;
  for (int64_t size : all())
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text.empty() ? "scalar" : text;
}

//===- Making values --------------------------------------------------------------------------------===//

#if defined(__SANITIZE_ADDRESS__)
#define SINTER_KEEPS_MEMORY 0 // the sanitizer is to see each piece
#elif defined(__has_feature)
#define SINTER_KEEPS_MEMORY (!__has_feature(address_sanitizer) && !__has_feature(memory_sanitizer))
#else
#define SINTER_KEEPS_MEMORY 1
#endif

namespace {
/// Pieces of memory that nobody uses, by the thread that asked for them and by their size: what a thread gets again
/// lies in its cache, whoever gave it back, and threads seldom wait for each other.
class Kept {
public:
  static constexpr size_t least = size_t(1) << 12, most = size_t(1) << 23, allBytes = size_t(1) << 26;
  static constexpr size_t numShards = 8;

  /// Sizes are powers of two and three quarters of them, so that a piece fits others.
  static size_t rounded(size_t bytes) {
    size_t power = std::bit_ceil(bytes);
    return bytes <= power / 4 * 3 ? power / 4 * 3 : power;
  }
  static size_t shardOfThread() {
    static std::atomic<size_t> numThreads = 0;
    thread_local size_t shard = numThreads++ % numShards;
    return shard;
  }
  /// Null where there is none.
  void *take(size_t bytes, size_t shard) {
    for (size_t i = 0; i < numShards; ++i) // those of threads that have ended, too
      if (void *piece = shards[(shard + i) % numShards].take(bytes)) {
        held -= bytes;
        return piece;
      }
    return nullptr;
  }
  void give(void *piece, size_t bytes, size_t shard) {
    if ((held += bytes) <= allBytes)
      return shards[shard].give(piece, bytes);
    held -= bytes;
    std::free(piece);
  }

private:
  struct alignas(64) Shard {
    /// Of a rounded size.
    std::vector<void *> &piecesOf(size_t bytes) {
      return bySize[2 * static_cast<size_t>(std::bit_width(bytes)) + std::has_single_bit(bytes)];
    }
    void *take(size_t bytes) {
      std::lock_guard lock(mutex);
      std::vector<void *> &pieces = piecesOf(bytes);
      if (pieces.empty())
        return nullptr;
      void *piece = pieces.back();
      pieces.pop_back();
      return piece;
    }
    void give(void *piece, size_t bytes) {
      std::lock_guard lock(mutex);
      piecesOf(bytes).push_back(piece);
    }

    std::mutex mutex;
    std::array<std::vector<void *>, 64> bySize;
  };

  std::array<Shard, numShards> shards;
  std::atomic<size_t> held = 0;
};
} // namespace

/// Never destroyed: values may outlive it.
static Kept &kept() {
  static Kept &kept = *new Kept;
  return kept;
}

static bool isKept(size_t size) { return SINTER_KEEPS_MEMORY && size >= Kept::least && size <= Kept::most; }

/// The size of a piece that holds so many bytes.
static size_t pieceBytes(size_t bytes) {
  size_t size = (bytes / 64 + 1) * 64;
  return isKept(size) ? Kept::rounded(size) : size;
}

void *sinter::data::takePiece(size_t bytes) {
  size_t size = pieceBytes(bytes);
  void *piece = isKept(size) ? kept().take(size, Kept::shardOfThread()) : nullptr;
  if (!piece)
    piece = std::aligned_alloc(64, size);
  if (!piece)
    throw std::bad_alloc();
  return piece;
}

static void givePieceTo(size_t shard, void *piece, size_t bytes) {
  size_t size = pieceBytes(bytes);
  if (isKept(size))
    kept().give(piece, size, shard);
  else
    std::free(piece);
}

void sinter::data::givePiece(void *piece, size_t bytes) { givePieceTo(Kept::shardOfThread(), piece, bytes); }

std::shared_ptr<char> sinter::data::allocate(int64_t bytes) {
  if (bytes < 0 || bytes > INT64_MAX / 4)
    throw std::bad_alloc();
  auto size = static_cast<size_t>(bytes);
  return {static_cast<char *>(takePiece(size)),
          [size, shard = Kept::shardOfThread()](char *piece) { givePieceTo(shard, piece, size); }};
}

static std::shared_ptr<int64_t> allocateOffsets(int64_t count) {
  auto memory = allocate((count + 1) * 8);
  return {memory, reinterpret_cast<int64_t *>(memory.get())};
}

Value::Value(int32_t dtype, const Dims &dims, std::shared_ptr<const char> data)
    : elementType(dtype), sizes(dims), numElements(dims.count()), memory(std::move(data)) {}

Value Value::strings(const Dims &dims, std::shared_ptr<const char> data, std::shared_ptr<const int64_t> offsets) {
  Value value(Bytes, dims, std::move(data));
  value.stringOffsets = std::move(offsets);
  return value;
}

Value Value::strings(const Dims &dims, std::shared_ptr<const Span> spans) {
  Value value(Bytes, dims, nullptr);
  value.stringSpans = std::move(spans);
  return value;
}

Value Value::string(std::string_view text) {
  auto offsets = allocateOffsets(1);
  offsets.get()[0] = 0;
  offsets.get()[1] = static_cast<int64_t>(text.size());
  auto memory = allocate(static_cast<int64_t>(text.size()));
  if (!text.empty())
    std::memcpy(memory.get(), text.data(), text.size());
  return strings({}, std::move(memory), std::move(offsets));
}

Value Value::strings(std::span<const std::string> texts, const Dims &dims) {
  int64_t count = dims.count(), bytes = 0;
  if (count != static_cast<int64_t>(texts.size()))
    throw Error(SINTER_INVALID_ARGUMENT,
                "a value of " + dims.text() + " strings requires as many, got " + std::to_string(texts.size()));
  auto offsets = allocateOffsets(count);
  for (size_t i = 0; i < texts.size(); ++i) {
    offsets.get()[i] = bytes;
    bytes += static_cast<int64_t>(texts[i].size());
  }
  offsets.get()[count] = bytes;
  auto memory = allocate(bytes);
  for (size_t i = 0; i < texts.size(); ++i)
    texts[i].copy(memory.get() + offsets.get()[i], texts[i].size());
  return strings(dims, std::move(memory), std::move(offsets));
}

Value Value::ragged(const Value &values, std::span<const int64_t> splits) {
  if (values.isRagged() || values.sizes.rank() == 0)
    throw Error(SINTER_INVALID_ARGUMENT, "a ragged value requires dense values of rank 1 or more");
  if (splits.empty() || splits.front() != 0 || splits.back() != values.sizes[0] || !std::ranges::is_sorted(splits))
    throw Error(SINTER_INVALID_ARGUMENT,
                "row splits are required to rise from 0 to the " + std::to_string(values.sizes[0]) + " values");
  Value value = values;
  value.numRows = static_cast<int64_t>(splits.size()) - 1;
  auto copy = allocateOffsets(value.numRows);
  std::ranges::copy(splits, copy.get());
  value.rowSplits = std::move(copy);
  return value;
}

Value Value::copyOf(const sinter_tensor &tensor) {
  Dims dims(std::span<const int64_t>(tensor.dims, static_cast<size_t>(std::max(tensor.rank, 0))));
  int64_t element = sinter_dtype_bytes(tensor.dtype), count = dims.count();
  if (!element)
    throw Error(SINTER_INVALID_ARGUMENT, "a value requires a dtype of sinter.h, got " + std::to_string(tensor.dtype));
  auto memory = allocate(count * element);
  std::array<int64_t, SINTER_MAX_RANK> at = {};
  for (int64_t i = 0; i < count; ++i) {
    int64_t from = 0, step = 1;
    for (int32_t d = tensor.rank - 1; d >= 0; --d) {
      from += at[static_cast<size_t>(d)] * (tensor.strides ? tensor.strides[d] : step);
      step *= tensor.dims[d];
    }
    std::memcpy(memory.get() + i * element, static_cast<const char *>(tensor.data) + from * element,
                static_cast<size_t>(element));
    for (int32_t d = tensor.rank - 1; d >= 0 && ++at[static_cast<size_t>(d)] == tensor.dims[d]; --d)
      at[static_cast<size_t>(d)] = 0;
  }
  return Value(tensor.dtype, dims, std::move(memory));
}

Value Value::take(sinter_tensor &tensor) {
  if (!sinter_dtype_bytes(tensor.dtype))
    throw Error(SINTER_INVALID_ARGUMENT,
                std::string("a value requires elements of whole bytes, got ") + sinter_dtype_name(tensor.dtype));
  auto holder = std::make_shared<sinter_tensor>(tensor);
  tensor = {};
  std::shared_ptr<sinter_tensor> owner(holder.get(), [holder](sinter_tensor *held) { sinter_tensor_free(held); });
  Dims dims(std::span<const int64_t>(holder->dims, static_cast<size_t>(holder->rank)));
  return Value(holder->dtype, dims, std::shared_ptr<const char>(owner, static_cast<const char *>(holder->data)));
}

//===- Using them -----------------------------------------------------------------------------------===//

void Value::require(int32_t dtype) const {
  if (elementType != dtype)
    throw Error(SINTER_INVALID_ARGUMENT, std::string("a value of ") + dtypeName(dtype) + " is required, got " +
                                             dtypeName(elementType) + " " + sizes.text());
}

int64_t Value::memoryBytes() const {
  int64_t splitBytes = rowSplits ? (numRows + 1) * 8 : 0;
  if (elementType != Bytes)
    return splitBytes + numElements * sinter_dtype_bytes(elementType);
  if (!stringSpans)
    return splitBytes + (numElements + 1) * 8 +
           (numElements ? stringOffsets.get()[numElements] - stringOffsets.get()[0] : 0);
  int64_t textBytes = 0;
  for (int64_t i = 0; i < numElements; ++i)
    textBytes += stringSpans.get()[i].size;
  return splitBytes + numElements * static_cast<int64_t>(sizeof(Span)) + textBytes;
}

Value Value::slice(int64_t begin, int64_t end, bool dropFront) const {
  if (sizes.rank() == 0 || begin < 0 || begin > end || end > rows())
    throw Error(SINTER_INVALID_ARGUMENT, "rows " + std::to_string(begin) + " to " + std::to_string(end) +
                                             " are required of a value with " + std::to_string(rows()));
  int64_t first = rowSplits ? rowSplits.get()[begin] : begin, last = rowSplits ? rowSplits.get()[end] : end;
  int64_t inner = sizes.withoutFront().count();
  Value part = *this;
  if (rowSplits && !dropFront) {
    std::vector<int64_t> moved;
    for (int64_t i = begin; i <= end; ++i)
      moved.push_back(rowSplits.get()[i] - first);
    Value all = *this;
    all.rowSplits = nullptr;
    return ragged(all.slice(first, last, false), moved);
  }
  if (dropFront && !rowSplits)
    part.sizes = sizes.withoutFront();
  else
    part.sizes.set(0, last - first);
  part.rowSplits = nullptr;
  part.numRows = 0;
  part.numElements = (last - first) * inner;
  if (stringSpans)
    part.stringSpans = {stringSpans, stringSpans.get() + first * inner};
  else if (elementType == Bytes)
    part.stringOffsets = {stringOffsets, stringOffsets.get() + first * inner};
  else
    part.memory = {memory, memory.get() + first * inner * sinter_dtype_bytes(elementType)};
  return part;
}

Value Value::reshaped(const Dims &dims) const {
  if (isRagged() || dims.count() != numElements)
    throw Error(SINTER_INVALID_ARGUMENT,
                (isRagged() ? "a ragged value" : "a value of " + sizes.text()) + " cannot be seen as " + dims.text());
  Value value = *this;
  value.sizes = dims;
  return value;
}

sinter_tensor Value::tensor() const {
  if (elementType == Bytes)
    throw Error(SINTER_INVALID_ARGUMENT, "a tensor of numbers is required, got bytes");
  sinter_tensor view = {};
  view.data = const_cast<char *>(memory.get());
  view.dtype = elementType;
  view.rank = sizes.rank();
  std::ranges::copy(sizes.all(), view.dims);
  return view;
}

bool Value::operator==(const Value &other) const {
  if (elementType != other.elementType || !(sizes == other.sizes) || !std::ranges::equal(splits(), other.splits()) ||
      isRagged() != other.isRagged())
    return false;
  if (elementType != Bytes)
    return numElements == 0 || std::memcmp(memory.get(), other.memory.get(),
                                           static_cast<size_t>(numElements * sinter_dtype_bytes(elementType))) == 0;
  for (int64_t i = 0; i < numElements; ++i)
    if (bytes(i) != other.bytes(i))
      return false;
  return true;
}
